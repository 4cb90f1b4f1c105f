"""Discrete Fourier transforms by SciPy's pocketfft, in the precision of the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from jitney.compiler.scalar_functions.declaration import ComplexArray

Kind: TypeAlias = str  # "FFT", "IFFT", "RFFT", "IRFFT"


def fft(x: np.ndarray, kind: Kind, lengths: Sequence[int]) -> np.ndarray:
    """Returns the transform over the last `len(lengths)` axes of `x`.

    `lengths` are the sizes of these axes; for real transforms, the last one is the size in the real
    array. Inverse transforms are divided by the product of the sizes.
    """
    from scipy import fft as pocketfft

    if not lengths or x.size == 0 or 0 in lengths:
        return _of_nothing(x, kind, lengths)
    axes = tuple(range(x.ndim - len(lengths), x.ndim))
    match kind:
        case "FFT":
            return pocketfft.fftn(x, axes=axes)
        case "IFFT":
            return pocketfft.ifftn(x, axes=axes)
        case "RFFT":
            return pocketfft.rfftn(x, axes=axes)
        case _:
            return pocketfft.irfftn(x, s=tuple(lengths), axes=axes)


def spectrum_extent(n: int) -> int:
    """Returns the number of elements in the half spectrum of `n` real elements."""
    return n // 2 + 1 if n else 0


def _of_nothing(x: np.ndarray, kind: Kind, lengths: Sequence[int]) -> np.ndarray:
    """Returns the transform if no axis is transformed, or if an axis is empty."""
    if not lengths:
        return x.copy()
    shape = list(x.shape)
    if kind == "RFFT":
        shape[-1] = spectrum_extent(lengths[-1])
        return np.zeros(shape, np.result_type(x.dtype, np.complex64))
    if kind == "IRFFT":
        shape[-1] = lengths[-1]
        return np.zeros(shape, np.float32 if x.dtype == np.complex64 else np.float64)
    return np.zeros(shape, x.dtype)


def dft(
    re: np.ndarray, im: np.ndarray, dim: int, inverse: bool, normalized: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the transform of re + i im along axis `dim`; `normalized` divides by its length."""
    from scipy import fft as pocketfft

    z: ComplexArray = np.empty(re.shape, np.result_type(re.dtype, np.complex64))
    z.real, z.imag = re, im
    if inverse:
        out = pocketfft.ifft(z, axis=dim, norm="backward" if normalized else "forward")
    else:
        out = pocketfft.fft(z, axis=dim, norm="forward" if normalized else "backward")
    return np.ascontiguousarray(out.real), np.ascontiguousarray(out.imag)


def dft_of_real(x: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the components of the half spectrum, n // 2 + 1 elements, of real `x` along `dim`."""
    from scipy import fft as pocketfft

    out = pocketfft.rfftn(x, axes=(dim,))
    return np.ascontiguousarray(out.real), np.ascontiguousarray(out.imag)


def dft_to_real(re: np.ndarray, im: np.ndarray, dim: int, n: int) -> np.ndarray:
    """Returns the `n` real elements whose half spectrum along axis `dim` is re + i im."""
    from scipy import fft as pocketfft

    z: ComplexArray = np.empty(re.shape, np.result_type(re.dtype, np.complex64))
    z.real, z.imag = re, im
    return pocketfft.irfftn(z, s=(n,), axes=(dim,))


def unit_roots(n: int, powers: np.ndarray) -> ComplexArray:
    """Returns exp(-2 pi i powers / n) in complex128, with each component within one ulp.

    The angle is reduced in integer arithmetic to at most an eighth of a turn.
    """
    k = powers % n
    if n % 8 == 0 and k.size > n // 8:
        return _all_roots(n)[k]
    eighth = 8 * k // n  # the octant of the angle
    remainder = 8 * k - eighth * n  # the rest of the angle, in 8 n-ths of a turn
    flipped = eighth % 2 == 1  # measured from the other end of the octant
    remainder = np.where(flipped, n - remainder, remainder)
    angle = remainder * (np.pi / (4 * n))
    c, s = np.cos(angle), np.sin(angle)
    quarter = (eighth + 1) // 2 % 4  # the axis from which the angle is measured
    s = np.where(flipped, -s, s)
    re = np.choose(quarter, [c, -s, -c, s])
    im = np.choose(quarter, [s, c, -s, -c])
    return re - 1j * im


def _all_roots(n: int) -> ComplexArray:
    """Returns exp(-2 pi i k / n) for all k < n, where n is a multiple of 8.

    All octants but the first are obtained by symmetry.
    """
    angle = np.arange(0, n + 1, 8) * (np.pi / (4 * n))
    c, s = np.cos(angle), np.sin(angle)
    eighth, quarter = n // 8, n // 4
    roots = np.empty((4, quarter), np.complex128)
    re, im = roots[0].real, roots[0].imag
    re[:eighth], im[:eighth] = c[:-1], -s[:-1]
    re[eighth:], im[eighth:] = s[:0:-1], -c[:0:-1]
    for rotated, root in zip(roots[1:], roots[:-1], strict=True):  # times -i
        rotated.real, rotated.imag = root.imag, -root.real
    return roots.reshape(n)
