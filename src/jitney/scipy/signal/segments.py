"""Windowed segments of signals, shared by `stft`, `csd` and `istft`.

Lengths are static. Windows come from SciPy, computed on the host as constants.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jitney import numpy as jnp
from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.source.user_warnings import warn
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import is_complex
from jitney.scipy.signal.trends import detrend as without_trend

Window = str | float | tuple[str | float, ...] | ArrayLike
Detrend = str | bool | Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Segments:
    """The layout of segments: `size` elements each, `step` apart, zero-padded to `transformed`."""

    size: int
    step: int
    transformed: int


def segments(name: str, size: int, noverlap: int | None, nfft: int | None) -> Segments:
    """Returns the layout of segments of `size` elements; raises for inconsistent lengths."""
    size = operator.index(size)
    if size < 1:
        raise ValueError(f"{name}: segments must have elements, but nperseg={size}")
    overlap = size // 2 if noverlap is None else operator.index(noverlap)
    if not 0 <= overlap < size:
        raise ValueError(
            f"{name}: segments must overlap by 0 to nperseg - 1 elements, but noverlap={overlap} and "
            f"nperseg={size}"
        )
    transformed = size if nfft is None else operator.index(nfft)
    if transformed < size:
        raise ValueError(
            f"{name}: a transform must contain a complete segment, but nfft={transformed} is less "
            f"than nperseg={size}"
        )
    return Segments(size, size - overlap, transformed)


def window_and_size(
    name: str, window: Window, nperseg: int | None, default: int, limit: int | None, dtype: np.dtype
) -> tuple[Array | np.ndarray, int]:
    """Returns the window in real `dtype`, and the segment length.

    The length is `nperseg`, or `default`, and at most `limit`; for a window given as an array it is
    that of the array.
    """
    if isinstance(window, (str, float, tuple)):
        size = default if nperseg is None else operator.index(nperseg)
        if size < 1:
            raise ValueError(f"{name}: segments must have elements, but nperseg={size}")
        if limit is not None and size > limit:
            # As in SciPy, a signal shorter than a segment is one segment.
            warn(f"{name}: nperseg={size} is greater than the signal's length, using {limit}")
            size = limit
        from scipy.signal import get_window

        return np.asarray(get_window(window, size)).astype(dtype), size
    values = jnp.asarray(window, dtype)
    if values.ndim != 1:
        raise ValueError(f"{name}: `window` must be a vector, but it has shape {values.shape}")
    size = values.shape[0]
    if limit is not None and size > limit:
        raise ValueError(f"{name}: window is longer than the signal, {size} and {limit} elements")
    if nperseg is not None and operator.index(nperseg) != size:
        raise ValueError(
            f"{name}: `window` must be as long as a segment, but it has "
            f"{messages.counted(size, 'element')} and "
            f"nperseg={nperseg}"
        )
    return values, size


def cut(x: Array, plan: Segments) -> Array:
    """Cuts [..., n] into [..., segments, size]; drops an incomplete segment at the end."""
    count = (x.shape[-1] - plan.size) // plan.step + 1
    places = plan.step * np.arange(count)[:, None] + np.arange(plan.size)
    return x[..., places]


def overlap_add(x: Array, step: int) -> Array:
    """Sums [..., segments, size], where segments are `step` apart and overlap, into [..., n].

    Segments are cut into blocks of `step` elements; block i of segment j is added to block i + j of
    the result. The blocks form a matrix with rows i and columns j. With each row padded to one more
    element than the result has and the whole reshaped to rows of the result's length, these sums
    are column sums.
    """
    *batch, count, size = x.shape
    blocks = -(-size // step)
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, blocks * step - size)])
    x = jnp.moveaxis(x.reshape(*batch, count, blocks, step), -2, -3)
    total = count + blocks - 1
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, blocks), (0, 0)])
    x = x.reshape(*batch, blocks * (total + 1), step)[..., : blocks * total, :]
    x = x.reshape(*batch, blocks, total, step).sum(-3)
    return x.reshape(*batch, total * step)[..., : (count - 1) * step + size]


def spectra(
    x: Array, window: Array | np.ndarray, plan: Segments, detrend: Detrend, onesided: bool
) -> Array:
    """Transforms each segment of [..., n] after detrending and windowing it."""
    parts = cut(x, plan)
    if callable(detrend):
        parts = detrend(parts)
    elif detrend:
        # True does not name a trend; `without_trend` raises for it.
        parts = without_trend(parts, type=detrend, axis=-1)  # pyright: ignore[reportArgumentType]
    transform = jnp.fft.rfft if onesided else jnp.fft.fft
    return transform(window * parts, plan.transformed)


def frequencies(plan: Segments, fs: ArrayLike, onesided: bool, dtype: np.dtype) -> Array:
    """Returns the frequencies of the elements of a transform, for sampling rate `fs`."""
    function = np.fft.rfftfreq if onesided else np.fft.fftfreq
    return jnp.asarray(function(plan.transformed, 1 / plan.transformed), dtype) * (
        fs / plan.transformed
    )


def is_onesided(name: str, asked: bool, *signals: Array) -> bool:
    """Returns whether spectra are one-sided; for complex signals warns and returns False."""
    if asked and any(is_complex(x.dtype) for x in signals):
        warn(
            f"{name}: a signal is complex, so spectra also have negative frequencies: "
            "return_onesided is set to False"
        )
        return False
    return asked
