"""Derivatives of loops in loops, and of users' rules in them: what is linear, and what is not."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import answer

from jitney.extend.core import Primitive

Library = tuple[Any, Any, Any]  # jax, jax.numpy, jax.lax


def library(name: str) -> Library:
    jax, jnp, lax = (importlib.import_module(name + part) for part in ("", ".numpy", ".lax"))
    return jax, jnp, lax


def same(program: Callable[[Library], Any]) -> None:
    """Compares what `program` makes of jitney and of JAX."""
    found, wanted = leaves_of(program, "jitney"), answer(lambda: leaves_of(program, "jax"))
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def leaves_of(program: Callable[[Library], Any], name: str) -> list[np.ndarray]:
    jax, jnp, lax = library(name)
    return [np.asarray(x) for x in jax.tree.leaves(program((jax, jnp, lax)))]


# --- loops whose derivative is not needed ---------------------------------------------------------


def custom_jvp_of(jax: Any, f: Callable[[Any], Any]) -> Any:
    g = jax.custom_jvp(f)
    g.defjvp(lambda primals, tangents: jax.jvp(f, primals, tangents))
    return g


# Programs within the loop: some of their operands have tangents, some have none.
WITHIN: dict[str, Callable[[Library, Callable[[Any], Any]], Any]] = {
    "jit": lambda lib, f: lib[0].jit(f),
    "scan": lambda lib, f: lambda c: lib[2].scan(lambda c, _: (f(c), None), c, None, length=2)[0],
    "cond": lambda lib, f: lambda c: lib[2].cond(c[0] < 9, f, lambda c: c, c),
    "checkpoint": lambda lib, f: lib[0].checkpoint(f),
    "custom_jvp": lambda lib, f: custom_jvp_of(lib[0], f),
    "while": lambda lib, f: lambda c: lib[2].while_loop(lambda c: c[0] < 2, f, f(c)),
}
BEFORE: dict[str, Callable[[Library], Any]] = {
    "floor": lambda lib: lib[1].floor,
    "stop_gradient": lambda lib: lib[2].stop_gradient,
    "nothing": lambda lib: lambda x: x,
}
AFTER = {"floor": BEFORE["floor"], "stop_gradient": BEFORE["stop_gradient"]}


def looping(lib: Library, within: str, before: str, after: str) -> Callable[[Any], Any]:
    """A scan whose body has a while loop of which no derivative is wanted."""
    _, jnp, lax = lib
    step = WITHIN[within](lib, lambda c: (c[0] + 1, c[1] * jnp.cos(c[1])))

    def body(c: Any, row: Any) -> Any:
        _, x = lax.while_loop(lambda c: c[0] < 3, step, (jnp.int32(0), BEFORE[before](lib)(c)))
        return jnp.sin(c) * row + AFTER[after](lib)(x), c

    return lambda x: lax.scan(body, x, jnp.arange(1.0, 4.0))[0]


@pytest.mark.parametrize("within", WITHIN)
@pytest.mark.parametrize(("before", "after"), [("floor", "floor"), ("nothing", "floor")])
def test_loops_without_derivatives(within: str, before: str, after: str) -> None:
    def program(lib: Library) -> Any:
        f = looping(lib, within, before, after)
        x = lib[1].float32(1.3)
        return lib[0].grad(f)(x), lib[0].jvp(lib[0].grad(f), (x,), (x,))

    same(program)


def test_the_message_of_a_while_loop_is_not_hidden() -> None:
    jax, _, lax = library("jitney")
    step = jax.jit(lambda c: (c[0] + 1, c[1] * c[1]))

    def f(x: Any) -> Any:
        def body(c: Any, _: Any) -> Any:
            return lax.while_loop(lambda c: c[0] < 3, step, (0, c))[1], None

        return lax.scan(body, x, None, length=2)[0]

    with pytest.raises(ValueError, match="have no reverse-mode derivative"):
        jax.grad(f)(1.5)


# --- users' rules under vmap ----------------------------------------------------------------------


def test_zeros_stay_symbols_under_vmap() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, _ = lib
        seen: list[Any] = []

        @jax.custom_jvp
        def f(x: Any, y: Any) -> Any:
            return x * y

        def rule(primals: Any, tangents: Any) -> Any:
            seen.append([(type(t).__name__ == "SymbolicZero", t.shape) for t in tangents])
            return f(*primals), tangents[1]

        f.defjvp(rule, symbolic_zeros=True)
        x = jnp.arange(3.0)
        values = [
            jax.jvp(lambda x: jax.vmap(f)(x, x + 1), (x,), (x,)),
            jax.jvp(lambda x: jax.vmap(lambda a, b: f(b, a))(x, jnp.ones(3)), (x,), (x,)),
            jax.grad(lambda x: jax.vmap(f, (0, None))(x, 2.0).sum())(x),
        ]
        return values, seen

    same(program)


def test_zeros_stay_symbols_for_custom_vjp_under_vmap() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, _ = lib
        seen: list[Any] = []

        @jax.custom_vjp
        def f(x: Any, y: Any) -> Any:
            return x * y, y

        def fwd(x: Any, y: Any) -> Any:
            seen.append([x.perturbed, y.perturbed])
            return f(x.value, y.value), (x.value, y.value)

        def bwd(kept: Any, cts: Any) -> Any:
            seen.append([(type(ct).__name__ == "SymbolicZero", ct.shape) for ct in cts])
            return kept[1] * cts[0], None

        f.defvjp(fwd, bwd, symbolic_zeros=True)
        x = jnp.arange(3.0)
        return jax.grad(lambda x: jax.vmap(f, (0, None))(x, 2.0)[0].sum())(x), seen

    same(program)


def test_collectives_in_rules() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, lax = lib

        @jax.custom_jvp
        def f(x: Any) -> Any:
            return lax.psum(x, "i")

        f.defjvp(lambda ps, ts: (lax.psum(ps[0], "i"), 3 * ts[0]))

        @jax.custom_vjp
        def g(x: Any) -> Any:
            return lax.psum(x, "i")

        g.defvjp(lambda x: (g(x), None), lambda _, ct: (lax.psum(ct, "i"),))
        rows = jnp.arange(4.0)
        found = []
        for h in (f, g):
            along = jax.vmap(lambda _, x, h=h: jax.jit(h)(x), (0, None), axis_name="i")
            found += [along(rows, 2.0), jax.grad(lambda x, a=along: a(rows, x)[0])(2.0)]
        return found

    same(program)


def test_a_rule_closes_over_a_batched_value() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, _ = lib

        def outer(z: Any) -> Any:
            def f(x: Any) -> Any:
                g = jax.custom_jvp(lambda y: x * y)
                g.defjvp(lambda ps, ts: (x * ps[0], 5 * x * ts[0]))
                return g(z)

            return jax.vmap(f)(jnp.arange(3.0))

        return jax.jvp(outer, (1.0,), (2.0,))

    same(program)


# --- users' rules in programs ---------------------------------------------------------------------


def test_a_linear_function_with_a_rule_is_transposed() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, lax = lib

        @jax.custom_jvp
        def total(x: Any, scale: Any) -> Any:
            return x.sum() * scale

        total.defjvp(lambda ps, ts: (total(*ps), total(ts[0], ps[1])))
        x = jnp.arange(6.0).reshape(2, 3)
        rows = lambda x: lax.scan(lambda c, row: (c, total(row, 2.0)), 0.0, x)[1].sum()  # noqa: E731
        return jax.grad(total)(x, 3.0), jax.grad(rows)(x), jax.grad(jax.checkpoint(rows))(x)

    same(program)


def test_forward_functions_are_left_out_where_nothing_is_kept() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, _ = lib
        f = jax.custom_vjp(jnp.tan)
        f.defvjp(
            lambda x: (jnp.sin(x), (x,)),
            lambda kept, ct: (jnp.cos(kept[0]) * ct,),
            optimize_remat=True,
        )
        x = jnp.float32(0.7)
        value = jax.remat(f)
        return [
            jax.value_and_grad(lambda x: value(x) ** 2)(x),
            jax.vmap(jax.grad(lambda x: value(x) ** 2))(jnp.stack([x, 2 * x])),
        ]

    same(program)


def test_integers_have_no_tangents_in_custom_vjp() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, lax = lib
        f = jax.custom_vjp(lambda x, n: (jnp.sin(x) * n, n + 1))
        f.defvjp(lambda x, n: (f(x, n), jnp.cos(x) * n), lambda kept, ct: (kept * ct[0], None))

        def loop(x: Any) -> Any:
            return lax.scan(lambda c, _: (f(*c), None), (x, jnp.int32(2)), None, length=3)[0][0]

        x = jnp.arange(3.0)
        return jax.vmap(jax.grad(loop))(x), jax.grad(lambda x: jax.vmap(loop)(x).sum())(x)

    same(program)


def test_one_cotangent_may_stand_for_a_subtree() -> None:
    def program(lib: Library) -> Any:
        jax, _, _ = lib
        f = jax.custom_vjp(lambda pair, z: pair[0] * pair[1] * z)
        f.defvjp(lambda pair, z: (f(pair, z), None), lambda _, ct: (2 * ct, None))
        return jax.grad(f, (0, 1))((1.0, 2.0), 3.0)

    same(program)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_rules_of_other_types_are_refused(shape: Any) -> None:
    jax, jnp, lax = library("jitney")
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(lambda ps, ts: ((jnp.zeros(shape), ps[0]), (jnp.zeros(shape), ts[0])))
    with pytest.raises(TypeError, match="JVP rule <lambda> of the function <lambda> must"):
        jax.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0])(1.0)


# --- derivatives as values ------------------------------------------------------------------------


def test_derivatives_are_pytrees() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, _ = lib
        pulled = jax.jit(lambda x: jax.vjp(jnp.sin, x)[1])(1.0)
        pushed = jax.jit(lambda x: jax.linearize(jnp.sin, x)[1])(1.0)
        g = jax.custom_vjp(lambda x: x**3)
        g.defvjp(lambda x: jax.vjp(lambda x: x**3, x), lambda pull, ct: pull(ct))
        return [
            pulled(2.0), pushed(2.0), jax.jit(lambda f, ct: f(ct))(pulled, 3.0),
            jax.jit(lambda x: jax.vjp(g, x)[1])(2.0)(1.0), jax.jit(jax.grad(g))(2.0),
        ]  # fmt: skip

    same(program)


def test_impl_may_call_what_impl_was() -> None:
    jax, _, lax = library("jitney")
    sin_p: Primitive = lax.sin_p
    before, calls = sin_p.impl, []
    try:
        sin_p.def_impl(lambda x, **params: calls.append(1) or before(x, **params))
        value = jax.linearize(jax.remat(lambda x: lax.sin(lax.sin(x))), 2.0)[0]
    finally:
        sin_p.def_impl(before)
    np.testing.assert_allclose(value, np.sin(np.sin(2.0)), rtol=1e-6)
    assert len(calls) == 2
    assert sin_p.user_impl is None


# --- loops outside of programs --------------------------------------------------------------------


def test_loops_with_jit_disabled() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, lax = lib
        start = np.array(1.0, np.float32)

        def add(carry: Any) -> Any:
            x, total = carry
            x += 1  # writes to a NumPy array
            return x, total + x

        with jax.disable_jit():
            return [
                lax.while_loop(lambda c: c[0] < 10, add, (start, start)),
                jax.vmap(lambda y: lax.while_loop(lambda x: x < 9.0, lambda x: x + 1.0, y))(
                    jnp.array([3.0, 4.5])
                ),
                jax.grad(lambda y: lax.while_loop(lambda x: x < 9.0, lambda x: x * 2.0, y))(3.0),
            ]

    same(program)


# --- nothing, infinities, NaN ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "positions", "axis"),
    [((0,), (2,), 0), ((0, 3), (2, 3), 0), ((0, 3), (0, 3), 1), ((3, 0), (3, 0), 0)],
)
def test_elements_of_empty_arrays(shape: Any, positions: Any, axis: int) -> None:
    def program(lib: Library) -> Any:
        jax, jnp, lax = lib
        x, at = jnp.ones(shape), jnp.zeros(positions, jnp.int32)

        def taken(x: Any) -> Any:
            return jnp.take_along_axis(x, at, axis=axis)

        def ordered(x: Any) -> Any:
            return jnp.sort(x, axis=axis)

        return [
            [f(x), jax.grad(lambda x, f=f: f(x).sum())(x), jax.linear_transpose(taken, x)(taken(x))]
            for f in (
                taken,
                ordered,
                jax.jit(taken),
                jax.jit(ordered),
                lambda x: lax.top_k(x, 0)[0],
            )
        ]

    same(program)


def test_logaddexp_at_infinities() -> None:
    def program(lib: Library) -> Any:
        jax, jnp, _ = lib
        values = np.array([0.0, 1.0, np.inf, -np.inf, np.nan], np.float32)
        x, y = (v.ravel() for v in np.meshgrid(values, values))
        return [jax.vmap(jax.grad(f, (0, 1)))(x, y) for f in (jnp.logaddexp, jnp.logaddexp2)] + [
            jax.vmap(jax.grad(jax.nn.softplus))(values)
        ]

    same(program)


def test_tolerances_by_dtype() -> None:
    _, jnp, _ = library("jitney")
    check = importlib.import_module("jitney.test_util").check_grads
    check(jnp.sin, (jnp.float32(1.0),), 2, atol={np.float32: 1e-2}, rtol={jnp.bfloat16: 1.0})
    with pytest.raises(AssertionError):
        check(jnp.sin, (jnp.float32(1.0),), 1, atol={np.float32: 0.0}, rtol={np.float32: 0.0})
