"""`jax.lib`: an empty namespace; JAX has moved what was there to `jax.extend` and `jax.dlpack`."""

from jitney.core.lazy import listing

__all__: list[str] = []

__dir__ = listing(__name__)
