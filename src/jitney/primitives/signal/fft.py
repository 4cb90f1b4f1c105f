"""The discrete Fourier transform over the last axes of an array, complex or real."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.hlo import fourier as composition
from jitney.compiler.reference import fourier
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.elementwise import unary
from jitney.primitives.elementwise.convert import convert_element_type

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import BatchDim, Builder, Node, Operand, Primals, Value

Lengths = tuple[int, ...]


class FftType(enum.IntEnum):
    """The kind of Fourier transform: forward or inverse; complex, or from or to real data."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


fft_p = declare("fft", linear=True)
fft_p.sharding(sharding_rules.fft)


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """Computes the discrete Fourier transform over the last axes of `x`.

    Args:
      x: array, which must be real for "RFFT". For the other transforms, real arrays are converted
        to complex arrays.
      fft_type: "FFT" (kernel exp(-2 pi i j k / n)), "IFFT" (its inverse, divided by n), "RFFT" (the
        first n / 2 + 1 elements of the transform of n real elements), "IRFFT" (its inverse), or a
        member of `lax.FftType`.
      fft_lengths: the sizes of the transformed axes, which are the last axes of `x`. For "IRFFT",
        the last entry is the size of the result.

    Returns: array with the complex dtype of the same precision as `x`, or for "IRFFT" the real one.

    Raises:
      ValueError: if the sizes of `x` do not match `fft_lengths`, if `fft_type` is unknown, or if
        the operand of "RFFT" is complex.

    Accuracy: the error relative to the largest element is about 0.1 log2(n) unit roundoffs.

    Example:
      >>> lax.fft(jnp.array([1., 0., 0., 0.]), "RFFT", (4,))
      Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    kind = _kind(fft_type)
    lengths = tuple([int(n) for n in fft_lengths])
    dtype = get_aval(x).dtype
    if kind is FftType.RFFT:
        if dtype.kind == "c":
            raise ValueError(
                f"fft: RFFT takes real operands, but got {dtypes.long_name(dtype)}; use FFT, or "
                "the real part"
            )
        if dtype.kind != "f" or dtype.itemsize < 4:
            x = convert_element_type(
                x, dtypes.canonicalize_dtype(np.promote_types(dtype, np.float32))
            )
    elif dtype.kind != "c":
        x = convert_element_type(x, _complex_of(dtype))
    if get_aval(x).weak_type:  # Fourier transforms are strongly typed
        x = convert_element_type(x, get_aval(x).dtype)
    return fft_p.bind(x, fft_lengths=lengths, fft_type=kind)


def _kind(fft_type: FftType | str) -> FftType:
    try:
        return FftType[fft_type.upper()] if isinstance(fft_type, str) else FftType(fft_type)
    except (KeyError, ValueError):
        known = ", ".join(kind.name for kind in FftType)
        raise ValueError(f"fft: unknown fft_type {fft_type!r}; it must be one of {known}") from None


def _complex_of(dtype: np.dtype) -> np.dtype:
    wide = dtype == np.float64 or (
        dtype.kind in "iu" and dtypes.canonicalize_dtype(float).itemsize == 8
    )
    return np.dtype(np.complex128 if wide else np.complex64)


@fft_p.abstract
def _fft_abstract(x: ShapedArray, *, fft_lengths: Lengths, fft_type: FftType) -> ShapedArray:
    name, rank = fft_type.name, len(fft_lengths)
    if rank > x.ndim:
        raise ValueError(
            f"fft: {name} with fft_lengths {fft_lengths} transforms {rank} axes, so the operand needs "
            f"at least that rank, but its shape is {x.shape}"
        )
    if any(n < 0 for n in fft_lengths):
        raise ValueError(f"fft: lengths must not be negative, got fft_lengths={fft_lengths}")
    expects = "f" if fft_type is FftType.RFFT else "c"
    if x.dtype.kind != expects or (expects == "f" and x.dtype.itemsize < 4):
        accepted = "float32 and float64" if expects == "f" else "complex64 and complex128"
        raise ValueError(f"fft: {name} takes {accepted}, got {dtypes.long_name(x.dtype)}")
    if not rank:
        return x
    extents = x.shape[x.ndim - rank :]
    wanted = fft_lengths
    if fft_type is FftType.IRFFT:
        wanted = (*fft_lengths[:-1], fourier.spectrum_extent(fft_lengths[-1]))
    of_nothing = fft_type is FftType.IRFFT and fft_lengths[-1] == 0 and extents[-1] == 1
    if extents != wanted and not (of_nothing and extents[:-1] == wanted[:-1]):
        raise ValueError(
            f"fft: {name} with fft_lengths={fft_lengths} takes arrays whose last axes have the sizes "
            f"{wanted}, got shape {x.shape}"
        )
    if fft_type is FftType.RFFT:
        shape = (*x.shape[:-1], fourier.spectrum_extent(fft_lengths[-1]))
        return x.update(shape=shape, dtype=np.result_type(x.dtype, np.complex64))
    if fft_type is FftType.IRFFT:
        real = np.dtype(np.float32 if x.dtype == np.complex64 else np.float64)
        return x.update(shape=(*x.shape[:-1], fft_lengths[-1]), dtype=real)
    return x


@fft_p.eager
def _fft_eager(x: np.ndarray, *, fft_lengths: Lengths, fft_type: FftType) -> np.ndarray:
    return fourier.fft(x, fft_type.name, fft_lengths)


@fft_p.lower
def _fft_lower(b: Builder, x: Node, *, fft_lengths: Lengths, fft_type: FftType) -> Node:
    if not fft_lengths:
        return x
    if 0 in (*x.shape, *fft_lengths):
        return b.constant(fourier.fft(np.zeros(x.shape, x.dtype), fft_type.name, fft_lengths))
    return composition.fft(b, x, fft_type.name, fft_lengths)


# --- derivatives and batching -------------------------------------------------------------------


def _weights(lengths: Lengths, dtype: np.dtype) -> np.ndarray:
    """Returns how many elements of the full spectrum each element of a half spectrum represents."""
    n = lengths[-1]
    weights = np.full(n // 2 + 1, 2, dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights


def _times(x: Any, factors: np.ndarray) -> Array:
    """Multiplies `x` by a scalar, or by a vector along its last axis."""
    last = () if factors.ndim == 0 else (x.ndim - 1,)
    spread = calculus.broadcast_in_dim(factors, shape=x.shape, broadcast_dimensions=last)
    return calculus.mul(x, spread)


def _transpose(ct: Any, x: Operand, *, fft_lengths: Lengths, fft_type: FftType) -> Value:
    """Computes the transposed transform, which for a full transform is the same transform.

    For RFFT, the omitted elements of the spectrum have no cotangents. The inverse transform counts
    elements with an omitted conjugate twice, so their cotangents are halved first. IRFFT is the
    reverse.
    """
    if not fft_lengths:
        return ct
    if 0 in (*rules.shape_of(x), *fft_lengths):
        return rules.zeros_like(x)
    if fft_type is FftType.RFFT:
        dtype = rules.aval_of(ct).dtype
        halved = _times(unary.conj(ct), 1 / _weights(fft_lengths, dtype))
        out = fft_p.bind(halved, fft_lengths=fft_lengths, fft_type=FftType.IRFFT)
        return _times(out, np.asarray(math.prod(fft_lengths), out.dtype))
    if fft_type is FftType.IRFFT:
        out = fft_p.bind(ct, fft_lengths=fft_lengths, fft_type=FftType.RFFT)
        dtype = rules.aval_of(out).dtype
        return unary.conj(_times(out, _weights(fft_lengths, dtype) / math.prod(fft_lengths)))
    return fft_p.bind(ct, fft_lengths=fft_lengths, fft_type=fft_type)


rules.deflinear(fft_p, _transpose)


@fft_p.batch
def _fft_batch(
    args: Primals, dims: Sequence[int], *, fft_lengths: Lengths, fft_type: FftType
) -> tuple[Value, BatchDim]:
    (x,), (d,) = args, dims
    moved = rules.move_axis(x, d, 0)
    return fft_p.bind(moved, fft_lengths=fft_lengths, fft_type=fft_type), 0
