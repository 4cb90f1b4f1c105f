"""Functions of control flow are traced and compiled once for operands of the same types, as in JAX."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.both import of_both

import jitney
from jitney.core.settings import caches
from jitney.runtime.compilation import compiling

XS = np.arange(5, dtype=np.float32)


class Program:
    """Functions of control flow of one library that count how often they are traced."""

    def __init__(self, j: Any) -> None:
        self.j, self.runs = j, 0

    def step(self) -> Callable[..., Any]:
        def step(c: Any, x: Any) -> Any:
            self.runs += 1
            return c + self.j.numpy.sin(x), c * x

        return step

    def of_one(self) -> Callable[..., Any]:
        def of_one(x: Any) -> Any:
            self.runs += 1
            return self.j.numpy.cos(x) * 2

        return of_one

    def of_two(self) -> Callable[..., Any]:
        def of_two(x: Any, y: Any) -> Any:
            self.runs += 1
            return x + y * x

        return of_two

    def less(self) -> Callable[..., Any]:
        def less(c: Any) -> Any:
            self.runs += 1
            return c[0] < 5

        return less

    def counted(self) -> Callable[..., Any]:
        def counted(c: Any) -> Any:
            self.runs += 1
            return c[0] + 1, c[1] * 1.5

        return counted


def scan(p: Program) -> Callable[[], Any]:
    step = p.step()
    return lambda: p.j.lax.scan(step, 0.0, XS)


def scanned(p: Program, of: Callable[[Any], Any], x: Any = 1.0) -> Callable[[], Any]:
    """A transformation, made anew at each call, of a function that scans by the same body."""
    step = p.step()
    return lambda: of(lambda x: p.j.lax.scan(step, x, XS)[0])(x)


def scan_that_closes_over_arrays(p: Program) -> Callable[[], Any]:
    held = p.j.numpy.ones(3)

    def step(c: Any, x: Any) -> Any:
        p.runs += 1
        return c + held.sum(), x

    return lambda: p.j.lax.scan(step, 0.0, XS)


def two_scans_that_close_over_a_tracer(p: Program) -> Callable[[], Any]:
    def both(x: Any) -> Any:
        def step(c: Any, y: Any) -> Any:
            p.runs += 1
            return c + x * y, y

        return p.j.lax.scan(step, x, XS)[0] + p.j.lax.scan(step, x * 2, XS)[0]

    return lambda: p.j.jit(lambda x: both(x))(1.0)


def while_loop(p: Program) -> Callable[[], Any]:
    less, counted = p.less(), p.counted()
    return lambda: p.j.lax.while_loop(less, counted, (0, 1.0))


def batched_while_loop(p: Program) -> Callable[[], Any]:
    less, counted = p.less(), p.counted()
    return lambda: p.j.vmap(lambda x: p.j.lax.while_loop(less, counted, (0, x)))(XS)


def tangent_of_while_loop(p: Program) -> Callable[[], Any]:
    less, counted = p.less(), p.counted()
    return lambda: p.j.jvp(lambda x: p.j.lax.while_loop(less, counted, (0, x)), (1.0,), (1.0,))


def fori_loop(p: Program, upper: Any = 5) -> Callable[[], Any]:
    of_two = p.of_two()
    return lambda: p.j.lax.fori_loop(0, upper, of_two, 1.0)


def cond(p: Program, of: Callable[[Any], Any] | None = None) -> Callable[[], Any]:
    one, other = p.of_one(), p.of_one()
    if of is None:
        return lambda: p.j.lax.cond(True, one, other, 1.0)
    return lambda: of(lambda x: p.j.lax.cond(x > 0, one, other, x))(1.0)


def cond_that_closes_over_arrays(p: Program) -> Callable[[], Any]:
    a, b = p.j.numpy.ones(3), p.j.numpy.zeros(3)

    def one(x: Any) -> Any:
        p.runs += 1
        return x + a

    def other(x: Any) -> Any:
        p.runs += 1
        return x + b + a

    return lambda: p.j.lax.cond(True, one, other, 1.0)


def switch(p: Program) -> Callable[[], Any]:
    branches = [p.of_one(), p.of_one(), p.of_one()]
    return lambda: p.j.lax.switch(np.int32(1), branches, 1.0)


def map_rows(p: Program, **options: Any) -> Callable[[], Any]:
    of_one = p.of_one()
    return lambda: p.j.lax.map(of_one, XS, **options)


def reduce(p: Program) -> Callable[[], Any]:
    of_two = p.of_two()
    return lambda: p.j.lax.reduce(XS, np.float32(1), of_two, (0,))


def reduce_window(p: Program) -> Callable[[], Any]:
    of_two = p.of_two()
    return lambda: p.j.lax.reduce_window(XS, np.float32(1), of_two, (2,), (1,), "VALID")


def batched_custom_vjp(p: Program) -> Callable[[], Any]:
    f = p.j.custom_vjp(p.of_one())
    f.defvjp(lambda x: (x, x), lambda r, g: (g * r,))
    return lambda: p.j.vmap(f)(XS)


def batched_custom_jvp(p: Program) -> Callable[[], Any]:
    f = p.j.custom_jvp(p.of_one())
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 2))
    return lambda: p.j.vmap(f)(XS)


CASES: dict[str, Callable[[Program], Callable[[], Any]]] = {
    "scan": scan,
    "scan, closing over arrays": scan_that_closes_over_arrays,
    "scans, closing over a tracer": two_scans_that_close_over_a_tracer,
    "scan, batched": lambda p: scanned(p, p.j.vmap, XS),
    "scan, gradient": lambda p: scanned(p, p.j.grad),
    "scan, second derivative": lambda p: scanned(p, lambda f: p.j.grad(p.j.grad(f))),
    "scan, batch of gradients": lambda p: scanned(p, lambda f: p.j.vmap(p.j.grad(f)), XS),
    "scan, jacobian": lambda p: scanned(p, p.j.jacfwd),
    "scan, vjp": lambda p: scanned(p, lambda f: lambda x: p.j.vjp(f, x)[1](1.0)),
    "scan, linearize": lambda p: scanned(p, lambda f: lambda x: p.j.linearize(f, x)[1](1.0)),
    "while_loop": while_loop,
    "while_loop, batched": batched_while_loop,
    "while_loop, tangent": tangent_of_while_loop,
    "fori_loop": fori_loop,
    "fori_loop, bound in an array": lambda p: fori_loop(p, p.j.numpy.int32(5)),
    "cond": cond,
    "cond, closing over arrays": cond_that_closes_over_arrays,
    "cond, gradient": lambda p: cond(p, p.j.grad),
    "switch": switch,
    "reduce": reduce,
    "reduce_window": reduce_window,
}
# JAX traces these anew at each call.
MORE = {
    "map": map_rows,
    "custom_vjp, batched": batched_custom_vjp,
    "custom_jvp, batched": batched_custom_jvp,
}


def runs_of_three_calls(case: Callable[[Program], Callable[[], Any]], j: Any) -> list[int]:
    program = Program(j)
    call = case(program)
    counts = []
    for _ in range(3):
        before = program.runs
        call()
        counts.append(program.runs - before)
    return counts


@pytest.mark.parametrize("name", [*CASES, *MORE])
def test_a_second_call_compiles_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(jitney)
    call = {**CASES, **MORE}[name](program)
    first = call()
    if name != "scans, closing over a tracer":  # in a function that is new at each call
        name_of_step = "backend_compile_and_load"
        monkeypatch.setattr(compiling, name_of_step, lambda *_: pytest.fail("compiled again"))
    before = program.runs
    second = call()
    if name != "scans, closing over a tracer":
        assert program.runs == before
    for a, b in zip(jitney.tree.leaves(first), jitney.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


DERIVED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": lambda f: jitney.grad(f),
    "vjp": lambda f: lambda x: jitney.vjp(f, x)[1](np.float32(1)),
    "linearize": lambda f: lambda x: jitney.linearize(f, x)[1](x),
    "batch of gradients": lambda f: lambda x: jitney.vmap(jitney.grad(f))(np.stack([x, x])),
    "hessian": lambda f: jitney.hessian(f),
}
# Operands are among the residuals: the forward program does not return them.
JITTED: dict[str, Callable[[Any], Any]] = {
    "square": lambda x: (x * x).sum(),
    "nested": lambda x: (jitney.jit(lambda y: y * y)(x) * x).sum(),
    "of one operand and another": lambda x: jitney.numpy.sum(jitney.numpy.tanh(x) * x),
}


@pytest.mark.parametrize("way", DERIVED)
@pytest.mark.parametrize("name", JITTED)
def test_derivatives_of_jitted_functions_are_lowered_once(
    name: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    derived = DERIVED[way](jitney.jit(JITTED[name]))
    x = np.ones(3, np.float32)
    first = derived(x)
    with jitney.log_compiles(), caplog.at_level("DEBUG"):
        for _ in range(3):
            np.testing.assert_array_equal(derived(x), first)
    assert [r.getMessage() for r in caplog.records if "owering" in r.getMessage()] == []


@pytest.mark.parametrize("name", CASES)
def test_functions_are_traced_as_often_as_in_jax(name: str) -> None:
    case = CASES[name]
    ours, theirs = of_both(lambda j: runs_of_three_calls(case, j))
    assert ours == theirs


def test_types_settings_and_axes_trace_anew() -> None:
    p = Program(jitney)
    step = p.step()

    def total(xs: Any) -> Any:
        return jitney.lax.scan(step, xs[0], xs)[0]

    total(jitney.numpy.ones(3))
    total(jitney.numpy.ones(4))  # one row has the same type
    assert p.runs == 1
    total(np.ones(3, np.float16))
    assert p.runs == 2
    with jitney.enable_x64(True):
        assert total(np.ones(3)).dtype == np.float64
    assert p.runs == 3
    with jitney.default_matmul_precision("float32"):
        total(jitney.numpy.ones(3))
    assert p.runs == 4

    def collective(c: Any, x: Any) -> Any:
        p.runs += 1
        return c + jitney.lax.psum(x, "i"), x

    def along(rows: Any) -> Any:
        return jitney.vmap(lambda v: jitney.lax.scan(collective, 0.0 * v[0], v)[0], axis_name="i")(
            rows
        )

    np.testing.assert_array_equal(along(np.ones((2, 3), np.float32)), [6, 6])
    np.testing.assert_array_equal(along(np.ones((4, 3), np.float32)), [12] * 4)


def test_a_closure_whose_values_change_is_traced_anew() -> None:
    factor = jitney.numpy.float32(2)

    def step(c: Any, x: Any) -> Any:
        return c * factor, x

    assert jitney.lax.scan(step, 1.0, XS)[0] == 32
    factor = jitney.numpy.float32(3)
    assert jitney.lax.scan(step, 1.0, XS)[0] == 243


def test_values_of_a_trace_do_not_outlive_it() -> None:
    cell: list[Any] = [None]

    def step(c: Any, x: Any) -> Any:
        return c * cell[0], x

    def f(y: Any) -> Any:
        cell[0] = y
        return jitney.lax.scan(step, 1.0, XS)[0]

    assert jitney.jit(f)(2.0) == 32
    assert jitney.grad(f)(2.0) == 80
    np.testing.assert_array_equal(jitney.vmap(f)(XS), XS**5)
    assert jitney.jit(lambda y: f(y) + 1)(3.0) == 244


@pytest.mark.parametrize("kind", ["scan", "grad", "cond"])
def test_entries_go_with_their_functions(kind: str) -> None:
    case = {"scan": scan, "grad": lambda p: scanned(p, p.j.grad), "cond": cond}[kind]
    (cache,) = [c for c in caches.registry if c.where == "jitney.core.recording.function_traces"]
    gc.collect()
    before = cache.entries()

    def run() -> weakref.ref[Any]:
        program = Program(jitney)
        case(program)()
        return weakref.ref(program)

    program = run()
    gc.collect()
    assert program() is None
    assert cache.entries() == before


def test_what_cannot_be_kept_is_traced_at_each_call() -> None:
    class Method:
        factor = 2.0

        def step(self, c: Any, x: Any) -> Any:
            return c * self.factor, x

    class Bare:
        __slots__ = ()

        def __call__(self, c: Any, x: Any) -> Any:
            return c * 2, x

    class Unhashable:
        __hash__: Any = None

        def __call__(self, c: Any, x: Any) -> Any:
            return c * 2, x

    owner = Method()
    assert jitney.lax.scan(owner.step, 1.0, XS)[0] == 32
    owner.factor = 3.0
    assert jitney.lax.scan(owner.step, 1.0, XS)[0] == 243
    for fun in (Bare(), Unhashable()):
        for _ in range(2):
            assert jitney.lax.scan(fun, 1.0, XS)[0] == 32


def test_failures_are_not_kept() -> None:
    fails = True

    def step(c: Any, x: Any) -> Any:
        if fails:
            raise ValueError("not yet")
        return c + x, x

    with pytest.raises(ValueError, match="not yet"):
        jitney.lax.scan(step, 0.0, XS)
    fails = False
    assert jitney.lax.scan(step, 0.0, XS)[0] == 10
