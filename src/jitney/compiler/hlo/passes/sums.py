"""Sums over the turns of a loop, computed after it.

    for i < n  a = a + outer(u, v)     where a starts as 0, and u and v are small
        ->  for i < n  us[i] = u, vs[i] = v;  a = sum over i of outer(us[i], vs[i])

This is how gradients of weights grow in recurrent networks: each turn would read and write the whole
of `a`, which afterwards stays in registers while its sum goes over the turns. The order of additions
is the same. Rows of arrays that do not change (u = xs[i]) are not stacked: they lie there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.compiler.hlo import ir, walk
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.passes.carries import with_carries, with_more
from jitney.compiler.hlo.trips import Trips, count_trips, is_invariant, walks_all
from jitney.core.record import record

LARGE = 4096  # elements of a sum that a turn had better not read and write
SMALLER = 16  # how many times smaller what is stacked is to be
FEWEST_TURNS = 8
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))  # others are rounded once, not in each turn
_ELEMENTWISE = (ir.Apply, ir.Broadcast, ir.Transpose, ir.Reshape)


@record(eq=False)
class Sum:
    """A carry that becomes itself plus `term`.

    Attributes:
      index: the carry.
      term: what each turn adds.
      sources: small values of a turn, and invariants, that `term` is computed from.
      inner: the nodes that do so.
    """

    index: int
    term: ir.Node
    sources: list[ir.Node]
    inner: set[ir.Node]


def sums_over_turns(loop: ir.While) -> list[Sum]:
    """The carries of `loop` that are better computed after it."""
    trips = count_trips(loop)
    if trips is None or trips.count < FEWEST_TURNS:
        return []
    uses = walk.count_uses(walk.schedule(walk.ends(loop.body)), walk.ends(loop.body))
    in_test = set(walk.schedule(loop.cond.results))
    room = sum([x.type.nbytes for x in loop.init])  # type: ignore[union-attr]
    stacked: set[ir.Node] = set()
    found: list[Sum] = []
    for i, p in enumerate(loop.body.parameters):
        term = _term(loop, i)
        if term is None or uses[p] != 1 or loop.cond.parameters[i] in in_test:
            continue
        parts = _parts(loop, term)
        if parts is None:
            continue
        sources, inner = parts
        fresh = [x for x in sources if _is_stacked(loop, trips, x) and x not in stacked]
        needed = trips.count * sum([x.type.nbytes for x in fresh])  # type: ignore[union-attr]
        if needed <= room:  # no more memory than the loop works on
            room -= needed
            stacked.update(fresh)
            found.append(Sum(i, term, sources, inner))
    return found


def _term(loop: ir.While, index: int) -> ir.Node | None:
    """What each turn adds to a large carry that starts as 0; None for any other carry."""
    start, result = loop.init[index], loop.body.results[index]
    if not isinstance(result, ir.Apply) or result.fn != "add" or result.dtype not in _FLOATS:
        return None
    if not _is_zero(start) or result.type.size < LARGE:  # type: ignore[union-attr]
        return None
    x, y = result.args
    p = loop.body.parameters[index]
    return y if x is p else x if y is p else None


def _is_zero(node: ir.Node) -> bool:
    """Whether `node` is 0 everywhere, and not -0."""
    value = node.x if isinstance(node, ir.Broadcast) else node
    return isinstance(value, ir.Constant) and not any(value.value.tobytes())


def _parts(loop: ir.While, term: ir.Node) -> tuple[list[ir.Node], set[ir.Node]] | None:
    """(what `term` is computed from, the nodes that do so by elements); None if that is not small."""
    size = term.type.size  # type: ignore[union-attr]
    sources: dict[ir.Node, None] = {}
    seen: set[ir.Node] = set()
    stack = [term]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        fixed = _is_fixed(loop, node)
        if isinstance(node, ir.Reshape | ir.Transpose):
            stack.append(node.x)
        elif fixed or SMALLER * node.type.size <= size:  # type: ignore[union-attr]
            sources[node] = None
        elif isinstance(node, _ELEMENTWISE):
            stack.extend(walk.operands(node))
        else:
            return None
    return [*sources], seen - sources.keys()


def _is_stacked(loop: ir.While, trips: Trips, node: ir.Node) -> bool:
    """Whether `node` has to be written down in each turn."""
    return not _is_fixed(loop, node) and _row(loop, trips, node) is None


def _is_fixed(loop: ir.While, node: ir.Node) -> bool:
    """Whether `node` is the same in all turns."""
    return isinstance(node, ir.Constant) or is_invariant(loop.body, node)


def _outside(b: Builder, loop: ir.While, node: ir.Node) -> ir.Node:
    """What `node`, which is the same in all turns, is before the loop."""
    if isinstance(node, ir.Constant):
        return b.constant(node.value)
    assert isinstance(node, ir.Parameter)
    return loop.init[node.index]


def _row(loop: ir.While, trips: Trips, node: ir.Node) -> ir.DynamicSlice | None:
    """`node`, if it is one row for each turn of an array that stays as it is."""
    if not isinstance(node, ir.DynamicSlice) or not _is_fixed(loop, node.x):
        return None
    shape = node.x.shape
    counter = loop.body.parameters[trips.counter]
    whole = bool(shape) and node.sizes == (1, *shape[1:]) and shape[0] == trips.count
    return node if whole and walks_all(node.starts[0], counter, trips.count) else None


def without_sums(b: Builder, loop: ir.While, sums: Sequence[Sum]) -> list[ir.Node]:
    """The results of `loop`, which is built in `b` without the carries of `sums`."""
    trips = count_trips(loop)
    assert trips is not None
    every = dict.fromkeys([x for one in sums for x in one.sources])
    stacked = [x for x in every if _is_stacked(loop, trips, x)]
    n = trips.count

    def write_down(
        inner: Builder, new: dict[ir.Node, Any], stacks: Sequence[ir.Node]
    ) -> list[ir.Node]:
        counter = new[loop.body.parameters[trips.counter]]
        zero = inner.constant(counter.dtype.type(0))
        written = []
        for x, stack in zip(stacked, stacks, strict=True):
            row = inner.reshape(new[x], (1, *x.shape))
            starts = [counter, *[zero] * len(x.shape)]
            written.append(inner.dynamic_update_slice(stack, row, starts))
        return written

    stacks = [b.full((n, *x.shape), 0, x.dtype) for x in stacked]
    larger = with_more(loop, stacks, None, write_down)
    gone = {one.index for one in sums}
    kept = [i for i in range(len(larger.init)) if i not in gone]
    place = [kept.index(i) if i not in gone else None for i in range(len(larger.init))]
    smaller = with_carries(larger, kept, place)
    done = b.while_(smaller.cond, smaller.body, smaller.init)
    results: list[ir.Node] = [done[j] if isinstance(j, int) else larger.init[0] for j in place]

    rows: dict[ir.Node, ir.Node] = dict(zip(stacked, results[len(loop.init) :], strict=True))
    for x in every:
        if x not in rows:
            rows[x] = _rows_of(b, loop, trips, x)
    for one in sums:
        results[one.index] = b.reduce(_for_all_turns(b, one, rows, n), "add", (0,), in_order=True)
    return results[: len(loop.init)]


def _rows_of(b: Builder, loop: ir.While, trips: Trips, node: ir.Node) -> ir.Node:
    """What `node`, which is not stacked, is in all turns."""
    if _is_fixed(loop, node):
        x = _outside(b, loop, node)
        return b.broadcast(x, (trips.count, *x.shape), tuple(range(1, len(x.shape) + 1)))
    row = _row(loop, trips, node)
    assert row is not None
    rows = b.reshape(_outside(b, loop, row.x), (trips.count, *row.shape))
    forward = _is_counter(row.starts[0], loop.body.parameters[trips.counter])
    return rows if forward else b.reverse(rows, (0,))


def _is_counter(start: ir.Node, counter: ir.Node) -> bool:
    while isinstance(start, ir.Apply) and start.fn == "convert":
        (start,) = start.args
    return start is counter


def _for_all_turns(b: Builder, one: Sum, rows: dict[ir.Node, ir.Node], n: int) -> ir.Node:
    """The term of `one` with an axis for the turns in front."""
    done: dict[ir.Node, ir.Node] = dict(rows)
    zeros_added = _zeros_added(one.term)
    for node in walk.schedule([one.term]):
        if node not in one.inner:
            continue
        if node in zeros_added:
            done[node] = done[zeros_added[node]]
        elif isinstance(node, ir.Broadcast):
            dims = (0, *[d + 1 for d in node.dims])
            done[node] = b.broadcast(done[node.x], (n, *node.shape), dims)
        elif isinstance(node, ir.Transpose):
            done[node] = b.transpose(done[node.x], (0, *[p + 1 for p in node.perm]))
        elif isinstance(node, ir.Reshape):
            done[node] = b.reshape(done[node.x], (n, *node.shape))
        else:
            done[node] = walk.rebuild(b, node, done.__getitem__)
    return done[one.term]


def _zeros_added(term: ir.Node) -> dict[ir.Node, ir.Node]:
    """Sums x + 0 that `term` is, and their x: in a sum that starts as 0 they are no different."""
    found: dict[ir.Node, ir.Node] = {}
    while True:
        match term:
            case ir.Reshape() | ir.Transpose():
                term = term.x
            case ir.Apply(fn="add", args=(x, y)) if _is_zero(y):
                found[term] = x
                term = x
            case _:
                return found
