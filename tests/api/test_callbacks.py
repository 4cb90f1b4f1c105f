"""Python functions called from programs: values, order, what transformations do, errors, as in JAX."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.helpers.both import in_both
from tests.helpers.oracle import answer

import jitney

BOTH = pytest.mark.parametrize("name", ["jitney", pytest.param("jax", marks=pytest.mark.live)])


def library(name: str) -> tuple[Any, Any, Any]:
    """(jax, jax.numpy, io_callback) of an implementation."""
    experimental = importlib.import_module(f"{name}.experimental")
    jax = importlib.import_module(name)
    return jax, importlib.import_module(f"{name}.numpy"), experimental.io_callback


def f32(jax: Any, *shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, np.float32)


def printed(name: str, program: Callable[[Any, Any], Any]) -> tuple[str, list[np.ndarray]]:
    """What a program prints, and its results."""
    jax, jnp, _ = library(name)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        results = [np.asarray(x) for x in jax.tree_util.tree_leaves(program(jax, jnp))]
        jax.effects_barrier()
    return out.getvalue(), results


def same_prints(program: Callable[[Any, Any], Any]) -> list[str]:
    """The lines that a program prints: prints and results of both libraries must be the same."""
    ours, mine = printed("jitney", program)
    theirs, yours = answer(lambda: printed("jax", program))
    assert ours == theirs
    for a, b in zip(mine, yours, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    return ours.splitlines()


# --- what is printed, and when --------------------------------------------------------------------


def shown(jax: Any, x: Any, *, ordered: bool = False) -> Any:
    jax.debug.print("x = {}", x, ordered=ordered)
    return x


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "eager": lambda jax, jnp: shown(jax, 1.0),
    "jit": lambda jax, jnp: jax.jit(lambda x: shown(jax, x))(1.0),
    "no result": lambda jax, jnp: jax.jit(lambda x: jax.debug.print("{}", x))(1.0),
    "nested jit": lambda jax, jnp: jax.jit(jax.jit(lambda x: shown(jax, x)))(jnp.arange(3.0)),
    "static": lambda jax, jnp: jax.debug.print("{} {s} {}", 1, None, s="text"),
    "containers": lambda jax, jnp: jax.debug.print("{x[0]} {x[1]}", x=(jnp.ones(2), "s")),
    "specifiers": lambda jax, jnp: jax.debug.print("{:.3f}|{:5}|{!r}", 1.5, 2.0, jnp.ones(2)),
    "no placeholders": lambda jax, jnp: jax.debug.print("{{}} braces"),
    "more than asked for": lambda jax, jnp: jax.debug.print("a", 1, skip_format_check=True),
    "keys": lambda jax, jnp: jax.debug.print("{}", jax.random.key(3)),
    "two calls": lambda jax, jnp: jax.debug.print(ordered=True)("x {}", 3),
    "vmap": lambda jax, jnp: jax.vmap(lambda x: shown(jax, x))(jnp.arange(3.0)),
    "vmap of some": lambda jax, jnp: jax.vmap(
        lambda x, y: jax.debug.print("{} {y}", x, y=y), in_axes=(1, None)
    )(jnp.ones((2, 3)), 4.0),
    "vmap ordered": lambda jax, jnp: jax.jit(
        jax.vmap(lambda x: shown(jax, shown(jax, x, ordered=True) + 10, ordered=True))
    )(jnp.arange(2.0)),
    "unmapped": lambda jax, jnp: jax.vmap(lambda x: shown(jax, 7.0) + x)(jnp.arange(3.0)),
    "jvp": lambda jax, jnp: jax.jvp(lambda x: jnp.sin(shown(jax, x)), (1.0,), (1.0,)),
    "grad": lambda jax, jnp: jax.grad(lambda x: jnp.sin(shown(jax, x * 3)))(1.0),
    "grad of jit": lambda jax, jnp: jax.grad(jax.jit(lambda x: jnp.sin(shown(jax, x))))(1.0),
    "jit of grad": lambda jax, jnp: jax.jit(jax.grad(lambda x: jnp.sin(shown(jax, x))))(1.0),
    "grad of linear jit": lambda jax, jnp: jax.grad(
        jax.jit(lambda x: (jax.debug.print("here"), 3 * x)[1])
    )(1.0),
    "hessian": lambda jax, jnp: jax.jacfwd(jax.grad(lambda x: jnp.sin(shown(jax, x))))(1.0),
    "scan": lambda jax, jnp: jax.lax.scan(
        lambda c, x: (c + shown(jax, x, ordered=True), shown(jax, c, ordered=True)),
        0.0,
        jnp.arange(3.0),
    ),
    "grad of scan": lambda jax, jnp: jax.grad(
        lambda a: jax.lax.scan(
            lambda c, x: (jnp.sin(c) * shown(jax, x), None), a, jnp.arange(1.0, 4.0)
        )[0]
    )(0.5),
    "reverse scan": lambda jax, jnp: jax.lax.scan(
        lambda c, x: (c, shown(jax, x)), 0.0, jnp.arange(3.0), reverse=True
    ),
    "while": lambda jax, jnp: jax.lax.while_loop(
        lambda c: shown(jax, c, ordered=True) < 3, lambda c: shown(jax, c + 1, ordered=True), 0
    ),
    "fori": lambda jax, jnp: jax.lax.fori_loop(
        0, 3, lambda i, c: c + shown(jax, i, ordered=True), 0
    ),
    "vmap of while": lambda jax, jnp: jax.vmap(
        lambda x: jax.lax.while_loop(lambda c: c < 3, lambda c: shown(jax, c) + 1, x)
    )(jnp.arange(3.0)),
    "cond": lambda jax, jnp: [
        jax.lax.cond(p, lambda x: shown(jax, x), lambda x: shown(jax, -x), 1.0)
        for p in (True, False)
    ],
    "vmap of cond": lambda jax, jnp: jax.vmap(
        lambda p, x: jax.lax.cond(p, lambda x: shown(jax, x), lambda x: shown(jax, -x), x)
    )(np.array([True, False]), jnp.arange(1.0, 3.0)),
    "grad of cond": lambda jax, jnp: jax.grad(
        lambda x: jax.lax.cond(x > 0, lambda x: jnp.sin(shown(jax, x)), jnp.cos, x)
    )(1.0),
    "custom_jvp": lambda jax, jnp: jax.jit(jax.grad(lambda x: jax.nn.relu(shown(jax, x))))(1.0),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_prints_as_jax(program: str) -> None:
    assert same_prints(PROGRAMS[program])


def test_effects_happen_once_where_the_derivative_repeats_a_loop(capsys: Any) -> None:
    """JAX prints twice here: the linear part runs the loop anew."""
    jnp = jitney.numpy

    def f(x: Any) -> Any:
        def body(c: Any) -> Any:
            jitney.debug.print("{}", c[0])
            return c[0] + 1, jnp.sin(c[1])

        return jitney.lax.while_loop(lambda c: c[0] < 3, body, (0, x))[1]

    jitney.jvp(f, (1.0,), (1.0,))
    assert capsys.readouterr().out.split() == ["0", "1", "2"]
    _, linear = jitney.linearize(f, 1.0)
    assert capsys.readouterr().out.split() == ["0", "1", "2"]
    linear(1.0)
    assert not capsys.readouterr().out


def test_disable_jit() -> None:
    def program(jax: Any, jnp: Any) -> Any:
        with jax.disable_jit():
            return jax.jit(lambda x: shown(jax, x) + 1)(2.0)

    same_prints(program)


@BOTH
def test_print_options_are_those_of_the_trace(name: str, capsys: Any) -> None:
    jax, jnp, _ = library(name)
    with np.printoptions(precision=2):
        f = jax.jit(lambda x: jax.debug.print("{}", x)).lower(jnp.array([1.23456])).compile()
    f(jnp.array([1.23456]))
    jax.effects_barrier()
    assert capsys.readouterr().out == "[1.23]\n"


@BOTH
def test_log(name: str, caplog: Any) -> None:
    jax, _, _ = library(name)
    with caplog.at_level(logging.INFO, logger="jax._src.debugging"):
        jax.jit(lambda x: jax.debug.log("x is {}", x))(1.0)
        jax.effects_barrier()
    (record,) = [r for r in caplog.records if "x is" in r.getMessage()]
    assert record.getMessage() == "x is 1.0"
    assert (record.levelname, record.filename) == ("INFO", "test_callbacks.py")


# --- values ---------------------------------------------------------------------------------------


@in_both
def test_arguments_are_arrays(name: str) -> None:
    jax, jnp, io_callback = library(name)
    seen: list[Any] = []

    def host(x: Any, *, k: Any) -> Any:
        seen.append((isinstance(x, jax.Array), isinstance(k, jax.Array), x.shape, k.dtype.name))
        return {"a": x * 2, "b": np.asarray(k) + 1}

    specs = {"a": f32(jax, 3), "b": f32(jax)}
    for call in (jax.pure_callback, io_callback):
        for outer in (lambda f: f, jax.jit):
            out = outer(lambda x, _c=call: _c(host, specs, x, k=1.0))(jnp.arange(3.0))
            np.testing.assert_array_equal(out["a"], [0, 2, 4])
            assert float(out["b"]) == 2.0
    assert seen == [(True, True, (3,), "float32")] * 4


@in_both
def test_arguments_stay_what_they_were(name: str) -> None:
    """The program's memory is used again; the arrays that a callback keeps are its own."""
    jax, jnp, io_callback = library(name)
    kept: list[Any] = []

    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            io_callback(lambda v: kept.append(v), None, c * 2, ordered=True)
            return c + 1, None

        return jax.lax.scan(step, x, None, length=4)[0]

    jax.block_until_ready(jax.jit(f)(jnp.zeros(100)))
    jax.effects_barrier()
    assert [float(v[7]) for v in kept] == [0.0, 2.0, 4.0, 6.0]


