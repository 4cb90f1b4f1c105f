"""Loops and branches: values, derivatives and batches as in real jax, and the programs they print."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from tests.helpers.oracle import of_jax
from tests.helpers.rule_checks import agree, same_text

import jitney
from jitney.core.program import typecheck

A = np.linspace(1, 9, 6).astype(np.float32)
X = np.array([0.3, -0.7, 1.2], np.float32)


def same_program(program: Any, *args: Any) -> None:
    """Asserts that `program(j)`, a function of `args`, prints alike for both libraries."""
    text = of_jax(lambda j: str(j.make_jaxpr(program(j))(*args)))
    same_text(text, jitney.make_jaxpr(program(jitney))(*args))


# --- while ----------------------------------------------------------------------------------------


def newton(j):
    def root(a):
        return j.lax.while_loop(
            lambda c: (abs(c[0] ** 2 - a) > 1e-3) & (c[1] < 50),
            lambda c: (0.5 * (c[0] + a / c[0]), c[1] + 1),
            (a, 0),
        )

    return root


def doubled_until(j, limit, step, start=1.0):
    return j.lax.while_loop(lambda c: c < limit, lambda c: c * 2 + step, start)


BATCHED = [
    lambda j: j.vmap(newton(j))(A),
    lambda j: j.jit(j.vmap(newton(j)))(A),
    lambda j: j.vmap(j.vmap(newton(j)))(A.reshape(2, 3)),
    lambda j: j.vmap(j.vmap(newton(j)), in_axes=1)(A.reshape(2, 3)),
    lambda j: j.vmap(lambda b: j.vmap(lambda a: doubled_until(j, a, b))(A))(A[:2]),
    lambda j: j.vmap(lambda b: j.vmap(lambda a: doubled_until(j, b, a))(A))(A[:2]),
    # The outer axis is not one of the predicate's: it stands behind the inner one.
    lambda j: j.vmap(
        lambda b: j.vmap(
            lambda a: j.lax.while_loop(
                lambda c: c[0] < a, lambda c: (c[0] * 2 + 1, c[1] + b), (1.0, j.numpy.zeros(2))
            )
        )(A)
    )(A[:2]),
    lambda j: j.jvp(j.vmap(lambda a: newton(j)(a)[0]), (A,), (A,)),
    lambda j: j.vmap(lambda a: j.jvp(lambda v: newton(j)(v)[0], (a,), (1.0,)))(A),
    lambda j: j.jacfwd(j.vmap(lambda a: newton(j)(a)[0]))(A),
    lambda j: j.vmap(
        j.jacfwd(lambda a: j.lax.while_loop(lambda c: c.sum() < 50, lambda c: c * 1.3, a))
    )(A.reshape(3, 2)),
]


@pytest.mark.parametrize("use", BATCHED)
def test_batched_while(use):
    agree(use, rtol=1e-4)


def test_batched_while_prints_alike():
    same_program(lambda j: j.vmap(j.vmap(lambda a: newton(j)(a)[0])), A.reshape(2, 3))
    for over in (
        lambda j, a, b: doubled_until(j, a, b),
        lambda j, a, b: doubled_until(j, b, a),
    ):
        same_program(
            lambda j, over=over: j.vmap(lambda b: j.vmap(lambda a: over(j, a, b))(A)), A[:2]
        )


def test_condition_is_looked_at_first():
    def refused(j):
        with pytest.raises(TypeError, match=r"cond_fun`? must return (a|one) boolean"):
            j.lax.while_loop(lambda c: c, lambda c: c.sum(), j.numpy.ones(2))

    refused(jitney)
    assert of_jax(refused) is None


# --- fori_loop ------------------------------------------------------------------------------------

BOUNDS = [
    (0, 4), (0.0, 4.0), (np.int8(1), 4), (1, np.int8(4)), (np.int32(0), 4), (0, np.int32(4)), (4, 0),
]  # fmt: skip


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_fori_loop_bounds(bounds):
    def loop(j):
        return lambda low, high, x: j.lax.fori_loop(low, high, lambda i, c: c * x + i, x)

    same_program(loop, *bounds, 1.5)
    same_program(lambda j: lambda x: loop(j)(*bounds, x), 1.5)
    agree(lambda j: (loop(j)(*bounds, 1.5), j.jit(loop(j))(*bounds, 1.5)))
    agree(lambda j: j.lax.fori_loop(*bounds, lambda i, c: c + i, np.int8(0)))
    agree(lambda j: with_disabled_jit(j, lambda: loop(j)(*bounds, 1.5)))


def with_disabled_jit(j, use):
    with j.disable_jit():
        return use()


@pytest.mark.parametrize(
    "bounds",
    [
        (np.int16(1), np.int32(4)),
        (np.int32(1), np.uint32(4)),
        (0.0, 4),
        (0, 4.0),
        (True, 4),
        (np.uint8(1), 4),
        (1, np.uint32(4)),
    ],
    ids=str,
)
def test_fori_loop_bounds_of_different_dtypes(bounds):
    def dtypes_in_message(j):
        with pytest.raises(TypeError) as theirs:
            j.lax.fori_loop(*bounds, lambda i, c: c, 0)
        return str(theirs.value).rpartition("got ")[2].strip(".")

    dtypes = of_jax(dtypes_in_message)
    assert "int" in dtypes or "bool" in dtypes
    with pytest.raises(TypeError, match=f"fori_loop.*: .* the same dtype, but are {dtypes}"):
        jitney.lax.fori_loop(*bounds, lambda i, c: c, 0)


# --- cond and switch --------------------------------------------------------------------------------

BRANCHES: dict[str, Any] = {
    "residuals of one type": lambda j: (
        lambda x: j.lax.cond(
            x.sum() > 0, lambda v: j.numpy.sin(v), lambda v: j.numpy.cos(v) * j.numpy.exp(v), x
        ).sum()
    ),
    "three branches": lambda j: (
        lambda x: j.lax.switch(
            (x.sum() > 0).astype(np.int32),
            [lambda v: j.numpy.sin(v), lambda v: v, lambda v: j.numpy.cos(v).sum() * v],
            x,
        ).sum()
    ),
    "another dtype": lambda j: (
        lambda x: j.lax.cond(
            x.sum() > 0,
            lambda v: j.numpy.sin(v),
            lambda v: v * v.astype(np.float16).astype(np.float32),
            x,
        ).sum()
    ),
    "residuals of two types": lambda j: (
        lambda x: j.lax.cond(
            x[0] > 0,
            lambda v: j.numpy.sin(v) * j.numpy.where(v > 0, v, 1.0),
            lambda v: v * v,
            x,
        ).sum()
    ),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_residuals_of_branches(name):
    """Residuals of one type share a place among the results of the branches."""
    use = BRANCHES[name]
    same_program(lambda j: j.grad(use(j)), X)
    for sign in (1, -1):
        agree(lambda j, sign=sign: (j.grad(use(j))(sign * X), j.jit(j.grad(use(j)))(sign * X)))
    agree(lambda j: j.vmap(j.grad(use(j)))(np.stack([X, -X])))
    agree(lambda j: j.hessian(use(j))(X), rtol=1e-3)


@pytest.mark.parametrize("value", [True, 1, np.int8(1), -1, 1.5, 0, np.float32(0)], ids=repr)
def test_known_predicates(value):
    same_program(lambda j: lambda x: j.lax.cond(value, lambda v: v * 2, lambda v: v * v, x), X)
    same_program(
        lambda j: lambda x, p: j.lax.cond(p, lambda v: v * 2, lambda v: v * v, x), X, value
    )
    agree(lambda j: j.lax.cond(value, lambda v: v * 2, lambda v: v * v, X))


@pytest.mark.parametrize("value", [True, False])
def test_cond_with_an_operand_for_each_branch(value):
    """The form (predicate, operand, function, operand, function), each function on its own."""
    agree(lambda j: j.lax.cond(value, X, lambda v: v * 2, X[:1], lambda v: X - v))


def test_keys_are_residuals():
    def use(j):
        def f(x, key):
            return j.lax.cond(
                x > 0, lambda v: v * j.random.normal(j.random.split(key)[0]), lambda v: v, x
            )

        return j.grad(f)(1.0, j.random.key(0)), j.jit(j.grad(f))(-1.0, j.random.key(0))

    agree(use)


# --- choices by platform ----------------------------------------------------------------------------

CHOICES: dict[str, Any] = {
    "cpu": lambda j, x: j.lax.platform_dependent(x, cpu=j.numpy.sin, default=j.numpy.cos),
    "default": lambda j, x: j.lax.platform_dependent(
        x, tpu=j.numpy.sin, default=j.numpy.cos, cuda=j.numpy.tan
    ),
    "one of two": lambda j, x: j.lax.platform_dependent(x, cpu=j.numpy.sin, cuda=j.numpy.tan),
    "only default": lambda j, x: j.lax.platform_dependent(x, default=j.numpy.tan),
}


@pytest.mark.parametrize("name", CHOICES)
def test_platform_dependent(name):
    use = CHOICES[name]
    same_program(lambda j: lambda x: use(j, x), 1.0)
    same_program(lambda j: j.grad(lambda x: use(j, x)), 1.0)
    same_program(lambda j: j.vmap(lambda x: use(j, x)), X)
    agree(
        lambda j: (
            use(j, 0.3), j.jit(lambda x: use(j, x))(0.3), j.grad(lambda x: use(j, x))(0.3),
            j.jit(j.vmap(j.grad(lambda x: use(j, x))))(X), j.jvp(lambda x: use(j, x), (0.3,), (1.0,)),
        )
    )  # fmt: skip
    agree(lambda j: with_disabled_jit(j, lambda: use(j, 0.3)))


def test_platform_without_a_branch():
    def refused(j):
        f = j.jit(lambda x: j.lax.platform_dependent(x, tpu=lambda v: v, cuda=lambda v: v + 1))
        f.trace(1.0)
        with pytest.raises(NotImplementedError):
            f(1.0)

    refused(jitney)
    assert of_jax(refused) is None


@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (0, 0), (3, 4), (2, 3, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, bool, np.complex64])
def test_diagonals(shape, dtype):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    same_program(lambda j: j.numpy.diagonal, x)
    agree(lambda j: (j.numpy.diagonal(x), j.jit(j.numpy.diagonal)(x)))
    if dtype is np.float32:
        agree(lambda j: j.jit(j.grad(lambda v: (j.numpy.diagonal(v) ** 2).sum()))(x))
        agree(lambda j: j.vmap(j.numpy.diagonal)(x[None]))


@pytest.mark.parametrize("unroll", [-1, 1.5, "a", None])
def test_unroll_of_the_wrong_kind(unroll):
    def use(j):
        return j.lax.scan(lambda c, x: (c + x, c), 0.0, X, unroll=unroll)

    error = ValueError if unroll == -1 else TypeError
    assert of_jax(use).is_a(error)
    with pytest.raises(error):
        use(jitney)


@pytest.mark.parametrize("unroll", [0, 2, 7, True, False])
def test_unroll(unroll):
    agree(lambda j: j.lax.scan(lambda c, x: (c + x, c), 0.0, X, unroll=unroll))
    agree(lambda j: j.lax.map(lambda x: x * 2, X, batch_size=0))


# --- what branches and loops hand on --------------------------------------------------------------


def test_branches_without_operands():
    """They close over values of the transformations around."""

    def f(j):
        return lambda x: j.lax.cond(x < 1, lambda _: 1e-3, lambda _: j.numpy.sqrt(x), ())

    x = np.arange(3, dtype=np.float32)
    want = of_jax(lambda j: j.vmap(f(j))(x))
    np.testing.assert_allclose(jitney.vmap(f(jitney))(x), want, rtol=1e-6)
    found = jitney.grad(lambda v: jitney.vmap(f(jitney))(v).sum())(x)
    np.testing.assert_allclose(found, [0.0, 0.5, 0.5 / np.sqrt(2.0)], rtol=1e-6)


def forwarding_cond(j):
    def same(_, y):  # a loop that hands its carry on
        return j.lax.scan(lambda c, _: (c, None), y, None, length=2)[0]

    return lambda x, y: j.lax.cond(x < 1, same, same, x, y)


def forwarding_loop(j):
    def f(x, m, w):
        def body(c):
            k, x, w, unused = c
            return k + 1, x @ w, w, unused

        return j.lax.while_loop(lambda c: c[0] < m, body, (0, x, w, 7))[1:]

    return f


def test_what_all_branches_hand_on_does_not_vary():
    x = jitney.numpy.arange(3.0)
    y = jitney.numpy.array(3.0)
    out = jitney.vmap(forwarding_cond(jitney), (0, None), None)(x, y)
    assert out is y


@pytest.mark.parametrize("wrap", [lambda f: f, jitney.jit], ids=["eager", "jit"])
def test_carries_that_never_change_do_not_vary_with_the_predicate(wrap):
    xs, w = np.ones((4, 2), np.float32), 2 * np.ones((2, 2), np.float32)
    bounds = np.arange(4, dtype=np.int32)
    axes, out_axes = (0, 0, None), (0, None, None)
    got = wrap(jitney.vmap(forwarding_loop(jitney), axes, out_axes))(xs, bounds, w)
    want = of_jax(lambda j: j.vmap(forwarding_loop(j), axes, out_axes)(xs, bounds, w))
    for a, b in zip(want, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)
    # With an axis of their own, and within another batch, they still are what they were.
    many = np.stack([w, 3 * w, w - 1])
    nested = wrap(jitney.vmap(jitney.vmap(forwarding_loop(jitney), axes), (None, None, 0)))
    theirs = of_jax(
        lambda j: j.vmap(j.vmap(forwarding_loop(j), axes), (None, None, 0))(xs, bounds, many)
    )
    for a, b in zip(theirs, nested(xs, bounds, many), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)


@pytest.mark.parametrize("inner", [1, 2, 3])
@pytest.mark.parametrize("outer", [1, 2])
def test_carries_that_a_loop_exchanges_change(inner, outer):
    """What an iteration takes from another carry is handed on by no loop, whatever its length."""
    scan = jitney.lax.scan

    def exchanged(a, b):
        return scan(lambda c, _: ((c[1], c[0]), None), (a, b), length=inner)[0]

    def f(a, b):
        def body(c):
            return c[0] + 1, *exchanged(c[2], c[1])

        return jitney.lax.while_loop(lambda c: c[0] < outer, body, (0, a, b))[1:]

    want = [1.0, 2.0] if (inner + 1) * outer % 2 == 0 else [2.0, 1.0]
    assert [float(x) for x in f(1.0, 2.0)] == want
    assert [float(x) for x in jitney.jit(f)(1.0, 2.0)] == want
    _, slopes = jitney.jvp(f, (1.0, 2.0), (3.0, 4.0))
    assert [float(x) for x in slopes] == [x + 2 for x in want]


def test_carries_that_stay_are_constants():
    """What the body returns as it came is no carry: programs are jax's, and reverse mode works."""

    def loop(j):
        def f(x, y, z):
            def body(c):
                return c[0] + 1, c[1], c[2] * j.numpy.sin(y), c[3]

            return j.lax.while_loop(lambda c: (c[0] < 4) & (z > 0), body, (0, x, z, 2.0))

        return f

    args = (1.5, 2.5, 3.5)

    def found(j):
        slope = j.grad(lambda x: (loop(j)(x, 2.5, 3.5)[1] + loop(j)(1.0, x, 3.5)[3]) ** 2)(1.5)
        return str(j.make_jaxpr(loop(j))(*args)), float(slope)

    assert found(jitney) == of_jax(found)
    assert found(jitney)[1] == 7.0
    n = np.ones(3, np.float32)
    _, same = jitney.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, n))
    n[0] = 5
    assert same.tolist() == [1, 1, 1]


