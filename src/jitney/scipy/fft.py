"""`jax.scipy.fft`: discrete cosine transforms of type 2 and their inverses.

    y_k = 2 sum_j x_j cos(pi k (2 j + 1) / (2 n))

`dct` computes y by a real Fourier transform of length n (Makhoul, A fast cosine transform in one
and two dimensions, 1980). The input of that transform is the even-indexed elements of x in order,
followed by the odd-indexed ones in reverse. Element k of its output, times exp(-i pi k / (2 n)), is
(y_k - i y_(n - k)) / 2.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from jitney.api.jit.repeated import publish
from jitney.core.typing import Array, ArrayLike
from jitney.core.util.lazy import listing
from jitney.lax import staged
from jitney.numpy.fft import with_extents
from jitney.numpy.manipulation import moveaxis
from jitney.numpy.promotion import promote_args_inexact
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.shape import rev
from jitney.primitives.elementwise import binary, unary
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.indexing.slice import slice_in_dim
from jitney.primitives.signal.fft import FftType

__all__ = ["dct", "dctn", "idct", "idctn"]

__dir__ = listing(__name__)

Norm = Literal["backward", "ortho"] | None


def _operand(
    name: str, x: ArrayLike, kind: int, norm: Norm, lengths: Sequence[int] | None, axes: Any
) -> tuple[Array, list[int]]:
    """Truncates or zero-pads `x` to `lengths` along `axes`; returns it and the normalized axes."""
    if kind != 2:
        raise NotImplementedError(
            f"jax.scipy.fft.{name}: only type 2 is supported, but got type={kind}"
        )
    if norm not in (None, "backward", "ortho"):
        raise ValueError(
            f'jax.scipy.fft.{name}: norm={norm!r} is not supported; use "backward" or "ortho"'
        )
    array = as_value(promote_args_inexact(f"jax.scipy.fft.{name}", x)[0])
    if axes is None:
        axes = (
            range(array.ndim) if lengths is None else range(array.ndim - len(lengths), array.ndim)
        )
    where = [operator.index(axis) for axis in axes]
    for axis in where:
        if not -array.ndim <= axis < array.ndim:
            raise ValueError(
                f"jax.scipy.fft.{name}: `x`, of shape {array.shape}, has no axis {axis}"
            )
    where = [axis % array.ndim for axis in where]
    if lengths is not None:
        extents = [operator.index(n) for n in lengths]
        if len(extents) != len(where) or any(n < 1 for n in extents):
            raise ValueError(
                f"jax.scipy.fft.{name}: expected a positive length for each of the axes "
                f"{tuple(where)} of an array of shape {array.shape}, but got {tuple(extents)}"
            )
        array = with_extents(array, extents, where)
    return array, where


def _by_parts(transform: Any, x: Array, axis: int, norm: Norm) -> Array:
    """Applies a real transform along `axis`, separately to real and imaginary parts."""
    if 0 in x.shape:
        return x
    last = moveaxis(x, axis, -1)
    if x.dtype.kind == "c":
        parts = [transform(part(last), norm) for part in (unary.real, unary.imag)]
        out = binary.complex(*parts)
    else:
        out = transform(last, norm)
    return moveaxis(out, -1, axis)


def _spread(values: np.ndarray, like: Array) -> Any:
    """Broadcasts constants along the last axis to the shape and dtype of `like`."""
    return np.broadcast_to(values.astype(like.dtype), like.shape)


def _sizes(n: int, norm: Norm) -> np.ndarray:
    """Returns the scale factor of each output element; for "ortho", the transform is orthogonal."""
    sizes = np.full(n, 2.0)
    if norm == "ortho":
        sizes[:] = math.sqrt(2 / n)
        sizes[0] = math.sqrt(1 / n)
    return sizes


def _forward(x: Array, norm: Norm) -> Array:
    n = x.shape[-1]
    even, odd = (slice_in_dim(x, start, n, 2, -1) for start in (0, 1))
    v = concatenate([even, rev(odd, (x.ndim - 1,))], x.ndim - 1) if n > 1 else x
    spectrum = staged.fft(v, fft_type=FftType.RFFT, fft_lengths=(n,))
    angle = -math.pi / (2 * n) * np.arange(n // 2 + 1)
    re, im = unary.real(spectrum), unary.imag(spectrum)
    cos, sin = _spread(np.cos(angle), re), _spread(np.sin(angle), re)
    first = binary.sub(binary.mul(re, cos), binary.mul(im, sin))
    second = unary.neg(binary.add(binary.mul(re, sin), binary.mul(im, cos)))
    tail = rev(slice_in_dim(second, 1, (n + 1) // 2, 1, -1), (x.ndim - 1,))
    y = concatenate([first, tail], x.ndim - 1) if n > 2 else slice_in_dim(first, 0, n, 1, -1)
    return binary.mul(y, _spread(_sizes(n, norm), y))


def _backward(y: Array, norm: Norm) -> Array:
    n = y.shape[-1]
    if y.dtype.itemsize == 2:  # there are no complex dtypes with 16-bit parts
        y = y.astype(np.float32)
    y = binary.mul(y, _spread(1 / _sizes(n, norm), y))
    m = n // 2 + 1
    first = slice_in_dim(y, 0, m, 1, -1) if n > 1 else y
    zero = np.zeros((*y.shape[:-1], 1), y.dtype)
    flipped = rev(slice_in_dim(y, n - m + 1, n, 1, -1), (y.ndim - 1,)) if m > 1 else None
    second = zero if flipped is None else concatenate([zero, flipped], y.ndim - 1)
    angle = math.pi / (2 * n) * np.arange(m)
    cos, sin = _spread(np.cos(angle), first), _spread(np.sin(angle), first)
    re = binary.add(binary.mul(first, cos), binary.mul(second, sin))
    im = binary.sub(binary.mul(first, sin), binary.mul(second, cos))
    spectrum = binary.complex(re, im)
    v = staged.fft(spectrum, fft_type=FftType.IRFFT, fft_lengths=(n,))
    if n == 1:
        return v
    half = (n + 1) // 2
    even = slice_in_dim(v, 0, half, 1, -1)
    odd = rev(slice_in_dim(v, half, n, 1, -1), (v.ndim - 1,))
    if n % 2:
        odd = concatenate([odd, zero], v.ndim - 1)
    pairs = concatenate([x.reshape(*x.shape, 1) for x in (even, odd)], v.ndim)
    return slice_in_dim(pairs.reshape(*v.shape[:-1], 2 * half), 0, n, 1, -1)


def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: Norm = None
) -> Array:
    """Computes the discrete cosine transform of type 2 along an axis.

    Args:
      x: array; integers are converted to floats, and the real and imaginary parts of complex arrays
        are transformed separately.
      type: must be 2.
      n: length to which `x` is truncated or zero-padded; by default its size along `axis`.
      axis: axis to transform.
      norm: "backward" (the default) for y_k = 2 sum_j x_j cos(pi k (2 j + 1) / (2 n)), or "ortho"
        for an orthogonal transform.

    Returns: array of size n along `axis`.

    Raises:
      NotImplementedError: if `type` is not 2.
      ValueError: if `norm` is unknown, `n` is less than 1, or `axis` is out of bounds.

    Example:
      >>> jax.scipy.fft.dct(jnp.ones(4)).round(3) + 0.
      Array([8., 0., 0., 0.], dtype=float32)
    """
    array, (place,) = _operand("dct", x, type, norm, None if n is None else (n,), (axis,))
    return _by_parts(_forward, array, place, norm)


def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: Norm = None
) -> Array:
    """Computes the inverse of `dct` with the same `norm`.

    See `dct` for the arguments and the errors.

    Example:
      >>> jax.scipy.fft.idct(jax.scipy.fft.dct(jnp.array([1., 2., 3.]))).round(3)
      Array([1., 2., 3.], dtype=float32)
    """
    array, (place,) = _operand("idct", x, type, norm, None if n is None else (n,), (axis,))
    return _by_parts(_backward, array, place, norm)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
) -> Array:
    """Computes the discrete cosine transform of type 2 along several axes.

    Args:
      x, type, norm: as in `dct`.
      s: length to which each axis is truncated or zero-padded; by default its size in `x`.
      axes: axes to transform; by default the last len(s) axes, or all axes if `s` is not given.

    Returns: array of the sizes `s` along `axes`.

    Raises:
      NotImplementedError: if `type` is not 2.
      ValueError: as in `dct`, and if the numbers of lengths and axes differ.

    Example:
      >>> jax.scipy.fft.dctn(jnp.ones((2, 2))).round(3)[0, 0]
      Array(16., dtype=float32)
    """
    array, places = _operand("dctn", x, type, norm, s, axes)
    if not places:
        return as_value(x)
    for place in places:
        array = _by_parts(_forward, array, place, norm)
    return array


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
) -> Array:
    """Computes the inverse of `dctn` with the same `norm`.

    See `dctn` for the arguments and the errors.

    Example:
      >>> jax.scipy.fft.idctn(jax.scipy.fft.dctn(jnp.eye(2))).round(3) + 0.
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    array, places = _operand("idctn", x, type, norm, s, axes)
    if not places:
        return as_value(x)
    for place in places:
        array = _by_parts(_backward, array, place, norm)
    return array


publish(globals())
