"""The table of reductions, and the steps that all reductions share.

A row defines one reduction over axes: a sum, a product, an extreme or a logical reduction. The
functions of `jax.numpy`, with and without NaN, pass it to `reduced` or `reduced_truth`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, Axis, DTypeLike
from jitney.core.util.record import record
from jitney.numpy import promotion
from jitney.numpy.selection import where as choose
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_axes
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import binary, convert, unary
from jitney.primitives.reduction import reduce

# An axis can be of any type before it is checked.
_ARRAYS: tuple[type[Any], ...] = (Array, np.ndarray)
_SEQUENCES: tuple[type[Any], ...] = (list, tuple)

_BOOL = np.dtype(bool)
_F32 = np.dtype(np.float32)


# --- rows -----------------------------------------------------------------------------------------


def least(dtype: np.dtype[Any]) -> float:
    """Returns the smallest value of a dtype."""
    if dtype == _BOOL:
        return False
    return int(dtypes.iinfo(dtype).min) if promotion.is_integer(dtype) else -np.inf


def greatest(dtype: np.dtype[Any]) -> float:
    """Returns the largest value of a dtype."""
    if dtype == _BOOL:
        return True
    return int(dtypes.iinfo(dtype).max) if promotion.is_integer(dtype) else np.inf


@record(frozen=True)
class Reduction:
    """A row of the table: the definition of a reduction.

    Attributes:
      name: the name of the function.
      fold: a lax function (array, axes) -> the reduced array.
      combine: the elementwise function that combines a result with `initial`.
      neutral: a function dtype -> the identity element, which replaces elements that are left out.
      of_booleans: for sums and products, the row for booleans. Rows that have it accumulate in
        wider dtypes and are defined for empty axes; the other rows are defined for empty axes only
        with `initial`.
    """

    name: str
    fold: Callable[..., Array]
    combine: Callable[..., Array]
    neutral: Callable[[np.dtype[Any]], float]
    of_booleans: Reduction | None = None


ALL = Reduction("all", reduce.reduce_and, binary.bitwise_and, lambda _: True)
ANY = Reduction("any", reduce.reduce_or, binary.bitwise_or, lambda _: False)
SUM = Reduction("sum", reduce.reduce_sum, binary.add, lambda _: 0, of_booleans=ANY)
PROD = Reduction("prod", reduce.reduce_prod, binary.mul, lambda _: 1, of_booleans=ALL)
MAX = Reduction("max", reduce.reduce_max, binary.max, least)
MIN = Reduction("min", reduce.reduce_min, binary.min, greatest)


# --- shared steps ---------------------------------------------------------------------------------


def static_axis(axis: Axis | Array) -> int | tuple[int, ...] | None:
    """Returns an `axis` argument as None, an int or a tuple of ints."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, tuple) and type(axis) in _SEQUENCES:
        return axis
    known: Any = concrete_or_error(None, axis, "`axis` of a reduction must be static")
    if isinstance(known, _ARRAYS):
        axes = np.asarray(known)
        return operator.index(axes[()]) if axes.ndim == 0 else tuple(axes.tolist())
    if hasattr(known, "__index__"):
        return operator.index(known)
    if not isinstance(known, _SEQUENCES) or any(not hasattr(k, "__index__") for k in known):
        raise TypeError(f"`axis` must be an integer, or a tuple of integers, but it is {known!r}")
    return tuple([operator.index(k) for k in cast("list[Any]", known)])


def reduced_axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """Returns the axes to reduce as nonnegative integers, in ascending order."""
    if axis is None:
        return tuple(range(rank))
    axes = canonical_axes(axis, rank)
    if len(set(axes)) != len(axes):
        raise ValueError(f"an axis can be reduced only once, but for rank {rank} `axis` is {axis}")
    return tuple(sorted(axes))


def carrier(dtype: np.dtype[Any]) -> np.dtype:
    """Returns the dtype in which sums of `dtype` are accumulated."""
    return _F32 if dtype.itemsize == 2 and promotion.is_floating(dtype) else dtype