@in_both
@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims",
                                    "broadcast_all", "legacy_vectorized"])  # fmt: skip
def test_vmap_methods(name: str, method: str) -> None:
    jax, jnp, _ = library(name)
    shapes: list[Any] = []

    def host(x: Any, y: Any) -> Any:
        shapes.append((x.shape, y.shape))
        return np.asarray(x) * np.asarray(y)

    def f(x: Any, y: Any) -> Any:
        return jax.pure_callback(host, f32(jax), x, y, vmap_method=method)

    for outer in (lambda f: f, jax.jit):
        shapes.clear()
        out = outer(jax.vmap(f, in_axes=(0, None)))(jnp.arange(3.0), 2.0)
        np.testing.assert_array_equal(out, [0, 2, 4])
        wanted = {
            "expand_dims": [((3,), (1,))],
            "broadcast_all": [((3,), (3,))],
            "legacy_vectorized": [((3,), ())],
        }.get(method, [((), ())] * 3)
        assert shapes == wanted
    if method == "broadcast_all":
        twice = jax.vmap(jax.vmap(f), in_axes=(0, None))(jnp.ones((2, 3)), jnp.arange(3.0))
        np.testing.assert_array_equal(twice, [[0, 1, 2]] * 2)


@in_both
def test_vmap_of_io_callbacks(name: str) -> None:
    jax, jnp, io_callback = library(name)
    seen: list[float] = []

    def f(x: Any, ordered: bool = False) -> Any:
        return io_callback(
            lambda v: seen.append(float(v)) or np.float32(v), f32(jax), x, ordered=ordered
        )

    np.testing.assert_array_equal(jax.vmap(f)(jnp.arange(3.0)), [0, 1, 2])
    assert seen == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match=r"ordered=True .* vmap batches|ordered IO"):
        jax.vmap(lambda x: f(x, True))(jnp.arange(3.0))
    with pytest.raises(NotImplementedError, match=r"vmap.of.cond"):
        jax.vmap(lambda x: jax.lax.cond(x > 1, f, lambda x: x, x))(jnp.arange(3.0))
    with pytest.raises(Exception, match=r"while_loop with (a )?batched (predicate|condition)"):
        jax.vmap(lambda x: jax.lax.while_loop(lambda c: c < 3, lambda c: f(c) + 1, x))(
            jnp.arange(3.0)
        )


