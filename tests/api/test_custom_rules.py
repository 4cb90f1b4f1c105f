"""Rules given by users: how they are called, combined and checked, against real jax."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import answer, jax
from tests.helpers.rule_checks import agree

import jitney
from jitney import numpy as jnp, test_util

X = np.arange(1.0, 4.0, dtype=np.float32)


# --- custom_vmap under forward derivatives --------------------------------------------------------


def with_rule(j: Any, flags: list[Any]) -> Any:
    """A function whose rule notes what is mapped, and computes something else."""

    @j.custom_batching.custom_vmap
    def f(x, y):
        return j.numpy.sin(x) * y

    @f.def_vmap
    def rule(size, batched, x, y):
        flags.append(list(batched))
        return j.numpy.cos(x) * y, any(batched)

    return f


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0)])
def test_rules_see_no_axis_of_tangents_or_values_alone(in_axes):
    """Where values or tangents alone are mapped, the rule's derivative is batched."""
    flags: list[Any] = []

    def use(j):
        f = with_rule(j, flags)
        one = X if in_axes[0] == 0 else X[0]
        other = X + 1 if in_axes[1] == 0 else X[0]
        push = j.vmap(lambda x, t: j.jvp(lambda z: f(z, 2.0), (x,), (t,)), in_axes)
        out = push(one, other)
        assert flags.pop() == [False, False]
        return out

    agree(use)


def test_forward_jacobians_of_functions_with_rules():
    agree(lambda j: j.jacfwd(lambda x: with_rule(j, [])(x, 2.0))(X))


def test_values_and_tangents_mapped_in_part():
    """An axis in one operand's value and another's tangent: real jax returns an outer product."""
    f = jitney.custom_batching.custom_vmap(lambda x, y: jnp.sin(x) * y)
    f.def_vmap(lambda size, batched, x, y: (jnp.sin(x) * y, True))
    values, tangents = jitney.vmap(lambda x, t, u: jitney.jvp(f, (x, 2.0), (t, u)))(X, X, X + 1)
    np.testing.assert_allclose(values, np.sin(X) * 2, rtol=1e-5)
    np.testing.assert_allclose(tangents, np.cos(X) * X * 2 + np.sin(X) * (X + 1), rtol=1e-5)


def test_rules_whose_results_are_mapped_in_any_case():
    f = jitney.custom_batching.custom_vmap(jnp.sin)
    f.def_vmap(lambda size, batched, x: (jnp.broadcast_to(jnp.sin(x), (size,)), True))
    values, tangents = jitney.vmap(lambda t: jitney.jvp(f, (2.0,), (t,)))(X)
    np.testing.assert_allclose(values, np.full(3, np.sin(2.0)), rtol=1e-5)
    np.testing.assert_allclose(tangents, np.cos(2.0) * X, rtol=1e-5)


# --- arguments and combinations -------------------------------------------------------------------


def test_partial_functions_keep_their_keywords():
    def use(j):
        f = functools.partial(lambda x, y, a: x + y * a, a=0.5)
        g = j.custom_jvp(f)
        g.defjvp(lambda primals, tangents: j.jvp(f, primals, tangents))
        return g(1.0, 2.0), j.grad(lambda args: g(*args))((1.0, 2.0))

    agree(use)


@pytest.mark.parametrize("decorator", [jitney.custom_jvp, jitney.custom_batching.custom_vmap])
def test_keyword_only_arguments_are_refused(decorator):
    f = decorator(lambda x, y, *, z=None: x)
    getattr(f, "def_vmap" if hasattr(f, "def_vmap") else "defjvp")(lambda *args: None)
    with pytest.raises(TypeError, match=r"signature of <lambda> .*\n.*'y'"):
        f(1.0)
    with pytest.raises(TypeError, match="have no position: z"):
        f(1.0, 2.0, z=3.0)


def test_outer_functions_take_the_rules_of_inner_ones():
    @jitney.custom_vjp
    @jitney.custom_batching.custom_vmap
    def f(x):
        return jnp.sin(x)

    f.def_vmap(lambda size, batched, x: (jnp.cos(x), True))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (7 * ct,))
    np.testing.assert_allclose(jitney.vmap(f)(X), np.cos(X), rtol=1e-5)
    assert float(jitney.grad(f)(1.0)) == 7.0
    with pytest.raises(AttributeError, match="custom_vjp"):
        _ = jitney.custom_vjp(jnp.sin).def_vmap


# --- cotangents -------------------------------------------------------------------------------------


class Strict(list):
    """A container that cannot hold None."""


def _strict(_: Any, children: Any) -> Strict:
    assert None not in children
    return Strict(children)


jitney.tree_util.register_pytree_node(Strict, lambda x: (tuple(x), None), _strict)


def test_cotangents_of_containers_that_hold_no_none():
    f = jitney.custom_vjp(lambda x: x[0])
    f.defvjp(lambda x: (x[0], None), lambda _, ct: (Strict([3 * ct]),))
    assert list(jitney.grad(f)(Strict([1.0]))) == [3.0]


def test_none_stands_for_cotangents_within_arguments():
    f = jitney.custom_vjp(lambda x: x["a"] * x["b"][0])
    f.defvjp(lambda x: (f(x), x), lambda x, ct: ({"a": ct * 5, "b": None, "c": None},))
    found = jitney.grad(f)({"a": 2.0, "b": [3.0, 4.0], "c": None})
    assert (float(found["a"]), [float(v) for v in found["b"]]) == (5.0, [0.0, 0.0])


