"""`jax.debug`: looking into programs while they run."""

from jitney.api.callbacks import debug_callback as callback
from jitney.api.callbacks import debug_log as log
from jitney.api.callbacks import debug_print as print
from jitney.core.effects import DebugEffect as DebugEffect
from jitney.core.effects import OrderedDebugEffect as OrderedDebugEffect

__all__ = ["DebugEffect", "OrderedDebugEffect", "callback", "log", "print"]