@in_both
def test_io_callbacks_run_once_and_in_order(name: str) -> None:
    jax, _, io_callback = library(name)
    seen: list[tuple[str, int]] = []

    def note(what: str, x: Any) -> Any:
        return io_callback(
            lambda v: seen.append((what, int(v))) or np.int32(v),
            jax.ShapeDtypeStruct((), np.int32), x, ordered=True,
        )  # fmt: skip

    @jax.jit
    def f(n: Any) -> Any:
        note("before", n)

        def body(i: Any, c: Any) -> Any:
            c = jax.lax.cond(
                i % 2 == 0, lambda c: note("even", c), lambda c: note("odd", c) * 10, c
            )
            return c + 1

        out = jax.lax.fori_loop(0, n, body, 0)
        note("unused", 99)
        return note("after", out)

    assert int(f(3)) == 12
    jax.effects_barrier()
    assert seen == [
        ("before", 3), ("even", 0), ("odd", 1), ("even", 11), ("unused", 99), ("after", 12),
    ]  # fmt: skip


def test_pure_calls_without_use_are_dropped() -> None:
    calls: list[int] = []

    def host(x: Any) -> Any:
        calls.append(1)
        return x

    jitney.jit(lambda x: (jitney.pure_callback(host, f32(jitney), x), x)[1])(1.0)
    assert not calls


