"""Convolution and correlation (`convolve`, `correlate`), and windows (`hanning`, `kaiser`)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.numpy import promotion
from jitney.numpy.bessel import i0
from jitney.numpy.flips import flip
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.creation import iota
from jitney.primitives.array.shape import squeeze
from jitney.primitives.convolution.convolution import conv_general_dilated
from jitney.primitives.elementwise import unary
from jitney.primitives.elementwise.convert import convert, user_dtype
from jitney.primitives.linalg.precision import PrecisionLike

__all__ = [
    "bartlett", "blackman", "convolve", "correlate", "hamming", "hanning", "kaiser",
]  # fmt: skip


# --- sliding products -----------------------------------------------------------------------------


def _check(
    name: str, a: ArrayLike, v: ArrayLike, mode: str, preferred: DTypeLike | None
) -> tuple[Array, Array, np.dtype | None]:
    """Checks and promotes the operands; returns them and the requested dtype of sums, or None."""
    promotion.check_arraylike(name, a, v)
    if len(np.shape(a)) != 1 or len(np.shape(v)) != 1:
        raise ValueError(
            f"jnp.{name}: operands must be vectors, but got shapes {np.shape(a)} and {np.shape(v)}"
        )
    common = dtypes.result_type(a, v)
    if preferred is None:
        common, result = promotion.to_inexact(common), None
    else:
        result = user_dtype(preferred, name)
        _check_preferred(name, common, result)
        if promotion.is_inexact(result) and not promotion.is_inexact(common):
            common = result
    _, weak = dtypes.common_type((promotion.type_of(a), promotion.type_of(v)))
    a, v = (convert(x, common, weak) for x in (a, v))
    if a.size == 0 or v.size == 0:
        raise ValueError(
            f"jnp.{name}: operands must have elements, but they have shapes {a.shape} and {v.shape}"
        )
    if mode not in ("full", "same", "valid"):
        raise ValueError(
            f"jnp.{name}: `mode` must be 'full', 'same' or 'valid', but it is {mode!r}"
        )
    return a, v, result


def _check_preferred(name: str, common: np.dtype[Any], preferred: np.dtype[Any]) -> None:
    """Raises TypeError if products of dtype `common` cannot be summed as `preferred`."""

    def rank(dtype: np.dtype[Any]) -> int:
        return 2 if promotion.is_complex(dtype) else 1 if promotion.is_inexact(dtype) else 0

    integral_to_float = (rank(common), rank(preferred)) == (0, 1)
    what = f"{dtypes.long_name(common)} as {dtypes.long_name(preferred)}"
    if rank(common) != rank(preferred) and not integral_to_float:
        raise TypeError(
            f"jnp.{name}: `preferred_element_type` must be of the same kind as the operands, or a "
            f"float dtype for integers; got {what}."
        )
    if not integral_to_float and dtypes.itemsize_bits(preferred) < dtypes.itemsize_bits(common):
        raise TypeError(
            f"jnp.{name}: `preferred_element_type` must be at least as wide as the dtype of the "
            f"operands; got {what}."
        )
    loses_sign = dtypes.issubdtype(common, np.signedinteger) and dtypes.issubdtype(
        preferred, np.unsignedinteger
    )
    if loses_sign:
        raise TypeError(
            f"jnp.{name}: `preferred_element_type` must be signed if the operands are; got {what}."
        )


@partial(jit_when_traced, static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Computes the convolution of two arrays of rank 1.

    Args:
      a: an array.
      v: an array.
      mode: "full" returns all positions at which the arrays overlap, "same" the middle ones, as
        many as the longer array has elements, and "valid" those at which the arrays overlap
        completely.
      precision: the precision of `conv_general_dilated`.
      preferred_element_type: the dtype of the accumulation and the result.

    Returns: an array of rank 1 and of inexact dtype, unless `preferred_element_type` is passed.

    Raises:
      ValueError: if an operand is empty or not of rank 1, or `mode` is unknown.

    Example:
      >>> signal = jnp.array([0.0, 0.0, 4.0, 0.0, 8.0])
      >>> jnp.convolve(signal, jnp.array([0.25, 0.5, 0.25]), mode="same")
      Array([0., 1., 2., 3., 4.], dtype=float32)
    """
    x, y, dtype = _check("convolve", a, v, mode, preferred_element_type)
    if x.shape[0] < y.shape[0]:
        x, y = y, x
    return _slide(x, y, mode=mode, flipped=True, precision=precision, dtype=dtype)


