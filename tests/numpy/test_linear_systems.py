"""Solutions satisfy their systems, exactly or in the sense of least squares."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.linear_systems import inv, lstsq, pinv, solve, tensorinv, tensorsolve

RNG = np.random.default_rng(0)
A = (RNG.normal(size=(2, 3, 3)) + 2 * np.eye(3)).astype(np.float32)
B = RNG.normal(size=(3, 5)).astype(np.float32)
TALL = RNG.normal(size=(6, 3)).astype(np.float32)
near = {"rtol": 1e-3, "atol": 1e-4}


def test_solutions():
    np.testing.assert_allclose(A @ solve(A, B), np.stack([B, B]), **near)
    np.testing.assert_allclose(A[0] @ solve(A[0], B[:, 0]), B[:, 0], **near)
    np.testing.assert_allclose(inv(A[0]) @ A[0], np.eye(3), **near)


@pytest.mark.parametrize(
    "a", [TALL, TALL.T, TALL + 1j * TALL[::-1]], ids=["tall", "wide", "complex"]
)
def test_pseudoinverses_satisfy_the_equations_of_penrose(a):
    p = np.asarray(pinv(a))
    np.testing.assert_allclose(a @ p @ a, a, **near)
    np.testing.assert_allclose(p @ a @ p, p, **near)
    for projector in (a @ p, p @ a):
        np.testing.assert_allclose(projector, projector.conj().T, **near)


def test_small_singular_values_are_cut_off():
    a = np.diag(np.float32([4, 1, 1e-3]))
    np.testing.assert_allclose(pinv(a, rtol=0.01), np.diag([0.25, 1, 0]), atol=1e-6)
    np.testing.assert_allclose(pinv(a, rcond=0.5), np.diag([0.25, 0, 0]), atol=1e-6)
    assert pinv(np.zeros((2, 3), np.float32)).tolist() == [[0, 0]] * 3
    np.testing.assert_allclose(pinv(-a, hermitian=True), -np.diag([0.25, 1, 1e3]), rtol=1e-4)


def test_slopes_of_pseudoinverses():
    step = 1e-2 * RNG.normal(size=TALL.shape).astype(np.float32)
    _, slope = jitney.jvp(pinv, (TALL,), (step,))
    difference = (np.linalg.pinv(TALL + step / 2.0) - np.linalg.pinv(TALL - step / 2.0)) / 1.0
    np.testing.assert_allclose(slope, difference, rtol=1e-2, atol=1e-5)


def test_least_squares():
    b = RNG.normal(size=(6, 2)).astype(np.float32)
    for right in (b, b[:, 0]):
        ours, theirs = lstsq(TALL, right), np.linalg.lstsq(TALL, right)
        np.testing.assert_allclose(ours[0], theirs[0], **near)
        np.testing.assert_allclose(np.ravel(ours[1]), theirs[1], **near)
        assert ours[2] == 3
    assert [lstsq(np.diag([4, 1, 0.1]), b[:3], rcond)[2] for rcond in (0.01, 0.05)] == [3, 2]
    rank_two = TALL * np.float32([1, 1, 0])
    assert lstsq(rank_two, b)[2] == 2
    assert lstsq(rank_two, b, numpy_resid=True)[1].shape == (0,)
    assert lstsq(np.zeros((0, 3)), np.zeros(0))[0].tolist() == [0] * 3


def test_tensors_are_solved_as_matrices():
    a, b = A[0].reshape(3, 1, 1, 3), B[:, :1]
    inverse = tensorinv(a)
    assert inverse.shape == (1, 3, 3, 1)
    np.testing.assert_allclose(np.tensordot(inverse, a), np.eye(3)[None, :, None], **near)
    x = tensorsolve(a, b)
    assert x.shape == (1, 3)
    np.testing.assert_allclose(np.tensordot(a, x), b, **near)
    np.testing.assert_array_equal(tensorsolve(np.moveaxis(a, 3, 0), b, axes=(0,)), x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: solve(TALL, B), ValueError, "square"),
        (lambda: solve(A[0], B[:2, 0]), ValueError, "as many rows as `a`, 3, but it has 2"),
        (
            lambda: solve(A, np.ones((2, 3))),
            ValueError,
            r"one vector per matrix, use jnp.linalg.solve",
        ),
        (lambda: pinv(A, rtol=1, rcond=1), ValueError, "two names for one tolerance"),
        (lambda: lstsq(A, A), TypeError, "must be one matrix"),
        (lambda: lstsq(TALL, B), ValueError, "as many rows as `a`, but"),
        (lambda: tensorinv(A, 1), ValueError, "as many elements as the others"),
        (lambda: tensorinv(A, 0), ValueError, "must be 1 or more"),
        (lambda: tensorsolve(A, B), ValueError, "must begin with that of `b`"),
    ],
)
def test_wrong_shapes(call, error, message):
    with pytest.raises(error, match=message):
        call()
