"""How long programs take to be traced, lowered and compiled: told to listeners, and logged.

Listeners of `jax.monitoring` get the durations under JAX's names. The log has a line for each at level
DEBUG, or, with `jax_log_compiles`, WARNING.
"""

from __future__ import annotations

import logging
import time

from jitney.core import config, monitoring

_log = logging.getLogger(__name__)

EVENTS = {
    "tracing": "/jax/core/compile/jaxpr_trace_duration",
    "lowering": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "compilation": "/jax/core/compile/backend_compile_duration",
}

_FINISHED = {
    "tracing": "tracing %s for jit",
    "lowering": "lowering of jit(%s)",
    "compilation": "LLVM compilation of jit(%s)",
}


def _level() -> int:
    return logging.WARNING if config.log_compiles.value else logging.DEBUG


class step:  # reads as a function: `with compile_log.step(...)`
    """Tells how long the context took, unless it raised.

    Attributes:
      kind: "tracing", "lowering" or "compilation".
      name: of the function.
    """

    __slots__ = ("kind", "name", "start")

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name

    def __enter__(self) -> None:
        self.start = time.perf_counter()

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        if failure is not None:
            return
        seconds = time.perf_counter() - self.start
        monitoring.record_event_duration_secs(EVENTS[self.kind], seconds, fun_name=self.name)
        level = _level()
        if _log.isEnabledFor(level):
            _log.log(level, "Finished " + _FINISHED[self.kind] + " in %.6f sec", self.name, seconds)


def starts(name: str, types: str) -> None:
    """Logs that a program is going to be compiled.

    Args:
      name: of the function.
      types: of its arguments.
    """
    level = _level()
    if _log.isEnabledFor(level):
        _log.log(level, "Compiling jit(%s) for arguments of types %s", name, types)
