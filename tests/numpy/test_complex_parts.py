"""Real numbers have the imaginary part zero, and angles of zero or pi."""

from __future__ import annotations

import cmath

import numpy as np
import pytest

from jitney.numpy.complex_parts import angle, conj, conjugate, imag, iscomplex, isreal, real

Z = np.array([1 + 2j, -3 + 0j, 2j, complex(-1, -0.0), complex(np.nan, 1)], np.complex64)
X = np.array([-1.5, 0.0, 2.0], np.float32)


def test_parts():
    np.testing.assert_array_equal(real(Z), Z.real)
    np.testing.assert_array_equal(imag(Z), Z.imag)
    np.testing.assert_array_equal(conjugate(Z), Z.conj())
    np.testing.assert_array_equal(conj(conj(Z)), Z)
    assert real(X).tolist() == conj(X).tolist() == X.tolist()
    assert imag(np.array([3, -1], np.int8)).tolist() == [0, 0]
    assert imag(np.array([3], np.int8)).dtype == np.int8


@pytest.mark.parametrize("deg", [False, True])
def test_angles(deg):
    unit = 180 / np.pi if deg else 1
    expected = [cmath.phase(complex(z)) * unit for z in Z]
    np.testing.assert_allclose(angle(Z, deg), expected, rtol=1e-6)
    np.testing.assert_allclose(angle(X, deg), [np.pi * unit, 0, 0], rtol=1e-6)
    assert angle(np.array([-1, 1], np.int8)).dtype == np.float32
    assert angle(np.float16([1.0])).dtype == np.float16


def test_numbers_are_real_where_their_imaginary_part_is_zero():
    assert isreal(Z).tolist() == [False, True, False, True, False]
    assert iscomplex(Z).tolist() == [True, False, True, False, True]
    assert isreal(X).all()
    assert not iscomplex(np.array([True])).any()
    with pytest.raises(TypeError, match="imag: operands must be arrays"):
        isreal([1j])
