"""Finite differences and related functions: `diff`, `gradient`, `trapezoid`, `unwrap`, `interp`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.messages import messages
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike, Axis
from jitney.numpy import promotion
from jitney.numpy.cumulative import cumsum
from jitney.numpy.division import remainder
from jitney.numpy.reductions import sum as sum_of
from jitney.numpy.selection import clip, where
from jitney.numpy.sorting import searchsorted
from jitney.primitives.array.broadcasting import broadcast_to
from jitney.primitives.array.canonical import canonical_axes, canonical_axis
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.shape import reshape, shape_of
from jitney.primitives.elementwise import binary, compare, unary
from jitney.primitives.elementwise.compiled_rules import LARGE
from jitney.primitives.elementwise.convert import as_value, convert, scalar_operand
from jitney.primitives.indexing.slice import slice_in_dim
from jitney.primitives.reduction import sort as lax_sort

__all__ = ["diff", "ediff1d", "gradient", "interp", "trapezoid", "unwrap"]

_BOOL = np.dtype(bool)


# --- differences ----------------------------------------------------------------------------------


def _edge(x: Array, value: ArrayLike, axis: int) -> Array:
    """Returns `value` as an operand to join to `x` along `axis`; a scalar becomes one slice."""
    promotion.check_arraylike("diff", value)
    if not shape_of(value):
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return broadcast_to(value, shape)
    return as_value(value)


@jit_when_traced(static_argnames=("n", "axis"))
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Computes differences of adjacent elements along `axis`, `n` times.

    Args:
      a: an array of rank 1 or more.
      n: how many times to take differences.
      axis: the axis of the differences; its size decreases by `n`.
      prepend: values to prepend to `a` along `axis` before taking differences: a scalar, or an
        array of the shape of `a` except along `axis`.
      append: values to append to `a`, likewise.

    Returns: an array of the dtype of `a`; for booleans, whether adjacent elements differ.

    Raises:
      ValueError: if `n` is negative or `a` is a scalar.

    Example:
      >>> jnp.diff(jnp.array([1, 4, 9, 16]))
      Array([3, 5, 7], dtype=int32)
      >>> jnp.diff(jnp.array([1, 4, 9, 16]), n=2)
      Array([2, 2], dtype=int32)
    """
    x = promotion.ensure_arraylike("diff", a)
    n = operator.index(concrete_or_error(None, n, "`n` of jnp.diff must be static"))
    axis = operator.index(concrete_or_error(None, axis, "`axis` of jnp.diff must be static"))
    if n == 0:
        return x
    if n < 0:
        raise ValueError(
            f"jnp.diff: `n`, the number of differences, must be 0 or more, but it is {n}"
        )
    if x.ndim == 0:
        raise ValueError(f"jnp.diff: `a` must have at least one axis, but it is the scalar {a}")
    axis = canonical_axis(axis, x.ndim)
    parts = [x]
    if prepend is not None:
        parts.insert(0, _edge(x, prepend, axis))
    if append is not None:
        parts.append(_edge(x, append, axis))
    if len(parts) > 1:
        x = concatenate(promotion.promote_dtypes(*parts), axis)
    op = compare.ne if x.dtype == _BOOL else binary.sub
    lead = (slice(None),) * axis
    for _ in range(n):
        x = op(x[(*lead, slice(1, None))], x[(*lead, slice(None, -1))])
    return x


