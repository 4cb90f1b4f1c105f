"""`jax._src.traceback_util`: libraries leave their own frames out of tracebacks."""

from jitney.core.source_info import (
    exclude_paths as _exclude_paths,
    include_frame as include_frame,
    register_exclusion as register_exclusion,
)
from jitney.core.tracebacks import api_boundary as api_boundary

__all__ = ["_exclude_paths", "api_boundary", "include_frame", "register_exclusion"]
