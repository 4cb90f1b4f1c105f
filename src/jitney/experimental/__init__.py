"""`jax.experimental`: features whose API may change."""

from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
