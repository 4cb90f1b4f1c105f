"""Contexts that are interrupted anywhere leave nothing in force.

A handler of a signal runs at the entry of a Python function, or after a call: each such place is tried.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz.interrupts import Interrupt, state

import jitney as jax
import jitney.numpy as jnp
from jitney.core import contexts
from jitney.core.sharding.mesh import context_meshes
from jitney.core.source import source_info
from jitney.core.tracing import trace
from jitney.core.util import float_errors, shielded
from jitney.experimental import xla_metadata

MESH = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",))
EXPLICIT = jax.make_mesh((1,), ("x",))


def entering(make: Callable[[], Any]) -> Callable[[], None]:
    def enter() -> None:
        with make():
            assert True

    return enter


CONTEXTS: dict[str, Callable[[], None]] = {
    "x64": entering(lambda: jax.enable_x64(True)),
    "disable_jit": entering(jax.disable_jit),
    "checking_leaks": entering(jax.checking_leaks),
    "transfer_guard": entering(lambda: jax.transfer_guard("log")),
    "debug_nans": entering(lambda: jax.debug_nans(True)),
    "precision": entering(lambda: jax.default_matmul_precision("highest")),
    "named_scope": entering(lambda: jax.named_scope("scope")),
    "decorated": lambda: jax.named_scope("scope")(lambda: None)(),
    "compile_time_eval": entering(jax.ensure_compile_time_eval),
    "mesh": entering(lambda: MESH),
    "set_mesh": entering(lambda: jax.set_mesh(EXPLICIT)),
    "abstract mesh": entering(lambda: jax.sharding.use_abstract_mesh(EXPLICIT.abstract_mesh)),
    "metadata": entering(lambda: xla_metadata.set_xla_metadata(a=1)),
    "current trace": entering(lambda: trace.set_current_trace(None)),
    "axes": entering(lambda: trace.extend_axis_env(("i", 2), checked=frozenset("i"))),
    "user_context": entering(lambda: source_info.user_context(None)),
    "scopes": entering(lambda: source_info.transform_name_stack("vmap")),
    "NumPy's errors": entering(float_errors.ignored),
    "eager": lambda: jnp.add(jnp.ones(2), np.ones(2)),
    "vmap": lambda: jax.vmap(jnp.sin, axis_name="i")(jnp.ones(2)),
    "grad": lambda: jax.grad(jnp.sin)(1.0),
    "jaxpr": lambda: jax.make_jaxpr(lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x))(1.0),
}


@pytest.fixture(autouse=True)
def counted_meshes() -> Iterator[None]:
    """An interrupt may leave a mesh counted that is not the context mesh: look-ups are slower then."""
    before = context_meshes.number
    yield
    context_meshes.add(before - context_meshes.number)


@pytest.mark.parametrize("name", CONTEXTS)
def test_an_interrupt_leaves_nothing_in_force(name: str) -> None:
    run = CONTEXTS[name]
    run()
    before = state()
    k = made = 0
    step = 1
    while made == k:
        k += step
        step = 1 + k // 40  # long ways are tried in places farther apart
        made = 0

        def count(frame: Any, event: str, argument: object) -> None:
            nonlocal made
            if event in ("call", "c_return") and frame.f_code.co_name != "enter":
                made += 1
                if made == k:  # noqa: B023
                    raise Interrupt

        gc.disable()  # its callbacks are calls, too
        try:
            sys.setprofile(count)
            run()
        except Interrupt:
            pass
        finally:
            sys.setprofile(None)
            gc.enable()
        now = state()
        assert now == before, (k, {key: now[key] for key in now if now[key] != before[key]})
    run()


# Contexts in Python: what they end is not state, or is a file's, a part of a process's exchange, what
# listens to compilations (`collect`, `profile`), a variable of the environment (`common`), or an object
# of LLVM, in code that signals do not interrupt (`binding`).
IN_PYTHON = {
    "binding.py", "collect.py", "common.py", "compile_log.py", "disk_cache.py", "multihost_utils.py",
    "private_files.py", "process_programs.py", "profile.py", "profiler.py",
}  # fmt: skip


def test_state_is_in_force_by_native_contexts() -> None:
    root = Path(jax.__file__).parent
    written = re.compile(r"^ *def __exit__|^ *@(contextlib\.)?contextmanager", re.M)
    found = {p.name for p in root.rglob("*.py") if written.search(p.read_text())}
    assert found == IN_PYTHON, "see jitney.core.contexts"


def test_a_context_can_be_entered_again_while_it_is_in_force() -> None:
    scope = jax.named_scope("a")

    @scope
    def deep(n: int) -> str:
        return str(source_info.current_name_stack()) if n == 0 else deep(n - 1)

    with scope, scope:
        assert deep(1) == "a/a/a/a"
    assert str(source_info.current_name_stack()) == ""
    with pytest.raises(RuntimeError, match="not entered"):
        scope.__exit__(None, None, None)


def test_a_trace_that_has_ended_is_left() -> None:
    """A user's generator, interrupted at the entry of `contextlib`'s `__exit__`, is collected late."""

    @contextlib.contextmanager
    def at_once():
        with jax.ensure_compile_time_eval():
            yield

    def interrupt(frame: Any, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name == "__exit__":
            raise Interrupt

    def f(x: Any) -> Any:
        with at_once():
            sys.setprofile(interrupt)
        return x

    kept: list[BaseException] = []
    try:
        jax.make_jaxpr(f)(1.0)
    except Interrupt as error:
        kept.append(error)  # and with it the frames, and their generators
    finally:
        sys.setprofile(None)
    assert kept
    kept.clear()
    gc.collect()
    assert jax.jit(jnp.sin)(0.0) == jnp.sin(0.0) == 0
    assert state()["trace"] and trace.trace_state_clean()


def test_what_raises_on_entry_changes_nothing() -> None:
    before = state()
    with pytest.raises(ValueError), jax.transfer_guard("nonsense"):
        pass
    with pytest.raises(ValueError):
        contexts.Within(trace.state, ("trace", "axis_env"), (None,)).__enter__()
    assert state() == before


def test_what_is_owned_is_released_once() -> None:
    open_files: set[int] = set()
    closed: list[int] = []

    def close(fd: int) -> None:
        os.close(fd)
        closed.append(fd)

    owned = contexts.Owned(os.open, close, os.devnull, os.O_RDONLY)
    open_files.add(owned.value)
    with pytest.raises(KeyError), owned as fd:
        assert fd == owned.value
        raise KeyError
    owned.release()
    del owned
    dropped = contexts.Owned(os.open, close, os.devnull, os.O_RDONLY)
    second = dropped.value
    del dropped
    assert closed == [*open_files, second]


class TestShielded:
    def test_results_and_errors(self) -> None:
        assert shielded.call(lambda: 5) == 5
        assert shielded.call_all([lambda: 1, lambda: 2]) == [1, 2]
        with pytest.raises(KeyError, match="told"):
            shielded.call(lambda: {}["told"])

    def test_an_interrupt_waits_for_what_has_begun(self) -> None:
        import signal

        begun, go_on, ended = threading.Event(), threading.Event(), []

        def work() -> None:
            begun.set()
            go_on.wait()
            ended.append(1)

        def ring(number: int, frame: object) -> None:
            threading.Timer(0.05, go_on.set).start()
            raise Interrupt

        before = signal.signal(signal.SIGALRM, ring)
        canceled: list[int] = []
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(Interrupt):
                shielded.call_all([work], cancel=lambda: canceled.append(1))
        finally:
            signal.signal(signal.SIGALRM, before)
        assert begun.is_set() and ended == canceled == [1]

    def test_other_threads_call_it_themselves(self) -> None:
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(shielded.call(threading.get_ident)))
        thread.start()
        thread.join()
        assert found == [thread.ident]


def test_a_process_ends_whose_import_was_interrupted() -> None:
    """A lock of importlib that an interrupt has left held keeps the compiler's thread from its end."""
    program = """
import _imp
import jitney
from jitney.runtime.compilation import lazy_compiler
lazy_compiler._PATIENCE = 0.5
_imp.acquire_lock()
lazy_compiler.start()
"""
    environment = {**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "0"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, timeout=60, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("phase", ["compiling", "tracing", "callbacks", "loading", "exit"])
def test_interrupts_at_random_times(phase: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.interrupts", "--seed", "3", "--phases", phase,
         "--count", "3" if phase in ("loading", "exit") else "14"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
