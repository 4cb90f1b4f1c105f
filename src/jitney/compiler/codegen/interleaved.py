"""Emits vector loads and stores of interleaved elements, such as real and imaginary parts.

A load of every second element would be a gather, which takes ten times as long as a contiguous load
and a shuffle. Therefore loads of two adjacent elements, and stores of two, four or eight, are
combined into contiguous accesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.core.util.record import replace

Place = tuple[int, Affine]  # a buffer and a linear position in it

_TOGETHER = (2, 4, 8)


def find_pairs(places: Iterable[Place], axis: int | None) -> dict[Place, tuple[Place, Place]]:
    """Returns the pairs of adjacent places that are loaded together, keyed by each place.

    The places of a pair are in memory order.
    """
    if axis is None:
        return {}
    pairs: dict[Place, tuple[Place, Place]] = {}
    for first, second in _neighbors(places, axis, (2,)):
        pairs[first] = pairs[second] = (first, second)
    return pairs


def _neighbors(
    places: Iterable[Place], axis: int, sizes: Sequence[int]
) -> Iterator[tuple[Place, ...]]:
    """Yields groups of adjacent places; the size of a group is the stride between lanes.

    Each place is in at most one group. Groups, and the places in a group, are in memory order.

    Args:
      places: the places from which elements are loaded, or to which they are stored.
      axis: the axis of the lanes.
      sizes: the possible sizes of a group.
    """
    known = set(places)
    grouped: set[Place] = set()
    for place in sorted(known, key=lambda place: (place[0], place[1].offset)):
        param, index = place
        count = index.coefficients[axis]
        if count not in sizes or place in grouped:
            continue
        group = tuple([(param, replace(index, offset=index.offset + j)) for j in range(count)])
        if all(member in known and member not in grouped for member in group):
            grouped.update(group)
            yield group


def separate(e: Emitter, pairs: Value) -> tuple[Value, Value]:
    """Returns two vectors, the even and the odd elements of a vector."""
    lanes = pairs.lanes // 2
    first, second = (
        shuffle(e, pairs, pairs, [2 * k + which for k in range(lanes)]) for which in (0, 1)
    )
    return first, second


def merge(e: Emitter, parts: Sequence[Value]) -> Value:
    """Returns the vectors `parts` interleaved: their first elements, their second ones, and so on.

    The number of vectors must be a power of two.
    """
    if len(parts) == 1:
        return parts[0]
    first, second = merge(e, parts[0::2]), merge(e, parts[1::2])
    lanes = first.lanes
    return shuffle(e, first, second, [k + lanes * which for k in range(lanes) for which in (0, 1)])


def shuffle(e: Emitter, x: Value, y: Value, picks: Sequence[int]) -> Value:
    """Returns the lanes with indices `picks` in the concatenation of `x` and `y`."""
    mask = ", ".join([f"i32 {k}" for k in picks])
    text = f"shufflevector {x!r}, {y!r}, <{len(picks)} x i32> <{mask}>"
    return e.emit(text, x.kind, len(picks))


def stored_together(
    outputs: Sequence[ir.Store | ir.Reduce], axis: int | None, varies: Sequence[bool]
) -> dict[int, tuple[int, ...]]:
    """Returns groups of outputs whose stores are emitted together.

    An output is identified by its index in `outputs`. The outputs of a group are in memory order,
    and the first of them is the key of the group.

    Args:
      outputs: the outputs of a kernel.
      axis: the axis of the lanes.
      varies: for each statement, whether it differs between lanes.
    """
    terms = {o.index.terms for o in outputs}
    if axis is None or len(terms) != 1 or any(varies[t] for t, _ in terms.pop()):
        return {}  # data-dependent addresses can be equal
    numbers: dict[Place, int] = {}
    for j, o in enumerate(outputs):
        if isinstance(o, ir.Store) and o.where is None:
            numbers[o.param, o.index] = j
    if len(numbers) != len(outputs):
        return {}  # an element is written twice, so the order matters
    groups = [tuple([numbers[p] for p in group]) for group in _neighbors(numbers, axis, _TOGETHER)]
    return {group[0]: group for group in groups}
