"""Solutions of a custom linear solve have implicit derivatives, by the solver itself."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.linalg.linear_solve import custom_linear_solve

B = np.array([2.0, 3.0], np.float32)


def solve(a, b, **options):
    """Solves diag(a) x = b, with the solver's count of divisions as auxiliary data."""

    def divide(_, y):
        return y / a, y.size

    return custom_linear_solve(
        lambda x: a * x, b, divide, has_aux=True, **({"symmetric": True} | options)
    )


def test_derivatives_by_both_operands():
    a = np.array([4.0, 5.0], np.float32)
    (x, count), (dx, _) = jitney.jvp(
        solve, (a, B), (np.ones(2, np.float32), np.array([1, 0], np.float32))
    )
    np.testing.assert_allclose(x, B / a)
    np.testing.assert_allclose(dx, (np.array([1, 0]) - B / a) / a, rtol=1e-6)
    assert count == 2
    da, db = jitney.grad(lambda a, b: solve(a, b)[0].sum(), (0, 1))(a, B)
    np.testing.assert_allclose(da, -B / a**2, rtol=1e-6)
    np.testing.assert_allclose(db, 1 / a, rtol=1e-6)


def test_batches_of_matrices_and_of_right_hand_sides():
    a = np.array([[1.0, 2.0], [4.0, 8.0]], np.float32)
    got = jitney.vmap(lambda a: solve(a, B)[0])(a)
    np.testing.assert_allclose(got, B / a)
    got = jitney.vmap(lambda b: solve(a[1], b)[0], in_axes=1, out_axes=1)(a)
    np.testing.assert_allclose(got, a / a[1][:, None])


def test_reverse_derivatives_need_a_transposed_solver():
    a = np.array([4.0, 5.0], np.float32)
    with pytest.raises(TypeError, match="requires a function `transpose_solve`"):
        jitney.grad(lambda b: solve(a, b, symmetric=False)[0].sum())(B)


def test_functions_must_return_values_like_the_right_hand_side():
    with pytest.raises(TypeError, match="`matvec` must return a pytree with the structure of `b`"):
        custom_linear_solve(lambda x: (x, x), B, lambda _, y: y)
    with pytest.raises(ValueError, match=r"`solve` must return the shapes of `b`, \[\(2,\)\]"):
        custom_linear_solve(lambda x: x, B, lambda _, y: jnp.sum(y))
    with pytest.raises(TypeError, match=r"must return a pair \(solution, aux\)"):
        custom_linear_solve(lambda x: x, B, lambda _, y: y, has_aux=True)
