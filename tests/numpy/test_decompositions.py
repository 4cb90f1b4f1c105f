"""Factors multiply to the matrix, have the asked form, and are unitary where they should be."""

from __future__ import annotations

import numpy as np
import pytest

from jitney.numpy.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    qr,
    svd,
    svdvals,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 4, 4)).astype(np.float32)
Z = (X + 1j * RNG.normal(size=X.shape)).astype(np.complex64)
WIDE = X[:, :3]
near = {"rtol": 1e-4, "atol": 1e-4}


def adjoint(x):
    return np.swapaxes(np.asarray(x), -1, -2).conj()


def is_unitary(q):
    np.testing.assert_allclose(adjoint(q) @ q, np.eye(q.shape[-1]) + 0 * q[..., :1, :1], **near)


@pytest.mark.parametrize("a", [X, Z], ids=["real", "complex"])
def test_cholesky_factors(a):
    a = a @ adjoint(a) + np.eye(4, dtype=np.float32)
    lower, upper = cholesky(a), cholesky(a, upper=True)
    np.testing.assert_allclose(lower @ adjoint(lower), a, **near)
    np.testing.assert_array_equal(np.triu(lower, 1), np.zeros_like(a))
    np.testing.assert_allclose(upper, adjoint(lower), **near)
    # Without symmetrization, one triangle is read.
    np.testing.assert_allclose(cholesky(np.tril(a), symmetrize_input=False), lower, **near)
    np.testing.assert_allclose(
        cholesky(np.triu(a), upper=True, symmetrize_input=False), upper, **near
    )


@pytest.mark.parametrize("a", [X, Z], ids=["real", "complex"])
def test_eigenvectors_are_stretched(a):
    values, vectors = eig(a)
    np.testing.assert_allclose(a @ vectors, vectors * values[:, None], **near)
    np.testing.assert_allclose(np.sort(eigvals(a)), np.sort(values), **near)
    for uplo in ("L", "U"):
        values, vectors = eigh(a, uplo, symmetrize_input=False)
        triangle = np.tril(a) if uplo == "L" else np.triu(a)
        whole = triangle + adjoint(triangle)
        whole -= np.eye(4) * np.diagonal(triangle, 0, 1, 2)[:, None].conj()
        np.testing.assert_allclose(values, np.linalg.eigvalsh(a, uplo), **near)
        is_unitary(np.asarray(vectors))
    np.testing.assert_allclose(eigvalsh(a), np.linalg.eigvalsh((a + adjoint(a)) / 2), **near)


@pytest.mark.parametrize(
    "a", [X, WIDE, adjoint(WIDE), Z], ids=["square", "wide", "tall", "complex"]
)
def test_qr_factors(a):
    for mode in ("reduced", "complete"):
        q, r = qr(a, mode)
        assert (q.shape, r.shape) == tuple(x.shape for x in np.linalg.qr(a, mode))
        np.testing.assert_allclose(q @ r, a, **near)
        np.testing.assert_array_equal(np.tril(r, -1), np.zeros_like(r))
        is_unitary(np.asarray(q))
    np.testing.assert_allclose(qr(a, "r"), qr(a).R, **near)
    factors, taus = qr(a, "raw")
    assert factors.shape == np.swapaxes(a, -1, -2).shape
    assert taus.shape == (2, min(a.shape[1:]))


@pytest.mark.parametrize("a", [WIDE, adjoint(WIDE), Z], ids=["wide", "tall", "complex"])
def test_singular_values(a):
    u, s, vh = svd(a, full_matrices=False)
    np.testing.assert_allclose((u * s[:, None]) @ vh, a, **near)
    assert (np.diff(s) <= 0).all()
    np.testing.assert_allclose(svdvals(a), s, **near)
    assert svd(a).U.shape == (2, a.shape[1], a.shape[1])
    first = svd(a, full_matrices=False, subset_by_index=(0, 2))
    np.testing.assert_allclose(first.S, s[:, :2], **near)


@pytest.mark.parametrize("a", [X, Z], ids=["real", "complex"])
def test_singular_values_of_hermitian_matrices_are_sizes_of_eigenvalues(a):
    a = a + adjoint(a)
    u, s, vh = svd(a, hermitian=True)
    np.testing.assert_allclose((u * s[:, None]) @ vh, a, **near)
    np.testing.assert_allclose(s, svdvals(a), **near)
    np.testing.assert_allclose(svd(a, compute_uv=False, hermitian=True), s, **near)
    part = svd(a, False, hermitian=True, subset_by_index=(1, 3))
    np.testing.assert_allclose(part.S, s[:, 1:3], **near)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eigh(X, "X"), "must be 'L' or 'U', but it is 'X'"),
        (lambda: qr(X, "economic"), "`mode` must be"),
        (lambda: svd(X, subset_by_index=(0, 1)), "`full_matrices` must be False"),
    ],
)
def test_wrong_options(call, message):
    with pytest.raises(ValueError, match=message):
        call()
