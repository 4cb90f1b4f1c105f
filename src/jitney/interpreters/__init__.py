"""`jax.interpreters`: rules of users' primitives, in the modules of JAX."""

from jitney.core.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