# --- derivatives ----------------------------------------------------------------------------------


@in_both
def test_custom_derivative_of_a_callback(name: str) -> None:
    jax, jnp, _ = library(name)

    @jax.custom_jvp
    def sin(x: Any) -> Any:
        return jax.pure_callback(lambda v: np.sin(np.asarray(v)), f32(jax, *x.shape), x,
                                 vmap_method="expand_dims")  # fmt: skip

    @sin.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        return sin(x), jnp.cos(x) * dx

    xs = jnp.arange(3.0)
    for f in (jax.vmap(jax.grad(sin)), jax.jit(jax.vmap(jax.grad(sin)))):
        np.testing.assert_allclose(f(xs), np.cos(np.arange(3.0)), rtol=1e-6)


@in_both
def test_derivatives_are_refused(name: str) -> None:
    jax, _, io_callback = library(name)
    with pytest.raises(ValueError, match=r"(?i)pure.callback.* (no derivative|not support JVP)"):
        jax.grad(lambda x: jax.pure_callback(np.sin, f32(jax), x))(1.0)
    with pytest.raises(ValueError, match=r"(?i)io.callback.* (no derivative|not support JVP)"):
        jax.jvp(lambda x: io_callback(np.sin, f32(jax), x), (1.0,), (1.0,))


# --- errors ---------------------------------------------------------------------------------------


@in_both
def test_exceptions(name: str) -> None:
    jax, _, io_callback = library(name)

    def host(x: Any) -> Any:
        raise KeyError("from the host")

    calls = [
        lambda x: jax.pure_callback(host, f32(jax), x),
        lambda x: io_callback(host, f32(jax), x, ordered=True),
        lambda x: (jax.debug.callback(host, x, ordered=True), x)[1],
    ]
    for call in calls:
        with pytest.raises(
            jax.errors.JaxRuntimeError, match=r"(?s)Traceback.*in host|from the host"
        ):
            jax.block_until_ready(jax.jit(call)(1.0))
            jax.effects_barrier()
    with pytest.raises(jax.errors.JaxRuntimeError, match="from the host"):
        jax.block_until_ready(calls[0](1.0))
    with pytest.raises(KeyError, match="from the host"):
        calls[2](1.0)


