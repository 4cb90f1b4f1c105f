"""All compilation passes through one function, which others may wrap; equal programs share code."""

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.helpers.threads import in_threads

import jitney as jax
import jitney.numpy as jnp
from jitney._src import compiler
from jitney.compiler import pipeline
from jitney.core.settings import config
from jitney.core.util import forking
from jitney.runtime.compilation import compiling


class ForbiddenError(RuntimeError):
    pass


def test_compilation_can_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    known = jax.jit(lambda x: x * 3 - 1)
    x = jnp.arange(5.0)
    known(x)
    platforms = []

    def forbid(backend, *args):
        platforms.append(backend.platform)
        raise ForbiddenError

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "backend_compile_and_load", forbid)
        with pytest.raises(ForbiddenError):
            jax.jit(lambda x: x * 5 + 2)(x)
        np.testing.assert_array_equal(known(x), np.arange(5.0) * 3 - 1)
    assert platforms == ["cpu"]
    np.testing.assert_array_equal(jax.jit(lambda x: x * 5 + 2)(x), np.arange(5.0) * 5 + 2)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the programs compiled since the test began, with which no program was in memory."""
    jax.clear_caches()
    names: list[str] = []
    compile_module = pipeline.compile_module

    def compile_and_record(module):
        names.append(module.name)
        return compile_module(module)

    monkeypatch.setattr(pipeline, "compile_module", compile_and_record)
    return names


def test_equal_functions_share_machine_code(compilations: list[str]) -> None:
    x = jnp.arange(5.0)

    def cube(x):
        return x * x * x

    first = jax.jit(lambda x: cube(x)).lower(x).compile()
    second = jax.jit(cube).lower(x).compile()
    assert compilations == ["<lambda>"]
    assert "llvm" in first.timings() and "llvm" not in second.timings()
    assert "lookup" in second.timings()
    np.testing.assert_array_equal(second(x), first(x))
    for _ in range(3):
        np.testing.assert_array_equal(jax.jit(lambda x: cube(x))(x), np.arange(5.0) ** 3)
    assert compilations == ["<lambda>"]


def test_programs_that_differ_are_compiled(compilations: list[str]) -> None:
    x = jnp.arange(5.0)
    cases = [
        (lambda x: x + 1, x, x + 1),
        (lambda x: x + 2, x, x + 2),
        (lambda x: 2 + x, x, x + 2),
        (lambda x: x + 2, x[:4], x[:4] + 2),
        (lambda x: x + np.arange(5.0), x, x * 2),
        (lambda x: x + np.arange(1.0, 6.0), x, x * 2 + 1),
        (lambda x: (x + 2, x), x, (x + 2, x)),
        (lambda x: (x, x + 2), x, (x, x + 2)),
    ]
    for i, (f, operand, expected) in enumerate(cases):
        jax.tree.map(np.testing.assert_array_equal, jax.jit(f)(operand), expected)
        assert len(compilations) == i + 1
    with config.optimization_level("O1"):
        jax.jit(lambda x: x + 1)(x)
    assert len(compilations) == len(cases) + 1


def test_donation_is_that_of_the_call(compilations: list[str]) -> None:
    for donated in ((), (0,), ()):
        x = jnp.arange(5.0)
        y = jax.jit(lambda x: x * 7, donate_argnums=donated)(x)
        np.testing.assert_array_equal(y, np.arange(5.0) * 7)
        assert x.is_deleted() == bool(donated)
    assert len(compilations) == 1


def test_programs_that_call_python_are_compiled_each_time(compilations: list[str]) -> None:
    x = jnp.arange(5.0)
    for factor in (2.0, 3.0):
        f = jax.jit(lambda x, k=factor: jax.pure_callback(lambda a: np.asarray(a) * k, x, x))
        np.testing.assert_array_equal(f(x), np.arange(5.0) * factor)
    assert len(compilations) == 2


def test_programs_that_are_kept_are_few_and_small(
    compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "MAX_RECENT", 2)
    x = jnp.arange(5.0)
    for addend in (1, 2, 3, 1, 3, 1):
        jax.jit(lambda x, k=addend: x + k)(x)
    assert len(compilations) == 4
    monkeypatch.setattr(compiling, "MAX_CONSTANT_BYTES", 100)
    values = np.arange(200.0, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(jax.jit(lambda x: x + values)(values), values * 2)
    assert len(compilations) == 6


def test_threads_compile_a_program_once(compilations: list[str]) -> None:
    x = jnp.arange(5.0)
    f = jax.jit(lambda x: jnp.sin(x) * jnp.cos(x) + jnp.cumsum(x))
    results: list[jax.Array] = []
    failed = {*forking.programs}  # in other tests: their locks stay
    in_threads(4, lambda i: results.append(f(x) if i % 2 else jax.jit(f.__wrapped__)(x)))
    assert len(compilations) == 1 and {*forking.programs} == failed
    for y in results:
        np.testing.assert_array_equal(y, results[0])


def test_a_failure_does_not_keep_other_threads_from_compiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    jax.clear_caches()
    x, tries = jnp.arange(5.0), []
    compile_module = pipeline.compile_module

    def fail_first(module):
        tries.append(module.name)
        if len(tries) == 1:
            raise MemoryError("of the test")
        return compile_module(module)

    monkeypatch.setattr(pipeline, "compile_module", fail_first)
    failures: list[BaseException] = []

    def call(i: int) -> None:
        try:
            np.testing.assert_array_equal(jax.jit(lambda x: x * 11)(x), np.arange(5.0) * 11)
        except MemoryError as error:
            failures.append(error)

    in_threads(3, call)
    assert len(failures) == 1 and len(tries) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_does_not_wait_for_threads_of_its_parent() -> None:
    program = """
import os, sys, threading
import jitney as jax, jitney.numpy as jnp
from jitney.compiler import pipeline
x, forked = jnp.arange(5.0), threading.Event()
f = lambda x: x * 12
jax.jit(lambda x: x - 1)(x)
compile_module, begun = pipeline.compile_module, threading.Event()
def wait_for_fork(module):
    if threading.current_thread() is not threading.main_thread() and not forked.is_set():
        begun.set()
        forked.wait()
    return compile_module(module)
pipeline.compile_module = wait_for_fork
thread = threading.Thread(target=lambda: jax.jit(f)(x))
thread.start()
begun.wait()
child = os.fork()
if not child:
    os._exit(0 if jax.jit(f)(x).sum() == 120 else 1)
assert os.waitpid(child, 0)[1] == 0
forked.set()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], timeout=60, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_caches_are_cleared(compilations: list[str]) -> None:
    for _ in range(2):
        jax.jit(lambda x: x - 1)(jnp.arange(5.0))
        jax.clear_caches()
    assert len(compilations) == 2
