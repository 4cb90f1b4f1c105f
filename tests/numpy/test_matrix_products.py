"""Chains of products are multiplied in the cheapest order; axes of matrices are the last two."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from jitney.numpy import matrix_products
from jitney.numpy.matrix_products import _best_splits, multi_dot

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def cheapest(sizes):
    """The least number of multiplications, over all orders."""
    if len(sizes) <= 2:
        return 0
    return min(
        cheapest(sizes[: k + 1]) + cheapest(sizes[k:]) + sizes[0] * sizes[k] * sizes[-1]
        for k in range(1, len(sizes) - 1)
    )


def cost(splits, sizes, i, j):
    if i == j:
        return 0
    k = splits[i, j]
    return (
        cost(splits, sizes, i, k) + cost(splits, sizes, k + 1, j)
        + sizes[i] * sizes[k + 1] * sizes[j + 1]
    )  # fmt: skip


@pytest.mark.parametrize(
    "sizes", [(10, 100, 5, 50), *itertools.permutations([1, 2, 5, 30]), (3, 1, 4, 1, 5, 9)]
)
def test_chains_are_split_where_it_is_cheapest(sizes):
    splits = _best_splits(sizes)
    assert cost(splits, sizes, 0, len(sizes) - 2) == cheapest(list(sizes))


def test_chains():
    a, b, c = np.ones((2, 3)), np.arange(12.0).reshape(3, 4), np.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(multi_dot([a, b, c]), a @ b @ c)
    np.testing.assert_allclose(multi_dot([a[0], b, c[:, 0]]), a[0] @ b @ c[:, 0])
    for wrong in ([a], [a, b[0], b], [X, b]):
        with pytest.raises(ValueError, match="at least two matrices"):
            multi_dot(wrong)
    with pytest.raises(ValueError, match="there is none"):
        multi_dot([])


def test_vectors():
    x, y = X[0, :, :3], X[1, :, 1:]
    np.testing.assert_array_equal(matrix_products.cross(x, y), np.linalg.cross(x, y))
    np.testing.assert_array_equal(matrix_products.cross(x, y, axis=0), np.cross(x.T, y.T).T)
    np.testing.assert_array_equal(matrix_products.vecdot(x, y, axis=0), (x * y).sum(0))
    np.testing.assert_array_equal(matrix_products.outer(x[0], y[1]), np.outer(x[0], y[1]))
    with pytest.raises(ValueError, match="3 components, but along axis -1 `x1` has 4"):
        matrix_products.cross(X, X)
    with pytest.raises(ValueError, match=r"use jnp\.outer to flatten them"):
        matrix_products.outer(x, y)


def test_matrices():
    np.testing.assert_array_equal(matrix_products.trace(X, offset=1), np.linalg.trace(X, offset=1))
    np.testing.assert_array_equal(
        matrix_products.diagonal(X, offset=-1), np.linalg.diagonal(X, offset=-1)
    )
    np.testing.assert_array_equal(matrix_products.matrix_transpose(X), X.mT)
    np.testing.assert_allclose(matrix_products.matmul(X, X.mT), X @ X.mT)
    np.testing.assert_allclose(
        matrix_products.tensordot(X, X, axes=((0, 2), (0, 2))), np.tensordot(X, X, ((0, 2), (0, 2)))
    )
    with pytest.raises(ValueError, match="must have at least two axes, but it has shape"):
        matrix_products.matrix_transpose(X[0, 0])
