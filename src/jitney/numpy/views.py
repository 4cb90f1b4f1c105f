"""Conversion of arrays to another dtype: by value (`astype`) or by bytes (`view`, `byteswap`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.array import Array
from jitney.core.source.user_warnings import warn
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.numpy import promotion
from jitney.primitives.array.annotations import copy_p
from jitney.primitives.array.concatenation import stack
from jitney.primitives.array.placement import placed, with_devices
from jitney.primitives.array.shape import reshape, rev
from jitney.primitives.elementwise import binary, compare, unary
from jitney.primitives.elementwise.convert import (
    bitcast_convert_type,
    convert,
    scalar_operand,
    user_dtype,
)
from jitney.primitives.indexing.slice import slice as lax_slice

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.devices.device import Device

_BOOL = np.dtype(bool)
_UINT8 = np.dtype(np.uint8)


def astype(
    x: ArrayLike,
    dtype: DTypeLike | None,
    /,
    *,
    copy: bool = False,
    device: Device | Sharding | None = None,
) -> Array:
    """Converts the elements of `x` to `dtype`.

    Args:
      x: an array or scalar.
      dtype: the dtype of the result; the default float dtype if None.
      copy: whether to copy `x` even if it already has that dtype.
      device: the Device or Sharding of the result; that of `x` by default.

    Returns: an array of the shape of `x`. The conversion of floats to integers truncates them, and
      maps NaN to 0.

    Raises:
      ValueError: if one of the dtypes is a dtype of PRNG keys.

    Example:
      >>> jnp.astype(jnp.array([1.7, -1.7]), jnp.int32)
      Array([ 1, -1], dtype=int32)
    """
    x = promotion.ensure_arraylike("astype", x)
    new = user_dtype(float if dtype is None else dtype, "astype")
    old = x.dtype
    if (
        not dtypes.is_extended(old)
        and not dtypes.is_extended(new)
        and dtypes.issubdtype(old, np.complexfloating)
        and not dtypes.issubdtype(new, np.complexfloating)
    ):
        if new == _BOOL:
            return compare.ne(x, scalar_operand(0, old, False))
        warn(
            f"Array.astype: imaginary parts are lost in the cast of {old} to {new}. This will become a "
            "ValueError: apply jnp.real, jnp.imag or jnp.abs first.",
            DeprecationWarning,
        )
        x = unary.real(x)
    out = placed(convert(x, new), with_devices(device))
    if copy and out is x:
        return copy_p.bind(out)
    return out


def view(x: Array, dtype: DTypeLike | None) -> Array:
    """Reinterprets the bytes of `x` as `dtype`.

    If the width of the dtype changes, so does the size of the last axis, which must then exist.

    Raises:
      ValueError: if the last axis does not contain a whole number of elements of `dtype`.
    """
    if dtype is None:
        return x
    new = user_dtype(dtype, "view")
    old = x.dtype
    if old == new:
        return x
    old_bits, new_bits = _bits(old), _bits(new)
    if x.ndim == 0:
        if old_bits != new_bits:
            raise ValueError(
                f"Array.view: a scalar of {old}, {old_bits} bits, cannot be viewed as {new}, "
                f"{new_bits} bits; use x[None].view(dtype)"
            )
        return reshape(view(reshape(x, (1,)), new), ())
    last = x.shape[-1]
    if (last * old_bits) % new_bits:
        raise ValueError(
            f"Array.view: the last axis must contain a whole number of elements of {new}, "
            f"{new_bits} bits each, but it has {last} of {old}, {last * old_bits} bits in all"
        )
    if old == _BOOL:
        return view(convert(x, _UINT8), new)
    if new == _BOOL:
        return convert(view(x, _UINT8), _BOOL)
    if dtypes.issubdtype(old, np.complexfloating):
        parts = stack([unary.real(x), unary.imag(x)], axis=x.ndim)
        return view(reshape(parts, (*x.shape[:-1], 2 * last)), new)
    if dtypes.issubdtype(new, np.complexfloating):
        part = np.dtype(np.float32 if new == np.dtype(np.complex64) else np.float64)
        return _pairs(view(x, part))
    if old_bits < new_bits:
        ratio = new_bits // old_bits
        x = reshape(x, (*x.shape[:-1], last // ratio, ratio))
    out = bitcast_convert_type(x, new)
    if old_bits > new_bits:
        out = reshape(out, (*x.shape[:-1], last * (old_bits // new_bits)))
    return out


def _bits(dtype: np.dtype[Any]) -> int:
    return 8 if dtype == _BOOL else dtypes.itemsize_bits(dtype)


def _pairs(x: Array) -> Array:
    """Returns the complex numbers whose real and imaginary parts alternate in `x`."""
    zeros = (0,) * (x.ndim - 1)
    strides = (1,) * (x.ndim - 1) + (2,)
    re, im = (lax_slice(x, (*zeros, k), x.shape, strides) for k in (0, 1))
    return binary.complex(re, im)


def byteswap(x: Array) -> Array:
    """Reverses the bytes of each element, in real and imaginary parts separately."""
    dtype = x.dtype
    if dtypes.issubdtype(dtype, np.complexfloating):
        return binary.complex(byteswap(unary.real(x)), byteswap(unary.imag(x)))
    if dtype.itemsize == 1:
        return x
    octets = bitcast_convert_type(x, _UINT8)
    return bitcast_convert_type(rev(octets, (octets.ndim - 1,)), dtype)


for _function in (astype,):
    _function.__module__ = "jax.numpy"
