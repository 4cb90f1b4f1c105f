"""Reading elements by index: `x[index]` and `x.at[index].get(...)`.

`jitney.numpy.index_plan` analyzes an index; this module translates the plan into the simplest
operation that implements it: a slice if all positions are static, a dynamic slice if they are
scalars and contiguous blocks, otherwise a gather. In eager mode NumPy indexes the array directly.

Reading out of range returns the nearest element unless `mode` says otherwise. Negative positions
count from the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.settings import config
from jitney.core.symbolic.expressions import DimExpr, bounds
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.types.avals import shaped_array
from jitney.core.typing import ArrayLike, Index, Shape
from jitney.numpy.index_plan import NEW, POINTS, Entry, Plan, Points, Scalar, Span, Window, plan
from jitney.primitives.array.broadcasting import broadcast_in_dim, broadcast_to, expand_dims
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.creation import full, iota
from jitney.primitives.array.placement import placed_like
from jitney.primitives.array.shape import reshape, rev, squeeze
from jitney.primitives.elementwise import binary, compare, select
from jitney.primitives.elementwise.compiled_rules import LARGE
from jitney.primitives.elementwise.convert import as_value, convert, scalar_operand
from jitney.primitives.indexing.dynamic_slice import dynamic_slice, dynamic_slice_p
from jitney.primitives.indexing.gather import GatherDimensionNumbers, GatherScatterMode, gather
from jitney.primitives.indexing.slice import slice as lax_slice
from jitney.runtime.arrays import host_path
from jitney.runtime.arrays.array import ArrayImpl

if TYPE_CHECKING:
    from types import EllipsisType

# Indices are of any type before they are checked.
_INT: tuple[type[Any], ...] = (int,)
_TUPLE: tuple[type[Any], ...] = (tuple,)
_NDARRAY: tuple[type[Any], ...] = (np.ndarray,)
_SLICE: tuple[type[Any], ...] = (slice,)

# An item of an index that NumPy interprets in the same way.
NumPyItem: TypeAlias = "int | slice[Any, Any, Any] | EllipsisType | np.integer | np.ndarray | None"

_INT32 = np.dtype(np.int32)
_INT64 = np.dtype(np.int64)

# --- at once ------------------------------------------------------------------------------------

_BASIC = (int, slice, type(None), type(Ellipsis), np.int32, np.int64)
_BASIC_TYPES = frozenset(_BASIC)
_STATIC_BOUNDS = frozenset((int, type(None), np.int32, np.int64))


def numpy_index(index: Index) -> tuple[Any, ...] | None:
    """Returns `index` in a form that NumPy interprets in the same way; None if there is none.

    NumPy raises IndexError for positions out of range.
    """
    if type(index) in _TUPLE:
        items: list[NumPyItem] = []
        for x in index:
            item = _numpy_item(x)
            if item is _REFUSED:
                return None
            items.append(item)
        return tuple(items)
    item = _numpy_item(index)
    return None if item is _REFUSED else (item,)


_REFUSED: Any = object()


def _numpy_item(x: Index) -> NumPyItem:
    if type(x) in _SLICE:
        bounded = (
            type(x.start) in _STATIC_BOUNDS
            and type(x.stop) in _STATIC_BOUNDS
            and type(x.step) in _STATIC_BOUNDS
        )
        return x if bounded else _REFUSED
    if type(x) in _BASIC_TYPES:
        return x
    if type(x) is ArrayImpl:
        x = host_path.host_data(x)
        if x is None:
            return _REFUSED
    elif type(x) not in _NDARRAY:
        return _REFUSED
    return x if x.dtype.kind in "iub" else _REFUSED


def getitem(x: Array, index: Index) -> Array:
    """Returns `x[index]`."""
    value = host_path.eager_data(x)
    if value is not None:
        if type(index) in _INT and value.ndim:
            if -value.shape[0] <= index < value.shape[0]:
                aval, out = x.aval, value[index]
                out_aval = shaped_array(out.shape, aval.dtype, aval.weak_type)
                return host_path.array_from_numpy(out, out_aval)
        else:
            key = numpy_index(index)
            if key is not None:
                if key and type(key[0]) is np.ndarray and key[0].size >= LARGE:
                    items: tuple[Any, ...] = index if isinstance(index, _TUPLE) else (index,)
                    if all([type(k) is ArrayImpl and k.dtype.kind in "iu" for k in items]):
                        return _points(x, *items)
                try:
                    out = np.asarray(value[key])
                except IndexError:
                    return get(x, index)  # out of range, or an error for the general path to report
                out_aval = shaped_array(out.shape, x.aval.dtype, x.aval.weak_type)
                return host_path.array_from_numpy(out, out_aval)
    return get(x, index)


@jit_when_traced(inline=True, compiled_from=LARGE)
def _points(x: Array, *items: Array) -> Array:
    return get(x, items)


# --- by operations --------------------------------------------------------------------------------


def get(
    x: Array,
    index: Index,
    *,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    wrap_negative_indices: bool = True,
) -> Array:
    """Returns the elements of `x` at `index`.

    Args:
      x: an array.
      index: an index as in `x[index]`.
      mode: how positions out of range are handled: "clip" and "promise_in_bounds" return the
        nearest element (the default), "fill" and "drop" return `fill_value`.
      fill_value: a scalar; by default NaN, or the smallest signed or the largest unsigned integer.
      indices_are_sorted: a promise that positions are in ascending order.
      unique_indices: a promise that no position occurs twice.
      wrap_negative_indices: whether negative positions count from the end.
    """
    fill_value = concrete_or_error(None, fill_value, "`fill_value` of x.at[...].get must be static")
    x = as_value(x)
    p = plan(x.shape, index)
    parsed_mode = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else mode_of(mode)
    if config.check_static_indices.value and parsed_mode is GatherScatterMode.PROMISE_IN_BOUNDS:
        p.check_static_positions()
    if not p.has_points and parsed_mode is not GatherScatterMode.FILL_OR_DROP:
        clip = parsed_mode is GatherScatterMode.CLIP
        static = static_entries(p, clip, wrap_negative_indices)
        if static is not None:
            return _finish(p, _get_static(x, static))
        # Without points, entries are scalars, spans and windows.
        if all(isinstance(e, Scalar) or abs(e.step) == 1 for e in p.entries):  # type: ignore[union-attr]
            return _finish(p, _get_dynamic(x, p, wrap_negative_indices))
    plain = Indexer(p, wrap_negative_indices)
    if plain.selects_all:
        return _finish(p, x, reverse=False)
    indices = plain.indices()
    x = expand_dims(x, p.extra_axes) if p.extra_axes else x
    if 0 in p.result_shape:
        shape = tuple(n for n, item in _sized_axes(p) if item != NEW)
        y = empty_of_type(x, shape)
    else:
        y = gather(
            x,
            indices,
            GatherDimensionNumbers(
                offset_dims=plain.window_axes,
                collapsed_slice_dims=plain.collapsed,
                start_index_map=plain.indexed,
            ),
            plain.window_sizes,
            unique_indices=unique_indices or not p.has_points,
            indices_are_sorted=indices_are_sorted or not p.has_points,
            mode=parsed_mode,
            fill_value=fill_value,
        )
    y = rev(y, plain.reversed_axes) if plain.reversed_axes else y
    return expand_dims(y, p.new_axes)


def mode_of(mode: str | GatherScatterMode | None, name: str = "x.at[...]") -> GatherScatterMode:
    """Returns the `GatherScatterMode` that the argument `mode` of the function `name` selects."""
    try:
        return GatherScatterMode.from_any(mode)
    except ValueError:
        raise ValueError(
            f"{name}: `mode` must be 'clip', 'drop', 'fill' or 'promise_in_bounds', but it is "
            f"{mode!r}"
        ) from None


def empty_of_type(x: Array, shape: Shape) -> Array:
    """Returns zeros of the type and sharding of `x`.

    If `x` has an extended dtype, which has no zero, `shape` must be that of an empty array.
    """
    if not dtypes.is_extended(x.dtype):
        zeros = convert(full(shape, 0, x.dtype), x.dtype, x.aval.weak_type)
        return placed_like(zeros, x, shape, None, None)
    zeros = (0,) * x.ndim
    return reshape(lax_slice(x, zeros, zeros), shape)


def _sized_axes(p: Plan) -> list[tuple[int, int | str]]:
    """Returns (size, layout item) of each axis of the result."""
    out: list[tuple[int, Any]] = []
    for item in p.layout:
        if item == POINTS:
            out.extend((n, item) for n in p.points_shape)
        else:
            size = 1
            if item != NEW:
                axis: int = item
                entry = p.entries[axis]
                assert isinstance(entry, Span | Window)
                size = entry.size
            out.append((size, item))
    return out


def static_entries(p: Plan, clip: bool, wrap: bool) -> list[Span | int] | None:
    """Returns the entries of a plan, with each `Scalar` replaced by its position.

    Negative positions count from the end if `wrap`; positions out of range are clipped if `clip`.
    Returns None if an entry is neither a `Span` nor a static `Scalar`, or if a position remains out
    of range.
    """
    out: list[Span | int] = []
    for entry, extent in zip(p.entries, p.shape, strict=True):
        if isinstance(entry, Span):
            out.append(entry)
            continue
        if not isinstance(entry, Scalar) or not entry.is_static:
            return None
        k = int(entry.value)
        if wrap and k < 0:
            k += extent
        if isinstance(extent, DimExpr):
            # A position that is not in range for all values of the variables is treated like a
            # traced one.
            if bounds(k)[0] < 0 or bounds(extent - k)[0] <= 0:
                return None
            out.append(k)
            continue
        if clip and extent:
            k = min(max(k, 0), extent - 1)
        if not 0 <= k < extent:
            return None
        out.append(k)
    return out


def _get_static(x: Array, entries: Sequence[Span | int]) -> Array:
    """Slices `x` along all its axes; scalars leave axes of size 1."""
    starts: list[int] = []
    limits: list[int] = []
    strides: list[int] = []
    for e in entries:
        if not isinstance(e, Span):
            starts.append(e)
            limits.append(e + 1)
            strides.append(1)
        else:
            starts.append(e.first)
            limits.append(e.stop)
            strides.append(abs(e.step))
    is_whole = all(isinstance(e, Span) and e.size == e.extent for e in entries)
    if not is_whole:
        x = lax_slice(x, starts, limits, None if set(strides) == {1} else strides)
    return x


def _get_dynamic(x: Array, p: Plan, wrap: bool) -> Array:
    entries = [e for e in p.entries if not isinstance(e, Points)]
    if wrap and len(entries) == 1:  # in the position's own dtype
        (only,) = entries
        if isinstance(only, Scalar):
            return dynamic_slice(x, (only.value,), (1,))
        if isinstance(only, Window):
            return dynamic_slice(x, (only.start,), (only.size,))
    dtype = index_dtype(p.shape)
    if any(isinstance(e, Scalar) and e.value_dtype == _INT64 for e in entries):
        dtype = _INT64
    starts = [as_index(e.value if isinstance(e, Scalar) else e.first, dtype) for e in entries]
    if wrap:
        starts = [_wrapped(start, n) for start, n in zip(starts, p.shape, strict=True)]
    sizes = tuple(1 if isinstance(e, Scalar) else e.size for e in entries)
    return dynamic_slice_p.bind(x, *starts, slice_sizes=sizes)


def _finish(p: Plan, y: Array, reverse: bool = True) -> Array:
    """Converts `y` from the operand's axes to the axes of the result."""
    reversed_axes = tuple(k for k, e in enumerate(p.entries) if isinstance(e, Span) and e.step < 0)
    if reversed_axes and reverse:
        y = rev(y, reversed_axes)
    scalars = tuple(k for k, e in enumerate(p.entries) if isinstance(e, Scalar))
    y = squeeze(y, scalars) if scalars else y
    return expand_dims(y, p.new_axes)