@in_both
@pytest.mark.parametrize("outer", ["eager", "jit"])
def test_wrong_results(name: str, outer: str) -> None:
    jax, _, _ = library(name)

    def message(host: Any) -> str:
        def f(x: Any) -> Any:
            return jax.pure_callback(host, f32(jax), x)

        with pytest.raises(jax.errors.JaxRuntimeError) as info:
            jax.block_until_ready((jax.jit(f) if outer == "jit" else f)(1.0))
        if name == "jitney":
            first = str(info.value).splitlines()[0]
            assert f"pure_callback of <lambda> ({os.path.basename(__file__)}:" in first
        return str(info.value).splitlines()[-1]

    shape, dtype = message(lambda x: np.ones(2, np.float32)), message(lambda x: 3)
    if name == "jitney":
        assert shape.endswith("of shape (), by its result_shape_dtypes, but is of shape (2,)")
        assert dtype.endswith("of dtype float32, by its result_shape_dtypes, but is of dtype int32")
    assert shape.startswith("RuntimeError: ")
    assert dtype.startswith("RuntimeError: ")
    assert re.findall(r"\d+", message(lambda x: (x, x))) == ["1", "2"]


@in_both
def test_wrong_calls(name: str) -> None:
    jax, jnp, _ = library(name)
    for error, match, call in (
        (IndexError, "index out of range", lambda: jax.debug.print("{} {}", 1)),
        (KeyError, "z", lambda: jax.debug.print("{z}", 1)),
        (ValueError, "(Unused|format string, but) .*2", lambda: jax.debug.print("{}", 1, 2)),
        (ValueError, r"(Unused|format string, but) .*'z'(.|\n)*f-string",
            lambda: jax.debug.print("{}", 1, z=2)),
        (TypeError, "expected str", lambda: jax.debug.print(jnp.ones(2))),
        (TypeError, "must be (callable|a function)", lambda: jax.debug.callback(3)),
        (TypeError, "two-call form|without a callback", lambda: jax.debug.print(None, 3)),
        (ValueError, "64-bit", lambda: jax.pure_callback(
            lambda x: x, jax.ShapeDtypeStruct((), np.float64), 1.0)),
        (ValueError, "vmap_method.*bad", lambda: jax.pure_callback(
            lambda x: x, f32(jax), 1.0, vmap_method="bad")),
        (TypeError, "position 0.*str|str.*position 0", lambda: jax.pure_callback(
            lambda x: x, f32(jax), "a")),
        (AttributeError, "dtype", lambda: jax.pure_callback(lambda x: x, 3.0, 1.0)),
        (NotImplementedError, "vmap_method=None", lambda: jax.vmap(
            lambda x: jax.pure_callback(lambda x: x, f32(jax), x))(jnp.ones(2))),
    ):  # fmt: skip
        with pytest.raises(error, match=match):
            call()


# --- programs within callbacks --------------------------------------------------------------------


def test_a_callback_may_call_jitted_functions() -> None:
    jnp = jitney.numpy
    inner = jitney.jit(lambda x: jnp.sin(x) @ x)

    def host(x: Any) -> Any:
        return inner(x)  # traced, compiled and run while the outer program runs

    def f(x: Any) -> Any:
        return jitney.pure_callback(host, f32(jitney), x) + 1

    x = jnp.arange(200.0).reshape(200)
    wanted = float(np.sin(np.arange(200.0)) @ np.arange(200.0)) + 1
    np.testing.assert_allclose(jitney.jit(f)(x), wanted, rtol=1e-4)
    np.testing.assert_allclose(f(x), wanted, rtol=1e-4)


def test_a_callback_may_call_the_function_that_called_it() -> None:
    @jitney.jit
    def f(n: Any) -> Any:
        return jitney.pure_callback(step, jitney.ShapeDtypeStruct((), np.int32), n) + 1

    def step(n: Any) -> Any:
        return f(n - 1) if n > 0 else np.int32(0)

    assert int(f(np.int32(5))) == 6


