"""Reading and replacing elements of arrays, as references do: pure functions of arrays.

Elements are those that a step gives: an index, or a view of the whole. Positions out of range are those
of the nearest elements where they are scalars or slices; an array of positions reads the nearest
element, and what it would write is dropped. Negative positions count from the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from jitney.core import explicit
from jitney.core.avals import get_aval
from jitney.core.slices import Slice
from jitney.primitives.array.resharding import reshard
from jitney.primitives.array.shape import reshape, shape_of
from jitney.primitives.elementwise import binary
from jitney.primitives.indexing.dynamic_slice import dynamic_slice, dynamic_update_slice
from jitney.primitives.indexing.slice import slice as static_slice
from jitney.primitives.refs.indexer import whole
from jitney.primitives.refs.views import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from jitney.primitives.refs.indexer import NDIndexer
    from jitney.primitives.refs.views import Step
    from jitney.primitives.rule_types import Value

    Change = Callable[[Any, Step, Any], Any]


class Indexing:
    """Indexing of arrays in general, which `jax.numpy` has; set by `jitney.ref`.

    Attributes:
      get: (array, index) -> elements.
      set, add: (array, index, elements) -> the array with these put there, or added.
    """

    get: Callable[[Any, Any], Any]
    set: Callable[[Any, Any, Any], Any]
    add: Callable[[Any, Any, Any], Any]


indexing = Indexing()


def _general(indexer: NDIndexer) -> tuple[Any, ...]:
    """Returns the index as arrays take it."""
    return tuple([
        slice(i.start, i.start + i.size * i.stride, i.stride)
        if isinstance(i, Slice) and not i.is_dynamic_start else i
        for i in indexer.indices
    ])  # fmt: skip


def _block(indexer: NDIndexer) -> tuple[list[Any], tuple[Any, ...]]:
    """Returns (where the block starts, its sizes)."""
    return [i.start if isinstance(i, Slice) else i for i in indexer.indices], indexer.block_shape


def read(x: Value, indexer: Step) -> Any:
    """Returns the elements of `x`."""
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


def write(x: Value, indexer: Step, elements: Value) -> Any:
    """`x` with `elements` in place of its own."""
    if isinstance(indexer, View):
        return indexer.write(x, elements)
    if indexer.is_whole:
        return _lying_as(x, elements)
    if not indexer.is_block:
        return indexing.set(x, _general(indexer), elements)
    starts, sizes = _block(indexer)
    block = elements if shape_of(elements) == sizes else reshape(elements, sizes)
    return dynamic_update_slice(x, _lying_as(x, block), starts)


def _lying_as(x: Value, elements: Value) -> Any:
    """`elements`, of as many axes as `x`, divided along Explicit axes of a mesh as `x` is, if it is."""
    place = explicit.sharding_of(get_aval(x))
    if place is None or explicit.sharding_of(get_aval(elements)) == place:
        return elements
    parts = [
        math.prod([place.mesh.shape[name] for name in names])
        for names in explicit.entries_of(place, len(shape_of(x)))
    ]
    fits = all([n % p == 0 for n, p in zip(shape_of(elements), parts, strict=True)])
    return reshard(elements, place) if fits else elements


def accumulate(x: Value, indexer: Step, elements: Value) -> Any:
    """`x` with `elements` added to its own."""
    if not isinstance(indexer, View) and not indexer.is_whole and not indexer.is_block:
        return indexing.add(x, _general(indexer), elements)
    return write(x, indexer, binary.add(read(x, indexer), elements))


def read_through(x: Value, indexers: tuple[Step, ...]) -> Any:
    """The elements that the last of `indexers` picks of what the one before it picks, and so on."""
    for indexer in indexers:
        x = read(x, indexer)
    return x


def change_through(
    x: Value,
    indexers: tuple[Step, ...],
    elements: Value,
    change: Change,
) -> Any:
    """`x` with such elements changed, by `write` or `accumulate`."""
    if len(indexers) <= 1:
        return change(x, indexers[0] if indexers else whole(shape_of(x)), elements)
    first, *inner_steps = indexers
    inner = change_through(read(x, first), tuple(inner_steps), elements, change)
    return write(x, first, inner)
