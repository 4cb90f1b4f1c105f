"""The meaning of an array index: which elements it selects and the shape of the result.

    index ::= item | (item, ...)
    item  ::= None | ... | slice | Slice | int | bool | array of integers | mask

`parse` reads an index as NumPy does: masks become arrays of indices, `...` is expanded, and every
axis of the array gets one entry. `plan` arranges the entries: which axes of the result belong to
index arrays, which belong to slices, and where new axes are. `jitney.numpy.indexing` and
`jitney.numpy.at` translate plans into operations. Plans do not depend on the elements of traced
arrays.

    entry ::= Span(start, size, step) | Window(start, size, step) | Scalar(value) | Points(array)
"""

# Messages use the private `_origin_msg` of tracers, which users never call.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from jitney.core.array import Array
from jitney.core.diagnostics import errors
from jitney.core.messages import cures, messages
from jitney.core.source import user_code
from jitney.core.symbolic.expressions import DimExpr, index, max_dim, min_dim
from jitney.core.tracing.trace import Tracer, concrete_value
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, Index
from jitney.core.util.record import record
from jitney.primitives.array.broadcasting import broadcast_shapes
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.elementwise.families import Shape
from jitney.primitives.refs.slices import Slice

if TYPE_CHECKING:
    from types import EllipsisType

# Items of indices are of any type before they are checked.
_BOOLS: tuple[type[Any], ...] = (bool, np.bool_)
_INTEGERS: tuple[type[Any], ...] = (np.integer,)
_INTS: tuple[type[Any], ...] = (int, np.integer)
_NUMBERS: tuple[type[Any], ...] = (float, complex, np.generic)
_ARRAYS: tuple[type[Any], ...] = (Array, np.ndarray)
_SLICES: tuple[type[Any], ...] = (slice, Slice)
_SEQUENCES: tuple[type[Any], ...] = (Sequence,)
_TUPLE: tuple[type[Any], ...] = (tuple,)

# An item of an index as `plan` reads it.
Item: TypeAlias = "slice[Any, Any, Any] | Slice | EllipsisType | np.integer | ArrayLike | None"


@record(frozen=True)
class Span:
    """The `size` positions start, start + step, ...; `step` is positive or negative."""

    start: int
    size: int
    step: int
    limit: int  # the stop of the slice, as `slice.indices` returns it
    extent: int  # the size of the axis

    @property
    def is_whole(self) -> bool:
        """Whether the span selects the whole axis in order."""
        return self.start == 0 and self.step == 1 and self.size == self.extent

    @property
    def is_block(self) -> bool:
        """Whether the span selects contiguous positions in ascending order."""
        return self.step == 1

    @property
    def first(self) -> int:
        """The smallest position."""
        if self.step > 0:
            return self.start
        return self.start + self.step * (self.size - 1) if self.size else self.limit + 1

    @property
    def stop(self) -> int:
        """The stop of the ascending slice that covers the positions."""
        if self.step > 0:
            return max(self.start, self.limit)
        return self.start + 1 if self.size else self.first


@record(frozen=True)
class Window:
    """The `size` positions start, start + step, ..., which can be out of range."""

    start: Any  # an int, or an integer scalar array
    size: int
    step: int

    @property
    def is_block(self) -> bool:
        """Whether the window selects contiguous positions in ascending order."""
        return self.step == 1

    @property
    def first(self) -> ArrayLike:
        """The smallest position."""
        return self.start


@record(frozen=True)
class Scalar:
    """One position; its axis is removed. `value` is an int, a NumPy integer or a scalar array."""

    value: Any

    @property
    def is_static(self) -> bool:
        return not isinstance(self.value, Array | np.ndarray)

    @property
    def value_dtype(self) -> np.dtype | None:
        """The canonical dtype of an array value; None for static positions."""
        return None if self.is_static else dtypes.canonicalize_dtype(self.value.dtype)


@record(frozen=True)
class Points:
    """Positions in an array of integers of rank 1 or more."""

    array: Any


Entry: TypeAlias = Span | Window | Scalar | Points

NEW = "new"
POINTS = "points"
_GAP = "gap"  # an ellipsis that stands for no axis, but still separates index arrays
Layout: TypeAlias = tuple[Any, ...]
"""The axes of a result in order: NEW, POINTS (all axes of index arrays) or an operand's axis."""


