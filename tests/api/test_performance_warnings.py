"""Programs that are slower than they need be are warned of: once, at the user's line, with the cure."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import warnings

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.api.jit import slow_calls
from jitney.core.source import user_code
from jitney.runtime.execution import executable, slow_programs

OPTION = "jitney_performance_warnings"


@pytest.fixture(autouse=True)
def _turned_on():
    before = jitney.config.values[OPTION]
    jitney.config.update(OPTION, True)
    yield
    jitney.config.update(OPTION, before)


def warned(run) -> list[tuple[int, str]]:
    """The lines of the performance warnings of a call, counted from that of `run`, and their texts."""
    first = inspect.getsourcelines(run)[1]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    assert all(w.category is jitney.PerformanceWarning and w.filename == __file__ for w in found)
    return [(w.lineno - first, str(w.message)) for w in found]


def check(run, line: int, *parts: str) -> None:
    """One warning at a line of `run`, with these parts."""
    [(at, text)] = warned(run)
    assert at == line
    for part in parts:
        assert part in text


def silent(run) -> None:
    assert warned(run) == []


def test_the_class_is_public() -> None:
    assert issubclass(jitney.PerformanceWarning, UserWarning)
    assert "PerformanceWarning" in jitney.__all__
    assert repr(jitney.PerformanceWarning) == "<class 'jitney.PerformanceWarning'>"


# --- traced too often -----------------------------------------------------------------------------


def test_many_shapes() -> None:
    def program():
        f = jitney.jit(lambda x: x + 1)
        for n in range(3 * slow_calls.MANY_TRACES):
            f(np.ones(n))

    check(program, 3, "at x, now f32[19] and before f32[18]", "Instead: pad arrays")


def test_many_static_values() -> None:
    def program():
        f = jitney.jit(lambda x, k: x + k, static_argnums=1)
        for n in range(2 * slow_calls.MANY_TRACES):
            f(1.0, n / 8)

    check(program, 3, "different static arguments: now k=2.375", "a non-static argument")


def test_many_structures() -> None:
    def program():
        f = jitney.jit(lambda tree: 1)
        for n in range(2 * slow_calls.MANY_TRACES):
            f({str(n): 1.0})

    check(program, 3, "different input pytree", "Instead: give the arguments the same structure")


def test_few_shapes_many_times() -> None:
    def program():
        f = jitney.jit(lambda x: x + 1)
        for n in range(4 * slow_calls.MANY_TRACES):
            f(np.ones(n % (slow_calls.MANY_TRACES - 1)))

    silent(program)


def test_many_shapes_within_one_program() -> None:
    inner = jitney.jit(lambda x: x.sum())

    def program():
        jitney.jit(lambda x: sum(inner(x[:n]) for n in range(1, 2 * slow_calls.MANY_TRACES)))(
            jnp.ones(50)
        )

    silent(program)


# --- made anew in a loop --------------------------------------------------------------------------


def test_new_functions_in_a_loop() -> None:
    def program():
        for n in range(3 * slow_calls.MANY_TRACES):
            jitney.jit(lambda x: x * n)(1.0)  # noqa: B023

    check(program, 2, "a function defined on these lines", "Instead: define and jit it once")


def test_new_gradients_in_a_loop() -> None:
    def loss(x):
        return x**2

    def program():
        for _ in range(3 * slow_calls.MANY_TRACES):
            step = jitney.jit(jitney.grad(loss))
            step(1.0)

    check(program, 3, "jit(loss at ", "Instead: define and jit it once")


def test_one_function_jitted_in_a_loop() -> None:
    def program():
        for _ in range(3 * slow_calls.MANY_TRACES):
            jitney.jit(jnp.sin)(1.0)

    silent(program)


def test_functions_that_are_kept() -> None:
    def program():
        kept = [jitney.jit(lambda x: x * n) for n in range(3 * slow_calls.MANY_TRACES)]  # noqa: B023
        for f in kept:
            f(1.0)

    silent(program)


def test_a_wrapper_of_many_functions() -> None:
    functions = [jnp.sin, jnp.cos, jnp.tan, jnp.exp, jnp.log, jnp.tanh, jnp.sinh, jnp.cosh]

    def program():
        for k in range(8 * (slow_calls.MANY_TRACES // 8 + 1)):
            jitney.jit(lambda x: functions[k % 8](x))(0.5)  # noqa: B023

    silent(program)


def test_what_is_noted_of_functions_goes_with_them(monkeypatch) -> None:
    monkeypatch.setattr(slow_calls, "_histories", {})
    monkeypatch.setattr(slow_calls, "_most_histories", 10)
    kept = []
    for n in range(100):
        names: dict = {}
        exec(f"def f(x):\n    return x + {n}", names)
        jitney.jit(names["f"]).trace(1.0)
        if n == 0:
            kept.append(names["f"])
        del names
        if n == 30:
            gc.collect()
            slow_calls._most_histories = 0
    codes = [history.code() for history in slow_calls._histories.values()]
    assert kept[0].__code__ in codes and len(codes) < 100 - 20


# --- programs -------------------------------------------------------------------------------------


def unrolled(steps: int):
    def rnn(x):
        for _ in range(steps):
            y = x * 2
            x = y + 1
        return x

    return rnn


def test_a_loop_that_is_unrolled() -> None:
    rnn = unrolled(slow_programs.LONG_PROGRAM)
    line = inspect.getsourcelines(rnn)[1] + 1
    message = "5,000 iterations of this Python loop.*lax.scan"
    with pytest.warns(jitney.PerformanceWarning, match=message) as found:
        jitney.jit(rnn).lower(1.0)
    assert [(w.filename, w.lineno) for w in found] == [(__file__, line)]


def test_a_loop_in_another_function_than_its_steps() -> None:
    def step(x):
        return x * 2 + 1

    def rnn(x):
        for _ in range(slow_programs.LONG_PROGRAM):
            x = step(x)
        return x

    line = inspect.getsourcelines(step)[1] + 1
    message = "5,000 repetitions of this line: tracing"
    with pytest.warns(jitney.PerformanceWarning, match=message) as found:
        jitney.jit(rnn).lower(1.0)
    assert [(w.filename, w.lineno) for w in found] == [(__file__, line)]


def test_loops_around_lines() -> None:
    def program(x):
        y = x * 2
        for _ in [x * 3]:
            while True:
                y = y + 1
                break
        y = sum([y * i for i in range(3)])
        for _ in range(2):
            f = lambda z: z - 1  # noqa: E731
        return f(y)

    first = program.__code__.co_firstlineno
    equations = jitney.make_jaxpr(program)(1.0).eqns
    found = {
        (str(e.primitive), e.source_info.position()[0] - first): user_code.loop_around(
            e.source_info
        )
        for e in equations
    }
    lines = {place: loop and loop[1] - first for place, loop in found.items()}
    assert lines["mul", 1] is None
    assert lines["mul", 2] is None  # what it goes over
    assert lines["add", 4] == 3
    assert lines["mul", 6] == 6
    assert lines["sub", 8] is None  # a function that a loop makes


def test_a_short_loop_and_one_that_is_rolled() -> None:
    def program():
        jitney.jit(unrolled(slow_programs.LONG_PROGRAM // 3)).lower(1.0)
        jitney.jit(lambda x: jitney.lax.fori_loop(0, 10_000, lambda i, x: x * 2 + 1, x)).lower(1.0)

    silent(program)


def test_long_programs_of_other_kinds() -> None:
    lines = "\n".join(["    x = x + 1"] * (slow_programs.LONG_PROGRAM + 1))
    names: dict = {}
    exec(f"def f(x):\n{lines}\n    return x", names)

    def program():
        jitney.jit(names["f"]).lower(1.0)

    silent(program)


def host(x):
    return np.asarray(x) + 1


def test_a_host_call_in_a_loop() -> None:
    def program():
        def step(i, x):
            return jitney.pure_callback(host, x, x)

        jitney.jit(lambda x: jitney.lax.fori_loop(0, 500, step, x)).lower(jnp.float32(0))

    check(program, 2, "pure_callback of host at", "Instead: use the same function from jax.numpy")


def test_a_host_call_in_a_while_loop() -> None:
    def program():
        def step(x):
            return jitney.pure_callback(host, x, x)

        jitney.jit(lambda x: jitney.lax.while_loop(lambda x: x < 9, step, x)).lower(jnp.float32(0))

    check(program, 2, "in each iteration of a loop")


def test_host_calls_that_are_few_or_show_something() -> None:
    def program():
        def step(i, x):
            jitney.debug.print("{}", x)
            return jitney.lax.cond(
                x > 400, lambda x: jitney.pure_callback(host, x, x), lambda x: x + 1, x
            )

        def short(i, x):
            return jitney.pure_callback(host, x, x)

        jitney.jit(lambda x: jitney.lax.fori_loop(0, 500, step, x)).lower(jnp.float32(0))
        jitney.jit(lambda x: jitney.lax.fori_loop(0, 9, short, x)).lower(jnp.float32(0))
        jitney.jit(lambda x: short(0, x)).lower(jnp.float32(0))

    silent(program)


# --- arrays ---------------------------------------------------------------------------------------


def test_float64_of_numpy_at_each_call() -> None:
    x = np.ones((500, 300))

    def program():
        total = jitney.jit(lambda x: x.sum())
        for _ in range(10):
            total(x)

    check(program, 3, "float64[500, 300]", "converts to float32", "x = jnp.asarray(x)")


@pytest.mark.parametrize(
    ("x", "calls"),
    [
        (np.ones(150_000), slow_calls.MANY_COPIES - 1),
        (np.ones(100), 10),
        (np.ones(300_000, np.float32), 10),
    ],
    ids=["not often", "small", "float32"],
)
def test_other_arrays_of_numpy(x, calls) -> None:
    def program():
        total = jitney.jit(lambda x: x.sum())
        for _ in range(calls):
            total(x)

    silent(program)


def test_float64_that_stays_so() -> None:
    x = np.ones(150_000)

    def program():
        total = jitney.jit(lambda x: x.sum())
        with jitney.enable_x64(True):
            for _ in range(10):
                total(x)

    silent(program)


def test_many_bytes_that_are_closed_over(monkeypatch) -> None:
    monkeypatch.setattr(slow_programs, "LARGE_CONSTANTS", 4000)
    large = jnp.ones(1000)

    def program():
        jitney.jit(lambda i: large[i])(3)

    check(program, 1, "closes over 1 array of 0.004 MB", "Pass large arrays as arguments")
    monkeypatch.setattr(slow_programs, "LARGE_CONSTANTS", 4001)
    silent(program)


# --- the option -----------------------------------------------------------------------------------

PROGRAM = """
import jitney
for n in range(30):
    jitney.jit(lambda x: x * n)(1.0)