def test_a_callback_within_a_trace_sees_no_trace() -> None:
    jnp = jitney.numpy
    kinds: list[bool] = []

    def look(x: Any) -> None:
        kinds.append(isinstance(jnp.sin(x) + 1, jitney.Array))
        float(jnp.sin(x))

    jitney.grad(lambda x: (jitney.debug.callback(look, jnp.exp(x)), x)[1])(1.0)
    jitney.jvp(lambda x: (jitney.debug.callback(look, jnp.exp(x)), x)[1], (1.0,), (1.0,))
    assert kinds == [True, True]


def test_many_threads() -> None:
    jnp = jitney.numpy
    lock = threading.Lock()

    def host(x: Any) -> Any:
        with lock:
            return jitney.jit(lambda v: v * 2)(x)

    f = jitney.jit(lambda x: jitney.pure_callback(host, f32(jitney, 5000), jnp.sin(x)) + 1)
    results: dict[int, Any] = {}

    def work(i: int) -> None:
        for _ in range(10):
            results[i] = np.asarray(f(jnp.full(5000, float(i))))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=60)
        assert not t.is_alive()
    for i, out in results.items():
        np.testing.assert_allclose(out, np.full(5000, 2 * np.sin(i) + 1), rtol=1e-5)


# --- text -----------------------------------------------------------------------------------------


def test_programs_print_as_jax() -> None:
    def host(x: Any, y: Any) -> Any:
        return x

    def text(name: str, method: str) -> str:
        jax, jnp, _ = library(name)

        def f(x: Any, y: Any) -> Any:
            jax.debug.callback(host, x, y)
            return jax.pure_callback(host, f32(jax), x, y, vmap_method=method)

        out = str(jax.make_jaxpr(jax.vmap(f, in_axes=(0, None)))(jnp.arange(3.0), 1.0))
        return re.sub("0x[0-9a-fX]+", "0x", out)

    for method in ("sequential", "expand_dims", "broadcast_all", "legacy_vectorized"):
        assert text("jitney", method) == answer(lambda: text("jax", method))  # noqa: B023