def test_what_a_condition_looks_at_in_vain_is_no_use():
    """A carry that only dead code of the condition reads is a constant, too."""

    def loop(j):
        def f(x, y):
            def goes_on(c):
                j.numpy.sin(c[1] + y)
                return c[0] < 3 * x

            return j.lax.while_loop(goes_on, lambda c: (c[0] + 1, c[1], c[2] * c[1]), (0, x, y))

        return f

    def found(j):
        slope = j.grad(lambda x: loop(j)(x, 2.5)[1] ** 2)(1.5)
        return str(j.make_jaxpr(loop(j))(1.5, 2.5)), float(slope)

    assert found(jitney) == of_jax(found)
    assert jitney.grad(lambda x: loop(jitney)(1.0, x)[0] + x**2)(1.5) == 3.0
    assert found(jitney)[1] == 3.0


@pytest.mark.parametrize("loop", ["fori_loop", "scan"])
def test_what_a_loop_computes_in_vain_has_no_derivative(loop):
    """The derivative of a root of 0 is infinite; 0 times it would be NaN."""

    def f(x):
        spread = jitney.numpy.std(x)

        def body(carry, row):
            jitney.numpy.abs(spread)
            return carry * 2, row

        if loop == "scan":
            carry, rows = jitney.lax.scan(body, x, jitney.numpy.arange(3.0))
            return carry.sum() + rows.sum()
        return jitney.lax.fori_loop(0, 3, lambda i, c: body(c, i)[0], x).sum()

    x = jitney.numpy.ones(1)
    np.testing.assert_array_equal(jitney.grad(f)(x), [8])
    np.testing.assert_array_equal(jitney.jit(jitney.grad(f))(x), [8])