@record(frozen=True)
class Plan:
    """An index resolved for an operand.

    Attributes:
      extra_axes: axes of size 1 that are first inserted into the operand, one for each boolean
        scalar.
      shape: the shape of the operand with these axes.
      entries: one for each axis of that shape.
      points_shape: the common shape of all `Points` arrays.
      layout: the axes of the result.
      together: whether the axes indexed by `Points` are adjacent. If so, the axes that replace them
        in the result take their place; otherwise, they come first.
    """

    extra_axes: tuple[int, ...]
    shape: Shape
    entries: tuple[Entry, ...]
    points_shape: Shape
    layout: Layout
    together: bool

    def check_static_positions(self) -> None:
        """Raises IndexError if a static scalar position is out of bounds."""
        axis = 0
        for k, (entry, extent) in enumerate(zip(self.entries, self.shape, strict=True)):
            if k in self.extra_axes:
                continue
            if isinstance(entry, Scalar) and entry.is_static:
                position = int(entry.value)
                if not -extent <= position < extent:
                    raise IndexError(
                        f"x[...]: there is no index {position} along axis {axis} of size {extent}"
                    )
            axis += 1

    @property
    def has_points(self) -> bool:
        return any(isinstance(e, Points) for e in self.entries)

    @property
    def new_axes(self) -> tuple[int, ...]:
        """The positions of new axes in the result."""
        out: list[int] = []
        at = 0
        for item in self.layout:
            if item == NEW:
                out.append(at)
            at += len(self.points_shape) if item == POINTS else 1
        return tuple(out)

    @property
    def result_shape(self) -> Shape:
        """The shape of the result, including new axes."""
        out: list[int] = []
        for item in self.layout:
            if item == NEW:
                out.append(1)
            elif item == POINTS:
                out.extend(self.points_shape)
            else:
                axis: int = item
                entry = self.entries[axis]
                assert isinstance(entry, Span | Window)
                out.append(entry.size)
        return tuple(out)


# --- reading ------------------------------------------------------------------------------------


def plan(shape: Shape, index: Index) -> Plan:
    """Returns the plan of `index` for an operand of `shape`.

    Raises:
      TypeError: if the type of an item is not supported.
      IndexError: if there are too many items, the shape of a mask does not match, or a slice has
        traced bounds.
      NonConcreteBooleanIndexError: if a mask is traced.
    """
    given: Sequence[Any] = index if type(index) in _TUPLE else _items(index)
    items = _without_ellipsis([_canonical_item(x) for x in given], len(shape))
    extra_axes: list[int] = []
    full_shape: list[int] = []
    entries: list[Entry] = []
    kinds: list[Any] = []  # for each item: NEW, POINTS, _GAP, or the axis of a Span
    axis = 0
    for position, item in enumerate(items):
        if item is None or item is Ellipsis:
            kinds.append(NEW if item is None else _GAP)
            continue
        if isinstance(item, slice):
            kinds.append(len(entries))
            entries.append(_span(item, shape[axis], position))
        elif isinstance(item, Slice):
            kinds.append(len(entries))
            entries.append(_window(item))
        elif not _is_mask(item):
            kinds.append(POINTS)
            is_points = isinstance(item, Array | np.ndarray) and item.ndim > 0
            entries.append(Points(item) if is_points else _scalar(item, axis, shape[axis]))
        else:
            mask = _concrete_mask(item)
            if mask.ndim == 0:
                extra_axes.append(len(entries))
            extents = shape[axis : axis + mask.ndim]
            points = _read_mask(mask, extents, position)
            kinds += [POINTS] * len(points)
            entries += points
            full_shape += extents or (1,)
            axis += mask.ndim
            continue
        full_shape.append(shape[axis])
        axis += 1
    arrays = [e.array for e in entries if isinstance(e, Points)]
    points_shape = broadcast_shapes(*[a.shape for a in arrays]) if arrays else ()
    together = _are_neighbors([k == POINTS for k in kinds])
    return Plan(
        tuple(extra_axes),
        tuple(full_shape),
        tuple(entries),
        points_shape,
        _layout(kinds, together),
        together,
    )


def _scalar(item: Index, axis: int, extent: int) -> Scalar:
    """Returns the entry for one position along `axis`, which is static or an array.

    Raises:
      IndexError: if the axis has no elements.
    """
    if extent == 0:  # (a symbolic size never equals it)
        raise IndexError(f"x[...]: no index is in bounds, as axis {axis} has size 0")
    return Scalar(item)


