"""Eigenvectors of general matrices satisfy A V = V D, and so do their tangents."""

import numpy as np
import pytest

import jitney
from jitney.primitives.linalg.eig import eig_p

A = np.array([[1, 2, 0], [-3, 1, 1], [0, 2, 4]], np.float32)  # two eigenvalues are complex
T = np.array([[0, 1, 2], [1, 0, -1], [3, 1, 1]], np.float32)


def eig(x, left=False, right=True, derivatives=True):
    return eig_p.bind(
        x,
        compute_left_eigenvectors=left,
        compute_right_eigenvectors=right,
        enable_eigvec_derivs=derivatives,
        implementation=None,
    )


def test_right_and_left_eigenvectors():
    values, left, right = map(np.asarray, eig(A, left=True))
    np.testing.assert_allclose(A @ right, right * values, atol=1e-5)
    np.testing.assert_allclose(left.conj().T @ A, values[:, None] * left.conj().T, atol=1e-5)
    assert values.dtype == np.complex64


def test_tangents_satisfy_the_derivative_of_the_equation():
    (values, v), (dvalues, dv) = jitney.jvp(eig, (A,), (T,))
    values, v, dvalues, dv = map(np.asarray, (values, v, dvalues, dv))
    np.testing.assert_allclose(T @ v + A @ dv, dv * values + v * dvalues, atol=1e-4)
    np.testing.assert_allclose(dvalues.sum(), np.trace(T), atol=1e-4)
    lengths = (v.conj() * dv).sum(0).real  # eigenvectors keep length 1
    np.testing.assert_allclose(lengths, 0, atol=1e-5)


def test_derivatives_of_eigenvectors_must_be_asked_for():
    with pytest.raises(NotImplementedError, match=r"If both hold, pass enable_eigvec_derivs=True"):
        jitney.jvp(lambda x: eig(x, derivatives=False), (A,), (T,))
    _, (dvalues,) = jitney.jvp(lambda x: eig(x, right=False, derivatives=False), (A,), (T,))
    np.testing.assert_allclose(np.asarray(dvalues).sum(), np.trace(T), atol=1e-4)
