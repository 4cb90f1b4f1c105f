"""Emits vector loads and stores of elements at a small constant stride, positive or negative.

A gather takes as long as about ten loads, and there are no gathers of 8- and 16-bit elements.
Therefore elements at a constant stride are selected by shuffles from contiguous vectors:

    stride 3, 8 lanes:     0..7 | 8..15 | 14..21         the last vector ends with the last element
                           0 3 6 9 12 15 18 21

No memory outside the range of the elements is read. Loads at positions that differ by less than a
stride, such as the components of complex numbers or the channels of images, share vectors. Stores
distribute their lanes over vectors, which are written by masked stores; on targets without masked
stores, this is only done for a stride of -1.
"""

from __future__ import annotations

from collections.abc import Iterable

from jitney.compiler.codegen import access
from jitney.compiler.codegen.interleaved import Place, shuffle
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.ir import Affine
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import Target
from jitney.compiler.llvm.values import Value, constant_vector, type_text
from jitney.core.util.record import record


def largest_stride(target: Target) -> int:
    """Returns the largest stride at which elements are selected from contiguous vectors."""
    return COSTS.picked_stride if target.has_masks else COSTS.picked_stride_unmasked


def is_strided(stride: int, target: Target) -> bool:
    """Returns whether loads at stride `stride` are emitted as vector loads and shuffles."""
    return (stride < 0 and -stride <= largest_stride(target)) or 1 < stride <= largest_stride(
        target
    )


@record(frozen=True)
class Window:
    """A group of positions that are loaded together.

    Attributes:
      param: the buffer.
      first: the index of the first position in memory.
      stride: the distance from one lane to the next.
      spread: the distance from the first position to the last, less than a stride.
    """

    param: int
    first: Affine
    stride: int
    spread: int

    def length(self, lanes: int) -> int:
        """Returns the number of elements from the first to the last one that is needed."""
        return abs(self.stride) * (lanes - 1) + self.spread + 1

    def starts(self, lanes: int) -> list[int]:
        """Returns the offsets of the vectors relative to the first element."""
        last = self.length(lanes) - lanes
        return [*range(0, last, lanes), last]

    def position(self, offset: int, lane: int, lanes: int) -> int:
        """Returns the offset in the window of the element that `lane` loads.

        `offset` is the distance of the loaded position from the first position of the window.
        """
        steps = lane if self.stride > 0 else lanes - 1 - lane
        return offset + abs(self.stride) * steps


def find_windows(places: Iterable[Place], axis: int | None, target: Target) -> dict[Place, Window]:
    """Returns the window of each place that is loaded by vectors and shuffles along `axis`."""
    if axis is None:
        return {}
    windows: dict[Place, Window] = {}
    groups: list[list[Place]] = []
    for place in sorted(set(places), key=_order):
        param, index = place
        stride = index.coefficients[axis]
        if not is_strided(stride, target):
            continue
        near = groups[-1][0] if groups else None
        if (
            near is not None
            and (near[0], near[1].coefficients, near[1].terms)
            == (param, index.coefficients, index.terms)
            and index.offset - near[1].offset < abs(stride)
        ):
            groups[-1].append(place)
        else:
            groups.append([place])
    for group in groups:
        (param, first), (_, last) = group[0], group[-1]
        stride = first.coefficients[axis]
        window = Window(param, first, stride, last.offset - first.offset)
        windows |= dict.fromkeys(group, window)
    return windows


def _order(place: Place) -> tuple[object, ...]:
    param, index = place
    return (param, index.coefficients, index.terms, index.offset)


def load(
    e: Emitter,
    window: Window,
    pointer: Value,
    kind: str,
    lanes: int,
    remaining: Value | None,
) -> list[Value]:
    """Loads the vectors of a window.

    Args:
      e: the emitter.
      window: the window to load.
      pointer: the address of the first lane's element at the first position.
      kind: the kind of the elements.
      lanes: the number of lanes of each vector.
      remaining: the number of lanes needed; None for all.
    """
    step = abs(window.stride)
    if window.stride < 0:
        pointer = _moved(e, pointer, kind, -step * (lanes - 1))
    loaded: list[Value] = []
    for start in window.starts(lanes):
        mask = None if remaining is None else _valid(e, window, start, lanes, remaining)
        loaded.append(access.load_vector(e, _moved(e, pointer, kind, start), kind, lanes, mask))
    return loaded


def picked(e: Emitter, window: Window, vectors: list[Value], offset: int, lanes: int) -> Value:
    """Selects the lanes' elements at position first + `offset` of a window from its vectors."""
    starts = window.starts(lanes)
    wanted = [window.position(offset, lane, lanes) for lane in range(lanes)]
    source = [min(p // lanes, len(starts) - 1) for p in wanted]
    used = sorted(set(source))
    at = [p - starts[n] for p, n in zip(wanted, source, strict=True)]
    if len(used) == 1:
        return shuffle(e, vectors[used[0]], vectors[used[0]], at)
    # Lanes that have not been selected yet hold arbitrary elements.
    first, *others = used
    result = vectors[first]
    place = [p if n == first else 0 for p, n in zip(at, source, strict=True)]
    for n in others:
        place = [p + lanes if m == n else q for p, q, m in zip(at, place, source, strict=True)]
        result = shuffle(e, result, vectors[n], place)
        place = list(range(lanes))
    return result


def store(
    e: Emitter,
    value: Value,
    pointer: Value,
    stride: int,
    remaining: Value | None,
) -> None:
    """Stores the lanes of `value` at stride `stride`, and writes nothing between them.

    Args:
      e: the emitter.
      value: a vector.
      pointer: the address of the first lane.
      stride: the stride in elements, neither 0 nor 1; on targets without masked stores, it must be
        -1.
      remaining: the number of lanes to store; None for all.
    """
    kind, lanes = value.kind, value.lanes
    window = Window(0, Affine(0, ()), stride, 0)
    step = abs(stride)
    if stride < 0:
        pointer = _moved(e, pointer, kind, -step * (lanes - 1))
    lane_of = {window.position(0, lane, lanes): lane for lane in range(lanes)}
    for start in range(0, window.length(lanes), lanes):
        picks = [lane_of.get(start + j) for j in range(lanes)]
        spread = shuffle(e, value, value, [0 if pick is None else pick for pick in picks])
        mask = None
        if None in picks:
            mask = constant_vector(tuple([pick is not None for pick in picks]), "i1")
        if remaining is not None:
            some = _valid(e, window, start, lanes, remaining)
            mask = some if mask is None else e.and_(mask, some)
        access.store_vector(e, spread, _moved(e, pointer, kind, start), mask)


def _valid(e: Emitter, window: Window, start: int, lanes: int, remaining: Value) -> Value:
    """Returns the mask of the elements of the vector at `start` that `remaining` lanes need."""
    step = abs(window.stride)
    if window.stride > 0:  # the elements up to that of the last lane
        end = e.mul(remaining, e.const(step, remaining))
        return access.lanes_below(
            e, e.add(end, e.const(window.spread + 1 - step - start, end)), lanes
        )
    missing = e.sub(e.const(lanes, remaining), remaining)
    begin = e.mul(missing, e.const(step, missing))
    return access.lanes_from(e, e.sub(begin, e.const(start, begin)), lanes)


def _moved(e: Emitter, pointer: Value, kind: str, elements: int) -> Value:
    if not elements:
        return pointer
    return e.emit(f"getelementptr {type_text(kind)}, {pointer!r}, i64 {elements}", "ptr")
