"""Contexts that collect the functions compiled within them, and their compile times."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.settings import caches, compile_log, monitoring
from jitney.core.source import source_info
from jitney.core.util.record import record
from jitney.inspection import titles

if TYPE_CHECKING:
    from jitney.compiler.codegen.linking import CompiledProgram
    from jitney.compiler.hlo import ir
    from jitney.compiler.plan import ir as plans
    from jitney.compiler.plan.clocks import Clocked
    from jitney.core.typing import Value
    from jitney.runtime.devices.client import Client

_KINDS = {event: kind for kind, event in compile_log.EVENTS.items()}
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_KEPT_BYTES = 1 << 30  # size up to which the arguments of a call are copied


def machine_code(plan: plans.Plan) -> CompiledProgram:
    """Compiles a plan, such as one with clocks, without using the persistent cache."""
    from jitney.runtime.compilation.lazy_compiler import compiler

    return compiler().run(plan, first="codegen", last="codegen")


@contextmanager
def _compiling_users(
    compile_one: Callable[[ir.Module, Callable[[], CompiledProgram]], CompiledProgram],
) -> Generator[None]:
    """Within the context, compiles the user's programs by `compile_one(module, as_usual)`."""
    from jitney.runtime.compilation import compiling

    load = compiling.backend_compile_and_load

    def load_users(backend: Client, module: ir.Module) -> CompiledProgram:
        as_usual = partial(load, backend, module)
        return compile_one(module, as_usual) if _is_users(module) else as_usual()

    compiling.backend_compile_and_load = load_users
    try:
        yield
    finally:
        compiling.backend_compile_and_load = load


@contextmanager
def compiled_modules() -> Iterator[list[ir.Module]]:
    """Collects the user's programs that are compiled, or loaded from disk, within the context.

    Programs whose compilation is interrupted or fails are left out.
    """
    modules: list[ir.Module] = []

    def note(module: ir.Module, as_usual: Callable[[], CompiledProgram]) -> CompiledProgram:
        compiled = as_usual()
        modules.append(module)
        return compiled

    with _compiling_users(note):
        yield modules


@record
class Run:
    """A program, and records of its calls.

    Attributes:
      module: the program as lowered.
      arguments: the arguments of its first call; None if it was not called, or if they are too
        large to copy.
      clocked: the program with clocks that was called; None if it was not instrumented.
    """

    module: ir.Module
    arguments: Sequence[Value] | None = None
    clocked: Clocked | None = None


@contextmanager
def clocked_runs() -> Iterator[list[Run]]:
    """Collects the user's programs compiled within the context, with clocks and arguments.

    These programs bypass the persistent cache and are discarded when the context ends. Programs
    whose compilation is interrupted or fails are left out.
    """
    from jitney.compiler import pipeline
    from jitney.compiler.plan import ir as plans
    from jitney.compiler.plan.clocks import with_clocks
    from jitney.core.util.record import replace

    runs: list[Run] = []

    def with_clocks_in_it(
        module: ir.Module, as_usual: Callable[[], CompiledProgram]
    ) -> CompiledProgram:
        clocked = with_clocks(pipeline.plan(pipeline.optimize(module)))
        run = Run(module, clocked=clocked)
        types = clocked.plan.inputs

        def note(*values: np.ndarray) -> tuple[()]:
            if run.arguments is None:
                run.arguments = [value.copy() for value in values]
            return ()

        plan = clocked.plan
        if sum([t.nbytes for t in types]) <= _KEPT_BYTES:
            inputs = tuple([(plans.Buffer("input", t.nbytes, i), t) for i, t in enumerate(types)])
            look = plans.HostCall("look at the arguments", note, inputs, ())
            plan = replace(plan, steps=[look, *plan.steps])
        compiled = machine_code(plan)
        runs.append(run)
        return compiled

    try:
        with _compiling_users(with_clocks_in_it):
            yield runs
    finally:
        caches.clear_all()


def _is_users(module: ir.Module) -> bool:
    """Returns whether a program is a user function, or one of this package that the user jitted.

    Other programs are operations of this package, called outside of `jit`.
    """
    info = titles.debug_info_of(module)
    file = None if info is None else info.func_filename
    if file is not None and not any(map(file.startswith, source_info.exclude_paths)):
        return True
    return titles.is_jitted(module) and _is_compiled_by_user()


@record
class Kept:
    """The outcome of a lookup in the persistent cache.

    Attributes:
      module: the program.
      outcome: "found", "kept", or the reason why it was not kept.
    """

    module: ir.Module
    outcome: str


@contextmanager
def cache_outcomes() -> Iterator[list[Kept]]:
    """Collects the cache outcomes of the user's programs that are compiled within the context."""
    from jitney.compiler.hlo.digest import digest
    from jitney.runtime.cache import disk_cache

    outcomes: list[Kept] = []

    def note(module: ir.Module, as_usual: Callable[[], CompiledProgram]) -> CompiledProgram:
        place = disk_cache.directory()
        key = None if place is None else digest(module)

        def is_kept() -> bool:
            return place is not None and key is not None and disk_cache.is_kept(place, key)

        was_kept = is_kept()
        program = as_usual()
        if was_kept:
            outcome = "found"
        elif is_kept():
            outcome = "kept"
        elif program.links.callbacks:
            outcome = "it calls Python"
        else:
            outcome = disk_cache.obstacle() or "it holds large constants"
        outcomes.append(Kept(module, outcome))
        return program

    with _compiling_users(note):
        yield outcomes


# Modules between a call of a jitted function and its compilation, and internal callers.
_BETWEEN = tuple(os.path.join(_PACKAGE, x, "") for x in ("api", "compiler", "core", "runtime"))
_REPEATED = os.path.join(_PACKAGE, "api", "repeated.py")


def _is_compiled_by_user() -> bool:
    """Returns whether code outside of this package requested the current compilation."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE):
            return True
        if file == _REPEATED or not file.startswith((*_BETWEEN, __file__)):
            return False
        frame = frame.f_back
    return False


class Durations:
    """The time spent in tracing, lowering and compilation; nested durations are counted once.

    Attributes:
      seconds: the time of each kind: "tracing", "lowering", "compilation".
      compilations: the number of programs that were compiled, or found in the persistent cache.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(compile_log.EVENTS, 0.0)
        self.compilations = 0
        self._spans: list[tuple[float, float]] = []

    def note(self, event: str, seconds: float, **_: str | int) -> None:
        """Adds a duration; a listener of `jax.monitoring`.

        Listeners are called when a duration ends, so nested durations come first.
        """
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
    """Collects the `Durations` of the context."""
    total = Durations()
    monitoring.register_event_duration_secs_listener(total.note)
    try:
        yield total
    finally:
        with suppress(AssertionError):  # another caller may have cleared all listeners
            monitoring.unregister_event_duration_listener(total.note)
