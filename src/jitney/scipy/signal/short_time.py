"""The short-time Fourier transform `stft` and its inverse `istft`.

Spectra are divided by the sum of the window. The inverse multiplies the segments by the window once
more, adds them, and divides the result by the sum of the squared windows. This gives the signal
whose spectra are nearest to the given ones in the least-squares sense (Griffin and Lim, Signal
estimation from modified short-time Fourier transform, 1984).
"""

from __future__ import annotations

import operator

import numpy as np

from jitney import numpy as jnp
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import promote_args_inexact
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.signal import segments
from jitney.scipy.signal.segments import Detrend, Segments, Window

# Boundary name -> arguments of `jnp.pad`.
_BOUNDARIES: dict[str | None, dict[str, str]] = {
    "even": {"mode": "reflect"},
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "constant": {"mode": "edge"},
    "zeros": {"mode": "constant"},
    None: {},
}


def _last_axis_padded(
    x: Array, before: int, after: int, mode: str = "constant", **how: str
) -> Array:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)], mode=mode, **how)


def _times(count: int, plan: Segments, centered: bool, fs: ArrayLike, dtype: np.dtype) -> Array:
    """Returns the times of the centers of the segments; the first one is 0 if `centered`."""
    first = 0 if centered else plan.size / 2
    return jnp.asarray(first + plan.step * np.arange(count), dtype) / fs


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """Computes the short-time Fourier transform: spectra of overlapping, windowed segments.

    Args:
      x: signal; integers are converted to floats.
      fs: sampling rate, in samples per unit of time.
      window: name of a window of SciPy's `get_window`, tuple of a name and parameters, or array.
      nperseg: length of a segment, at most the length of the signal; if `window` is an array, its
        length by default.
      noverlap: number of elements that consecutive segments share; half a segment by default.
      nfft: length of the transforms, to which segments are zero-padded; `nperseg` by default.
      detrend: "constant", "linear", False, or a function of the array [..., segments, nperseg].
      return_onesided: whether to omit negative frequencies; for complex signals all frequencies are
        always returned.
      boundary: how the signal is extended by half a segment at each end: by "zeros", "constant"
        (repeating the outermost element), or "even" or "odd" (by reflection); None does not extend
        it.
      padded: whether to append zeros so that the segments cover the entire signal.
      axis: axis of the signal.

    Returns: frequencies [f], times of the segments [t], and spectra, where f replaces `axis` and t
      is appended.

    Raises:
      ValueError: if a window or boundary is unknown, or lengths are inconsistent.

    Example:
      >>> f, t, spectra = jax.scipy.signal.stft(jnp.ones(8), nperseg=4)
      >>> f
      Array([0.  , 0.25, 0.5 ], dtype=float32)
      >>> abs(spectra[0]).round(3)
      Array([0.75, 1.  , 1.  , 1.  , 0.25], dtype=float32)
    """
    if boundary not in _BOUNDARIES:
        raise ValueError(f"stft: boundary must be one of {list(_BOUNDARIES)}, but got {boundary!r}")
    signal = as_value(promote_args_inexact("jax.scipy.signal.stft", x)[0])
    x = jnp.moveaxis(signal.astype(jnp.promote_types(signal.dtype, np.float32)), axis, -1)
    dtype = jnp.finfo(x.dtype).dtype
    if x.size == 0:
        none = jnp.zeros(jnp.moveaxis(x, -1, axis).shape, dtype)
        return none, none, none.astype(jnp.result_type(dtype, np.complex64))
    window, size = segments.window_and_size("stft", window, nperseg, 256, x.shape[-1], dtype)
    plan = segments.segments("stft", size, noverlap, nfft)
    if boundary is not None:
        x = _last_axis_padded(x, size // 2, size // 2, **_BOUNDARIES[boundary])
    if padded:
        x = _last_axis_padded(x, 0, -(x.shape[-1] - size) % plan.step % size)
    onesided = segments.is_onesided("stft", return_onesided, x)
    out = segments.spectra(x, window, plan, detrend, onesided) / window.sum()
    times = _times(out.shape[-2], plan, boundary is not None, fs, dtype)
    place = axis if axis >= 0 else axis - 1
    out = jnp.moveaxis(out, -1, place)
    return segments.frequencies(plan, fs, onesided, dtype), times, out


def _segment_length(
    name: str, nperseg: int | None, nfft: int | None, bins: int, onesided: bool
) -> tuple[int, int]:
    """Returns the lengths of segments and of transforms whose spectra have `bins` elements."""
    usual = 2 * (bins - 1) if onesided else bins
    size = usual if nperseg is None else operator.index(nperseg)
    if nfft is not None:
        return size, operator.index(nfft)
    # One-sided spectra of lengths 2k and 2k + 1 have the same size.
    return size, size if onesided and size == usual + 1 else usual


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """Computes a signal from its short-time Fourier transform: the inverse of `stft`.

    Args:
      Zxx: spectra.
      fs, window, noverlap, nfft: as in `stft`.
      nperseg: length of a segment; by default the even length whose spectra have the size of `Zxx`
        along `freq_axis`, or that size itself if `input_onesided` is False.
      input_onesided: whether the spectra omit negative frequencies; the signal is then real.
      boundary: whether to remove the half segment that `stft` added at each end.
      time_axis: axis of the segments.
      freq_axis: axis of the frequencies.

    Returns: times [n], and the signal, with its axis in place of `time_axis`.

    Raises:
      ValueError: if `Zxx` has fewer than two axes, if time and frequency axis are the same, if the
        window is unknown, or if lengths are inconsistent.

    Example:
      >>> _, _, spectra = jax.scipy.signal.stft(jnp.arange(4.0), nperseg=4)
      >>> jax.scipy.signal.istft(spectra)[1].round(3) + 0
      Array([0., 1., 2., 3.], dtype=float32)
    """
    z = as_value(promote_args_inexact("jax.scipy.signal.istft", Zxx)[0])
    if z.ndim < 2:
        raise ValueError(f"istft: the spectra must have at least 2 axes, but got shape {z.shape}")
    time, freq = (axis % z.ndim for axis in (time_axis, freq_axis))
    if time == freq:
        raise ValueError(f"istft: time and frequency axes must differ, but both are {time}")
    z = jnp.moveaxis(z.astype(jnp.promote_types(z.dtype, np.complex64)), (time, freq), (-2, -1))
    dtype = jnp.finfo(z.dtype).dtype
    size, transformed = _segment_length("istft", nperseg, nfft, z.shape[-1], input_onesided)
    plan = segments.segments("istft", size, noverlap, transformed)
    window, _ = segments.window_and_size("istft", window, size, size, None, dtype)
    transform = jnp.fft.irfft if input_onesided else jnp.fft.ifft
    parts = transform(z, plan.transformed)[..., :size]
    x = segments.overlap_add(parts * (window * window.sum()), plan.step)
    squares = jnp.broadcast_to(jnp.asarray(window) ** 2, (z.shape[-2], size))
    norm = segments.overlap_add(squares, plan.step)
    if boundary:
        x, norm = (y[..., size // 2 : y.shape[-1] - size // 2] for y in (x, norm))
    # Avoid 0 / 0 where the windows vanish.
    x = x / jnp.where(norm > 1e-10, norm, 1)
    times = jnp.arange(x.shape[-1], dtype=dtype) / fs
    return times, jnp.moveaxis(x, -1, time - (freq < time))