@jit_when_traced
def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Computes differences of adjacent elements of the flattened array.

    Args:
      ary: an array.
      to_end: elements to append to the differences.
      to_begin: elements to prepend to the differences.

    Returns: an array of rank 1, of the dtype of `ary`.

    Example:
      >>> jnp.ediff1d(jnp.array([1, 4, 9]), to_begin=0)
      Array([0, 3, 5], dtype=int32)
    """
    x = promotion.ensure_arraylike("ediff1d", ary)
    x = reshape(x, (x.size,))
    out = binary.sub(x[1:], x[:-1])
    if to_begin is not None:
        promotion.check_arraylike("ediff1d", to_begin)
        start = convert(to_begin, x.dtype)
        out = concatenate([reshape(start, (start.size,)), out], 0)
    if to_end is not None:
        promotion.check_arraylike("ediff1d", to_end)
        end = convert(to_end, x.dtype)
        out = concatenate([out, reshape(end, (end.size,))], 0)
    return out


@jit_when_traced(static_argnames=("axis", "edge_order"))
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: Axis = None, edge_order: int | None = None
) -> Array | list[Array]:
    """Estimates derivatives along axes by central differences, one-sided at the edges.

    Args:
      f: values on a grid; integers are promoted to the default float.
      *varargs: the grid spacings: none (all are 1), one for all axes, or one per axis. A scalar is
        a distance; an array of rank 1 contains the coordinates along an axis.
      axis: an axis or a tuple of axes; all by default.
      edge_order: must be None.

    Returns: an array of the shape of `f`, or a list of such arrays if there are several axes.

    Raises:
      ValueError: if an axis has fewer than 2 elements, or coordinates along an axis do not match
        its size.
      TypeError: if there are several spacings, but not one per axis.

    Example:
      >>> jnp.gradient(jnp.array([0.0, 1.0, 4.0, 9.0]))
      Array([1., 2., 4., 5.], dtype=float32)
    """
    if edge_order is not None:
        raise NotImplementedError(
            "jnp.gradient: `edge_order` must be omitted, as derivatives at the edges are always "
            f"differences of two elements, but it is {edge_order!r}"
        )
    promotion.check_arraylike("gradient", f, *varargs)
    x, *spacings = map(as_value, promotion.promote_dtypes_inexact(f, *varargs))
    axes = tuple(range(x.ndim)) if axis is None else canonical_axes(axis, x.ndim)
    if any(x.shape[k] < 2 for k in axes):
        raise ValueError(
            "jnp.gradient: `f` must have at least two elements along each differentiated axis, "
            f"but it has shape {x.shape} and the axes are {axes}"
        )
    if not axes:
        return []
    if not spacings:
        spacings = [scalar_operand(1, *promotion.type_of(x))] * len(axes)
    elif len(spacings) == 1:
        spacings = spacings * len(axes)
    elif len(spacings) != len(axes):
        raise TypeError(
            "jnp.gradient: there must be one spacing for all axes, or one per axis, but "
            f"{messages.there_are(len(spacings))} for axes {axes}"
        )
    out = [_slopes(x, h, k) for h, k in zip(spacings, axes, strict=True)]
    return out[0] if len(axes) == 1 else out


def _slopes(x: Array, h: Any, axis: int) -> Array:
    n = x.shape[axis]
    first = _between(x, 0, 1, axis)
    last = _between(x, n - 2, n - 1, axis)
    if shape_of(h):
        return _uneven_slopes(x, h, axis, first, last)
    middle = binary.sub(slice_in_dim(x, 2, n, axis=axis), slice_in_dim(x, 0, n - 2, axis=axis))
    middle = binary.div(binary.mul(middle, scalar_operand(0.5, *promotion.type_of(x))), h)
    last = binary.div(last, h)
    return concatenate([binary.div(first, h), middle, last], axis)


def _between(x: Array, low: int, high: int, axis: int) -> Array:
    """Returns slice `high` minus slice `low` of `x` along `axis`."""
    return binary.sub(
        slice_in_dim(x, high, high + 1, axis=axis), slice_in_dim(x, low, low + 1, axis=axis)
    )


def _uneven_slopes(x: Array, h: Array, axis: int, first: Array, last: Array) -> Array:
    """Returns the slopes of `x` along `axis`, at coordinates `h` that can be unevenly spaced.

    At the edges, the slopes are the differences `first` and `last`, divided by the distances.
    Elsewhere, they are the slopes of parabolas through three adjacent points.
    """
    if shape_of(h) != (x.shape[axis],):
        raise ValueError(
            "jnp.gradient: the number of coordinates must be the size of `f` along their axis, "
            f"but `f` has size {x.shape[axis]} along axis {axis} and the coordinates have shape "
            f"{shape_of(h)}"
        )
    n = x.shape[axis]
    column = (1,) * axis + (-1,) + (1,) * (x.ndim - axis - 1)

    def part(low: int, high: int) -> Array:
        return slice_in_dim(h, low, high)

    def along(y: Array) -> Array:
        return reshape(y, tuple(y.shape[0] if k == -1 else k for k in column))

    first = binary.div(first, along(binary.sub(part(1, 2), part(0, 1))))
    last = binary.div(last, along(binary.sub(part(n - 1, n), part(n - 2, n - 1))))
    before = binary.sub(part(1, n - 1), part(0, n - 2))
    after = binary.sub(part(2, n), part(1, n - 1))
    a = binary.div(unary.neg(after), binary.mul(before, binary.add(before, after)))
    b = binary.div(binary.sub(after, before), binary.mul(before, after))
    c = binary.div(before, binary.mul(after, binary.add(before, after)))
    middle = binary.mul(along(a), slice_in_dim(x, 0, n - 2, axis=axis))
    middle = binary.add(middle, binary.mul(along(b), slice_in_dim(x, 1, n - 1, axis=axis)))
    middle = binary.add(middle, binary.mul(along(c), slice_in_dim(x, 2, n, axis=axis)))
    return concatenate([first, middle, last], axis)


# --- integrals, phases ----------------------------------------------------------------------------


@jit_when_traced(static_argnames=("axis",))
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integrates along `axis` by the trapezoidal rule.

    Args:
      y: the values of the function; integers are promoted to the default float.
      x: the coordinates, of rank 1 or of the shape of `y`.
      dx: the spacing if `x` is None; an array is broadcast against the sums of adjacent values.
      axis: the axis of integration.

    Returns: an array of the shape of `y` without `axis`.

    Example:
      >>> jnp.trapezoid(jnp.array([0.0, 1.0, 4.0]), dx=0.5)
      Array(1.5, dtype=float32)
    """
    from jitney.numpy.manipulation import moveaxis

    if x is None and shape_of(dx):
        y, dx = map(as_value, promotion.promote_dtypes_inexact(y, dx))
        axis = canonical_axis(axis, y.ndim)
        sums = binary.add(slice_in_dim(y, 1, None, axis=axis), slice_in_dim(y, 0, -1, axis=axis))
        total = sum_of(binary.mul(*promotion.align_ranks("multiply", dx, sums)), axis=axis)
        return _times(scalar_operand(0.5, total.dtype, False), total)
    if x is None:
        (y,) = map(as_value, promotion.promote_dtypes_inexact(y))
        y = moveaxis(y, axis, -1)
        total = sum_of(y, axis=-1)
        ends = binary.add(y[..., 0], y[..., -1])
        half = scalar_operand(0.5, y.dtype, False)
        return _times(dx, binary.sub(total, binary.mul(half, ends)))
    y, x = map(as_value, promotion.promote_dtypes_inexact(y, x))
    y = moveaxis(y, axis, -1)
    widths = diff(x) if x.ndim == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    sums = binary.add(y[..., 1:], y[..., :-1])
    total = sum_of(_times(widths, sums), axis=-1)
    return _times(scalar_operand(0.5, total.dtype, False), total)


