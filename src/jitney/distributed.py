"""`jax.distributed`: multi-process programs, started by `mpiexec` (docs/processes.md)."""

from jitney.core.util.lazy import listing
from jitney.runtime.distributed.initialize import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]

__dir__ = listing(__name__)
