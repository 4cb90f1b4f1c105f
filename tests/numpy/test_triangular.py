"""Triangles, diagonals and grids of coordinates are those of NumPy, at every offset."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.triangular import (
    diag,
    diagflat,
    diagonal,
    eye,
    fromfunction,
    identity,
    indices,
    meshgrid,
    trace,
    tri,
    tril,
    triu,
)

X = np.arange(1, 25, dtype=np.int32).reshape(2, 3, 4)
OFFSETS = [-9, -2, 0, 1, 9]


@pytest.mark.parametrize("k", OFFSETS)
def test_triangles(k):
    np.testing.assert_array_equal(eye(3, 4, k), np.eye(3, 4, k))
    np.testing.assert_array_equal(tri(3, 4, k), np.tri(3, 4, k))
    np.testing.assert_array_equal(tril(X, k), np.tril(X, k))
    np.testing.assert_array_equal(triu(X, k), np.triu(X, k))
    np.testing.assert_array_equal(tril(X, k) + triu(X, k + 1), X)


@pytest.mark.parametrize("k", OFFSETS)
def test_diagonals(k):
    for axes in ((0, 1), (2, 0), (-1, -2)):
        np.testing.assert_array_equal(diagonal(X, k, *axes), np.diagonal(X, k, *axes))
        np.testing.assert_array_equal(trace(X, k, *axes), np.trace(X, k, *axes))
    np.testing.assert_array_equal(diag(X[0], k), np.diag(X[0], k))
    np.testing.assert_array_equal(diag(X[0, 0], k), np.diag(X[0, 0], k))
    np.testing.assert_array_equal(diagflat(X[0, :2], k), np.diagflat(X[0, :2], k))


def test_traced_squares_have_the_same_diagonal():
    x = X[0, :, :3]
    assert jitney.jit(diagonal)(x).tolist() == [1, 6, 11]
    # Elements that are not finite do not leak.
    y = np.array([[1, np.inf], [np.nan, 2]], np.float32)
    assert jitney.jit(diagonal)(y).tolist() == [1, 2]
    assert trace(y) == 3
    assert jitney.jit(trace)(X[0], 1) == 2 + 7 + 12


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_grids(indexing, sparse):
    axes = np.arange(2), np.arange(3), np.arange(4)
    for count in (1, 2, 3):
        ours = meshgrid(*axes[:count], indexing=indexing, sparse=sparse)
        theirs = np.meshgrid(*axes[:count], indexing=indexing, sparse=sparse)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(indices((2, 3), sparse=sparse), np.indices((2, 3), sparse=sparse), strict=True):
        np.testing.assert_array_equal(a, b)


def test_functions_of_coordinates():
    found = fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=np.int32)
    assert found.tolist() == [[0, 1, 2], [10, 11, 12]]
    assert fromfunction(lambda: 5, ()) == 5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: eye(-1), ValueError, "`N` and `M` must be 0 or more"),
        (lambda: eye(2, k=1.5), ValueError, "must be an integer, but it is 1.5"),
        (lambda: tri(2, k=1.5), TypeError, "must be a scalar integer"),
        (lambda: tril(np.ones(3)), ValueError, "two or more axes"),
        (lambda: diag(X), ValueError, "a vector or a matrix"),
        (lambda: trace(X, 0, 1, -2), ValueError, "two different axes"),
        (lambda: diagonal(np.ones(3)), ValueError, "two or more axes"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert identity(0).shape == (0, 0)