def test_symbolic_zeros_of_another_argument_are_refused():
    f = jitney.custom_vjp(lambda *xs: xs)
    f.defvjp(
        lambda *xs: (tuple(x.value for x in xs), None),
        lambda _, cts: (cts[1], cts[0], cts[2]),
        symbolic_zeros=True,
    )
    with pytest.raises(ValueError, match="None"):
        jitney.grad(lambda *xs: f(*xs)[2].sum())(np.ones(1), np.ones(2), np.ones(3))


def test_cotangents_of_another_precision_pass_through_gathers():
    f = jitney.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct.astype(jnp.bfloat16),))
    x = jnp.arange(4, dtype=jnp.float8_e4m3fn)
    _, pull = jitney.vjp(lambda x: f(x[jnp.array([2, 0, 2, 1])]), x)
    (found,) = pull(jnp.ones(4, jnp.float8_e4m3fn))
    assert found.dtype == jnp.bfloat16
    np.testing.assert_array_equal(np.asarray(found, np.float32), [1, 1, 2, 0])


# --- folds and windows ------------------------------------------------------------------------------


def pair(a, b):
    return a[0] * b[0], a[1] * b[0] + b[1]


def total(f):
    return lambda a, b: sum(v.sum() for v in f(a, b))


def derivatives_of_jax(f, x):
    """Results and tangents of `f` at `x` and `x + 1`, and gradients of the results' sum."""
    args = (x, x + 1)
    gradients = jax.grad(total(f), (0, 1))(*args)
    return jax.tree.leaves([f(*args), jax.jvp(f, args, (x, x))]), jax.tree.leaves(gradients)


def test_derivatives_of_folds_of_several_arrays():
    """Maps y -> a y + b are composed in order; written out, as JAX's derivative exchanges them."""

    def composed(a, b):
        out = (a[:, 0], b[:, 0])
        for k in range(1, a.shape[1]):
            out = pair(out, (a[:, k], b[:, k]))
        return out

    def folded(a, b):
        return jitney.lax.reduce((a, b), (np.float32(1), np.float32(0)), pair, (1,))

    for n in (1, 2, 3, 6, 7):
        x = np.arange(1.0, 2 * n + 1, dtype=np.float32).reshape(2, n) / n
        args = (x, x + 1)
        found = [folded(*args), jitney.jvp(folded, args, (x, x))]
        expected, gradients = answer(lambda: derivatives_of_jax(composed, x))  # noqa: B023
        found.append(jitney.jit(jitney.grad(total(folded), (0, 1)))(*args))
        for a, b in zip(jitney.tree.leaves(found), expected + gradients, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["max", "min"])
def test_reverse_derivatives_of_windows_over_dilated_arrays(name):
    x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    init = -np.inf if name == "max" else np.inf

    def use(j):
        def f(x):
            op = getattr(j.lax, name)
            return j.lax.reduce_window(
                x, init, op, (1, 3), (1, 2), [(0, 0), (2, 1)], base_dilation=(1, 2)
            )

        out, pull = j.vjp(f, x)
        return out, pull(np.arange(out.size, dtype=np.float32).reshape(out.shape))

    agree(use)


def test_checked_derivatives_where_results_stay_infinite():
    def f(x):
        return jnp.concatenate([x, jnp.full(2, -jnp.inf)])

    test_util.check_grads(f, (X,), 2)


def test_types_of_cotangents_are_compared_unless_told_not_to():
    @jitney.custom_vjp
    def first(x, y):
        return x

    first.defvjp(lambda x, y: (x, None), lambda _, g: (g * 2, np.zeros(3, np.float32)))

    def gradient():
        return jitney.grad(lambda x, y: first(x, y).sum())(np.ones(2), np.ones(4))

    with pytest.raises(ValueError, match=r"return float32\[4\] for .* output\[1\] is float32\[3\]"):
        gradient()
    jitney.config.update("jax_disable_bwd_checks", True)
    try:
        np.testing.assert_array_equal(gradient(), [2, 2])
    finally:
        jitney.config.update("jax_disable_bwd_checks", False)


def test_what_rules_of_custom_vjp_are_given():
    """Numbers have shapes, truth values among the residuals stay Python's, also out of programs."""
    seen = []

    @jitney.custom_vjp
    def f(x, n):
        return x * n

    def forward(x, n):
        return f(x, n), (n.shape, True, x)

    def backward(residuals, ct):
        seen.append(residuals[:2])
        return ct * 2.0, None

    f.defvjp(forward, backward)
    assert jitney.grad(lambda x: f(x, 2))(1.0) == 2.0
    assert jitney.grad(jitney.jit(lambda x: f(x, 2)))(1.0) == 2.0
    program = jitney.make_jaxpr(lambda x: f(x, 2))(1.0)
    assert jitney.grad(lambda x: jitney.core.eval_jaxpr(program.jaxpr, [], x)[0])(1.0) == 2.0
    assert all(residuals == ((), True) and residuals[1] is True for residuals in seen)
    assert len(seen) == 3


def test_zero_from_primal_of_trees():
    from jitney.custom_derivatives import SymbolicZero, zero_from_primal

    zeros = zero_from_primal({"a": jnp.ones(3), "b": 1.0})
    np.testing.assert_array_equal(zeros["a"], np.zeros(3))
    assert zeros["b"] == 0.0
    kinds = [type(x) for x in zero_from_primal((1.0, jnp.ones(2)), symbolic_zeros=True)]
    assert kinds == [SymbolicZero, SymbolicZero]