"""


@pytest.mark.parametrize("value", [None, "0"])
def test_the_environment_turns_them_off(value, monkeypatch) -> None:
    monkeypatch.delenv("JITNEY_PERFORMANCE_WARNINGS", raising=False)
    if value is not None:
        monkeypatch.setenv("JITNEY_PERFORMANCE_WARNINGS", value)
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.count("<string>:4: PerformanceWarning: ") == (value is None)
    assert done.stderr.count("Warning") == (value is None)


def test_the_option_turns_them_off() -> None:
    def program():
        for n in range(30):
            jitney.jit(lambda x: x * n)(1.0)  # noqa: B023

    jitney.config.update(OPTION, False)
    silent(program)


def test_programs_without_values_of_their_constants_are_walked():
    """Libraries keep such programs in the parameters of their operations."""
    constant = np.ones(3, np.float32)
    closed = jitney.make_jaxpr(jitney.jit(lambda x: x + 1))(1.0)
    inner = jitney.make_jaxpr(lambda x: x + constant)(1.0).jaxpr
    assert inner.constvars and not inner.is_closed and inner.known_consts == []
    [equation] = closed.eqns
    holder = closed.replace(eqns=[equation.replace(params={**equation.params, "jaxpr": inner})])
    assert list(executable.constants_of(holder)) == []
    slow_programs.warn_of(holder, "holder")
    known = inner.with_consts([constant])
    holder = closed.replace(eqns=[equation.replace(params={**equation.params, "jaxpr": known})])
    assert [x is constant for x in executable.constants_of(holder)] == [True]