def _times(x: ArrayLike, y: ArrayLike) -> Array:
    x, y = map(as_value, promotion.promote_dtypes(x, y))
    return binary.mul(*promotion.align_ranks("multiply", x, y))


@jit_when_traced(static_argnames=("axis",))
def unwrap(
    p: ArrayLike,
    discont: ArrayLike | None = None,
    axis: int = -1,
    period: ArrayLike = 6.283185307179586,
) -> Array:
    """Removes jumps of more than half a period from `p` by adding multiples of the period.

    Args:
      p: an array of phases.
      discont: the size below which jumps are kept; half a period by default.
      axis: the axis along which neighboring elements are compared.
      period: the period; 2 pi by default.

    Returns: an array of the shape of `p`; integer if `p` and the period are integers.

    Raises:
      ValueError: if `p` is complex.

    Example:
      >>> jnp.unwrap(jnp.array([0, 3, 1, 0]), period=4)
      Array([ 0, -1, -3, -4], dtype=int32)
    """
    x = promotion.ensure_arraylike("unwrap", p)
    if promotion.is_complex(x.dtype):
        raise ValueError(f"jnp.unwrap: `p` must be real, but it is {x.dtype}; apply jnp.angle")
    common = dtypes.result_type(x, period)
    axis = canonical_axis(axis, x.ndim)
    if x.shape[axis] == 0:
        return convert(x, common)
    integral = not promotion.is_inexact(common)
    dtype = common
    period = convert(as_value(period), dtype)
    x = convert(x, dtype)
    if integral:
        interval, odd = divmod(period, 2)
        low = -interval
        interval = interval + odd
        reach = interval if discont is None else discont
    else:
        reach = _halved(period) if discont is None else convert(as_value(discont), dtype)
        interval = _halved(period)
        low = unary.neg(interval)
    axis = canonical_axis(axis, x.ndim)
    steps = diff(x, axis=axis)
    phase = (
        remainder(steps - low, period) + low
        if integral
        else remainder(steps + interval, period) - interval
    )
    if not integral:
        at_edge = binary.bitwise_and(phase == low, steps > 0)
        phase = where(at_edge, interval, phase)
    else:
        at_edge = binary.bitwise_and(phase == low, steps > 0)
        phase = where(at_edge, -low, phase)
    correction = where(abs(steps) < reach, 0, phase - steps)
    n = x.shape[axis]
    first = slice_in_dim(x, 0, 1, axis=axis)
    rest_of = slice_in_dim(x, 1, n, axis=axis)
    return concatenate([first, rest_of + cumsum(correction, axis=axis)], axis)


