"""`jax._src.distributed`; orbax asks whether processes have joined, and for their service."""

from jitney.runtime.initialize import State, global_state, initialize, shutdown

__all__ = ["State", "global_state", "initialize", "shutdown"]
