"""`jax._src.xla_bridge`; chex asks whether there are devices yet."""

from jitney.runtime.client import backends as _backends, client as get_backend

__all__ = ["_backends", "get_backend"]