def _items(index: Index) -> tuple[object, ...]:
    if isinstance(index, str):
        raise TypeError(
            f"x[...]: an index cannot be the string {index!r}, as arrays have no named fields"
        )
    if isinstance(index, _SEQUENCES) and not isinstance(index, _ARRAYS):
        if isinstance(index, _TUPLE):  # a named tuple
            return tuple(index)
        raise TypeError(
            f"x[sequence]: an index must be an array or a tuple, but it is {type(index)}; use "
            "x[jnp.array(sequence)] to select along the first axis, or x[tuple(sequence)] to pass "
            "one index for each axis"
        )
    return (index,)


def _canonical_item(x: Index) -> Item:
    """Returns `x` as None, `...`, a slice, a `Slice`, an integer, or an integer or bool array."""
    if x is None or x is Ellipsis or isinstance(x, _SLICES):
        return x
    if type(x) is int:
        return x
    if isinstance(x, _BOOLS):
        return np.asarray(bool(x))
    if isinstance(x, _INTEGERS):
        return x
    if isinstance(x, str):
        raise TypeError(
            f"x[...]: an index cannot be the string {x!r}, as arrays have no named fields"
        )
    if _is_sequence(x):
        x = _array_of_sequence(x)
    elif isinstance(x, _NUMBERS):
        raise TypeError(
            f"x[...]: an index must be an integer, not the number {x} "
            f"({dtypes.long_name(np.asarray(x).dtype)}); convert it, for example with int() or //"
        )
    elif not isinstance(x, _ARRAYS):
        if hasattr(x, "__jax_array__"):
            x = as_value(x)
        elif hasattr(x, "__array__"):
            x = np.asarray(x)
        elif hasattr(x, "__index__"):
            return operator.index(x)
        else:
            raise IndexError(
                "x[...]: an index must be an integer, a slice, `...`, None, or an array of integers or "
                f"booleans, not {x}, of type {type(x)}"
            )
    dtype = x.dtype
    if not _is_mask(x) and not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(
            "x[array]: an index must be an array of integers or booleans, not "
            f"{dtypes.long_name(dtype)}; convert it with `.astype(int)`"
        )
    return x


def _array_of_sequence(xs: Sequence[Any]) -> Array | np.ndarray:
    if len(xs) == 0:
        return np.zeros((0,), np.int32)
    if _holds_arrays(xs):
        from jitney.primitives.array.concatenation import stack

        return stack([as_value(_array_of_sequence(x) if _is_sequence(x) else x) for x in xs])
    return as_value(np.asarray(xs))


def _is_sequence(x: object) -> TypeGuard[Sequence[object]]:
    return isinstance(x, Sequence) and not isinstance(x, (Array, str, bytes))


def _holds_arrays(xs: Sequence[Any]) -> bool:
    """Returns whether nested sequences contain an array."""
    return any(_holds_arrays(x) if _is_sequence(x) else isinstance(x, Array) for x in xs)


def _is_mask(x: Index) -> bool:
    return isinstance(x, _ARRAYS) and x.dtype == np.bool_


def _read_mask(mask: np.ndarray, extents: Shape, position: int) -> list[Points]:
    """Returns the positions along each axis of `mask` where it is True.

    For a boolean scalar, they are positions along the extra axis of size 1 that is inserted into
    the operand for it.

    Args:
      mask: the item at `position` of an index.
      extents: the sizes of the operand's axes that the mask indexes.

    Raises:
      IndexError: if the shape of the mask differs from `extents`.
    """
    if mask.ndim == 0:
        return [Points(np.zeros(int(mask), np.int32))]
    if mask.shape != extents:
        raise IndexError(
            "x[mask]: a mask must have the sizes of the axes that it selects from, but the mask at "
            f"position {position} of the index has shape {mask.shape}, and these sizes are "
            f"{list(extents)}"
        )
    return [Points(positions) for positions in np.nonzero(mask)]


def _concrete_mask(x: Any) -> np.ndarray:
    value = concrete_value(x)
    if value is None:
        assert isinstance(x, Tracer)
        raise errors.NonConcreteBooleanIndexError(x)
    return np.asarray(value)