# --- arrays of positions --------------------------------------------------------------------------


def index_dtype(shape: Sequence[int]) -> np.dtype:
    """Returns the dtype in which positions in an array of `shape` are computed."""
    if any(not isinstance(n, DimExpr) and n > 2**31 - 1 for n in shape) and config.x64_enabled():
        return _INT64
    return _INT32


def as_index(x: ArrayLike | DimExpr, dtype: np.dtype) -> Array:
    """Returns a position as a scalar of `dtype`."""
    if isinstance(x, Array | np.ndarray):
        return convert(x, dtype)
    return scalar_operand(x, dtype, False) if isinstance(x, DimExpr) else dtype.type(x)


def _wrapped(x: Array | np.ndarray | np.number, extent: int) -> Array:
    """Adds `extent` to negative positions."""
    dtype = x.dtype
    if isinstance(x, np.ndarray):
        below = x < 0  # static; only the sum is computed
    else:
        below = compare.lt(x, dtype.type(0))
    weak = isinstance(x, Array) and x.aval.weak_type
    return select.select(below, binary.add(x, scalar_operand(extent, dtype, weak)), x)


def wrapped_positions(x: Array, extent: int) -> Array:
    """Returns positions with negative ones counted from the end.

    The dtype is kept, unless it cannot hold `extent`.
    """
    if isinstance(x, np.ndarray):
        x = x.astype(dtypes.canonicalize_dtype(x.dtype), copy=False)
    if dtypes.issubdtype(x.dtype, np.unsignedinteger):
        return x
    if not isinstance(extent, DimExpr) and extent > dtypes.iinfo(x.dtype).max:
        x = convert(x, _INT32)
    return _wrapped(x, extent)


