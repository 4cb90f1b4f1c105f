"""`jax._src.distributed`; orbax asks which process this one is, and whether there are others."""

from jitney.runtime.processes import state as global_state

__all__ = ["global_state"]