def test_rows_that_a_scan_hands_on_are_its_operand():
    """So a loop whose carry they are does not change it, and has a reverse derivative."""

    def f(x):
        def body(carry):
            i, rows = carry
            count, rows = jitney.lax.scan(lambda c, row: (c + 1, row), i, rows, reverse=True)
            return count, rows

        return jitney.lax.while_loop(lambda carry: carry[0] < 9, body, (0, x))[1]

    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(jitney.grad(lambda x: (f(x) ** 2).sum())(x), 2 * x)
    np.testing.assert_array_equal(jitney.jit(jitney.vmap(f))(x[None]), x[None])


def test_one_function_as_several_branches_is_traced_once():
    traced = []

    def f(x):
        traced.append(x)
        return x**2

    assert jitney.lax.cond(False, f, f, 3.0) == 9
    assert jitney.lax.switch(2, [f, lambda x: -x, f], 3.0) == 9
    assert len(traced) == 1


def test_tangents_that_are_zero_in_all_branches_are_no_results():
    def program(j):
        def f(x, n):
            return j.lax.cond(n > 0, lambda x: (x * 2, n), lambda x: (x, n * 2), x)

        return lambda x: j.jvp(lambda x: f(x, j.lax.stop_gradient(x)), (x,), (x,))

    def numbers(j):
        jaxpr = j.make_jaxpr(program(j))(0.5).jaxpr
        return [len(eqn.outvars) for eqn in jaxpr.eqns if eqn.primitive.name == "cond"]

    assert numbers(jitney) == of_jax(numbers) == [3]


