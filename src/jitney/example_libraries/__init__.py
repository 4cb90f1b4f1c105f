"""`jax.example_libraries`: small optimizers and neural networks to start from."""

from jitney.core.util.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
