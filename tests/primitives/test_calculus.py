"""Functions for use in rules bind the primitives of their names, without promotion."""

import numpy as np
import pytest

from jitney.primitives import calculus

X = np.float32([[1, -2, 3], [0.5, 4, -1]])


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (lambda: calculus.one_minus_square(X), 1 - X**2),
        (lambda: calculus.integer_pow(X, y=-2), X**-2.0),
        (lambda: calculus.clamp(np.float32(-1), X, np.float32(1)), np.clip(X, -1, 1)),
        (lambda: calculus.select_n(X > 0, X, -X), np.where(X > 0, -X, X)),
        (lambda: calculus.atan2(X, -X), np.arctan2(X, -X)),

        (lambda: calculus.iota(dtype=np.dtype(np.int32), shape=(2, 3), dimension=1),
         [[0, 1, 2]] * 2),
        (lambda: calculus.rev(X, dimensions=(0,)), X[::-1]),
        (lambda: calculus.pad(X, np.float32(9), padding_config=((0, 1, 0), (0, 0, 0))),
         np.vstack([X, [9, 9, 9]])),
        (lambda: calculus.concatenate(X, X, dimension=1), np.hstack([X, X])),
        (lambda: calculus.reduce_max(X, axes=(1,)), X.max(1)),
        (lambda: calculus.reduce_and(X > -9, axes=(0,)), [True] * 3),
        (lambda: calculus.dot_general(X, X, dimension_numbers=(((1,), (1,)), ((), ())),
                                      precision=None, preferred_element_type=None,
                                      out_sharding=None), X @ X.T),
    ],
)  # fmt: skip
def test_results(got, want):
    np.testing.assert_allclose(got(), want, rtol=1e-6)


def test_coefficients_of_polynomials_are_in_ascending_order():
    x = np.float32([2, -1])
    got = calculus.polynomial(x, *np.float32([3, 0, 1, -2]))
    np.testing.assert_array_equal(got, 3 + x**2 - 2 * x**3)


def test_operands_are_neither_promoted_nor_broadcast():
    with pytest.raises(TypeError, match="must have one dtype, but have float32, int32"):
        calculus.add(X, np.ones((2, 3), np.int32))
    with pytest.raises(TypeError, match="operands must be scalars or have the same rank"):
        calculus.mul(X, X[0])