@pytest.mark.parametrize("known", [(True, False), (False, True), (False, False)])
def test_branches_of_which_part_is_known(known):
    """The index, and the operand: what is known of them is computed at once, if any of it can be."""

    def found(j):
        pe = importlib.import_module(f"{j.__name__}.interpreters.partial_eval")
        lu = importlib.import_module(f"{j.__name__}.extend.linear_util")
        given = (np.int32(1), np.float32(3))

        def f(index, x):
            return [j.lax.switch(index, [lambda x: (x, x * 2), lambda x: (x + 1, 2 * x)], x)[1]]

        types = [j.typeof(j.numpy.asarray(x)) for x in given]
        pvals = [
            pe.PartialVal.known(x) if k else pe.PartialVal.unknown(t)
            for x, t, k in zip(given, types, known, strict=True)
        ]
        info = j.api_util.debug_info("test", f, given, {})
        jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(lu.wrap_init(f, debug_info=info), pvals)
        late = [x for x, k in zip(given, known, strict=True) if not k]
        results = j.core.eval_jaxpr(jaxpr, consts, *late)
        return [x.is_known() for x in outs], [float(x) for x in results]

    assert found(jitney) == of_jax(found) == ([False], [6])


def test_unroll_must_be_known():
    def f(n, x):
        return jitney.lax.scan(lambda c, z: (c, z), x, (), 10, unroll=n)

    with pytest.raises(jitney.errors.ConcretizationTypeError, match="`unroll` must be known"):
        jitney.jit(f)(3, 1.0)


def test_checked_programs_have_parameters_that_type_rules_take():
    branches = [jitney.lax.sin, jitney.lax.cos]
    closed = jitney.make_jaxpr(lambda x: jitney.lax.switch(0, branches, x))(1.0)
    (eqn,) = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive.name == "cond"]
    eqn.params["branches"] = (4, 2)
    with pytest.raises(typecheck.JaxprTypeError, match="the type rule of cond does not accept"):
        typecheck.check_jaxpr(closed.jaxpr)