@partial(jit_when_traced, static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Computes the cross-correlation of two arrays of rank 1; the second one is conjugated.

    Args:
      a: an array.
      v: an array.
      mode: "valid", "same" or "full"; see `convolve`.
      precision: the precision of `conv_general_dilated`.
      preferred_element_type: the dtype of the accumulation and the result.

    Returns: an array of rank 1 and of inexact dtype, unless `preferred_element_type` is passed.

    Example:
      >>> signal = jnp.array([0.0, 1.0, 3.0, 2.0, 0.0])
      >>> jnp.correlate(signal, jnp.array([1.0, 3.0]))  # largest where the pattern is
      Array([ 3., 10.,  9.,  2.], dtype=float32)
    """
    x, y, dtype = _check("correlate", a, v, mode, preferred_element_type)
    y = unary.conj(y) if promotion.is_complex(y.dtype) else y
    if x.shape[0] >= y.shape[0]:
        return _slide(x, y, mode=mode, flipped=False, precision=precision, dtype=dtype)
    # The shorter operand slides over the longer one, so the result is reversed.
    out = _slide(y, x, mode=mode, flipped=False, precision=precision, dtype=dtype)
    return flip(out)


@partial(jit_when_traced, name="_conv", static_argnames=("mode", "flipped", "precision", "dtype"))
def _slide(
    a: Array,
    v: Array,
    *,
    mode: str,
    flipped: bool,
    precision: PrecisionLike,
    dtype: np.dtype[Any] | None,
) -> Array:
    """Computes inner products of `v` (reversed if `flipped`) with each window of the longer `a`."""
    if flipped:
        v = flip(v)
    m = v.shape[0]
    if mode == "full":
        low = high = m - 1
    elif mode == "same":
        low, high = m // 2, m - m // 2 - 1
    else:
        low = high = 0
    # The batch and feature dimensions have size 1.
    x, w = (broadcast_in_dim(y, (1, 1, y.shape[0]), (2,)) for y in (a, v))
    out = conv_general_dilated(
        x, w, (1,), ((low, high),), precision=precision, preferred_element_type=dtype
    )
    return squeeze(out, (0, 1))


# --- windows --------------------------------------------------------------------------------------


def _window(name: str, size: int) -> tuple[int, Array]:
    """Returns the size of a window as an int, and its points 0, 1, ..., size - 1 as floats."""
    size = concrete_or_error(int, size, f"`M` of jnp.{name} must be static")
    dtype = dtypes.canonicalize_dtype(np.float64)
    return size, iota(dtype, max(size, 0))


def _ones(n: Array) -> Array:
    from jitney.numpy.creation import ones

    return ones(n.shape, n.dtype)


def bartlett(M: int) -> Array:
    """Returns the triangular (Bartlett) window of `M` points, which is zero at both ends.

    Returns: an array of rank 1 and of the default float dtype.

    Example:
      >>> jnp.bartlett(5)
      Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    size, n = _window("bartlett", M)
    if size <= 1:
        return _ones(n)
    return 1 - abs(2 * n + 1 - size) / (size - 1)


def blackman(M: int) -> Array:
    """Returns the Blackman window of `M` points, a constant plus two cosines.

    Returns: an array of rank 1 and of the default float dtype.

    Example:
      >>> jnp.blackman(5).round(2) + 0
      Array([0.  , 0.34, 1.  , 0.34, 0.  ], dtype=float32)
    """
    size, n = _window("blackman", M)
    if size <= 1:
        return _ones(n)
    first = unary.cos(2 * np.pi * n / (size - 1))
    out = 0.42 - 0.5 * first
    return out + 0.08 * unary.cos(4 * np.pi * n / (size - 1))


def hamming(M: int) -> Array:
    """Returns the Hamming window of `M` points, a raised cosine that is 0.08 at both ends.

    Returns: an array of rank 1 and of the default float dtype.

    Example:
      >>> jnp.hamming(5).round(2)
      Array([0.08, 0.54, 1.  , 0.54, 0.08], dtype=float32)
    """
    size, n = _window("hamming", M)
    return _ones(n) if size <= 1 else 0.54 - 0.46 * unary.cos(2 * np.pi * n / (size - 1))


def hanning(M: int) -> Array:
    """Returns the Hann window of `M` points, a raised cosine that is zero at both ends.

    Returns: an array of rank 1 and of the default float dtype.

    Example:
      >>> jnp.hanning(5).round(2)
      Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)
    """
    size, n = _window("hanning", M)
    return _ones(n) if size <= 1 else 0.5 * (1 - unary.cos(2 * np.pi * n / (size - 1)))


def kaiser(M: int, beta: ArrayLike) -> Array:
    """Returns the Kaiser window of `M` points.

    Args:
      M: the number of points.
      beta: the shape parameter: 0 yields a rectangular window, and larger values yield narrower
        windows.

    Returns: an array of rank 1 and of the default float dtype.

    Example:
      >>> jnp.kaiser(5, 2.0).round(2)
      Array([0.44, 0.83, 1.  , 0.83, 0.44], dtype=float32)
    """
    size, n = _window("kaiser", M)
    promotion.check_arraylike("kaiser", beta)
    if size <= 1:
        return _ones(n)
    half = 0.5 * (size - 1)
    return i0(beta * unary.sqrt(1 - ((n - half) / half) ** 2)) / i0(beta)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
