"""Windowed segments of signals, shared by `stft`, `csd` and `istft`.

Lengths are static. Windows are constants, computed on the host by SciPy.
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
        raise ValueError(f"{name}: nperseg must be 1 or more, but got nperseg={size}")
    overlap = size // 2 if noverlap is None else operator.index(noverlap)
    if not 0 <= overlap < size:
        raise ValueError(
            f"{name}: noverlap must be from 0 to nperseg - 1, but got noverlap={overlap} and "
            f"nperseg={size}"
        )
    transformed = size if nfft is None else operator.index(nfft)
    if transformed < size:
        raise ValueError(
            f"{name}: a transform must cover a complete segment, but nfft={transformed} is less "
            f"than nperseg={size}"
        )
    return Segments(size, size - overlap, transformed)


def window_and_size(
    name: str, window: Window, nperseg: int | None, default: int, limit: int | None, dtype: np.dtype
) -> tuple[Array | np.ndarray, int]:
    """Returns the window, of the real `dtype`, and the segment length.

    The segment length is `nperseg` (`default` if it is None), limited to `limit`. If the window is
    an array, the segment length is the length of that array.
    """
    if isinstance(window, (str, float, tuple)):
        size = default if nperseg is None else operator.index(nperseg)
        if size < 1:
            raise ValueError(f"{name}: nperseg must be 1 or more, but got nperseg={size}")
        if limit is not None and size > limit:
            # As in SciPy, a signal shorter than a segment is one segment.
            warn(
                f"{name}: nperseg={size} is greater than the length of the signal; using "
                f"nperseg={limit}"
            )
            size = limit
        from scipy.signal import get_window

        return np.asarray(get_window(window, size)).astype(dtype), size
    values = jnp.asarray(window, dtype)
    if values.ndim != 1:
        raise ValueError(f"{name}: `window` must be a vector, but it has shape {values.shape}")
    size = values.shape[0]
    if limit is not None and size > limit:
        raise ValueError(
            f"{name}: window is longer than the signal: they have {size} and {limit} elements"
        )
    if nperseg is not None and operator.index(nperseg) != size:
        raise ValueError(
            f"{name}: `window` must be as long as a segment, but it has "
            f"{messages.counted(size, 'element')}, and nperseg={nperseg}"
        )
    return values, size


def cut(x: Array, plan: Segments) -> Array:
    """Cuts an array [..., n] into [..., segments, size]; drops an incomplete last segment."""
    count = (x.shape[-1] - plan.size) // plan.step + 1
    places = plan.step * np.arange(count)[:, None] + np.arange(plan.size)
    return x[..., places]


def overlap_add(x: Array, step: int) -> Array:
    """Adds overlapping segments [..., segments, size], which are `step` apart, into [..., n].

    Segments are cut into blocks of `step` elements; block i of segment j is added to block i + j of
    the result. The blocks form a matrix with rows i and columns j. If each row is padded to one
    block more than the result has, and the whole is then reshaped to rows of the length of the
    result, these sums become column sums.
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
    """Computes the spectra of the segments of an array [..., n], detrended and windowed."""
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
            f"{name}: return_onesided is set to False, since the spectra of complex signals also "
            "have negative frequencies"
        )
        return False
    return asked
