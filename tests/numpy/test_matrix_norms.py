"""Norms of vectors and matrices are those of NumPy, along any axes."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.matrix_norms import matrix_norm, norm, vector_norm

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
Z = X + 1j * X[::-1]
INF = np.inf


@pytest.mark.parametrize("order", [None, 0, 0.5, 1, 2, 3, -1, INF, -INF])
def test_vectors(order):
    for x in (X, Z):
        np.testing.assert_allclose(norm(x, order, 1), np.linalg.norm(x, order, 1), rtol=1e-4)
    np.testing.assert_allclose(
        vector_norm(X, axis=(0, 2), ord=2 if order is None else order, keepdims=True),
        np.linalg.vector_norm(X, axis=(0, 2), ord=2 if order is None else order, keepdims=True),
        rtol=1e-4,
    )


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, 2, -2, INF, -INF])
@pytest.mark.parametrize("axes", [(1, 2), (2, 0)])
def test_matrices(order, axes):
    for x in (X, Z):
        ours = norm(x, order, axes, keepdims=True)
        np.testing.assert_allclose(ours, np.linalg.norm(x, order, axes, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(matrix_norm(X, ord=order), np.linalg.norm(X, order, (-2, -1)), 1e-4)


def test_arrays_without_elements():
    assert norm(np.zeros(0), 1) == norm(np.zeros(0), INF) == norm(np.zeros((0, 2)), 2) == 0
    with pytest.raises(ValueError, match="the minimum of an empty array"):
        norm(np.zeros(0), -INF)
    assert norm(np.array([3, 4])).dtype == np.float32


def test_slopes_are_unit_vectors():
    x = np.array([3.0, -4.0], np.float32)
    np.testing.assert_allclose(jitney.grad(norm)(x), x / 5, rtol=1e-6)
    assert jitney.grad(lambda x: norm(x, 1))(np.float32([5, -2])).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[0, 0], "fro"), "of a vector must be a number"),
        ((X[0], 3), "`ord` of a matrix must be"),
        ((X, 2), "but there are 3"),
        ((X, None, (1, -2)), "must be two different axes"),
    ],
)
def test_wrong_orders(arguments, message):
    with pytest.raises(ValueError, match=message):
        norm(*arguments)
