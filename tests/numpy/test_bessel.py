"""The Bessel function `i0` is even, positive, and accurate to the range of its dtype."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import jitney
from jitney.numpy.bessel import i0

X = np.float32([0, 1e-4, 0.5, 2, 7.75, 8, 30, 85])


def test_values():
    exact = [float(mpmath.besseli(0, float(x))) for x in X]
    np.testing.assert_allclose(i0(X), exact, rtol=3e-6)
    np.testing.assert_array_equal(i0(-X), i0(X))
    assert np.isinf(i0(np.float32(100)))


def test_slopes_are_odd():
    slope = jitney.vmap(jitney.grad(i0))
    exact = [float(mpmath.besseli(1, float(x))) for x in X]
    np.testing.assert_allclose(slope(X), exact, rtol=5e-6)


def test_integers_become_floats():
    assert i0(np.array([0, 3])).dtype == np.float32
    assert i0(np.float16(1)).dtype == np.float16
    with pytest.raises(ValueError, match="`x` must be real, but it is complex64"):
        i0(np.complex64(1))
