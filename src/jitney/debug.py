"""`jax.debug`: looking into programs while they run."""

from jitney.api.callbacks import debug_callback as callback, debug_log as log, debug_print as print
from jitney.core.effects import DebugEffect as DebugEffect, OrderedDebugEffect as OrderedDebugEffect

__all__ = ["DebugEffect", "OrderedDebugEffect", "callback", "log", "print"]
