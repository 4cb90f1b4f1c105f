"""Evenly spaced values: `arange`, `linspace`, `logspace`, `geomspace`."""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.symbolic.expressions import DimExpr, max_dim
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.core.util import float_errors
from jitney.numpy import promotion
from jitney.numpy.functions import public
from jitney.numpy.unary_math import log10, sign
from jitney.primitives.array.broadcasting import broadcast_shapes, broadcast_to, expand_dims
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.creation import iota
from jitney.primitives.array.placement import placed, with_devices
from jitney.primitives.array.shape import reshape, shape_of
from jitney.primitives.elementwise import binary, unary
from jitney.primitives.elementwise.convert import as_value, convert, scalar_operand, user_dtype

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value
    from jitney.runtime.devices.device import Device

__all__ = ["arange", "geomspace", "linspace", "logspace"]


# --- arange ---------------------------------------------------------------------------------------


def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: Device | Sharding | None = None,
    out_sharding: Sharding | None = None,
) -> Array:
    """Returns evenly spaced values: start, start + step, ..., up to but not including `stop`.

    Args:
      start: the first value. If `stop` is omitted, this is the end of the range, which then starts
        at 0.
      stop: the end of the range, which is excluded.
      step: the distance between values; 1 by default.
      dtype: the dtype of the result; the common dtype of the arguments by default.
      device: the Device or Sharding of the result; by default, the result is uncommitted.
      out_sharding: the sharding of the result.

    Returns: an array of rank 1. Narrow integer dtypes of arguments are kept; NumPy widens them to
      int64.

    Raises:
      ConcretizationTypeError: if an argument is traced, since the size of the result must be
        static.

    Example:
      >>> jnp.arange(4)
      Array([0, 1, 2, 3], dtype=int32)
      >>> jnp.arange(1.0, 2.0, 0.25)
      Array([1.  , 1.25, 1.5 , 1.75], dtype=float32)
    """
    return placed(_arange(start, stop, step, dtype), device, out_sharding)


def _arange(
    start: ArrayLike | None, stop: ArrayLike | None, step: ArrayLike | None, dtype: DTypeLike | None
) -> Array:
    kind = None if dtype is None else user_dtype(dtype, "arange")
    bounds = {"start": start, "stop": stop, "step": step}
    if stop is None and step is None:
        bounds = {"stop": start}
        if start is None:
            raise TypeError("jnp.arange: `stop` must be a number, but it is None")
    values = {name: _scalar_of(name, x) for name, x in bounds.items() if x is not None}
    if kind is None:
        given = [x for x in bounds.values() if x is not None]
        kind = dtypes.result_type(*[0 if isinstance(x, DimExpr) else x for x in given])
    if "start" not in values:
        count: Any = max_dim(0, _ceil(values["stop"]))
        return iota(kind, count)
    if "stop" not in values:
        values = {"start": values["start"] * 0, "stop": values["start"], "step": values["step"]}
    first, last, by = values["start"], values["stop"], values.get("step")
    _check_not_zero(by)
    size = _steps(_plain(last) - _plain(first), 1 if by is None else _plain(by))
    if by is None and first == 0:
        return iota(kind, size)
    numbers = iota(kind, size)
    if by is not None:
        numbers = binary.mul(_wrapped(by, kind), numbers)
    return binary.add(_wrapped(first, kind), numbers)


def _check_not_zero(step: Any) -> None:
    if step is not None and type(step) is not DimExpr and np.equal(_plain(step), 0):
        raise ZeroDivisionError("jnp.arange: `step` must not be 0")


def _ceil(x: float | DimExpr) -> int | DimExpr:
    return x if isinstance(x, DimExpr) else math.ceil(x)


