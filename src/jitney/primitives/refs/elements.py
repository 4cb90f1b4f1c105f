"""Pure functions that read and replace elements of arrays, on which references are based.

The elements are selected by a step: an index, or a view of the complete array. Scalar positions and
slices that are out of range are clamped. In arrays of positions, those that are out of range are
clamped for reads, and ignored for writes. Negative positions count from the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from jitney.core.sharding_in_types import explicit
from jitney.core.types.avals import get_aval
from jitney.primitives.array.resharding import reshard
from jitney.primitives.array.shape import reshape, shape_of
from jitney.primitives.elementwise import binary
from jitney.primitives.indexing.dynamic_slice import dynamic_slice, dynamic_update_slice
from jitney.primitives.indexing.slice import slice as static_slice
from jitney.primitives.refs.indexer import whole
from jitney.primitives.refs.slices import Slice
from jitney.primitives.refs.views import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from jitney.core.types.avals import Shape
    from jitney.primitives.refs.indexer import Entry, NDIndexer
    from jitney.primitives.refs.views import Step
    from jitney.primitives.rule_types import Value

    Change = Callable[[Any, Step, Any], Any]


class Indexing:
    """General indexing of arrays, which `jax.numpy` implements and `jitney.ref` sets.

    Attributes:
      get: a function (array, index) -> elements.
      set, add: functions (array, index, elements) -> array with the elements replaced or added.
    """

    get: Callable[[Any, Any], Any]
    set: Callable[[Any, Any, Any], Any]
    add: Callable[[Any, Any, Any], Any]


indexing = Indexing()


def _general(indexer: NDIndexer) -> tuple[object, ...]:
    """Converts an indexer to an index of arrays."""
    return tuple([
        slice(i.start, i.start + i.size * i.stride, i.stride)
        if isinstance(i, Slice) and not i.is_dynamic_start else i
        for i in indexer.indices
    ])  # fmt: skip


def _block(indexer: NDIndexer) -> tuple[list[Entry], Shape]:
    """Returns (start indices, sizes) of a block."""
    return [i.start if isinstance(i, Slice) else i for i in indexer.indices], indexer.block_shape


def read(x: Value, indexer: Step) -> Value:
    """Returns the elements of `x` that a step selects."""
    if isinstance(indexer, View):
        return indexer.read(x)
    if indexer.is_whole:
        return x
    if not indexer.is_block:
        return indexing.get(x, _general(indexer))
    starts, sizes = _block(indexer)
    if all([isinstance(s, int) for s in starts]):
        block = static_slice(x, starts, [s + n for s, n in zip(starts, sizes, strict=True)])
    else:
        block = dynamic_slice(x, starts, sizes)
    shape = indexer.get_indexer_shape()
    return block if shape == sizes else reshape(block, shape)


def write(x: Value, indexer: Step, elements: Value) -> Value:
    """Replaces the elements of `x` that a step selects by `elements`."""
    if isinstance(indexer, View):
        return indexer.write(x, elements)
    if indexer.is_whole:
        return _lying_as(x, elements)
    if not indexer.is_block:
        return indexing.set(x, _general(indexer), elements)
    starts, sizes = _block(indexer)
    block = elements if shape_of(elements) == sizes else reshape(elements, sizes)
    return dynamic_update_slice(x, _lying_as(x, block), starts)


def _lying_as(x: Value, elements: Value) -> Value:
    """Reshards `elements` to the sharding of `x` along Explicit axes, if its sizes permit.

    `elements` has the rank of `x`.
    """
    place = explicit.sharding_of(get_aval(x))
    if place is None or explicit.sharding_of(get_aval(elements)) == place:
        return elements
    parts = [
        math.prod([place.mesh.shape[name] for name in names])
        for names in explicit.entries_of(place, len(shape_of(x)))
    ]
    fits = all([n % p == 0 for n, p in zip(shape_of(elements), parts, strict=True)])
    return reshard(elements, place) if fits else elements


def accumulate(x: Value, indexer: Step, elements: Value) -> Value:
    """Adds `elements` to the elements of `x` that a step selects."""
    if not isinstance(indexer, View) and not indexer.is_whole and not indexer.is_block:
        return indexing.add(x, _general(indexer), elements)
    return write(x, indexer, binary.add(read(x, indexer), elements))


def read_through(x: Value, indexers: tuple[Step, ...]) -> Value:
    """Returns the elements that a sequence of steps selects, each from the preceding result."""
    for indexer in indexers:
        x = read(x, indexer)
    return x


def change_through(
    x: Value,
    indexers: tuple[Step, ...],
    elements: Value,
    change: Change,
) -> Value:
    """Applies `change`, which is `write` or `accumulate`, to elements that steps select."""
    if len(indexers) <= 1:
        return change(x, indexers[0] if indexers else whole(shape_of(x)), elements)
    first, *inner_steps = indexers
    inner = change_through(read(x, first), tuple(inner_steps), elements, change)
    return write(x, first, inner)
