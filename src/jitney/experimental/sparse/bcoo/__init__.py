"""`jax.experimental.sparse.bcoo`: sparse arrays in batched coordinate format (BCOO)."""

from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
