"""Reductions: sums, extremes, means, variances, truth, counting, running sums.

Common arguments:
  axis: an axis, a tuple of axes, or None for all.
  dtype: dtype of the result, in which sums are carried (half precision is carried in float32).
  keepdims: whether reduced axes stay, with extent 1.
  initial: a value to start from.
  where: truth values; elements where they are false are left out.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jitney.api.jit import jit_when_traced
from jitney.core import dtypes
from jitney.core.trace import concrete_or_error
from jitney.numpy import util
from jitney.numpy.arithmetic import true_divide
from jitney.numpy.selection import where as choose
from jitney.numpy.ufuncs import isnan, sqrt, square, to_bool
from jitney.ops import binary, compare, convert, cumulative, reduce, unary
from jitney.ops.shape import broadcast_to, canonical_axes, canonical_axis, expand_dims, reshape, shape_of

_BOOL = np.dtype(bool)
_F32 = np.dtype(np.float32)


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes to reduce over, counted from the front."""
    if axis is None:
        return tuple(range(rank))
    axis = concrete_or_error(None, axis, "axis argument to a jnp reduction")
    if isinstance(axis, list | np.ndarray) or hasattr(axis, "aval"):
        axis = tuple(np.asarray(axis).reshape(-1).tolist()) if not np.ndim(axis) == 0 else int(axis)
    axes = canonical_axes(axis, rank)
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return axes


def _carrier(dtype: Any) -> Any:
    """The dtype in which sums of `dtype` are carried."""
    return _F32 if dtype.itemsize == 2 and util.is_floating(dtype) else dtype


def _sum_dtype(dtype: Any, promote: bool) -> Any:
    """dtype of the sum of values of `dtype`: small integers go to the default integer."""
    if dtype == _BOOL:
        return dtypes.canonicalize_dtype(np.int64)
    if promote and util.is_integer(dtype):
        default = dtypes.canonicalize_dtype(
            np.uint64 if dtypes.issubdtype(dtype, np.unsignedinteger) else np.int64
        )
        return default if dtype.itemsize < default.itemsize else dtype
    return dtype


