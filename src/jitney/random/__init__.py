"""`jax.random`: random numbers from explicit keys, bit-identical to the numbers that JAX draws."""

from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__, published_by="jitney.api.jit.repeated")
