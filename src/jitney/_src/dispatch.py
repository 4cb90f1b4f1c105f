"""`jax._src.dispatch`; equinox waits for callbacks at the end of a process."""

from jitney.api.environment import effects_barrier as wait_for_tokens

__all__ = ["wait_for_tokens"]