def _keep(result: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return expand_dims(result, axes) if keepdims and axes else result


def _masked(name: str, x: Any, where: Any, neutral: Any) -> Any:
    if where is None:
        return x
    util.check_arraylike(name, where)
    dtype, weak = util.type_of(x)
    return choose(where, x, convert.scalar_operand(neutral, dtype, weak))


def _reduction(
    name: str,
    a: Any,
    op: Callable[..., Any],
    neutral: Callable[[Any], Any],
    *,
    combine: Callable[[Any, Any], Any],
    sums: bool = False,
    has_identity: bool = True,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    util.check_no_out(name, out)
    x = util.ensure_arraylike(name, a)
    if where is not None and initial is None and not has_identity:
        raise ValueError(f"reduction operation {name} does not have an identity, so to use a where "
                         "mask one has to specify 'initial'")
    axes = _axes(axis, len(shape_of(x)))
    if not has_identity and initial is None and any(shape_of(x)[k] == 0 for k in axes):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    old, weak = util.type_of(x)
    if dtype is not None:
        dtypes.check_user_dtype_supported(dtype, name)
        result = dtypes.canonicalize_dtype(dtype)
        weak = False
    else:
        result = _sum_dtype(old, promote_integers) if sums else old
        weak = weak and result == old
    carried = _carrier(result) if sums else result
    x = util.as_type(x, carried, weak and carried == old)
    x = _masked(name, x, where, neutral(carried))
    value = op(x, axes)
    if initial is not None:
        start = util.as_type(initial, carried, False)
        value = combine(start, value)
    value = convert.convert(value, result, weak) if util.type_of(value)[0] != result else value
    return _keep(value, axes, keepdims)


def sum(  # noqa: A001
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None, promote_integers: bool = True,
) -> Any:  # fmt: skip
    """Sum over axes; integers wrap, small ones are summed as the default integer."""
    return _reduction("sum", a, reduce.reduce_sum, lambda d: 0, combine=binary.add, sums=True,
                      axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial,
                      where=where, promote_integers=promote_integers)  # fmt: skip


def prod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None, promote_integers: bool = True,
) -> Any:  # fmt: skip
    """Product over axes; integers wrap."""
    return _reduction("prod", a, reduce.reduce_prod, lambda d: 1, combine=binary.mul, sums=True,
                      axis=axis, dtype=dtype, out=out, keepdims=keepdims, initial=initial,
                      where=where, promote_integers=promote_integers)  # fmt: skip


def _least(dtype: Any) -> Any:
    if dtype == _BOOL:
        return False
    return dtypes.iinfo(dtype).min if util.is_integer(dtype) else -np.inf


def _greatest(dtype: Any) -> Any:
    if dtype == _BOOL:
        return True
    return dtypes.iinfo(dtype).max if util.is_integer(dtype) else np.inf


def max(  # noqa: A001
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """Largest element over axes; NaN if there is one."""
    return _reduction("max", a, reduce.reduce_max, _least, combine=binary.max, has_identity=False,
                      axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)  # fmt: skip


def min(  # noqa: A001
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """Smallest element over axes; NaN if there is one."""
    return _reduction("min", a, reduce.reduce_min, _greatest, combine=binary.min,
                      has_identity=False, axis=axis, out=out, keepdims=keepdims, initial=initial,
                      where=where)  # fmt: skip


amax, amin = max, min


def _truth(name: str, a: Any, op: Any, neutral: bool, axis: Any, out: Any, keepdims: bool, where: Any) -> Any:
    util.check_no_out(name, out)
    x = util.ensure_arraylike(name, a)
    if util.dtype_of(x) != _BOOL:
        x = convert.convert(x, _BOOL)
    axes = _axes(axis, len(shape_of(x)))
    return _keep(op(_masked(name, x, where, neutral), axes), axes, keepdims)


def all(  # noqa: A001
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether every element over axes is true."""
    return _truth("all", a, reduce.reduce_and, True, axis, out, keepdims, where)


def any(  # noqa: A001
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether some element over axes is true."""
    return _truth("any", a, reduce.reduce_or, False, axis, out, keepdims, where)


alltrue, sometrue = all, any

# --- means and variances ------------------------------------------------------------------------


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    return math.prod(shape[k] for k in axes)


def _mean_dtypes(x: Any, dtype: Any) -> tuple[Any, Any]:
    """(dtype of the computation, of the result)."""
    if dtype is None:
        result = util.to_inexact(util.dtype_of(x))
    else:
        dtypes.check_user_dtype_supported(dtype, "mean")
        result = dtypes.canonicalize_dtype(dtype)
    return _carrier(result), result


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *,
    where: Any = None,
) -> Any:  # fmt: skip
    """Arithmetic mean over axes."""
    util.check_no_out("mean", out)
    x = util.ensure_arraylike("mean", a)
    axes = _axes(axis, len(shape_of(x)))
    carried, result = _mean_dtypes(x, dtype)
    if where is None:
        count: Any = convert.scalar_operand(_count(shape_of(x), axes), carried, False)
    else:
        count = sum(broadcast_to(where, shape_of(x)), axis, dtype=carried, keepdims=keepdims)
    if util.dtype_of(x) == _BOOL:
        x = convert.convert(x, dtypes.canonicalize_dtype(np.int64))
    total = sum(x, axis, dtype=carried, keepdims=keepdims, where=where)
    value = binary.div(total, count)
    return convert.convert(value, result) if carried != result else value


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """Mean over axes, weighted; with `returned`, also the sum of weights."""
    if weights is None:
        x = util.ensure_arraylike("average", a)
        value = mean(x, axis, keepdims=keepdims)
        if not returned:
            return value
        n = _count(shape_of(x), _axes(axis, len(shape_of(x))))
        return value, broadcast_to(convert.scalar_operand(n, util.dtype_of(value), False), shape_of(value))
    util.check_arraylike("average", a, weights)
    x, w = util.promote_dtypes_inexact(a, weights)
    x, w = convert.as_value(x), convert.as_value(w)
    if shape_of(x) != shape_of(w):
        if axis is None:
            raise ValueError("Axis must be specified when shapes of a and weights differ.")
        if len(shape_of(w)) != 1:
            raise ValueError("1D weights expected when shapes of a and weights differ.")
        axis = canonical_axis(axis, len(shape_of(x)))
        if shape_of(w)[0] != shape_of(x)[axis]:
            raise ValueError("Length of weights not compatible with specified axis.")
        others = tuple(k for k in range(len(shape_of(x))) if k != axis)
        w = broadcast_to(expand_dims(w, others), shape_of(x))
    total = sum(w, axis, keepdims=keepdims)
    value = binary.div(sum(binary.mul(x, w), axis, keepdims=keepdims), total)
    return (value, broadcast_to(total, shape_of(value))) if returned else value


@partial(jit_when_traced, name="_var", static_argnames=("axis", "dtype", "keepdims", "has_where"))
def _var(
    a: Any, ddof: Any, where: Any, *, axis: Any, dtype: Any, keepdims: bool, has_where: bool
) -> Any:
    x = convert.as_value(a)
    carried, result = _mean_dtypes(x, dtype)
    if util.is_complex(util.dtype_of(x)) and not util.is_complex(result):
        carried = util.dtype_of(x)
    x = convert.convert(x, carried)
    axes = _axes(axis, len(shape_of(x)))
    mask = where if has_where else None
    center = mean(x, axes, dtype=carried, keepdims=True, where=mask)
    apart = binary.sub(x, broadcast_like_ranks(center, x))
    real = util.is_complex(util.dtype_of(apart))
    squared = unary.real(binary.mul(apart, unary.conj(apart))) if real else square(apart)
    part = util.dtype_of(squared)
    if has_where:
        n: Any = sum(broadcast_to(where, shape_of(x)), axes, dtype=part, keepdims=keepdims)
    else:
        n = convert.scalar_operand(_count(shape_of(x), axes), part, False)
    free = binary.sub(n, convert.convert(ddof, part))
    total = sum(squared, axes, dtype=part, keepdims=keepdims, where=mask)
    value = binary.div(total, free)
    zero = convert.scalar_operand(0, part, False)
    value = choose(compare.gt(free, zero), value, np.nan)
    wanted = part if util.is_complex(result) else result
    return convert.convert(value, wanted) if part != wanted else value


def broadcast_like_ranks(x: Any, y: Any) -> Any:
    """`x`, of the rank of `y`; elementwise functions stretch extents of 1."""
    return x if len(shape_of(x)) == len(shape_of(y)) else expand_dims(x, tuple(range(len(shape_of(y)))))


def _hashable(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list | np.ndarray) else axis


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, *, where: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Variance over axes: mean squared distance from the mean, divided by n - ddof."""
    util.check_no_out("var", out)
    util.check_arraylike("var", a)
    ddof = _degrees(ddof, correction)
    return _var(a, ddof, where, axis=_hashable(axis), dtype=dtype, keepdims=keepdims,
                has_where=where is not None)  # fmt: skip


def _degrees(ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


@partial(jit_when_traced, name="_std", static_argnames=("axis", "dtype", "keepdims", "has_where"))
def _std(
    a: Any, ddof: Any, where: Any, *, axis: Any, dtype: Any, keepdims: bool, has_where: bool
) -> Any:
    return sqrt(_var(a, ddof, where, axis=axis, dtype=dtype, keepdims=keepdims, has_where=has_where))


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, *, where: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """Standard deviation over axes: the square root of `var`."""
    util.check_no_out("std", out)
    util.check_arraylike("std", a)
    if dtype is not None and not util.is_inexact(np.dtype(dtype)):
        raise ValueError(f"dtype argument to jnp.std must be inexact; got {dtype}")
    ddof = _degrees(ddof, correction)
    return _std(a, ddof, where, axis=_hashable(axis), dtype=dtype, keepdims=keepdims,
                has_where=where is not None)  # fmt: skip


@partial(jit_when_traced, name="_ptp", static_argnames=("axis", "keepdims"))
def _ptp(a: Any, axis: Any, keepdims: bool) -> Any:
    return binary.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """Largest minus smallest element over axes."""
    util.check_no_out("ptp", out)
    util.check_arraylike("ptp", a)
    return _ptp(a, axis=_hashable(axis), keepdims=keepdims)


@partial(jit_when_traced, static_argnames=("axis", "keepdims"))
def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements over axes are not zero."""
    x = util.ensure_arraylike("count_nonzero", a)
    dtype, weak = util.type_of(x)
    nonzero = compare.ne(x, convert.scalar_operand(0, dtype, weak))
    return sum(nonzero, axis, dtype=dtypes.canonicalize_dtype(np.int64), keepdims=keepdims)


# --- extremes by index --------------------------------------------------------------------------


def _arg(name: str, op: Any, a: Any, axis: Any, out: Any, keepdims: bool) -> Any:
    util.check_no_out(name, out)
    x = util.ensure_arraylike(name, a)
    rank = len(shape_of(x))
    axes: tuple[int, ...]
    if axis is None:
        axes = tuple(range(rank))
        flat = reshape(x, (math.prod(shape_of(x)),)) if rank != 1 else x
        dim = 0
    else:
        dim = canonical_axis(operator.index(axis), rank)
        axes, flat = (dim,), x
    if shape_of(flat)[dim] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    return _keep(op(flat, dim, dtypes.canonicalize_dtype(np.int64)), axes, keepdims)


def argmax(a: Any, axis: Any = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Index of the first largest element; NaN counts as largest."""
    return _arg("argmax", reduce.argmax, a, axis, out, bool(keepdims))


def argmin(a: Any, axis: Any = None, out: None = None, keepdims: bool | None = None) -> Any:
    """Index of the first smallest element; NaN counts as smallest."""
    return _arg("argmin", reduce.argmin, a, axis, out, bool(keepdims))


def _nanarg(name: str, find: Any, fill: Any, a: Any, axis: Any, out: Any, keepdims: bool | None) -> Any:
    util.check_no_out(name, out)
    x = util.ensure_arraylike(name, a)
    if not util.is_inexact(util.dtype_of(x)):
        return find(x, axis, keepdims=keepdims)
    mask = isnan(x)
    index = find(choose(mask, fill, x), axis, keepdims=keepdims)
    return choose(all(mask, axis, keepdims=bool(keepdims)), -1, index)


def nanargmax(a: Any, axis: Any = None, out: None = None, keepdims: bool | None = None) -> Any:
    """`argmax` of the elements that are not NaN; -1 where all are."""
    return _nanarg("nanargmax", argmax, -np.inf, a, axis, out, keepdims)


def nanargmin(a: Any, axis: Any = None, out: None = None, keepdims: bool | None = None) -> Any:
    """`argmin` of the elements that are not NaN; -1 where all are."""
    return _nanarg("nanargmin", argmin, np.inf, a, axis, out, keepdims)


# --- running sums -------------------------------------------------------------------------------


@partial(jit_when_traced, name="cumsum", static_argnames=("axis", "dtype"))
def _cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _running("cumsum", cumulative.cumsum, a, axis, dtype)


@partial(jit_when_traced, name="cumprod", static_argnames=("axis", "dtype"))
def _cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _running("cumprod", cumulative.cumprod, a, axis, dtype)


def _running(name: str, op: Any, a: Any, axis: Any, dtype: Any) -> Any:
    x = util.ensure_arraylike(name, a)
    if axis is None or not shape_of(x):
        x = reshape(x, (math.prod(shape_of(x)),))
        axis = 0
    axis = canonical_axis(axis, len(shape_of(x)))
    old = util.dtype_of(x)
    if dtype is None and old == _BOOL:
        dtype = dtypes.canonicalize_dtype(np.int64)
    if dtype is not None:
        dtypes.check_user_dtype_supported(dtype, name)
        x = convert.convert(x, dtypes.canonicalize_dtype(dtype))
    return op(x, axis)


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """Running sum along an axis, of all elements in order by default."""
    util.check_no_out("cumsum", out)
    util.check_arraylike("cumsum", a)
    return _cumsum(a, axis=axis, dtype=dtype)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """Running product along an axis, of all elements in order by default."""
    util.check_no_out("cumprod", out)
    util.check_arraylike("cumprod", a)
    return _cumprod(a, axis=axis, dtype=dtype)


def _without_nan(x: Any, fill: float) -> Any:
    return choose(isnan(x), convert.scalar_operand(fill, util.dtype_of(x), False), x) if util.is_inexact(util.dtype_of(x)) else x


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """`cumsum` with NaN counted as 0."""
    return cumsum(_without_nan(util.ensure_arraylike("nancumsum", a), 0), axis, dtype, out)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """`cumprod` with NaN counted as 1."""
    return cumprod(_without_nan(util.ensure_arraylike("nancumprod", a), 1), axis, dtype, out)


def _standard_running(
    name: str, running: Any, first: int, x: Any, axis: int | None, dtype: Any, include_initial: bool
) -> Any:
    from jitney.ops.join import concatenate

    x = util.ensure_arraylike(name, x)
    rank = len(shape_of(x))
    if rank == 0:
        raise ValueError(f"The input must be non-scalar to take a {name}, however a scalar was given.")
    if axis is None:
        if rank > 1:
            raise ValueError(f"The input array has rank {rank}, however axis was not set to an explicit value.")
        axis = 0
    out = running(x, axis, dtype)
    if not include_initial:
        return out
    axis = canonical_axis(axis, rank)
    edge = list(shape_of(out))
    edge[axis] = 1
    start = broadcast_to(convert.scalar_operand(first, util.dtype_of(out), False), tuple(edge))
    return concatenate([start, out], axis)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running sum along an axis; with `include_initial`, starting with 0."""
    return _standard_running("cumulative_sum", cumsum, 0, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running product along an axis; with `include_initial`, starting with 1."""
    return _standard_running("cumulative_prod", cumprod, 1, x, axis, dtype, include_initial)


# --- without NaN --------------------------------------------------------------------------------


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims"))
def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Any:  # fmt: skip
    """`sum` of the elements that are not NaN."""
    util.check_no_out("nansum", out)
    x = _without_nan(util.ensure_arraylike("nansum", a), 0)
    return sum(x, axis, dtype, None, keepdims, initial, where)


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims"))
def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Any:  # fmt: skip
    """`prod` of the elements that are not NaN."""
    util.check_no_out("nanprod", out)
    x = _without_nan(util.ensure_arraylike("nanprod", a), 1)
    return prod(x, axis, dtype, None, keepdims, initial, where)


def _nan_extreme(name: str, op: Any, fill: float, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    x = util.ensure_arraylike(name, a)
    out = op(_without_nan(x, fill), axis, None, keepdims, initial, where)
    if initial is not None or not util.is_inexact(util.dtype_of(x)):
        return out
    return choose(all(isnan(x), axis, keepdims=keepdims), np.nan, out)


@partial(jit_when_traced, static_argnames=("axis", "keepdims"))
def nanmax(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """`max` of the elements that are not NaN; NaN where all are."""
    util.check_no_out("nanmax", out)
    return _nan_extreme("nanmax", max, -np.inf, a, axis, keepdims, initial, where)


@partial(jit_when_traced, static_argnames=("axis", "keepdims"))
def nanmin(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """`min` of the elements that are not NaN; NaN where all are."""
    util.check_no_out("nanmin", out)
    return _nan_extreme("nanmin", min, np.inf, a, axis, keepdims, initial, where)


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims"))
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    where: Any = None,
) -> Any:  # fmt: skip
    """`mean` of the elements that are not NaN."""
    util.check_no_out("nanmean", out)
    x = util.ensure_arraylike("nanmean", a)
    if not util.is_inexact(util.dtype_of(x)):
        return mean(x, axis, dtype, None, keepdims, where=where)
    valid = unary.bitwise_not(isnan(x))
    counted = sum(valid, axis, dtype=util.dtype_of(x), keepdims=keepdims, where=where)
    return true_divide(nansum(x, axis, dtype=dtype, keepdims=keepdims, where=where), counted)


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims", "ddof"))
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, where: Any = None,
) -> Any:  # fmt: skip
    """`var` of the elements that are not NaN."""
    util.check_no_out("nanvar", out)
    x = util.ensure_arraylike("nanvar", a)
    if not util.is_inexact(util.dtype_of(x)):
        return var(x, axis, dtype, None, ddof, keepdims, where=where)
    valid = unary.bitwise_not(isnan(x))
    if where is not None:
        valid = binary.bitwise_and(valid, broadcast_to(to_bool(where), shape_of(x)))
    counted = sum(valid, axis, dtype=util.dtype_of(x), keepdims=keepdims)
    safe = _without_nan(x, 0)
    value = var(safe, axis, dtype, None, ddof, keepdims, where=valid)
    return choose(compare.gt(counted, convert.scalar_operand(ddof, util.dtype_of(counted), False)), value, np.nan)


@partial(jit_when_traced, static_argnames=("axis", "dtype", "keepdims", "ddof"))
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, where: Any = None,
) -> Any:  # fmt: skip
    """`std` of the elements that are not NaN."""
    util.check_no_out("nanstd", out)
    return sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where))
