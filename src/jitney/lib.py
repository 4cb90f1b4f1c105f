"""`jax.lib`: an empty namespace; JAX has moved what was there to `jax.extend` and `jax.dlpack`."""

__all__: list[str] = []
