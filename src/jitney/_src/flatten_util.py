"""`jax._src.flatten_util`; public as `jax.flatten_util`."""

from jitney.flatten_util import ravel_pytree as ravel_pytree
