"""`custom_linear_solve` and `custom_root`: values, derivatives, batches, errors, against real jax."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import of_jax
from tests.helpers.rule_checks import agree

import jitney

A = np.array([[4.0, 1.5, 0.2], [1.0, 3.0, 0.1], [0.0, 0.4, 2.0]], np.float32)
SYMMETRIC = A + A.T
B = np.array([1.0, 2.0, -1.0], np.float32)


def inverse_iteration(j, matvec, b):
    """Richardson's iteration, enough of it."""
    return j.lax.fori_loop(0, 60, lambda _, x: x + 0.2 * (b - matvec(x)), j.numpy.zeros_like(b))


def solution(j, a, b, **options):
    def solve(matvec, rhs):
        return inverse_iteration(j, matvec, rhs)

    return j.lax.custom_linear_solve(
        lambda x: a @ x, b, solve, **{"transpose_solve": solve, **options}
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda j: solution(j, A, B),
        lambda j: j.jit(lambda a, b: solution(j, a, b))(A, B),
        lambda j: j.grad(lambda a, b: solution(j, a, b).sum(), argnums=(0, 1))(A, B),
        lambda j: j.jit(j.grad(lambda a, b: (solution(j, a, b) ** 2).sum(), argnums=(0, 1)))(A, B),
        lambda j: j.jvp(lambda a, b: solution(j, a, b), (A, B), (A.T, B)),
        lambda j: j.hessian(lambda b: (solution(j, A, b) ** 3).sum())(B),
        lambda j: j.vmap(lambda b: solution(j, A, b))(np.stack([B, 2 * B])),
        lambda j: j.vmap(lambda a: solution(j, a, B))(np.stack([A, A.T])),
        lambda j: j.vmap(j.grad(lambda a, b: solution(j, a, b).sum()), in_axes=(0, None))(
            np.stack([A, A.T]), B
        ),
        lambda j: j.grad(lambda b: solution(j, SYMMETRIC, b, symmetric=True)[0])(B),
        lambda j: j.vmap(j.jacrev(lambda b: solution(j, SYMMETRIC, b, symmetric=True)))(
            np.stack([B, B + 1])
        ),
        lambda j: j.lax.custom_linear_solve(
            lambda x: A @ x, B, lambda mv, b: (inverse_iteration(j, mv, b), {"n": np.int32(60)}),
            has_aux=True,
        ),
        lambda j: j.lax.custom_linear_solve(
            lambda x: {"u": 2 * x["u"] + x["v"], "v": 3 * x["v"]},
            {"u": B[0], "v": B[1]},
            lambda mv, b: {"u": (b["u"] - b["v"] / 3) / 2, "v": b["v"] / 3},
        ),
    ],
)  # fmt: skip
def test_linear_solve(use):
    agree(use)


def test_no_system_is_solved_for_a_cotangent_of_zero():
    """The auxiliary result does not vary: its pullback solves nothing."""

    def auxiliary(b):
        def solve(matvec, rhs):
            return inverse_iteration(jitney, matvec, rhs), rhs.sum()

        return jitney.lax.custom_linear_solve(lambda x: A @ x, b, solve, solve, has_aux=True)

    def solves(function):
        transposed = jitney.linear_transpose(function, B)
        return str(jitney.make_jaxpr(transposed)(jitney.eval_shape(function, B)))

    assert "custom_linear_solve" in solves(lambda b: auxiliary(b)[0])
    assert "custom_linear_solve" not in solves(lambda b: auxiliary(b)[1])


@pytest.mark.parametrize(
    ("error", "use"),
    [
        (TypeError, lambda j: j.grad(lambda b: solution(j, A, b, transpose_solve=None).sum())(B)),
        (ValueError, lambda j: j.lax.custom_linear_solve(lambda x: x[:1], B, lambda mv, b: b)),
        (TypeError, lambda j: j.lax.custom_linear_solve(lambda x: (x,), B, lambda mv, b: b)),
        (ValueError, lambda j: j.lax.custom_linear_solve(lambda x: x, B, lambda mv, b: b[:1])),
    ],
)
def test_linear_solve_errors(error, use):
    assert of_jax(use).is_a(error)
    with pytest.raises(error):
        use(jitney)


def square_root(j, a):
    def newton(f, x):
        return j.lax.fori_loop(0, 20, lambda _, v: v - f(v) / (2 * v), x)

    return j.lax.custom_root(lambda x: x**2 - a, a, newton, lambda g, y: y / g(1.0))


def damped_root(j, a, step, scale):
    """The solvers close over what may be traced."""

    def newton(f, x):
        return j.lax.fori_loop(0, 30, lambda _, v: v - step * f(v) / (2 * v), x)

    return j.lax.custom_root(lambda x: x**2 - a, a, newton, lambda g, y: scale * y / g(scale))


@pytest.mark.parametrize(
    "use",
    [
        lambda j: j.grad(lambda a, s, t: damped_root(j, a, s, t), (0, 1, 2))(2.0, 0.9, 3.0),
        lambda j: j.jvp(lambda a, s: damped_root(j, a, s, s), (2.0, 0.9), (1.0, 1.0)),
        lambda j: j.jit(j.grad(lambda a, s: damped_root(j, a, s, s)))(2.0, 0.9),
        lambda j: j.vmap(j.grad(lambda a, s: damped_root(j, a, s, s)))(B[:2] + 2, B[:2] * 0 + 1),
        lambda j: square_root(j, 2.0),
        lambda j: j.grad(lambda a: square_root(j, a))(2.0),
        lambda j: j.grad(j.grad(lambda a: square_root(j, a)))(2.0),
        lambda j: j.jit(j.jacfwd(lambda a: square_root(j, a)))(2.0),
        lambda j: j.vmap(j.grad(lambda a: square_root(j, a)))(np.array([2.0, 3.0], np.float32)),
        lambda j: j.lax.custom_root(
            lambda x: {"u": x["u"] - B}, {"u": B * 0}, lambda f, x: ({"u": x["u"] + B}, 7),
            lambda g, y: y, has_aux=True,
        ),
    ],
)  # fmt: skip
def test_root(use):
    agree(use)
