"""Spectral densities averaged over segments of signals: `welch` and `csd`.

Source: Welch, The use of fast Fourier transform for the estimation of power spectra (1967).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from jitney import numpy as jnp
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import is_complex, promote_args_inexact
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.signal import segments
from jitney.scipy.signal.segments import Detrend, Segments, Window

Scaling = Literal["density", "spectrum"]
Average = Literal["mean", "median"]


def _operands(
    name: str, x: ArrayLike, y: ArrayLike | None, axis: int
) -> tuple[Array, Array | None]:
    """Moves the axis of the signals last, and converts them to a common dtype and length.

    The second result is None if the second signal is the first one.
    """
    if y is None or y is x:
        (first,) = promote_args_inexact(f"jax.scipy.signal.{name}", x)
        arrays = [first]
    else:
        arrays = promote_args_inexact(f"jax.scipy.signal.{name}", x, y)
    arrays = [as_value(z) for z in arrays]
    arrays = [
        jnp.moveaxis(z.astype(jnp.promote_types(z.dtype, np.float32)), axis, -1) for z in arrays
    ]
    if len(arrays) == 1:
        return arrays[0], None
    batches = [z.shape[:-1] for z in arrays]
    try:
        np.broadcast_shapes(*batches)
    except ValueError:
        raise ValueError(
            f"{name}: except for the axis of the signals, the shapes of `x` and `y` must broadcast, "
            f"but got {batches[0]} and {batches[1]}"
        ) from None
    longest = max(z.shape[-1] for z in arrays)
    first, second = (
        jnp.pad(z, [(0, 0)] * (z.ndim - 1) + [(0, longest - z.shape[-1])]) if z.size else z
        for z in arrays
    )
    return first, second


def _scale(name: str, window: Array | np.ndarray, fs: ArrayLike, scaling: str) -> ArrayLike:
    match scaling:
        case "density":
            return 1 / (fs * (window * window).sum())
        case "spectrum":
            return 1 / window.sum() ** 2
        case _:
            raise ValueError(
                f"{name}: scaling must be 'density' or 'spectrum', but got {scaling!r}"
            )


def _both_sides(power: Array, plan: Segments) -> Array:
    """Doubles the power of frequencies other than 0 and Nyquist, which occur with both signs."""
    count = power.shape[-1]
    factors = np.full(count, 2, jnp.finfo(power.dtype).dtype)
    factors[0] = 1
    if plan.transformed % 2 == 0:
        factors[-1] = 1
    return power * factors


def _median_bias(n: int) -> float:
    """Returns the expected median of n exponential variables of mean 1."""
    even = 2 * np.arange(1, (n - 1) // 2 + 1)
    return 1 + float(np.sum(1 / (even + 1) - 1 / even))


def _averaged(power: Array, average: str) -> Array:
    """Averages over segments, along the second-to-last axis."""
    if average == "mean":
        return power.mean(-2)
    bias = _median_bias(power.shape[-2])
    if is_complex(power.dtype):
        return (jnp.median(power.real, -2) + 1j * jnp.median(power.imag, -2)) / bias
    return jnp.median(power, -2) / bias


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: Scaling = "density",
    axis: int = -1,
    average: Average = "mean",
) -> tuple[Array, Array]:
    """Computes the cross spectral density by Welch's method.

    The result is conj(spectrum of x) * spectrum of y, averaged over segments.

    Args:
      x: signal; integers are converted to floats.
      y: signal; the shorter of x and y is zero-padded, and their other axes broadcast. None stands
        for x.
      fs: sampling rate, in samples per unit of time.
      window, noverlap, nfft, return_onesided: as in `stft`.
      nperseg: length of a segment, at most the length of x; by default 256.
      detrend: "constant", "linear", False, or a function of the array [..., segments, nperseg].
      scaling: "density" (per unit of frequency) or "spectrum" (power).
      axis: axis of the signals.
      average: "mean", or "median", which is corrected for its bias in the spectrum of noise.

    Returns: frequencies [f], and the density, where f replaces `axis`. The density is complex, or
      real if y is x.

    Raises:
      ValueError: if x and y do not broadcast, a window, scaling or average is unknown, or lengths
        are inconsistent.

    Example:
      >>> f, p = jax.scipy.signal.csd(jnp.arange(4.0), jnp.ones(4), nperseg=4, detrend=False)
      >>> p.round(2) + 0
      Array([5.33+0.j  , 2.67+1.33j, 0.  +0.j  ], dtype=complex64)
    """
    return _csd(
        "csd", x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
        average,
    )  # fmt: skip


def _csd(
    name: str,
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike,
    window: Window,
    nperseg: int | None,
    noverlap: int | None,
    nfft: int | None,
    detrend: Detrend,
    return_onesided: bool,
    scaling: Scaling,
    axis: int,
    average: Average,
) -> tuple[Array, Array]:
    """Computes `csd` for the public function that messages call `name`."""
    if average not in ("mean", "median"):
        raise ValueError(f"{name}: average must be 'mean' or 'median', but got {average!r}")
    x, other = _operands(name, x, y, axis)
    dtype = jnp.finfo(x.dtype).dtype
    signals = [x] if other is None else [x, other]
    if any(z.size == 0 for z in signals):
        batch = np.broadcast_shapes(*(z.shape[:-1] for z in signals))
        least = min(z.shape[-1] for z in signals)
        none = jnp.moveaxis(jnp.zeros((*batch, least), dtype), -1, axis)
        return none, none
    window, size = segments.window_and_size(name, window, nperseg, 256, x.shape[-1], dtype)
    plan = segments.segments(name, size, noverlap, nfft)
    onesided = segments.is_onesided(name, return_onesided, *signals)
    spectra = [segments.spectra(z, window, plan, detrend, onesided) for z in signals]
    if other is None:
        power = spectra[0].real ** 2 + spectra[0].imag ** 2
    else:
        power = spectra[0].conj() * spectra[1]
    power = power * _scale(name, window, fs, scaling)
    if onesided:
        power = _both_sides(power, plan)
    density = jnp.moveaxis(_averaged(power, average), -1, axis)
    return segments.frequencies(plan, fs, onesided, dtype), density


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: Scaling = "density",
    axis: int = -1,
    average: Average = "mean",
) -> tuple[Array, Array]:
    """Computes the power spectral density by Welch's method: `csd` of a signal with itself.

    See `csd` for the arguments and the errors.

    Returns: frequencies [f], and the real density, where f replaces `axis`.

    Example:
      >>> f, p = jax.scipy.signal.welch(jnp.array([1., -1., 1., -1.]), nperseg=4, scaling="spectrum")
      >>> p.round(2) + 0
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _csd(
        "welch", x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
        average,
    )  # fmt: skip
