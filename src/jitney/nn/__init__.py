"""`jax.nn`: activation functions, softmax, attention and other functions for neural networks."""

from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, published_by="jitney.api.jit.repeated")
