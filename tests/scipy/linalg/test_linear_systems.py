"""Solutions of linear systems, put in again, give the right-hand sides, by every factorization."""

import numpy as np
import pytest

from jitney.scipy.linalg.factorizations import cho_factor, lu_factor
from jitney.scipy.linalg.linear_systems import cho_solve, lu_solve, solve, solve_triangular

RNG = np.random.default_rng(0)
A = (RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3)) + 3 * np.eye(3)).astype(np.complex64)
HERMITIAN = A @ A.conj().T
B = RNG.normal(size=(3, 2)).astype(np.float32)
BY_CODE = {0: A, 1: A.T, 2: A.conj().T}


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("right", [B, B[:, 0]], ids=["matrix", "vector"])
def test_solve(right):
    close(A @ np.asarray(solve(A, right)), right)
    for lower in (True, False):
        half = np.tril(HERMITIAN) if lower else np.triu(HERMITIAN)
        found = np.asarray(solve(half, right, lower, assume_a="pos"))
        close(HERMITIAN @ found, right)
        close(HERMITIAN @ np.asarray(cho_solve(cho_factor(HERMITIAN, lower), right)), right)


@pytest.mark.parametrize("trans", [0, 1, 2])
def test_lu_solve_of_transposes(trans):
    close(BY_CODE[trans] @ np.asarray(lu_solve(lu_factor(A), B[:, 1], trans)), B[:, 1])


@pytest.mark.parametrize(("trans", "code"), [("N", 0), ("T", 1), ("C", 2), (1, 1), (2, 2)])
def test_triangles(trans, code):
    for lower in (True, False):
        triangle = np.tril(A) if lower else np.triu(A)
        applied = {0: triangle, 1: triangle.T, 2: triangle.conj().T}[code]
        close(applied @ np.asarray(solve_triangular(A, B, trans, lower)), B)


def test_unit_diagonals_are_not_read():
    found = np.asarray(solve_triangular(A, B, lower=True, unit_diagonal=True))
    close((np.tril(A, -1) + np.eye(3)) @ found, B)


def test_batches_broadcast():
    found = np.asarray(solve_triangular(np.stack([A, 2 * A]), B))
    close(found[0], 2 * found[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: solve(A, B, assume_a="banded"), "`assume_a` must be one of"),
        (lambda: solve_triangular(A, B, "H"), "`trans` must be"),
        (lambda: solve_triangular(A, B[:2]), "must have 3 rows"),
        (lambda: solve_triangular(A, 1.0), "`b` must be a vector or matrices, but it is a scalar"),
        (lambda: solve_triangular(B, B), "must be square"),
        (lambda: lu_solve(lu_factor(A), B, 3), "`trans` must be 0"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