def _steps(distance: Any, step: Any) -> Any:
    """Returns how many multiples of `step`, starting at 0, are less than `distance`."""
    if type(distance) is DimExpr or type(step) is DimExpr:
        return max_dim(0, -(-distance // step))
    return max(0, math.ceil(distance / step))


def _scalar_of(name: str, x: ArrayLike) -> Any:
    """Returns argument `name` as a Python or NumPy scalar, or as a symbolic size."""
    if isinstance(x, DimExpr):
        return x
    x = concrete_or_error(
        None, x, f"`{name}` determines the size of the result of jnp.arange, so it must be static"
    )
    promotion.check_arraylike("arange", x)
    if np.ndim(x) != 0:
        raise ValueError(f"jnp.arange: `{name}` must be a scalar, but it has shape {np.shape(x)}")
    if np.iscomplexobj(x):
        raise ValueError(
            f"jnp.arange: `{name}` must be real, but it is {x}; use jnp.linspace for "
            "complex endpoints"
        )
    return x if type(x) in promotion.SCALARS else np.asarray(x)[()]


_NUMPY_SCALARS: tuple[type[Any], ...] = (np.generic,)


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, _NUMPY_SCALARS) else x


def _wrapped(x: ArrayLike, dtype: np.dtype[Any]) -> Value:
    """Returns `x` as a scalar operand of `dtype`; integers wrap around."""
    if isinstance(x, DimExpr):
        return scalar_operand(x, dtype, False)
    with float_errors.ignored():
        return np.asarray(x).astype(dtype)[()]


# --- linspace and related functions ---------------------------------------------------------------


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | Sharding | None = None,
) -> Array: ...


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Device | Sharding | None = None,
) -> tuple[Array, Array]: ...


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | Sharding | None = None,
) -> Array | tuple[Array, Array]: ...


def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Device | Sharding | None = None,
) -> Array | tuple[Array, Array]:
    """Returns `num` evenly spaced values from `start` to `stop`.

    Args:
      start: the first value, a scalar or an array.
      stop: the last value, a scalar or an array that is broadcast against `start`.
      num: the number of values.
      endpoint: whether `stop` is included.
      retstep: whether to return the distance between values as well.
      dtype: the dtype of the result; the common inexact dtype of the arguments by default. For
        integer dtypes, values are rounded down.
      axis: the position of the new axis in the result.
      device: the Device or Sharding of the result; by default, the result is uncommitted.

    Returns: an array with a new axis of size `num`; with `retstep`, a pair of this array and the
      distance.

    Example:
      >>> jnp.linspace(0.0, 1.0, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    num = _count("linspace", num)
    axis = operator.index(concrete_or_error(None, axis, "`axis` of jnp.linspace must be static"))
    kind = None if dtype is None else user_dtype(dtype, "linspace")
    promotion.check_arraylike("linspace", start, stop)
    out = _linspace(
        start, stop, num=num, endpoint=bool(endpoint), retstep=bool(retstep), dtype=kind, axis=axis
    )
    device = with_devices(device)
    return (placed(out[0], device), out[1]) if isinstance(out, tuple) else placed(out, device)


def _count(name: str, num: int) -> int:
    num = operator.index(concrete_or_error(None, num, f"`num` of jnp.{name} must be static"))
    if num < 0:
        raise ValueError(f"jnp.{name}: `num` must be 0 or more, but it is {num}")
    return num


@partial(
    jit_when_traced,
    name="_linspace",
    static_argnames=("num", "endpoint", "retstep", "dtype", "axis"),
)
def _linspace(
    start: ArrayLike,
    stop: ArrayLike,
    *,
    num: int,
    endpoint: bool,
    retstep: bool,
    dtype: np.dtype[Any] | None,
    axis: int,
) -> Array | tuple[Array, Array]:
    common = dtypes.result_type(start, stop)
    working = promotion.to_inexact(common)
    dtype = working if dtype is None else dtype
    working = promotion.to_inexact(dtypes.wider(working, dtype))
    low, high = convert(start, working), convert(stop, working)
    shape = broadcast_shapes(low.shape, high.shape)
    low, high = broadcast_to(low, shape), broadcast_to(high, shape)
    rank = len(shape) + 1
    axis = canonical_axis(axis, rank)
    head, tail = shape[:axis], shape[axis:]
    column = (*head, 1, *tail)
    intervals = num - 1 if endpoint else num
    if num > 1:
        step: Any = binary.div(binary.sub(high, low), scalar_operand(intervals, working, False))
        out = _lerp(low, high, intervals, working, rank, axis, column)
        if endpoint:
            out = concatenate([out, expand_dims(high, (axis,))], axis)
    else:
        step = binary.sub(high, low) if num == 1 and not endpoint else None
        if retstep and step is None:
            step = as_value(scalar_operand(math.nan, working, False))
        out = reshape(low, column) if num == 1 else _none(working, (*head, 0, *tail))
    if promotion.is_integer(dtype) and not promotion.is_integer(working):
        out = unary.floor(out)
    out = convert(out, dtype)
    return (out, step) if retstep else out


def _none(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    from jitney.numpy.creation import empty

    return empty(shape, dtype)


def _lerp(
    start: Array,
    stop: Array,
    intervals: int,
    dtype: np.dtype[Any],
    rank: int,
    axis: int,
    column: tuple[int, ...],
) -> Array:
    """Computes start (1 - k / n) + (stop / n) k for k = 0, 1, ..., n - 1, where n = intervals."""
    real = np.finfo(dtype).dtype if promotion.is_complex(dtype) else dtype
    real = np.dtype(real)
    row = (1,) * axis + (intervals,) + (1,) * (rank - axis - 1)
    count = reshape(iota(real, intervals), row)
    t = convert(binary.div(count, scalar_operand(intervals, real, False)), dtype)
    from_start = binary.mul(reshape(start, column), binary.sub(scalar_operand(1, dtype, False), t))
    step = binary.div(reshape(stop, column), scalar_operand(intervals, dtype, False))
    return binary.add(from_start, binary.mul(step, convert(count, dtype)))


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Computes powers of `base` with `num` evenly spaced exponents from `start` to `stop`.

    Args:
      start: the first exponent, a scalar or an array.
      stop: the last exponent, a scalar or an array.
      num: the number of values.
      endpoint: whether `stop` is included in the exponents.
      base: the base of the powers, a scalar or an array.
      dtype: the dtype of the result; the common inexact dtype by default.
      axis: the position of the new axis in the result.

    Example:
      >>> jnp.logspace(0.0, 3.0, 4, base=2.0)
      Array([1., 2., 4., 8.], dtype=float32)
    """
    num = _count("logspace", num)
    axis = operator.index(concrete_or_error(None, axis, "`axis` of jnp.logspace must be static"))
    kind = None if dtype is None else user_dtype(dtype, "logspace")
    promotion.check_arraylike("logspace", start, stop)
    return _logspace(start, stop, base, num=num, endpoint=bool(endpoint), dtype=kind, axis=axis)


