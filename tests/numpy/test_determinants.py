"""Determinants have the sign of the permutation, and slopes even where they are zero."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import jitney
from jitney.numpy.determinants import _det, _slogdet, det, slogdet

X = np.random.default_rng(0).normal(size=(3, 4, 4)).astype(np.float32)
Z = (X + 1j * X[::-1]).astype(np.complex64)


@pytest.mark.parametrize("a", [X, Z, X[:, :0, :0]])
def test_values(a):
    np.testing.assert_allclose(det(a), np.linalg.det(a), rtol=1e-4)
    sign, size = slogdet(a)
    np.testing.assert_allclose(sign * np.exp(size), np.linalg.det(a), rtol=1e-4)
    np.testing.assert_allclose(np.abs(sign), np.ones(3), rtol=1e-6)


def test_permutations_have_the_determinant_of_their_parity():
    orders = list(itertools.permutations(range(4)))
    inversions = [sum(a > b for a, b in itertools.combinations(p, 2)) for p in orders]
    found = _det(np.stack([np.eye(4, dtype=np.float32)[list(p)] for p in orders]))
    assert found.tolist() == [(-1) ** k for k in inversions]


def test_singular_matrices():
    sign, size = _slogdet(np.ones((2, 2), np.float32))
    assert (float(sign), float(size)) == (0, -math.inf)
    # A determinant that overflows has a logarithm.
    sign, size = _slogdet(-1e20 * np.eye(3, dtype=np.float32))
    assert sign == -1
    assert float(size) == pytest.approx(60 * math.log(10), rel=1e-6)


def test_slopes_are_cofactors():
    matrices = np.stack([X[0, :3, :3], np.diag([2, 3, 0]), [[1, 2, 3], [2, 4, 6], [1, 0, 1]]])
    slopes = np.asarray(jitney.grad(lambda a: _det(a).sum())(matrices.astype(np.float32)))
    for a, slope in zip(matrices, slopes, strict=True):
        for i, j in itertools.product(range(3), repeat=2):
            minor = np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))
            assert float(slope[i, j]) == pytest.approx((-1) ** (i + j) * minor, rel=1e-4, abs=1e-5)


def test_slopes_of_the_logarithm_are_inverses():
    slope = jitney.grad(lambda a: _slogdet(a)[1].sum())(X)
    np.testing.assert_allclose(slope, np.linalg.inv(X).mT, rtol=2e-3, atol=1e-4)


def test_matrices_are_square():
    for f in (det, slogdet):
        with pytest.raises(ValueError, match=r"must be square matrices, .* is \(3, 4, 2\)"):
            f(X[..., :2])
    with pytest.raises(ValueError, match="`method` must be 'lu', 'qr' or None"):
        slogdet(X, method="svd")
