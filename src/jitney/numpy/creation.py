"""Creation of arrays: from Python and NumPy values (`array`, `asarray`), or filled (`zeros`).

Elements are copied: later changes to a NumPy array do not affect arrays created from it.
"""

# Arguments from users are checked, whatever the annotations say.
# pyright: reportUnnecessaryComparison=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jitney.api import dlpack
from jitney.core.array import Array
from jitney.core.sharding.mesh import AbstractMesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.tracing.trace import state
from jitney.core.types import dtypes
from jitney.core.types.avals import shaped_array
from jitney.core.typing import ArrayLike, DTypeLike, PyTree, ShapeLike
from jitney.numpy import promotion
from jitney.numpy.conversion import array_of, is_masked
from jitney.numpy.functions import one_operation
from jitney.numpy.views import astype
from jitney.primitives.array import creation as lax_creation
from jitney.primitives.array.broadcasting import broadcast_to
from jitney.primitives.array.canonical import canonical_shape
from jitney.primitives.array.placement import placed, placed_like, with_devices
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise.convert import (
    as_value,
    convert,
    refuse_complex_scalar,
    scalar_operand,
    user_dtype,
)
from jitney.runtime.arrays.array import MAX_AXES, ArrayImpl, array_from_numpy
from jitney.runtime.devices.sharding import as_sharding

if TYPE_CHECKING:
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.devices.device import Device

# Of type Any, since elements are of any type.
_NDARRAY: tuple[type[Any], ...] = (np.ndarray,)

__all__ = [
    "array", "asarray", "astype", "copy", "empty", "empty_like", "from_dlpack", "frombuffer",
    "fromstring", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like",
]  # fmt: skip

_ORDER = "jnp.{}: `order` must be 'K', as arrays do not expose their memory layout, not {!r}"


class Shaped(Protocol):
    """An object that has a shape and a dtype, such as a `ShapeDtypeStruct`."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype: ...


# --- array ----------------------------------------------------------------------------------------


@one_operation
def array(
    object: PyTree,
    dtype: DTypeLike | None = None,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Creates an array from `object`.

    Args:
      object: a scalar, an array, a nested sequence of these, or anything else that NumPy converts
        to an array.
      dtype: the dtype of the result; by default the common dtype of the elements, which is int32,
        float32 or complex64 for Python scalars unless 64-bit types are enabled.
      copy: whether to copy an array that could be returned unchanged.
      order: "K" or None; arrays are stored in row-major order.
      ndmin: the minimum rank; axes of size 1 are prepended.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result: a Sharding, or a PartitionSpec on the context mesh.

    Raises:
      TypeError: if the elements are not numeric.
      ValueError: if nested sequences have unequal lengths.
      OverflowError: if the dtype cannot hold a Python integer.

    Example:
      >>> jnp.array([[1, 2], [3, 4]])
      Array([[1, 2],
             [3, 4]], dtype=int32)
      >>> jnp.array([1, 2], dtype=jnp.float32)
      Array([1., 2.], dtype=float32)
    """
    if order not in (None, "K"):
        raise NotImplementedError(_ORDER.format("array", order))
    if dtype is not None:
        dtype = user_dtype(dtype, "array")
    if copy and isinstance(object, _NDARRAY) and type(object) not in _NDARRAY and is_masked(object):
        object = object.data  # the data is copied without the mask
    device = with_devices(device)
    _check_is_there(object, device)
    return placed(array_of(object, dtype, bool(copy), ndmin), device, out_sharding)


def _check_is_there(x: object, device: Device | Sharding | None) -> None:
    """Raises ValueError if an array is committed to devices other than the requested ones."""
    if device is None or not isinstance(x, ArrayImpl) or x.placement is None:
        return
    asked = as_sharding(device)
    if isinstance(asked, NamedSharding) and isinstance(asked.mesh, AbstractMesh):
        return  # specifies a partitioning, not devices
    if asked.device_set != x.placement.device_set:
        raise ValueError(
            f"the result must be on the devices of the array, but {x.aval.str_short()} is on "
            f"{x.placement} and was requested on {asked}; use jax.device_put to move it"
        )


