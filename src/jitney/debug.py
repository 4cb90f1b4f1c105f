"""`jax.debug`: functions that print values of programs, or inspect them, while programs run."""

from jitney.api.debugging.callbacks import (
    debug_callback as callback,
    debug_log as log,
    debug_print as print,
)
from jitney.api.debugging.debugger import breakpoint
from jitney.api.parallel.visualize import visualize_array_sharding, visualize_sharding
from jitney.core.types.effects import (
    DebugEffect as DebugEffect,
    OrderedDebugEffect as OrderedDebugEffect,
)
from jitney.core.util.lazy import listing
from jitney.primitives.array.inspection import inspect_array_sharding

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",
    "log",
    "print",
    "visualize_array_sharding",
    "visualize_sharding",
]

__dir__ = listing(__name__)
