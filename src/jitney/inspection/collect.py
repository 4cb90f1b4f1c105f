"""The functions that are compiled within a context, and how long that takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from jitney.core import compile_log, monitoring, source_info

if TYPE_CHECKING:
    from jitney.compiler.codegen.linking import CompiledProgram
    from jitney.compiler.hlo import ir
    from jitney.runtime.client import Client

_KINDS = {event: kind for kind, event in compile_log.EVENTS.items()}


@contextmanager
def compiled_modules() -> Iterator[list[ir.Module]]:
    """The programs that are compiled, or found on disk, within the context."""
    from jitney.runtime import compiling

    modules: list[ir.Module] = []
    load = compiling.backend_compile_and_load

    def load_and_note(backend: Client, module: ir.Module) -> CompiledProgram:
        modules.append(module)
        return load(backend, module)

    compiling.backend_compile_and_load = load_and_note
    try:
        yield modules
    finally:
        compiling.backend_compile_and_load = load


def of_user(modules: list[ir.Module]) -> list[ir.Module]:
    """The programs that come from functions of the user's, not from operations of this package."""
    return [module for module in modules if _is_users(module)]


def _is_users(module: ir.Module) -> bool:
    file = None if module.jaxpr is None else module.jaxpr.debug_info.func_filename
    return file is not None and not any(map(file.startswith, source_info.exclude_paths))


class Durations:
    """Seconds of tracing, lowering and compilation; what is nested in another counts once.

    Attributes:
      seconds: by kind: "tracing", "lowering", "compilation".
      compilations: how many programs were compiled, or found on disk.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(compile_log.EVENTS, 0.0)
        self.compilations = 0
        self._spans: list[tuple[float, float]] = []

    def note(self, event: str, seconds: float, **_: str | int) -> None:
        """A listener of `jax.monitoring`: durations are told at their end, inner ones first."""
        kind = _KINDS.get(event)
        if kind is None:
            return
        start, inner = time.perf_counter() - seconds, 0.0
        while self._spans and self._spans[-1][0] >= start:
            inner += self._spans.pop()[1]
        self._spans.append((start, seconds))
        self.seconds[kind] += max(seconds - inner, 0.0)
        self.compilations += kind == "compilation"


@contextmanager
def durations() -> Iterator[Durations]:
    """The `Durations` of the context."""
    found = Durations()
    monitoring.register_event_duration_secs_listener(found.note)
    try:
        yield found
    finally:
        with suppress(AssertionError):  # all listeners may have been cleared meanwhile
            monitoring.unregister_event_duration_listener(found.note)
