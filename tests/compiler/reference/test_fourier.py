"""Transforms keep the precision of their operands, and roots of unity are exact to one ulp."""

import mpmath
import numpy as np
import pytest

from jitney.compiler.reference.fourier import (
    dft,
    dft_of_real,
    dft_to_real,
    fft,
    spectrum_extent,
    unit_roots,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 7, 8, 12, 1000, 1024])
def test_roots_of_unity(n):
    """For few powers and for all, which are computed in another way."""
    powers = np.unique([0, 1, n // 3, n // 2, n - 1, 5 * n + 3])
    with mpmath.workdps(40):
        expected = np.array([complex(mpmath.expjpi(-mpmath.mpf(2 * int(k)) / n)) for k in powers])
    for found in (unit_roots(n, powers), unit_roots(n, np.arange(n))[powers % n]):
        assert np.abs(found.real - expected.real).max() <= 2.0**-53
        assert np.abs(found.imag - expected.imag).max() <= 2.0**-53


def test_quarters_of_a_turn_are_exact():
    np.testing.assert_array_equal(unit_roots(4, np.arange(-4, 5)), [1, -1j, -1, 1j] * 2 + [1])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_kinds_of_transforms(dtype):
    z = (RNG.normal(size=(2, 3, 6)) + 1j * RNG.normal(size=(2, 3, 6))).astype(dtype)
    real = z.real.copy()
    tol = 1e-5 if dtype == np.complex64 else 1e-13
    found = fft(z, "FFT", (3, 6))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.fft.fftn(z, axes=(1, 2)), atol=tol)
    np.testing.assert_allclose(fft(found, "IFFT", (3, 6)), z, atol=tol)
    half = fft(real, "RFFT", (3, 6))
    assert half.dtype == dtype and half.shape == (2, 3, 4)
    back = fft(half, "IRFFT", (3, 6))
    assert back.dtype == real.dtype
    np.testing.assert_allclose(back, real, atol=tol)


@pytest.mark.parametrize("kind", ["FFT", "RFFT", "IRFFT"])
def test_empty_axes(kind):
    x = np.zeros((2, 0), np.float32 if kind == "RFFT" else np.complex64)
    n = 0 if kind != "IRFFT" else 5
    found = fft(x, kind, (n,))
    assert found.shape == (2, n) and not found.any()
    assert found.dtype == (np.float32 if kind == "IRFFT" else np.complex64)
    assert [spectrum_extent(n) for n in (0, 1, 2, 7)] == [0, 1, 2, 4]


@pytest.mark.parametrize("dim", [0, 1])
def test_parts_are_transformed_together(dim):
    re, im = RNG.normal(size=(2, 5, 6))
    z = re + 1j * im
    for inverse in (False, True):
        scale = 1 / z.shape[dim]
        expected = np.fft.ifft(z, axis=dim) / scale if inverse else np.fft.fft(z, axis=dim)
        for normalized in (False, True):
            a, b = dft(re, im, dim, inverse, normalized)
            wanted = expected * (scale if normalized else 1)
            np.testing.assert_allclose(a + 1j * b, wanted, atol=1e-12)
            assert a.flags.c_contiguous and b.flags.c_contiguous
    a, b = dft_of_real(re, dim)
    np.testing.assert_allclose(a + 1j * b, np.fft.rfft(re, axis=dim), atol=1e-12)
    np.testing.assert_allclose(dft_to_real(a, b, dim, re.shape[dim]), re, atol=1e-13)
