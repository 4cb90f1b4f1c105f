"""Conversion between integers and arrays of bits: `packbits`, `unpackbits`."""

from __future__ import annotations

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.typing import Array, ArrayLike
from jitney.numpy import promotion
from jitney.numpy.manipulation import moveaxis, swapaxes
from jitney.numpy.padding import pad
from jitney.numpy.reductions import sum as sum_of
from jitney.numpy.unary_math import to_bool
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.shape import reshape
from jitney.primitives.elementwise import binary
from jitney.primitives.elementwise.convert import as_value, convert

__all__ = ["packbits", "unpackbits"]

_UINT8 = np.dtype(np.uint8)


def _weights(name: str, bitorder: str) -> np.ndarray:
    """Returns the shift count of each of the eight bits."""
    if bitorder not in ("little", "big"):
        raise ValueError(
            f"jnp.{name}: `bitorder`, the order of the bits in a byte, must be 'little' or 'big', "
            f"but it is {bitorder!r}"
        )
    shifts = np.arange(8, dtype=np.uint8)
    return shifts if bitorder == "little" else shifts[::-1].copy()


@jit_when_traced(static_argnames=("axis", "bitorder"))
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Packs eight elements at a time along `axis` into the bits of a uint8.

    Args:
      a: integers or booleans; a nonzero element is a set bit.
      axis: the axis of the bits; if None, `a` is flattened first.
      bitorder: "big" if the first element is the most significant bit, "little" if it is the least.

    Returns: an array of dtype uint8; an incomplete last byte is padded with zero bits.

    Raises:
      TypeError: for other dtypes.

    Example:
      >>> jnp.packbits(jnp.arange(10) < 3)
      Array([224,   0], dtype=uint8)
    """
    x = promotion.ensure_arraylike("packbits", a)
    if not (promotion.is_integer(x.dtype) or x.dtype == np.bool_):
        raise TypeError(
            f"jnp.packbits: `a` must have an integer or boolean dtype, but it has dtype {x.dtype}; "
            "pass a != 0"
        )
    shifts = _weights("packbits", bitorder)
    x = convert(to_bool(x), _UINT8)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    axis = canonical_axis(axis, x.ndim)
    x = swapaxes(x, axis, -1)
    excess = x.shape[-1] % 8
    if excess:
        x = pad(x, ((0, 0),) * (x.ndim - 1) + ((0, 8 - excess),))
    x = reshape(x, (*x.shape[:-1], x.shape[-1] // 8, 8))
    row = reshape(as_value(shifts), (1,) * (x.ndim - 1) + (8,))
    packed = sum_of(binary.shift_left(x, row), axis=-1, dtype=_UINT8)
    return swapaxes(packed, axis, -1)


@jit_when_traced(static_argnames=("axis", "count", "bitorder"))
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Unpacks the bits of each uint8 as eight elements along `axis`; see `packbits`.

    Args:
      a: an array of dtype uint8.
      axis: the axis of the bits; if None, `a` is flattened first.
      count: the number of bits to return, padded with zeros if there are fewer; if negative, the
        number of bits to omit at the end.
      bitorder: as in `packbits`.

    Returns: zeros and ones of dtype uint8.

    Raises:
      TypeError: for other dtypes.

    Example:
      >>> jnp.unpackbits(jnp.array([131], dtype=jnp.uint8))
      Array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    x = promotion.ensure_arraylike("unpackbits", a)
    if x.dtype != _UINT8:
        raise TypeError(f"jnp.unpackbits: `a` must have dtype uint8, but it has dtype {x.dtype}")
    shifts = _weights("unpackbits", bitorder)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    axis = canonical_axis(axis, x.ndim)
    x = moveaxis(x, axis, -1)
    masks = reshape(as_value(np.left_shift(np.uint8(1), shifts)), (1,) * x.ndim + (8,))
    bits = convert(to_bool(binary.bitwise_and(expand_dims(x, (x.ndim,)), masks)), _UINT8)
    bits = reshape(bits, (*x.shape[:-1], x.shape[-1] * 8))
    if count is not None:
        size = bits.shape[-1]
        if count > size:
            bits = pad(bits, ((0, 0),) * (bits.ndim - 1) + ((0, count - size),))
        else:
            bits = bits[..., :count]
    return moveaxis(bits, -1, axis)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
