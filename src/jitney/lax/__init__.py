"""`jax.lax`: primitives as functions, without dtype promotion or implicit rank broadcasting."""

from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
