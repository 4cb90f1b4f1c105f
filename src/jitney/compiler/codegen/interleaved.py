"""Numbers side by side in memory, such as the parts of complex ones, in vectors.

A load of every second element would be a gather, which takes ten times as long as a load of all and a
shuffle. So loads and stores that are each other's neighbours are found, and made as one: loads of two,
stores of two, four, or eight numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value

Place = tuple[int, Affine]  # a buffer, and a linear position

_TOGETHER = (2, 4, 8)


def find_pairs(places: Iterable[Place], axis: int | None) -> dict[Place, tuple[Place, Place]]:
    """For each place with a neighbour, both, the first one first.

    Neighbours are two elements apart from lane to lane, and next to each other in each.
    """
    wanted = [
        (param, index)
        for param, index in places
        if axis is not None and index.coefficients[axis] == 2 and not index.terms
    ]
    known = set(wanted)
    pairs: dict[Place, tuple[Place, Place]] = {}
    for place in sorted(known, key=lambda place: (place[0], place[1].offset)):
        param, index = place
        after = (param, Affine(index.offset + 1, index.coefficients))
        if after in known and place not in pairs:
            pairs[place] = pairs[after] = (place, after)
    return pairs


def separate(e: Emitter, pairs: Value) -> tuple[Value, Value]:
    """The elements at even places of a vector, and those at odd places."""
    lanes = pairs.lanes // 2
    first, second = (
        _shuffle(e, pairs, pairs, [2 * k + which for k in range(lanes)]) for which in (0, 1)
    )
    return first, second


def merge(e: Emitter, parts: Sequence[Value]) -> Value:
    """The first elements of all `parts`, then the second ones ...; of a power of two of vectors."""
    if len(parts) == 1:
        return parts[0]
    first, second = merge(e, parts[0::2]), merge(e, parts[1::2])
    lanes = first.lanes
    return _shuffle(e, first, second, [k + lanes * which for k in range(lanes) for which in (0, 1)])


def _shuffle(e: Emitter, x: Value, y: Value, picks: Sequence[int]) -> Value:
    mask = ", ".join([f"i32 {k}" for k in picks])
    text = f"shufflevector {x!r}, {y!r}, <{len(picks)} x i32> <{mask}>"
    return e.emit(text, x.kind, len(picks))


def stored_together(
    outputs: Sequence[ir.Store | ir.Reduce], axis: int | None
) -> dict[int, tuple[int, ...]]:
    """Numbers of stores that are made together, by the number of the first of them in memory."""
    if axis is None:
        return {}
    numbers: dict[Place, int] = {}
    for j, o in enumerate(outputs):
        if isinstance(o, ir.Store) and o.where is None:
            numbers[o.param, o.index] = j
    if len(numbers) != len(outputs):
        return {}  # a place is written twice, in order
    found: dict[int, tuple[int, ...]] = {}
    grouped: set[Place] = set()
    for place in sorted(numbers, key=lambda place: (place[0], place[1].offset)):
        param, index = place
        count = index.coefficients[axis]
        if count not in _TOGETHER or index.terms or place in grouped:
            continue
        group = [(param, Affine(index.offset + j, index.coefficients)) for j in range(count)]
        if all(member in numbers and member not in grouped for member in group):
            grouped.update(group)
            found[numbers[place]] = tuple([numbers[member] for member in group])
    return found
