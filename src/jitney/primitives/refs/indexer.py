"""Indexers: parsed indices of references.

An index is parsed once, for the shape of the array, into an `NDIndexer`. This has one entry for
each axis: a position, an array of positions, or a `Slice`. Static positions are checked. An indexer
is a pytree: its leaves are operands of the operation on a reference, which follow the reference;
its structure is the parameter `tree`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np

from jitney.core.diagnostics import errors
from jitney.core.pytree.registry import register_pytree_node_class
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.core.util.record import record
from jitney.primitives.array.broadcasting import broadcast_shapes
from jitney.primitives.refs.slices import Slice

if TYPE_CHECKING:
    from jitney.core.types.avals import Shape
    from jitney.core.typing import Index

Entry = Any  # a Slice, an integer, or an integer array


@register_pytree_node_class
@record
class NDIndexer:
    """A parsed index of an array, with one entry for each axis.

    Attributes:
      indices: the entries: `Slice`s, integers and integer arrays.
      shape: shape of the array.
      int_indexer_shape: the shape to which the integer arrays among the entries broadcast.
    """

    indices: tuple[Entry, ...]
    shape: Shape
    int_indexer_shape: Shape

    def tree_flatten(self) -> tuple[tuple[tuple[Entry, ...]], tuple[Shape, Shape]]:
        """Returns (entries, static data), for pytrees."""
        return (self.indices,), (self.shape, self.int_indexer_shape)

    @classmethod
    def tree_unflatten(cls, data: tuple[Any, ...], children: tuple[Any, ...]) -> NDIndexer:
        """Inverts `tree_flatten`."""
        return cls(children[0], *data)

    @property
    def is_whole(self) -> bool:
        """Whether the index selects the complete array, in order."""
        return all(map(is_whole, self.indices, self.shape))

    @property
    def slice_axes(self) -> tuple[int, ...]:
        """The axes that are indexed by slices, which are axes of the result, too."""
        return tuple([k for k, i in enumerate(self.indices) if isinstance(i, Slice)])

    @property
    def point_axes(self) -> tuple[int, ...]:
        """The axes that are indexed by positions."""
        return tuple([k for k, i in enumerate(self.indices) if not isinstance(i, Slice)])

    @property
    def has_arrays(self) -> bool:
        """Whether some positions are arrays that are not scalars."""
        return bool(self.int_indexer_shape) or any(
            [len(shape_of_entry(self.indices[k])) > 0 for k in self.point_axes]
        )

    @property
    def is_block(self) -> bool:
        """Whether the elements are contiguous along each axis."""
        return not self.has_arrays and all(
            [not isinstance(i, Slice) or i.stride == 1 for i in self.indices]
        )

    @property
    def block_shape(self) -> Shape:
        """The shape of the block, with size 1 for each integer."""
        sizes: list[Any] = [i.size if isinstance(i, Slice) else 1 for i in self.indices]
        return tuple(sizes)

    def get_indexer_shape(self) -> Shape:
        """Returns the shape of the selected elements."""
        extents = [self.indices[k].size for k in self.slice_axes]
        if not self.has_arrays:
            return tuple(extents)
        at = self.point_position()
        return (*extents[:at], *self.int_indexer_shape, *extents[at:])

    def point_position(self) -> int:
        """Returns the number of slice axes that precede the axes of index arrays in the result.

        As in NumPy, it is 0 if the positions are not adjacent in the index.
        """
        axes = self.point_axes
        together = axes[-1] - axes[0] + 1 == len(axes)
        return len([k for k in self.slice_axes if k < axes[0]]) if together else 0


def whole(shape: Shape) -> NDIndexer:
    """Returns the indexer of a complete array."""
    return NDIndexer(tuple([Slice(0, n) for n in shape]), shape, ())


def shape_of_entry(x: Entry) -> Shape:
    """Returns the shape of a position, which is a number, an array or its type."""
    return tuple(getattr(x, "shape", ()))


def is_whole(entry: Entry, extent: int) -> bool:
    """Returns whether an entry selects all `extent` elements of an axis, in order."""
    if not isinstance(entry, Slice) or entry.is_dynamic_start:
        return False
    return bool(entry.start == 0 and entry.size == extent and entry.stride == 1)


def indexer_of(index: Index | None, shape: Shape) -> NDIndexer:
    """Parses an index of an array with shape `shape`.

    Raises:
      ValueError: if there are too many entries or more than one `...`, if a step is not positive,
        or if a static position is out of range.
      TypeError: if an entry is not a valid index.
      NonConcreteBooleanIndexError: if an entry is a mask.
    """
    given: Any = index
    items = (*given,) if isinstance(index, tuple) else (index,)
    if index is None or not items:
        items = (Ellipsis,)
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise ValueError(f"an index of a Ref may have one ellipsis, but has {len(dots)}: {index!r}")
    if len(items) - len(dots) > len(shape):
        raise ValueError(
            f"an index of a Ref of shape {shape} must have at most {len(shape)} entries, but has "
            f"{len(items) - len(dots)}: {index!r}"
        )
    if dots:
        gap = (slice(None),) * (len(shape) - len(items) + 1)
        items = (*items[: dots[0]], *gap, *items[dots[0] + 1 :])
    items = (*items, *(slice(None),) * (len(shape) - len(items)))
    entries = tuple([_entry(item, extent) for item, extent in zip(items, shape, strict=True)])
    shapes = [shape_of_entry(e) for e in entries if not isinstance(e, Slice)]
    try:
        points = broadcast_shapes(*shapes) if shapes else ()
    except ValueError as error:
        raise ValueError(f"the arrays in an index of a Ref must broadcast, but {error}") from None
    return NDIndexer(entries, tuple(shape), tuple(points))


def _entry(item: object, extent: int) -> Entry:
    if item is None:
        item = slice(None)
    bounds: Any = item
    if isinstance(item, slice):
        if any(isinstance(b, Tracer) for b in (bounds.start, bounds.stop, bounds.step)):
            raise ValueError(
                "the bounds of a slice of a Ref must be known; for a traced start, use "
                "jax.ds(start, size)"
            )
        return Slice.from_slice(bounds, extent)
    if isinstance(item, Slice):
        if item.is_dynamic_size:
            raise NotImplementedError("the size of a slice of a Ref must be known")
        if item.stride < 1:
            raise ValueError(f"a slice of a Ref must have a step >= 1, got {item.stride}")
        start = _known(item.start)
        if start is None:
            return item
        last = start + (item.size - 1) * item.stride
        if start < 0 or (item.size and last >= extent):
            raise ValueError(
                f"a slice of a Ref must be within the axis, of size {extent}, but has start {start}, "
                f"size {item.size} and stride {item.stride}"
            )
        return Slice(start, item.size, item.stride)
    return _position(item, extent)


def _position(item: object, extent: int) -> Entry:
    if isinstance(item, list | np.ndarray):
        array = np.asarray(cast("Any", item))
        item = array if array.size else array.astype(np.int32)
    try:
        aval = get_aval(item)
    except TypeError:
        raise TypeError(
            "an index of a Ref must consist of integers, integer arrays, slices and jax.ds, but has "
            f"{item!r}, of type {type(item)}"
        ) from None
    if aval.dtype == np.bool_:
        raise errors.NonConcreteBooleanIndexError(cast("Tracer", item))
    if not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(
            f"an array in an index of a Ref must contain integers, got {aval.str_short()}"
        )
    if aval.shape:
        return item
    position = _known(cast("SupportsIndex | Tracer", item))
    if position is None:
        return item
    if not -extent <= position < extent:
        if not extent:
            raise ValueError(
                f"an axis of size 0 of a Ref has no elements, but the index is {position}"
            )
        raise ValueError(
            f"an index of a Ref must be from {-extent} to {extent - 1}, as the axis has size {extent}, "
            f"but is {position}"
        )
    return position + extent if position < 0 else position


def _known(x: SupportsIndex | Tracer) -> int | None:
    return None if isinstance(x, Tracer) else operator.index(x)


@record(frozen=True)
class Operand:
    """The text of a position or start index in a printed index."""

    text: str


def text_of(indexer: NDIndexer) -> str:
    """Returns the text of an index of `Operand`s in a printed program."""
    if indexer.is_whole:
        return "..."
    return ",".join(map(_entry_text, indexer.indices, indexer.shape))


def _entry_text(entry: Entry, extent: int) -> str:
    if not isinstance(entry, Slice):
        return entry.text
    if is_whole(entry, extent):
        return ":"
    # As in JAX, neither the step nor its effect on the end is shown.
    if isinstance(entry.start, Operand):
        return f"{entry.start.text}:{entry.start.text}+{entry.size}"
    stop = entry.start + entry.size
    return f"{entry.start or ''}:{stop if stop != extent else ''}"
