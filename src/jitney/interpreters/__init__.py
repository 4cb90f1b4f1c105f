"""`jax.interpreters`: registration of transformation rules for user-defined primitives."""

from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
