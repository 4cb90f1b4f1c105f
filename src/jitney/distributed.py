"""`jax.distributed`: one program in many processes, which `mpiexec` starts (docs/processes.md)."""

from jitney.runtime.initialize import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