def _width(item: Index) -> int:
    """Returns the number of the operand's axes that an item indexes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if _is_mask(item) else 1


def _without_ellipsis(items: list[Item], rank: int) -> list[Item]:
    """Expands `...` to full slices, and appends full slices for axes that are not indexed.

    An ellipsis that stands for no axis is kept.
    """
    used = sum(map(_width, items))
    if used > rank:
        raise IndexError(
            f"x[...]: the index has entries for {messages.counted(used, 'axis')}, but the array has "
            f"rank {rank}"
        )
    places = [k for k, x in enumerate(items) if x is Ellipsis]
    if len(places) > 1:
        raise IndexError(
            f"x[...]: an index can have one ellipsis at most, but there are {len(places)}, so the "
            "axes that each of them stands for are ambiguous"
        )
    full_slices = [slice(None)] * (rank - used)
    if not places:
        return items + full_slices
    if not full_slices:
        return items
    return items[: places[0]] + full_slices + items[places[0] + 1 :]


def _span(item: slice[Any, Any, Any], extent: int, position: int) -> Span:
    parts = (item.start, item.stop, item.step)
    traced = [x for x in parts if isinstance(x, Tracer) and x.to_concrete_value() is None]
    if traced:
        code = user_code.current()
        raise IndexError(
            f"{messages.subject('x[start:stop]', code)}: the bounds of a slice must be static, as "
            f"they determine the length of the result, but the slice at position {position} has "
            f"traced bounds, {item}.{traced[0]._origin_msg()}\nInstead: {cures.of_slice(code)}, a "
            f"window of static length.{messages.see('slice-of-tracer')}"
        )
    if any(type(x) is DimExpr for x in (*parts, extent)):
        return _symbolic_span(parts, extent)
    start, limit, step = slice(*[None if x is None else operator.index(x) for x in parts]).indices(
        extent
    )
    return Span(start, len(range(start, limit, step)), step, limit, extent)


def _symbolic_span(parts: tuple[Any, Any, Any], extent: Any) -> Span:
    """Returns the entry for a slice with symbolic bounds, or for an axis of symbolic size.

    Raises:
      InconclusiveDimensionOperation: if the sign of a bound is unknown.
    """
    step = 1 if parts[2] is None else operator.index(parts[2])
    if step == 0:
        raise ValueError(f"x[start:stop:step]: the step must not be 0, but the slice is {parts}")
    least, greatest = (0, extent) if step > 0 else (-1, extent - 1)
    bounds: list[Any] = []
    for bound, default in ((parts[0], step < 0), (parts[1], step > 0)):
        if bound is None:
            bounds.append(greatest if default else least)
        elif (at := index(bound)) < 0:
            bounds.append(max_dim(at + extent, least))
        else:
            bounds.append(min_dim(at, greatest) if type(at) is DimExpr else min_dim(greatest, at))
    start, limit = bounds
    distance = limit - start if step > 0 else start - limit
    size = max_dim((distance + abs(step) - 1) // abs(step), 0)
    return Span(start, size, step, limit, extent)


def _window(item: Slice) -> Window:
    """Returns the entry for a `Slice`.

    Raises:
      TypeError: if the start is not an integer scalar, or the size is not a static integer.
    """
    start: Any = item.start
    if isinstance(start, _INTS):
        start = int(start)
    elif (
        not isinstance(start, _ARRAYS)
        or start.ndim
        or not dtypes.issubdtype(start.dtype, np.integer)
    ):
        raise TypeError(f"Slice: `start` must be an integer scalar, but it is {start!r}")
    size = concrete_value(item.size) if isinstance(item.size, Array) else item.size
    if size is None or not hasattr(size, "__index__") or operator.index(size) < 0:
        raise TypeError(f"Slice: `size` must be a static nonnegative integer, got {item.size!r}")
    return Window(start, operator.index(size), item.stride)


def _are_neighbors(flags: Sequence[bool]) -> bool:
    """Returns whether the true flags are adjacent."""
    places = [k for k, flag in enumerate(flags) if flag]
    return not places or places[-1] - places[0] == len(places) - 1


def _layout(kinds: Sequence[Any], together: bool) -> Layout:
    out: list[Any] = []
    for kind in kinds:
        if kind == _GAP:
            continue
        if kind != POINTS:
            out.append(kind)
        elif together and POINTS not in out:
            out.append(POINTS)
    return tuple(out) if together else (POINTS, *out)