class Indexer:
    """The operands of a gather or a scatter that implements a plan.

    Attributes:
      selects_all: whether all elements are selected, so that no index is needed.
      indexed: the operand's axes that have a column of indices, in the order of the columns.
      collapsed: the operand's axes that are not window axes.
      window_sizes: the sizes of the window, one for each axis of the operand.
      window_axes: the axes of the result (without new axes) that come from the window.
      batch_shape: the shape of the indices without their last axis.
      reversed_axes: the axes of the result (without new axes) that are reversed.
    """

    def __init__(self, p: Plan, wrap: bool) -> None:
        self.plan = p
        self.wrap = wrap
        self.dtype = index_dtype(p.shape)
        window_axes: list[int] = []
        reversed_axes: list[int] = []
        batch_shape: list[int] = []
        self._batch_axes: dict[Any, int] = {}
        at = 0
        for item in p.layout:
            if item == NEW:
                continue
            if item == POINTS:
                self._batch_axes[POINTS] = len(batch_shape)
                batch_shape.extend(p.points_shape)
                at += len(p.points_shape)
                continue
            axis: int = item
            span = p.entries[axis]
            assert isinstance(span, Span | Window)
            if span.is_block:
                window_axes.append(at)
            else:
                self._batch_axes[item] = len(batch_shape)
                batch_shape.append(span.size)
                if span.step < 0:
                    reversed_axes.append(at)
            at += 1
        self.window_axes = tuple(window_axes)
        self.reversed_axes = tuple(reversed_axes)
        self.batch_shape = tuple(batch_shape)
        needed = [k for k, e in enumerate(p.entries) if not (isinstance(e, Span) and e.is_whole)]
        if p.has_points and not p.together:
            needed.sort(key=lambda k: isinstance(p.entries[k], Span | Window))
        self.indexed = tuple(needed)
        self.selects_all = not needed
        self.collapsed = tuple(
            k for k, e in enumerate(p.entries) if not (isinstance(e, Span | Window) and e.is_block)
        )
        self.window_sizes = tuple(
            e.size if isinstance(e, Span | Window) and e.is_block else 1 for e in p.entries
        )

    def indices(self) -> Array | np.ndarray:
        """Returns the indices, of shape [*batch_shape, number of indexed axes]."""
        p = self.plan
        if not self.indexed:
            return np.zeros((*self.batch_shape, 0), self.dtype)
        # In the order in which JAX records the equations: arrays, then slices, then columns.
        positions: dict[int, Any] = {
            k: self._positions(p.entries[k], p.shape[k])
            for k in range(len(p.entries))
            if not isinstance(p.entries[k], Span | Window)
        }
        for k, x in positions.items():
            positions[k] = self._spread(x) if p.has_points else as_index(x, self.dtype)
        for k, e in enumerate(p.entries):
            if isinstance(e, Span | Window) and not e.is_block:
                positions[k] = self._strided(e)
        columns = [self._column(k, positions.get(k)) for k in self.indexed]
        return columns[0] if len(columns) == 1 else concatenate(columns, len(self.batch_shape))

    def _positions(self, entry: Entry, extent: int) -> Array | int:
        if isinstance(entry, Points):
            return wrapped_positions(entry.array, extent) if self.wrap else entry.array
        assert isinstance(entry, Scalar)
        if entry.is_static:
            k = entry.value
            if self.wrap and k < 0:
                k = k + extent
            return k
        return wrapped_positions(entry.value, extent) if self.wrap else entry.value

    def _spread(self, x: ArrayLike) -> Array:
        """Returns positions as an array of shape `points_shape` and of the index dtype."""
        if not isinstance(x, Array | np.ndarray):
            x = int(x) if type(x) is int else self.dtype.type(x)
        return convert(broadcast_to(x, self.plan.points_shape), self.dtype)

    def _strided(self, span: Span | Window) -> Array:
        steps = binary.mul(self.dtype.type(span.step), iota(self.dtype, span.size))
        positions = binary.add(as_index(span.start, self.dtype), steps)
        return rev(positions, (0,)) if span.step < 0 else positions

    def _column(self, axis: int, positions: Array | int | None) -> Array:
        entry = self.plan.entries[axis]
        shape = (*self.batch_shape, 1)
        column: Any = positions  # None for blocks only
        if isinstance(entry, Span | Window) and entry.is_block:
            return broadcast_in_dim(as_index(entry.start, self.dtype), shape, ())
        if isinstance(entry, Span | Window):
            return broadcast_in_dim(column, shape, (self._batch_axes[axis],))
        if not self.plan.has_points:
            return broadcast_in_dim(column, shape, ())
        first = self._batch_axes[POINTS]
        rank = len(self.plan.points_shape)
        return broadcast_in_dim(column, shape, tuple(range(first, first + rank)))