@partial(jit_when_traced, name="_logspace", static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(
    start: ArrayLike,
    stop: ArrayLike,
    base: ArrayLike,
    *,
    num: int,
    endpoint: bool,
    dtype: np.dtype[Any] | None,
    axis: int,
) -> Array:
    common = (
        dtypes.result_type(start, stop) if dtype is None else dtypes.result_type(start, stop, dtype)
    )
    working = promotion.to_inexact(common)
    dtype = working if dtype is None else dtype
    start, stop = convert(start, working), convert(stop, working)
    exponents = linspace(start, stop, num, endpoint, dtype=None, axis=axis)
    out = binary.pow(*promotion.promote_shapes("pow", convert(base, working), exponents))
    return convert(out, dtype)


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Returns `num` values from `start` to `stop` in geometric progression.

    Args:
      start: the first value, a scalar or an array.
      stop: the last value, a scalar or an array that is broadcast against `start`.
      num: the number of values.
      endpoint: whether `stop` is included.
      dtype: the dtype of the result; the common inexact dtype by default.
      axis: the position of the new axis in the result.

    Example:
      >>> jnp.geomspace(1.0, 1000.0, 4).round(1)
      Array([   1.,   10.,  100., 1000.], dtype=float32)
    """
    num = _count("geomspace", num)
    axis = operator.index(concrete_or_error(None, axis, "`axis` of jnp.geomspace must be static"))
    kind = None if dtype is None else user_dtype(dtype, "geomspace")
    promotion.check_arraylike("geomspace", start, stop)
    return _geomspace(start, stop, num=num, endpoint=bool(endpoint), dtype=kind, axis=axis)


@partial(jit_when_traced, name="_geomspace", static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    *,
    num: int,
    endpoint: bool,
    dtype: np.dtype[Any] | None,
    axis: int,
) -> Array:
    common = (
        dtypes.result_type(start, stop) if dtype is None else dtypes.result_type(start, stop, dtype)
    )
    working = promotion.to_inexact(common)
    dtype = working if dtype is None else dtype
    start, stop = convert(start, working), convert(stop, working)
    signs = sign(start)
    low = log10(binary.div(start, signs))
    high = log10(binary.div(stop, signs))
    out = logspace(low, high, num, endpoint, base=10.0, dtype=working, axis=0)
    out = binary.mul(signs, out) if not shape_of(signs) else _times(signs, out)
    if axis != 0:
        from jitney.numpy.manipulation import moveaxis

        out = moveaxis(out, 0, axis)
    return convert(out, dtype)


def _times(signs: Array, out: Array) -> Array:
    return binary.mul(*promotion.promote_shapes("multiply", signs, out))


for _function in (arange, linspace, logspace, geomspace):
    public(_function, _function.__name__, _function.__doc__ or "")
