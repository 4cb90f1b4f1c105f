"""How long programs take to be traced, lowered and compiled: told to listeners, and logged.

Listeners of `jax.monitoring` get the durations under JAX's names. The log has a line for each at level
DEBUG, or, with `jax_log_compiles`, WARNING.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Generator

from jitney.core import config, monitoring

_log = logging.getLogger(__name__)

_EVENTS = {
    "tracing": "/jax/core/compile/jaxpr_trace_duration",
    "lowering": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "XLA compilation": "/jax/core/compile/backend_compile_duration",
}


def _level() -> int:
    return logging.WARNING if config.log_compiles.value else logging.DEBUG


@contextlib.contextmanager
def step(kind: str, name: str) -> Generator[None, None, None]:
    """Tells how long the context took, unless it raised.

    Args:
      kind: "tracing", "lowering" or, as those who read logs of JAX look for it, "XLA compilation".
      name: of the function.
    """
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    monitoring.record_event_duration_secs(_EVENTS[kind], seconds, fun_name=name)
    level = _level()
    if _log.isEnabledFor(level):
        _log.log(level, "Finished %s of %s: %.6f s", kind, name, seconds)


def starts(name: str, types: str) -> None:
    """Logs that a program is going to be compiled.

    Args:
      name: of the function.
      types: of its arguments.
    """
    level = _level()
    if _log.isEnabledFor(level):
        _log.log(level, "Compiling jit(%s) for arguments of types %s", name, types)
