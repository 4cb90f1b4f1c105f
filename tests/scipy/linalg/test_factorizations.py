"""The factors of matrices multiply to the matrix, and have the form that their names say."""

import numpy as np
import pytest
import scipy.linalg

from jitney.scipy.linalg import factorizations as f

RNG = np.random.default_rng(0)
A = RNG.normal(size=(2, 4, 4)).astype(np.float32)
C = (A + 1j * RNG.normal(size=A.shape)).astype(np.complex64)
TALL = RNG.normal(size=(5, 3)).astype(np.float32)


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("lower", [False, True])
def test_cholesky_reads_one_triangle(lower):
    definite = C @ adjoint(C) + 4 * np.eye(4, dtype=np.float32)
    given = np.tril(definite) if lower else np.triu(definite)
    factor, flag = f.cho_factor(given, lower)
    assert flag is lower
    factor = np.asarray(factor)
    close(factor, np.tril(factor) if lower else np.triu(factor))
    close(factor @ adjoint(factor) if lower else adjoint(factor) @ factor, definite)


def test_lu_with_and_without_its_permutation():
    p, low, up = map(np.asarray, f.lu(TALL))
    close(p @ low @ up, TALL)
    close(np.diagonal(low), 1)
    permuted, again = f.lu(TALL, permute_l=True)
    close(permuted, p @ low)
    close(again, up)


def test_real_schur_forms_become_complex_ones():
    t, z = f.schur(A)
    t, z = map(np.asarray, f.rsf2csf(t, z))
    np.testing.assert_array_equal(t, np.triu(t))
    close(z @ t @ adjoint(z), A)
    close(z @ adjoint(z), np.broadcast_to(np.eye(4), A.shape))


def test_qr_modes_and_products_with_q():
    q, r = map(np.asarray, f.qr(TALL, mode="economic"))
    close(q @ r, TALL)
    assert f.qr(TALL)[0].shape == (5, 5) and len(f.qr(TALL, mode="r")) == 1
    c = RNG.normal(size=(2, 5)).astype(np.float32)
    close(f.qr_multiply(TALL, c)[0], c @ q)
    close(f.qr_multiply(TALL, c[:, :3].T, "left")[0], q @ c[:, :3].T)
    close(np.abs(f.qr_multiply(TALL, c[0], "left")[0]), np.abs(scipy.linalg.qr(TALL)[0] @ c[0]))


def test_hessenberg():
    h, q = map(np.asarray, f.hessenberg(C, calc_q=True))
    np.testing.assert_array_equal(h, np.triu(h, -1))
    close(q @ h @ adjoint(q), C)
    close(f.hessenberg(C), h)
    assert f.hessenberg(np.zeros((0, 0))).shape == (0, 0)


@pytest.mark.parametrize("side", ["right", "left"])
def test_polar(side):
    u, p = map(np.asarray, f.polar(C, side))
    close(u @ p if side == "right" else p @ u, C)
    close(p, adjoint(p))
    close(u @ adjoint(u), np.broadcast_to(np.eye(4), C.shape))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: f.cholesky(TALL), ValueError, "cholesky: `a` must be square"),
        (lambda: f.eigh(A, A), NotImplementedError, "only b=None"),
        (lambda: f.schur(A, "upper"), ValueError, "`output` must be"),
        (lambda: f.rsf2csf(A[0], TALL), ValueError, "`Z` must be square"),
        (lambda: f.qr(TALL, mode="raw"), ValueError, "`mode` must be"),
        (lambda: f.qr_multiply(TALL, TALL), ValueError, "do not match"),
        (lambda: f.polar(A, "up"), ValueError, "`side`"),
        (lambda: f.polar(A, method="newton"), ValueError, "unknown method 'newton'"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