@one_operation
def asarray(
    a: PyTree,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Converts `a` to an array; an array of the requested dtype is returned without a copy.

    Args:
      a: a scalar, an array, a nested sequence of these, or anything else that NumPy converts to an
        array.
      dtype: the dtype of the result; see `array` for the default.
      order: "K" or None; arrays are stored in row-major order.
      copy: whether to copy an array that could be returned unchanged; False by default.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result: a Sharding, or a PartitionSpec on the context mesh.

    Raises:
      TypeError: if the elements are not numeric.
      ValueError: if nested sequences have unequal lengths.
      OverflowError: if the dtype cannot hold a Python integer.

    Example:
      >>> import numpy as np
      >>> jnp.asarray(np.array([1.5, 2.5]))
      Array([1.5, 2.5], dtype=float32)
    """
    if order not in (None, "K"):
        raise NotImplementedError(_ORDER.format("asarray", order))
    if dtype is not None:
        dtype = user_dtype(dtype, "asarray")
    device = with_devices(device)
    _check_is_there(a, device)
    return placed(array_of(a, dtype, bool(copy), 0), device, out_sharding)


# --- filled arrays --------------------------------------------------------------------------------


def _filled(shape: ShapeLike, value: int, dtype: DTypeLike | None, name: str) -> Array:
    extents, resolved = _shape_and_dtype(shape, dtype, name)
    return _constant(extents, value, resolved, False)


def _shape_and_dtype(
    shape: ShapeLike, dtype: DTypeLike | None, name: str
) -> tuple[tuple[int, ...], dtypes.DType]:
    """Validates and returns the shape and the dtype of a new array."""
    if type(shape) is int and type(dtype) is int:
        raise TypeError(
            f"jnp.{name}: `dtype` must be a data type, but it is '{dtype}'; pass the sizes of a "
            f"shape as one tuple: jax.numpy.{name}(({shape}, {dtype})), not "
            f"jax.numpy.{name}({shape}, {dtype})"
        )
    extents = canonical_shape(shape)
    if dtype is None:
        return extents, dtypes.canonicalize_dtype(np.float64)
    return extents, user_dtype(dtype, name)


def _constant(shape: tuple[int, ...], value: ArrayLike, dtype: Any, weak_type: bool) -> Any:
    """Returns an array filled with `value`; outside of traces, this is one fill of memory."""
    if dtype == dtypes.float0:
        return np.zeros(shape, dtype)  # tangents of integers are never operands
    if dtypes.is_extended(dtype):
        return broadcast_to_shape(convert(value, dtype), shape)
    if state.trace is state.eval_trace and min(shape, default=0) >= 0 and len(shape) <= MAX_AXES:
        scalar = scalar_operand(value, dtype, weak_type)
        # The bytes are compared, since -0.0 is not zero here. Memory that is already zero costs
        # nothing.
        is_zero = not any(np.asarray(scalar).tobytes())
        filled = np.zeros(shape, dtype) if is_zero else np.full(shape, scalar, dtype)
        return array_from_numpy(filled, shaped_array(shape, dtype, weak_type))
    return broadcast_to_shape(scalar_operand(value, dtype, weak_type), shape)


def _unspecified(shape: tuple[int, ...], dtype: dtypes.DType, weak_type: bool) -> Array:
    """Returns an array that will be overwritten: zeros, or the primitive `empty` in a trace."""
    if state.trace is state.eval_trace or dtype == dtypes.float0 or dtypes.is_extended(dtype):
        return _constant(shape, 0, dtype, weak_type)
    return convert(lax_creation.empty(shape, dtype), dtype, weak_type)


def broadcast_to_shape(x: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Broadcasts the scalar `x` to `shape`; returns an array or tracer even if `shape` is ()."""
    from jitney.primitives.array.broadcasting import broadcast

    return broadcast(as_value(x) if not shape else x, shape)


@one_operation
def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Returns an array of zeros.

    Args:
      shape: the sizes of the axes; an integer stands for one axis.
      dtype: the dtype of the result; the default float (float32) if none is given.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result: a Sharding, or a PartitionSpec on the context mesh.

    Example:
      >>> jnp.zeros((2, 3))
      Array([[0., 0., 0.],
             [0., 0., 0.]], dtype=float32)
    """
    return placed(_filled(shape, 0, dtype, "zeros"), device, out_sharding)


@one_operation
def ones(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Returns an array of ones.

    Args:
      shape: the sizes of the axes; an integer stands for one axis.
      dtype: the dtype of the result; the default float (float32) if none is given.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result: a Sharding, or a PartitionSpec on the context mesh.

    Example:
      >>> jnp.ones(3, dtype=int)
      Array([1, 1, 1], dtype=int32)
    """
    return placed(_filled(shape, 1, dtype, "ones"), device, out_sharding)


@one_operation
def empty(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Returns an array with unspecified contents; this implementation fills it with zeros.

    Args:
      shape: the sizes of the axes; an integer stands for one axis.
      dtype: the dtype of the result; the default float (float32) if none is given.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result: a Sharding, or a PartitionSpec on the context mesh.

    Example:
      >>> jnp.empty((2,), dtype=jnp.int32)
      Array([0, 0], dtype=int32)
    """
    return placed(
        _unspecified(*_shape_and_dtype(shape, dtype, "empty"), False), device, out_sharding
    )


@one_operation
def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Returns an array of `shape` filled with `fill_value`.

    Args:
      shape: the sizes of the axes; an integer stands for one axis.
      fill_value: a scalar, or an array that is broadcast to `shape`.
      dtype: the dtype of the result; that of `fill_value` by default.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result: a Sharding, or a PartitionSpec on the context mesh.

    Raises:
      TypeError: if `fill_value` is a Python complex number and `dtype` is real.
      ValueError: if `fill_value` cannot be broadcast to `shape`.

    Example:
      >>> jnp.full((2, 2), 7)
      Array([[7, 7],
             [7, 7]], dtype=int32, weak_type=True)
    """
    promotion.check_arraylike("full", fill_value)
    shape = canonical_shape(shape)
    if dtype is not None:
        dtype = user_dtype(dtype, "full")
    return placed(_full(shape, fill_value, dtype), device, out_sharding)


def _full(
    shape: tuple[int, ...], fill_value: ArrayLike, dtype: Any, weak_type: bool = False
) -> Array:
    if type(fill_value) in promotion.SCALARS:
        if dtype is None:
            dtype, weak_type = promotion.type_of(fill_value)
        refuse_complex_scalar(fill_value, dtype, "jnp.full")
        return _constant(shape, fill_value, dtype, weak_type)
    fill = as_value(fill_value) if dtype is None else convert(fill_value, dtype, weak_type)
    if not shape_of(fill):
        return broadcast_to_shape(fill, shape)
    return broadcast_to(fill, shape)


def _prototype(
    name: str, a: ArrayLike | Shaped, dtype: DTypeLike | None, shape: ShapeLike | None
) -> tuple[tuple[int, ...], dtypes.DType, bool]:
    """Returns the shape, the dtype and the weak type of an array like `a`."""
    if not isinstance(a, Array) and hasattr(a, "shape") and hasattr(a, "dtype"):
        like: Any = a
        old_shape, old = tuple(like.shape), like.dtype
        weak = bool(getattr(a, "weak_type", False))
        old = old if dtypes.is_extended(old) else dtypes.canonicalize_dtype(old)
    else:
        operand: Any = a
        promotion.check_arraylike(name, operand)
        old_shape = shape_of(operand)
        old, weak = promotion.type_of(operand)
    shape = old_shape if shape is None else canonical_shape(shape)
    if dtype is None:
        return shape, old, weak
    return shape, user_dtype(dtype, name), False


def _like(
    name: str,
    a: ArrayLike | Shaped,
    value: int | None,
    dtype: DTypeLike | None,
    shape: ShapeLike | None,
) -> Array:
    """Returns an array like `a` filled with `value`, or with unspecified contents if it is None."""
    extents, resolved, weak = _prototype(name, a, dtype, shape)
    dtypes.check_valid_dtype(resolved)
    if value is None:
        return _unspecified(extents, resolved, weak)
    return _constant(extents, value, resolved, weak)


@one_operation
def zeros_like(
    a: ArrayLike | Shaped,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Returns an array of zeros with the shape and dtype of `a`, unless others are passed.

    Args:
      a: an array, or anything that has a shape and a dtype.
      dtype: the dtype of the result; that of `a` by default.
      shape: the shape of the result; that of `a` by default.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result: a Sharding, or a PartitionSpec on the context mesh.

    Example:
      >>> jnp.zeros_like(jnp.array([1.5, 2.5]))
      Array([0., 0.], dtype=float32)
    """
    out = _like("zeros_like", a, 0, dtype, shape)
    return placed_like(out, a, shape, device, out_sharding)


@one_operation
def ones_like(
    a: ArrayLike | Shaped,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Returns an array of ones with the shape and dtype of `a`, unless others are passed.

    Args:
      a: an array, or anything that has a shape and a dtype.
      dtype: the dtype of the result; that of `a` by default.
      shape: the shape of the result; that of `a` by default.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result: a Sharding, or a PartitionSpec on the context mesh.

    Example:
      >>> jnp.ones_like(jnp.arange(3))
      Array([1, 1, 1], dtype=int32)
    """
    out = _like("ones_like", a, 1, dtype, shape)
    return placed_like(out, a, shape, device, out_sharding)


@one_operation
def empty_like(
    prototype: ArrayLike | Shaped,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: Device | Sharding | None = None,
) -> Array:
    """Returns an array like `prototype` with unspecified contents; this implementation uses zeros.

    Args:
      prototype: an array, or anything that has a shape and a dtype.
      dtype: the dtype of the result; that of `prototype` by default.
      shape: the shape of the result; that of `prototype` by default.
      device: the Device or Sharding of the result; that of `prototype` by default.

    Example:
      >>> jnp.empty_like(jnp.arange(3), dtype=bool)
      Array([False, False, False], dtype=bool)
    """
    out = _like("empty_like", prototype, None, dtype, shape)
    return placed_like(out, prototype, shape, device, None)


@one_operation
def full_like(
    a: ArrayLike | Shaped,
    fill_value: ArrayLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Returns an array of the shape and dtype of `a`, filled with `fill_value`.

    Args:
      a: an array, or anything that has a shape and a dtype.
      fill_value: a scalar or an array, broadcast to the result's shape.
      dtype: the dtype of the result; that of `a` by default.
      shape: the shape of the result; that of `a` by default.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result: a Sharding, or a PartitionSpec on the context mesh.

    Example:
      >>> jnp.full_like(jnp.arange(3), 2.9)
      Array([2, 2, 2], dtype=int32)
    """
    promotion.check_arraylike("full_like", fill_value)
    full_shape, kind, weak = _prototype("full_like", a, dtype, shape)
    if shape_of(fill_value):
        weak = False
    out = _full(full_shape, fill_value, kind, weak)
    return placed_like(out, a, shape, device, out_sharding)


@one_operation
def copy(a: ArrayLike, order: str | None = None) -> Array:
    """Returns a copy of `a`.

    Args:
      a: an array.
      order: unused; arrays are stored in row-major order.

    Example:
      >>> jnp.copy(jnp.arange(3))
      Array([0, 1, 2], dtype=int32)
    """
    promotion.check_arraylike("copy", a)
    return array_of(a, None, True, 0)


# --- memory of other objects -------------------------------------------------------------------


def frombuffer(
    buffer: bytes | bytearray | memoryview,
    dtype: DTypeLike = float,
    count: int = -1,
    offset: int = 0,
) -> Array:
    r"""Copies the bytes of `buffer` into an array of `dtype`.

    Args:
      buffer: an object that supports the buffer protocol.
      dtype: how to interpret the bytes; 64-bit elements are converted to 32 bits unless 64-bit
        types are enabled.
      count: the number of elements to read; -1 for all.
      offset: the position of the first byte.

    Returns: an array of rank 1.

    Example:
      >>> jnp.frombuffer(b"\x01\x02\x03", dtype=jnp.uint8)
      Array([1, 2, 3], dtype=uint8)
    """
    return asarray(np.frombuffer(buffer, np.dtype(dtype), count, offset))


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Converts the numbers in `string`, which are separated by `sep`, to an array.

    Args:
      string: the text.
      dtype: the dtype of the result.
      count: the number of numbers to read; -1 for all.
      sep: the separator between numbers.

    Returns: an array of rank 1.

    Example:
      >>> jnp.fromstring("0.5 1.5 2.5", count=2, sep=" ")
      Array([0.5, 1.5], dtype=float32)
    """
    return asarray(np.fromstring(string, np.dtype(dtype), count, sep=sep))


def from_dlpack(
    x: object, /, *, device: Device | Sharding | None = None, copy: bool | None = None
) -> Array:
    """Converts an object with `__dlpack__`, such as a tensor of another library, to an array.

    Args:
      x: the object.
      device: the Device or Sharding of the result.
      copy: True to always copy; False to raise an error if a copy is necessary.

    Example:
      >>> import numpy as np
      >>> jnp.from_dlpack(np.arange(3, dtype=np.float32))
      Array([0., 1., 2.], dtype=float32)
    """
    return placed(dlpack.from_dlpack(x, None, copy), device)


for _name in __all__:
    if _name != "astype":
        globals()[_name].__module__ = "jax.numpy"
