"""Normal vectors have their covariance by every factorization; orthogonal matrices are orthogonal."""

import numpy as np
import pytest

from jitney import random
from jitney.random.matrices import multivariate_normal, orthogonal

KEY = random.key(5)
MEAN = np.array([1.0, -2.0, 0.5])
COV = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]])


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_moments(method):
    draws = np.asarray(multivariate_normal(KEY, MEAN, COV, (3000,), method=method))
    np.testing.assert_allclose(draws.mean(0), MEAN, atol=0.1)
    np.testing.assert_allclose(np.cov(draws.T), COV, atol=0.15)


def test_singular_covariances_leave_a_line():
    line = np.outer([1.0, 2.0, 0.0], [1.0, 2.0, 0.0])
    draws = np.asarray(multivariate_normal(KEY, np.zeros(3), line, (20,), method="svd"))
    np.testing.assert_allclose(draws[:, 1], 2 * draws[:, 0], atol=0.01)
    np.testing.assert_allclose(draws[:, 2], 0, atol=0.01)


def test_batches():
    assert multivariate_normal(KEY, np.zeros((4, 1, 2)), np.stack([np.eye(2)] * 3)).shape == (
        4,
        3,
        2,
    )


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(("n", "m"), [(3, None), (4, 2), (2, 4), (0, None)])
def test_rows_or_columns_are_orthonormal(n, m, dtype):
    q = np.asarray(orthogonal(KEY, n, (5,), dtype, m))
    columns = n if m is None else m
    assert q.shape == (5, n, columns) and q.dtype == dtype
    adjoint = np.conj(np.swapaxes(q, -1, -2))
    product = adjoint @ q if n >= columns else q @ adjoint
    np.testing.assert_allclose(
        product, np.broadcast_to(np.eye(min(n, columns)), product.shape), atol=1e-5
    )


def test_both_signs_of_the_diagonal_occur():
    q = np.asarray(orthogonal(KEY, 3, (200,)))
    for i in range(3):
        np.testing.assert_allclose(np.mean(q[:, i, i] > 0), 0.5, atol=0.15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: multivariate_normal(KEY, MEAN, COV, method="lu"), "`method` must be"),
        (lambda: multivariate_normal(KEY, 1.0, COV), "`mean` must have at least one axis"),
        (lambda: multivariate_normal(KEY, MEAN, MEAN), "`cov` must have at least two axes"),
        (lambda: multivariate_normal(KEY, MEAN, COV[:2, :2]), "must hold 3 x 3 matrices"),
        (lambda: orthogonal(KEY, -1), "must not be negative"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