def sum_dtype(dtype: np.dtype[Any], promote: bool = True) -> np.dtype:
    """Returns the dtype of the sum of elements of `dtype`."""
    if not (dtype == _BOOL or (promote and promotion.is_integer(dtype))):
        return dtype
    unsigned = dtypes.issubdtype(dtype, np.unsignedinteger)
    default = dtypes.canonicalize_dtype(np.uint64 if unsigned else np.int64)
    return default if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(default) else dtype


def keep(result: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Inserts the reduced axes into `result`, with size 1, if `keepdims`."""
    return expand_dims(result, axes) if keepdims and axes else result


def truth_mask(name: str, where: ArrayLike) -> ArrayLike:
    """Returns `where`; raises ValueError unless it is boolean."""
    check_mask(name, where)
    return where


def check_mask(name: str, where: ArrayLike | None) -> None:
    """Raises ValueError unless `where` is a boolean array or None."""
    if where is None:
        return
    promotion.check_arraylike(name, where)
    dtype = promotion.dtype_of(where)
    if dtype != _BOOL:
        raise ValueError(f"jnp.{name}: `where` must be boolean, but it is {dtype}; pass where != 0")


def reduced(
    row: Reduction,
    a: ArrayLike,
    axis: Axis,
    out: None,
    keepdims: bool,
    initial: ArrayLike | None,
    where: ArrayLike | None,
    *,
    dtype: DTypeLike | None = None,
    promote_integers: bool = True,
    name: str = "",
) -> Array:
    """Computes the reduction `row`; for the arguments see `jitney.numpy.reductions`.

    `name` is the name of the function in messages, if it differs from that of the row.
    """
    name = name or row.name
    promotion.check_no_out(name, out)
    if isinstance(a, Array):
        x: Any = a
    else:
        promotion.check_arraylike(name, a)
        x = convert.as_value(a)
    shape = x.shape
    axes = reduced_axes(static_axis(axis), len(shape))
    old = x.dtype
    if old.itemsize >= 8:  # of an array from an `enable_x64` block that has ended
        old = dtypes.requested_dtype(old)
    result, carried = old, old
    if row.of_booleans is not None:
        if dtype is not None:
            result = convert.user_dtype(dtype, name)
            carried = result
        else:
            result = sum_dtype(old, promote_integers)
            carried = carrier(result)
        if result == _BOOL:  # whether any element is nonzero, or whether all are
            x, row = convert.convert(x, _BOOL), row.of_booleans
        elif old == _BOOL:
            x = convert.convert(x, dtypes.canonicalize_dtype(np.int64))
    elif initial is None:
        if where is not None:
            raise ValueError(
                f"jnp.{name}: `initial` must be passed with `where`, as the {row.name} of no elements "
                "is undefined"
            )
        if 0 in [shape[k] for k in axes]:
            raise ValueError(
                f"jnp.{name}: the {row.name} of no elements is undefined, but `a` has shape {shape} "
                f"and axes {tuple(axes)} are reduced; pass `initial`"
            )
    x = convert.convert(x, carried)
    if where is not None:
        fill = convert.scalar_operand(row.neutral(carried), carried, False)
        x = choose(truth_mask(name, where), x, fill)
    value = row.fold(x, axes)
    if initial is not None:
        if shape_of(initial):
            raise ValueError(
                f"jnp.{name}: `initial` must be a scalar, but it has shape {shape_of(initial)}"
            )
        value = row.combine(promotion.as_type(initial, carried, False), value)
    if carried != result:
        value = convert.convert(value, result)
    return keep(value, axes, keepdims)


def reduced_truth(
    row: Reduction, a: ArrayLike, axis: Axis, out: None, keepdims: bool, where: ArrayLike | None
) -> Array:
    """Computes the logical reduction `row`, for which elements with nonzero real parts are true."""
    name = row.name
    promotion.check_no_out(name, out)
    x = promotion.ensure_arraylike(name, a)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        x = unary.real(x)  # as in JAX, the imaginary part is ignored
    x = convert.convert(x, _BOOL)
    axes = reduced_axes(static_axis(axis), x.ndim)
    if where is not None:
        x = choose(truth_mask(name, where), x, np.bool_(row.neutral(_BOOL)))
    return keep(row.fold(x, axes), axes, keepdims)