def _halved(x: Array) -> Array:
    return binary.div(x, scalar_operand(2, x.dtype, False))


# --- interpolation --------------------------------------------------------------------------------


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Interpolates linearly between the points (`xp`, `fp`) at `x`.

    Args:
      x: the coordinates at which to evaluate.
      xp: the coordinates of the points, in ascending order unless `period` is given.
      fp: the values at the points.
      left: the value to the left of all points, by default that of the first point; "extrapolate"
        continues the first segment.
      right: the value to the right of all points, by default that of the last point; "extrapolate"
        continues the last segment.
      period: the period of the function; if it is passed, `left` and `right` have no effect.

    Returns: an array of the shape of `x`, of inexact dtype.

    Raises:
      ValueError: if `xp` and `fp` do not both have rank 1 and the same length.

    Example:
      >>> hours = jnp.array([0.0, 12.0, 24.0])
      >>> jnp.interp(jnp.array([6.0, 18.0, 30.0]), hours, hours**2)
      Array([ 72., 360., 576.], dtype=float32)
    """
    return _interp(
        x,
        xp,
        fp,
        None if isinstance(left, str) else left,
        None if isinstance(right, str) else right,
        period,
        left_mode=left if isinstance(left, str) else None,
        right_mode=right if isinstance(right, str) else None,
    )


@jit_when_traced(
    name="_interp",
    static_argnames=("left_mode", "right_mode"),
    compiled_from=LARGE,
)
def _interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | None,
    right: ArrayLike | None,
    period: ArrayLike | None,
    *,
    left_mode: str | None,
    right_mode: str | None,
) -> Array:
    promotion.check_arraylike("interp", x, xp, fp)
    if shape_of(xp) != shape_of(fp) or len(shape_of(xp)) != 1:
        raise ValueError(
            "jnp.interp: `xp` and `fp` must have one axis each, of equal size, but they have shapes "
            f"{shape_of(xp)} and {shape_of(fp)}"
        )
    at, xs = map(as_value, promotion.promote_dtypes_inexact(x, xp))
    (ys,) = map(as_value, promotion.promote_dtypes_inexact(fp))
    for mode in (left_mode, right_mode):
        if mode not in (None, "extrapolate"):
            raise ValueError(
                "jnp.interp: `left` and `right` must be numbers, None or 'extrapolate', but one is "
                f"{mode!r}"
            )
    if period is not None:
        if shape_of(period):
            raise ValueError(
                f"jnp.interp: `period` must be a scalar, but it has shape {shape_of(period)}"
            )
        turn = unary.abs(period)
        at, xs = remainder(at, turn), remainder(xs, turn)
        xs, ys = lax_sort.sort((xs, ys), num_keys=1)
        xs = concatenate([xs[-1:] - turn, xs, xs[:1] + turn], 0)
        ys = concatenate([ys[-1:], ys, ys[:1]], 0)
    n = xs.shape[0]
    i = clip(searchsorted(xs, at, side="right"), 1, n - 1)
    rise = ys[i] - ys[i - 1]
    width = xs[i] - xs[i - 1]
    beyond = at - xs[i - 1]
    # Between coincident points the slope is taken as 0.
    narrow = abs(width) <= np.spacing(np.finfo(xs.dtype).eps)
    out = where(narrow, ys[i - 1], ys[i - 1] + (beyond / where(narrow, 1, width)) * rise)
    if period is not None:
        return out
    if left_mode != "extrapolate":
        out = where(at < xs[0], ys[0] if left is None else left, out)
    if right_mode != "extrapolate":
        out = where(at > xs[-1], ys[-1] if right is None else right, out)
    return out


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
