"""Durations of tracing, lowering and compilation, for listeners and the log.

Listeners of `jax.monitoring` receive the durations, and the hits and misses of the persistent
compilation cache, under JAX's names. The log has a line for each duration at level DEBUG, or
WARNING with `jax_log_compiles`.
"""

from __future__ import annotations

import logging
import time

from jitney.core.settings import config, monitoring

_log = logging.getLogger(__name__)

EVENTS = {
    "tracing": "/jax/core/compile/jaxpr_trace_duration",
    "lowering": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "compilation": "/jax/core/compile/backend_compile_duration",
}

_FINISHED = {
    "tracing": "tracing %s for jit",
    "lowering": "lowering of jit(%s)",
    "code generation": "LLVM compilation of jit(%s)",
}


def _level() -> int:
    return logging.WARNING if config.log_compiles.value else logging.DEBUG


class step:  # lower case, as it is used like a function: `with compile_log.step(...)`
    """A context that reports how long its body took, unless it raised.

    Attributes:
      kind: "tracing", "lowering", "compilation", or "code generation", the part of a compilation
        that is skipped when the persistent cache has the program.
      name: the name of the function.
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
        if self.kind in EVENTS:
            monitoring.record_event_duration_secs(EVENTS[self.kind], seconds, fun_name=self.name)
        if self.kind in _FINISHED:
            _log_end(_FINISHED[self.kind], self.name, seconds)


def _log_end(what: str, name: str, seconds: float) -> None:
    level = _level()
    if _log.isEnabledFor(level):
        _log.log(level, f"Finished {what} in %.6f sec", name, seconds)


def starts(name: str, types: str) -> None:
    """Logs that the compilation of a program begins.

    Args:
      name: the name of the function.
      types: the types of its arguments.
    """
    level = _level()
    if _log.isEnabledFor(level):
        _log.log(level, "Compiling jit(%s) for arguments of types %s", name, types)


def reused(name: str, seconds: float) -> None:
    """Logs that an equal program's code was reused; finding it in memory took `seconds`."""
    _log_end("looking up the code of jit(%s), compiled for an equal program,", name, seconds)


def looked_up(name: str, seconds: float, *, is_found: bool) -> None:
    """Reports whether a program was found in the persistent compilation cache.

    Args:
      name: the name of the function.
      seconds: the time taken to find and load the program.
      is_found: whether the program was in the cache.
    """
    monitoring.record_event("/jax/compilation_cache/compile_requests_use_cache")
    monitoring.record_event(f"/jax/compilation_cache/cache_{'hits' if is_found else 'misses'}")
    if is_found:
        _log_end("loading jit(%s) from the cache on disk", name, seconds)
