"""`jax.lax`: the primitives as functions, with no promotion of dtypes and no broadcasting of ranks."""

from jitney.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
