"""`jax.scipy.optimize`: minimization of functions."""

from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, published_by="jitney.api.jit.repeated")
