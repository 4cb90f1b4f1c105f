"""`jax.numpy.fft`: discrete Fourier transforms with NumPy's API.

Transforms of float32 and narrower dtypes are complex64, those of float64 are complex128. Lengths
and axes are static. `norm` selects the normalization: "backward" (the default) divides inverse
transforms by the length, "forward" divides forward transforms, "ortho" divides both by the square
root of the length.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.api.jit.repeated import publish
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike, DTypeLike
from jitney.core.util.lazy import listing
from jitney.lax import staged
from jitney.numpy.creation import asarray
from jitney.numpy.manipulation import moveaxis, roll
from jitney.numpy.promotion import ensure_arraylike, promote_args_inexact
from jitney.primitives.array.concatenation import pad
from jitney.primitives.elementwise import binary, unary
from jitney.primitives.elementwise.convert import convert
from jitney.primitives.indexing.slice import slice as lax_slice
from jitney.primitives.signal.fft import FftType

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.devices.device import Device

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

__dir__ = listing(__name__)

Norm = Literal["backward", "ortho", "forward"] | None
Lengths = Sequence[int] | None
Axes = Sequence[int] | None


def _factor(name: str, norm: Norm, lengths: Sequence[int], inverse: bool) -> float:
    """Returns the factor for the result of `lax.fft`, which divides inverse transforms by n."""
    total = math.prod(lengths) or 1  # without elements, any factor is correct
    match norm:
        case None | "backward":
            return 1.0
        case "ortho":
            return math.sqrt(total) if inverse else 1 / math.sqrt(total)
        case "forward":
            return float(total) if inverse else 1 / total
        case _:
            raise ValueError(
                f'jax.numpy.fft.{name}: `norm` must be "backward", "ortho" or "forward", not {norm!r}'
            )


def _scaled(x: Array, factor: float) -> Array:
    return x if factor == 1.0 else binary.mul(x, np.asarray(factor, x.dtype))


def with_extents(x: Array, extents: Sequence[int], axes: Sequence[int]) -> Array:
    """Truncates `x` or pads it with zeros, at the ends of `axes`, to the sizes `extents`."""
    limits = list(x.shape)
    for axis, n in zip(axes, extents, strict=True):
        limits[axis] = min(n, limits[axis])
    if tuple(limits) != x.shape:
        x = lax_slice(x, [0] * x.ndim, limits)
    config = [(0, 0, 0)] * x.ndim
    for axis, n in zip(axes, extents, strict=True):
        config[axis] = (0, n - x.shape[axis], 0)
    if any(high for _, high, _ in config):
        x = pad(x, np.zeros((), x.dtype), config)
    return x


_OF_COMPLEX = {"rfft": "fft", "rfft2": "fft2", "rfftn": "fftn", "ihfft": "ifft"}


def _transform(name: str, kind: FftType, a: ArrayLike, s: Lengths, axes: Axes, norm: Norm) -> Array:
    x = ensure_arraylike(f"jax.numpy.fft.{name}", a)
    where = _canonical_axes(name, x.shape, s, axes)
    if kind is FftType.RFFT and x.dtype.kind == "c":
        raise ValueError(
            f"jax.numpy.fft.{name}: `a` must be real, but it is {dtypes.long_name(x.dtype)}; use "
            f"jax.numpy.fft.{_OF_COMPLEX[name]}, or the real part"
        )
    if not where:
        if kind is FftType.RFFT:
            (x,) = promote_args_inexact(name, x)
            return convert(x, dtypes.dtype(x))
        return x if x.dtype.kind == "c" else staged.fft(x, fft_type=FftType.FFT, fft_lengths=())
    if s is not None:
        lengths = [operator.index(n) for n in s]
    else:
        lengths = [x.shape[axis] for axis in where]
        if kind is FftType.IRFFT:
            lengths[-1] = max(2 * (lengths[-1] - 1), 0)
    if any(n < 0 or (n == 0 and s is not None) for n in lengths):
        raise ValueError(
            f"jax.numpy.fft.{name}: transforms must have a length of at least 1, but the lengths "
            f"along the axes {tuple(where)} of an array of shape {x.shape} are {tuple(lengths)}"
        )
    extents = list(lengths)
    if kind is FftType.IRFFT:
        extents[-1] = lengths[-1] // 2 + 1
    x = with_extents(x, extents, where)
    last = range(x.ndim - len(where), x.ndim)
    in_place = where == list(last)
    if not in_place:
        x = moveaxis(x, where, tuple(last))
    out = staged.fft(x, fft_type=kind, fft_lengths=tuple(lengths))
    inverse = kind in (FftType.IFFT, FftType.IRFFT)
    out = _scaled(out, _factor(name, norm, lengths, inverse))
    return out if in_place else moveaxis(out, tuple(last), where)


def _canonical_axes(name: str, shape: tuple[int, ...], s: Lengths, axes: Axes) -> list[int]:
    """Returns the transformed axes as nonnegative integers; by default the last len(s), or all.

    Raises:
      ValueError: if axes are out of bounds or repeated, or their number differs from that of `s`.
    """
    rank = len(shape)
    if axes is None:
        axes = range(rank) if s is None else range(rank - len(s), rank)
    where = [operator.index(axis) for axis in axes]
    for axis in where:
        if not -rank <= axis < rank:
            bounds = f"axes must be between {-rank} and {rank - 1}" if rank else "there are no axes"
            raise ValueError(
                f"jax.numpy.fft.{name}: {bounds} for an array of shape {shape}, but one is {axis}"
            )
    where = [axis % rank for axis in where]
    if len(set(where)) < len(where):
        raise ValueError(
            f"jax.numpy.fft.{name}: `axes` must be distinct, but they are {tuple(axes)}, for an "
            f"array of shape {shape}"
        )
    if s is not None and len(s) != len(where):
        raise ValueError(
            f"jax.numpy.fft.{name}: `s` must have a size for each of the axes {tuple(axes)}, but it "
            f"is {tuple(s)}"
        )
    return where


def _one(n: int | None) -> Lengths:
    return None if n is None else (n,)


def _axis(name: str, axis: int) -> Axes:
    if isinstance(axis, (tuple, list)):
        has_many = not name.endswith("hfft")  # hfft and ihfft transform one axis only
        raise ValueError(
            f"jax.numpy.fft.{name}: `axis` must be an integer, but it is {axis}"
            + (f"; use jax.numpy.fft.{name}n for several axes" if has_many else "")
        )
    return (axis,)


def _two(name: str, axes: Sequence[int]) -> Sequence[int]:
    if len(axes) != 2:
        raise ValueError(
            f"jax.numpy.fft.{name}: `axes` must be two axes, but they are {axes}; use "
            f"jax.numpy.fft.{name[:-1]}n for any number of axes"
        )
    return axes


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Computes the discrete Fourier transform along an axis.

    Args:
      a: a real or complex array.
      n: the length of the transform, to which `a` is truncated or padded with zeros; the size of
        `a` along `axis` by default.
      axis: the axis along which to transform.
      norm: "backward" (no scaling; the default), "ortho" (divides by the square root of n), or
        "forward" (divides by n).

    Returns: a complex array of size n along `axis`.

    Raises:
      ValueError: if `n` is not positive, or `axis` is out of bounds.

    Example:
      >>> jnp.fft.fft(jnp.array([1., 0., 0., 0.]))
      Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _transform("fft", FftType.FFT, a, _one(n), _axis("fft", axis), norm)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Computes the inverse of `fft`, divided by n unless `norm` is "ortho" or "forward".

    Args, Returns, Raises: see `fft`.

    Example:
      >>> jnp.fft.ifft(jnp.fft.fft(jnp.array([1., 2.]))).real
      Array([1., 2.], dtype=float32)
    """
    return _transform("ifft", FftType.IFFT, a, _one(n), _axis("ifft", axis), norm)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Computes the first n // 2 + 1 elements of the Fourier transform of a real array.

    Args:
      a: a real array.
      n, axis, norm: see `fft`.

    Returns: a complex array of size n // 2 + 1 along `axis`.

    Raises:
      ValueError: if `a` is complex, `n` is not positive, or `axis` is out of bounds.

    Example:
      >>> jnp.fft.rfft(jnp.array([1., 0., 0., 0.]))
      Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _transform("rfft", FftType.RFFT, a, _one(n), _axis("rfft", axis), norm)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Computes the inverse of `rfft`, which consists of n real elements.

    Args:
      a: an array, the first half of a Hermitian spectrum. The imaginary parts of the first element
        and, for even n, of the last are ignored.
      n: the length of the result; by default 2 (m - 1), where m is the size of `a` along `axis`.
      axis, norm: see `fft`.

    Returns: a real array of size n along `axis`.

    Raises:
      ValueError: if `n` is not positive, or `axis` is out of bounds.

    Example:
      >>> jnp.fft.irfft(jnp.fft.rfft(jnp.array([1., 2., 3., 5.])))
      Array([1., 2., 3., 5.], dtype=float32)
    """
    return _transform("irfft", FftType.IRFFT, a, _one(n), _axis("irfft", axis), norm)


def _exchanged(norm: Norm) -> Norm:
    match norm:
        case None | "backward":
            return "forward"
        case "forward":
            return "backward"
        case _:
            return norm


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Computes the n real elements of the transform of a Hermitian signal, given its first half.

    Args, Returns, Raises: see `irfft`; `norm` scales as in `fft`.

    Example:
      >>> jnp.fft.hfft(jnp.array([1., 0.5, 0.]))
      Array([2., 1., 0., 1.], dtype=float32)
    """
    x = ensure_arraylike("jax.numpy.fft.hfft", a)
    conjugate = unary.conj(x) if x.dtype.kind == "c" else x
    return _transform(
        "hfft", FftType.IRFFT, conjugate, _one(n), _axis("hfft", axis), _exchanged(norm)
    )


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Computes the inverse of `hfft`, as the first n // 2 + 1 elements of a Hermitian signal.

    Args, Returns, Raises: see `rfft`; `norm` scales as in `ifft`.

    Example:
      >>> jnp.fft.ihfft(jnp.array([2., 1., 0., 1.])).real
      Array([1. , 0.5, 0. ], dtype=float32)
    """
    out = _transform("ihfft", FftType.RFFT, a, _one(n), _axis("ihfft", axis), _exchanged(norm))
    return unary.conj(out)


def fftn(a: ArrayLike, s: Lengths = None, axes: Axes = None, norm: Norm = None) -> Array:
    """Computes the discrete Fourier transform along several axes.

    Args:
      a: a real or complex array.
      s: the length of the transform along each axis, to which `a` is truncated or padded with
        zeros; the sizes of `a` by default.
      axes: the axes, without repetition; by default, the last len(s) axes, or all if `s` is None.
      norm: see `fft`, where n is the product of the lengths.

    Returns: a complex array of sizes `s` along `axes`.

    Raises:
      ValueError: if a length is not positive, axes are repeated or out of bounds, or if the numbers
        of lengths and axes differ.

    Example:
      >>> jnp.fft.fftn(jnp.eye(2))
      Array([[2.+0.j, 0.+0.j],
             [0.+0.j, 2.+0.j]], dtype=complex64)
    """
    return _transform("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(a: ArrayLike, s: Lengths = None, axes: Axes = None, norm: Norm = None) -> Array:
    """Computes the inverse of `fftn`.

    Args, Returns, Raises: see `fftn`; `norm` scales as in `ifft`.

    Example:
      >>> jnp.fft.ifftn(jnp.fft.fftn(jnp.eye(2))).real
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return _transform("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(a: ArrayLike, s: Lengths = None, axes: Axes = None, norm: Norm = None) -> Array:
    """Computes the first half, along the last of `axes`, of the transform of a real array.

    Args, Raises: see `fftn`; also raises ValueError if `a` is complex.

    Returns: a complex array of size n // 2 + 1 along the last of the axes.

    Example:
      >>> jnp.fft.rfftn(jnp.ones((2, 4))).shape
      (2, 3)
    """
    return _transform("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(a: ArrayLike, s: Lengths = None, axes: Axes = None, norm: Norm = None) -> Array:
    """Computes the inverse of `rfftn`, which is a real array.

    Args:
      a: an array, the first half of a Hermitian spectrum along the last of the axes.
      s: the sizes of the result along `axes`; by default those of `a`, except 2 (m - 1) for the
        last axis, where m is the size of `a` along it.
      axes, norm: see `ifftn`.

    Returns: a real array of sizes `s` along `axes`.

    Raises:
      ValueError: see `fftn`.

    Example:
      >>> jnp.fft.irfftn(jnp.fft.rfftn(jnp.ones((2, 4)))).shape
      (2, 4)
    """
    return _transform("irfftn", FftType.IRFFT, a, s, axes, norm)


def fft2(
    a: ArrayLike, s: Lengths = None, axes: Sequence[int] = (-2, -1), norm: Norm = None
) -> Array:
    """Computes `fftn` along two axes, by default the last two.

    Args, Returns, Raises: see `fftn`.

    Example:
      >>> jnp.fft.fft2(jnp.ones((2, 2)))[0, 0]
      Array(4.+0.j, dtype=complex64)
    """
    return _transform("fft2", FftType.FFT, a, s, _two("fft2", axes), norm)


def ifft2(
    a: ArrayLike, s: Lengths = None, axes: Sequence[int] = (-2, -1), norm: Norm = None
) -> Array:
    """Computes `ifftn` along two axes, by default the last two.

    Args, Returns, Raises: see `ifftn`.

    Example:
      >>> jnp.fft.ifft2(jnp.ones((2, 2)))[0, 0]
      Array(1.+0.j, dtype=complex64)
    """
    return _transform("ifft2", FftType.IFFT, a, s, _two("ifft2", axes), norm)


def rfft2(
    a: ArrayLike, s: Lengths = None, axes: Sequence[int] = (-2, -1), norm: Norm = None
) -> Array:
    """Computes `rfftn` along two axes, by default the last two.

    Args, Returns, Raises: see `rfftn`.

    Example:
      >>> jnp.fft.rfft2(jnp.ones((2, 4))).shape
      (2, 3)
    """
    return _transform("rfft2", FftType.RFFT, a, s, _two("rfft2", axes), norm)


def irfft2(
    a: ArrayLike, s: Lengths = None, axes: Sequence[int] = (-2, -1), norm: Norm = None
) -> Array:
    """Computes `irfftn` along two axes, by default the last two.

    Args, Returns, Raises: see `irfftn`.

    Example:
      >>> jnp.fft.irfft2(jnp.fft.rfft2(jnp.ones((2, 4)))).shape
      (2, 4)
    """
    return _transform("irfft2", FftType.IRFFT, a, s, _two("irfft2", axes), norm)


# --- frequencies, and their order -----------------------------------------------------------------


def _count(name: str, n: int) -> int:
    if isinstance(n, (list, tuple)):
        raise ValueError(
            f"jax.numpy.fft.{name}: `n`, the number of samples, must be an integer, but it is "
            f"{list(n)}"
        )
    return operator.index(n)


def _spacing(name: str, d: ArrayLike) -> ArrayLike:
    if isinstance(d, (list, tuple)):
        raise ValueError(
            f"jax.numpy.fft.{name}: `d`, the sample spacing, must be a scalar, but it is {list(d)}"
        )
    return d


def _frequencies(
    k: np.ndarray,
    n: int,
    d: ArrayLike,
    dtype: DTypeLike | None,
    device: Device | Sharding | None,
) -> Array:
    kind = dtypes.canonicalize_dtype(float if dtype is None else dtype)
    return (asarray(k.astype(kind), device=device) / (d * n)).astype(kind)


def fftfreq(
    n: int,
    d: ArrayLike = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: Device | Sharding | None = None,
) -> Array:
    """Returns the frequencies of the elements of `fft`, in cycles per unit of the sample spacing.

    Args:
      n: the length of the transform.
      d: the spacing of the samples.
      dtype: the dtype of the result; the default float by default.
      device: the Device or Sharding of the result; by default, the result is uncommitted.

    Returns: an array of shape (n,): 0, 1, ..., -2, -1, divided by n * d.

    Example:
      >>> jnp.fft.fftfreq(4)
      Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    n, d = _count("fftfreq", n), _spacing("fftfreq", d)
    k = np.arange(n)
    return _frequencies(np.where(k < (n + 1) // 2, k, k - n), n, d, dtype, device)


def rfftfreq(
    n: int,
    d: ArrayLike = 1.0,
    *,
    dtype: DTypeLike | None = None,
    device: Device | Sharding | None = None,
) -> Array:
    """Returns the frequencies of the elements of `rfft`, in cycles per unit of the sample spacing.

    Args:
      n: the number of real samples to which `rfft` is applied.
      d, dtype, device: see `fftfreq`.

    Returns: an array of shape (n // 2 + 1,): 0, 1, ..., divided by n * d.

    Example:
      >>> jnp.fft.rfftfreq(4, d=0.5)
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    n, d = _count("rfftfreq", n), _spacing("rfftfreq", d)
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype, device)


def _shifted(name: str, x: ArrayLike, axes: int | Sequence[int] | None, back: bool) -> Array:
    array = ensure_arraylike(f"jax.numpy.fft.{name}", x)
    where = range(array.ndim) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    shifts = [array.shape[axis] // 2 for axis in where]
    return roll(array, [-n for n in shifts] if back else shifts, tuple(where))


@jit_when_traced(static_argnames=("axes",), inline=True)
def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Moves the zero-frequency element from the first position to the middle of each axis.

    Args:
      x: an array.
      axes: the axes to shift; all by default.

    Returns: an array of the shape of `x`.

    Example:
      >>> jnp.fft.fftshift(jnp.array([0, 1, -2, -1]))
      Array([-2, -1,  0,  1], dtype=int32)
    """
    return _shifted("fftshift", x, axes, back=False)


@jit_when_traced(static_argnames=("axes",), inline=True)
def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Computes the inverse of `fftshift`: moves the zero-frequency element to the first position.

    Args, Returns: see `fftshift`.

    Example:
      >>> jnp.fft.ifftshift(jnp.array([-2, -1,  0,  1]))
      Array([ 0,  1, -2, -1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, back=True)


publish(globals())