class Keeping(logging.Handler):
    """Keeps the records of errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextlib.contextmanager
def errors_logged() -> Iterator[list[logging.LogRecord]]:
    handler = Keeping()
    logging.getLogger().addHandler(handler)
    try:
        yield handler.records
    finally:
        logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize("how", ["eager", "jit", "vmap", "eager loop", "jitted loop"])
@pytest.mark.parametrize("kind", ["pure", "io", "debug", "print"])
def test_what_a_callback_raises_is_logged(kind: str, how: str) -> None:
    """Once, besides being raised, by the loggers that JAX has for it."""

    def fail(*_: Any) -> Any:
        raise RuntimeError("of the callback")

    def found(name: str) -> list[tuple[str, str, str, bool]]:
        jax, jnp, io_callback = library(name)

        def call(x: Any) -> Any:
            if kind == "pure":
                return jax.pure_callback(fail, x, x, vmap_method="sequential")
            if kind == "io":
                return io_callback(fail, x, x)
            if kind == "debug":
                jax.debug.callback(fail, x)
            else:
                jax.debug.callback(lambda x: print(f"{x:d}"), x)
            return x

        def loop(x: Any) -> Any:
            return jax.lax.fori_loop(0, 2, lambda _, c: call(c), x)

        x = jnp.ones((2,) if how == "vmap" else ())
        f = {
            "eager": call, "jit": jax.jit(call), "vmap": jax.vmap(call), "eager loop": loop,
            "jitted loop": jax.jit(loop),
        }[how]  # fmt: skip
        with errors_logged() as records:
            try:
                jax.block_until_ready(f(x))
                jax.effects_barrier()
            except Exception as error:
                assert str(error)
            else:
                raise AssertionError("nothing was raised")
        return sorted({(r.name, r.levelname, r.getMessage(), bool(r.exc_info)) for r in records})

    ours, theirs = found("jitney"), answer(lambda: found("jax"))
    assert ours == theirs != []
    assert all(record[-1] for record in ours)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("kind", ["pure", "io"])
@pytest.mark.parametrize("result", [np.zeros(3, np.float32), np.int32(1)], ids=["shape", "dtype"])
def test_a_result_of_another_type_is_raised_but_not_logged(
    result: Any, kind: str, compiled: bool
) -> None:
    def found(package: str) -> list[Any]:
        library = importlib.import_module(package)
        call = getattr(library, "pure_callback", None)
        if kind == "io":
            call = importlib.import_module(f"{package}.experimental").io_callback
        of = library.ShapeDtypeStruct((), "float32")

        def f(x: Any) -> Any:
            return call(lambda _: result, of, x)

        with errors_logged() as records:
            try:
                library.block_until_ready((library.jit(f) if compiled else f)(1.0))
            except Exception as error:
                return [type(error).__name__, len(records)]
        return ["returns", len(records)]

    assert found("jitney") == answer(lambda: found("jax"))


@pytest.mark.parametrize("how", ["eager", "jit"])
def test_what_a_callback_raises_is_shown_once(how: str) -> None:
    """Its traceback has the user's frames, and stderr has no second one."""
    program = """if True:
        import sys
        import jax, jax.numpy as jnp
        def fail(x):
            raise ValueError("of the callback")
        def call(x):
            return jax.pure_callback(fail, jax.ShapeDtypeStruct((), jnp.float32), x)
        (jax.jit(call) if sys.argv[1] == "jit" else call)(1.0)
    """
    command = [sys.executable, "-m", "jitney", "-c", program, how]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr.count("ValueError: of the callback") == 1
    assert "in fail" in done.stderr and "callback.py" not in done.stderr


def test_prints_of_parts_show_whole_arrays_with_each() -> None:
    """Outside of programs, too, where JAX shows the whole once."""
    program = """if True:
        import jax, numpy as np
        mesh = jax.make_mesh((4,), ("i",))
        x = jax.device_put(np.arange(8), jax.NamedSharding(mesh, jax.P("i")))
        for args in ((x, np.ones(1, int)), (np.int32(5), x)):
            jax.debug.print("{} {}", *args, partitioned=True)
        jax.effects_barrier()
    """
    command = [sys.executable, "-m", "jitney", "-c", program]
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **flags})
    parts = ["[0 1]", "[2 3]", "[4 5]", "[6 7]"]
    shown = [f"{part} [1]" for part in parts] + [f"5 {part}" for part in parts]
    assert sorted(done.stdout.splitlines()) == sorted(shown), done.stderr


@in_both
def test_callbacks_are_not_transposed(name: str) -> None:
    jax, jnp, _ = library(name)

    def f(x: Any) -> Any:
        return jax.experimental.io_callback(lambda x: x, x, x)

    with pytest.raises(ValueError, match=r"(?i)io.callback.* transpose"):
        jax.linear_transpose(f, jnp.float32(1))(jnp.float32(1))


@pytest.mark.parametrize("call", ["pure_callback", "io_callback"])
def test_callbacks_are_given_strongly_typed_arrays(call: str) -> None:
    def run(jax: Any) -> list[bool]:
        seen: list[bool] = []

        def callback(x: Any) -> np.ndarray:
            seen.append(x.weak_type)
            return np.asarray(x)

        experimental = importlib.import_module(f"{jax.__name__}.experimental")
        make = jax.pure_callback if call == "pure_callback" else experimental.io_callback
        for x in (2.0, jax.numpy.asarray(2.0), 3):
            shape = jax.typeof(jax.numpy.asarray(x))
            make(callback, shape, x)
            jax.jit(lambda x, shape=shape: make(callback, shape, x))(x)
        jax.effects_barrier()
        return seen

    assert run(jitney) == answer(lambda: run(importlib.import_module("jax")))
