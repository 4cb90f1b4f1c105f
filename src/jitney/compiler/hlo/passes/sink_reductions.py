"""Sinks reductions over the iterations of a loop: computes them after the loop.

    for i < n  a = a + outer(u, v)     where a starts as 0, and u and v are small
        ->  for i < n  us[i] = u, vs[i] = v;  a = sum over i of outer(us[i], vs[i])

This corresponds to the delayed updates of blocked linear algebra, which aggregate rank-1 updates
into one product. Gradients of weights in recurrent networks are accumulated in this way. In the
loop, each iteration would read and write all of `a`; after the loop, the sum over iterations is
kept in registers. The order of additions does not change. Rows of loop-invariant arrays (u = xs[i])
are not stacked, since they are in memory already. The cost is linear in the number of nodes of the
body.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.loop_analysis import CountedLoop, count_trips
from jitney.compiler.hlo.passes.batch_iterations import (
    batch_over_iterations,
    can_lift,
    is_loop_invariant,
    with_stacked_outputs,
)
from jitney.compiler.hlo.passes.loops import change_loops
from jitney.core.util.record import record

_FLOATS = (
    np.dtype(np.float32),
    np.dtype(np.float64),
)  # sums of other dtypes would be rounded once instead of in each iteration
_ELEMENTWISE = (ir.Apply, ir.Broadcast, ir.Transpose, ir.Reshape)


@record(eq=False)
class Sum:
    """A carry to which each iteration adds `term`.

    Attributes:
      index: the index of the carry.
      term: the value that each iteration adds.
      sources: the small or loop-invariant values of an iteration from which `term` is computed.
    """

    index: int
    term: ir.Node
    sources: list[ir.Node]


def run(module: ir.Module) -> ir.Module:
    """Returns `module` with sums over the iterations of loops computed after the loops."""
    return change_loops(module, _loop)


def _loop(b: Builder, loop: ir.While, used: set[int]) -> list[ir.Node]:
    sums = sums_over_iterations(loop)
    return without_sums(b, loop, sums) if sums else b.while_(loop.cond, loop.body, loop.init)


def sums_over_iterations(loop: ir.While) -> list[Sum]:
    """Returns the carries of `loop` whose sums should be computed after it."""
    trips = count_trips(loop)
    if trips is None or trips.count < COSTS.sunk_trips:
        return []
    uses = traversal.count_uses(
        traversal.topological_order(traversal.roots(loop.body)), traversal.roots(loop.body)
    )
    in_test = set(traversal.topological_order(loop.cond.results))
    room = sum([x.tensor_type.nbytes for x in loop.init])
    stacked: set[ir.Node] = set()
    sums: list[Sum] = []
    for i, p in enumerate(loop.body.parameters):
        term = _term(loop, i)
        if term is None or uses[p] != 1 or loop.cond.parameters[i] in in_test:
            continue
        sources = _sources(loop, term)
        if sources is None:
            continue
        fresh = [x for x in sources if _is_stacked(loop, trips, x) and x not in stacked]
        needed = trips.count * sum([x.tensor_type.nbytes for x in fresh])
        if needed <= room:  # do not use more memory than the loop does
            room -= needed
            stacked.update(fresh)
            sums.append(Sum(i, term, sources))
    return sums


def _term(loop: ir.While, index: int) -> ir.Node | None:
    """Returns the value that each iteration adds to a large carry that starts as 0, else None."""
    start, result = loop.init[index], loop.body.results[index]
    if not isinstance(result, ir.Apply) or result.fn != "add" or result.dtype not in _FLOATS:
        return None
    if not _is_zero(start) or result.tensor_type.size < COSTS.sunk_sum:
        return None
    x, y = result.args
    p = loop.body.parameters[index]
    return y if x is p else x if y is p else None


def _is_zero(node: ir.Node) -> bool:
    """Returns whether all elements of `node` are +0."""
    value = node.x if isinstance(node, ir.Broadcast) else node
    return isinstance(value, ir.Constant) and not any(value.value.tobytes())


def _sources(loop: ir.While, term: ir.Node) -> list[ir.Node] | None:
    """Returns the values from which `term` is computed elementwise.

    They are small or loop-invariant. Returns None if `term` also depends on other values.
    """
    size = term.tensor_type.size
    sources: dict[ir.Node, None] = {}
    seen: set[ir.Node] = set()
    stack = [term]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        fixed = is_loop_invariant(loop, node)
        if isinstance(node, ir.Reshape | ir.Transpose):
            stack.append(node.x)
        elif fixed or COSTS.sunk_ratio * node.tensor_type.size <= size:
            sources[node] = None
        elif isinstance(node, _ELEMENTWISE):
            stack.extend(traversal.operands(node))
        else:
            return None
    return [*sources]


def _is_stacked(loop: ir.While, trips: CountedLoop, node: ir.Node) -> bool:
    """Returns whether each iteration has to store `node`."""
    is_leaf = isinstance(node, ir.Parameter | ir.Constant | ir.DynamicSlice)
    return not (is_leaf and can_lift(loop, trips, node))


def without_sums(b: Builder, loop: ir.While, sums: Sequence[Sum]) -> list[ir.Node]:
    """Builds `loop` in `b` without the carries of `sums`, and returns its results."""
    trips = count_trips(loop)
    assert trips is not None
    every = dict.fromkeys([x for one in sums for x in one.sources])
    stacked = [x for x in every if _is_stacked(loop, trips, x)]
    gone = {one.index for one in sums}
    kept = [i for i in range(len(loop.init)) if i not in gone]
    remaining = with_stacked_outputs(b, loop, trips, stacked, kept)
    done = b.while_(remaining.cond, remaining.body, remaining.init)

    results = list(loop.init)
    for i, x in zip(kept, done, strict=False):
        results[i] = x
    rows = dict(zip(stacked, done[len(kept) :], strict=False))
    for one in sums:
        for node, x in reversed(_zeros_added(one.term).items()):
            batch_over_iterations(b, loop, trips, [x], rows)
            rows[node] = rows[x]
        batch_over_iterations(b, loop, trips, [one.term], rows)
        results[one.index] = b.reduce(rows[one.term], "add", (0,), in_order=True)
    return results


def _zeros_added(term: ir.Node) -> dict[ir.Node, ir.Node]:
    """Returns a map from each node x + 0 to x, for the nodes of this form that yield `term`.

    `term` can be x + 0, a reshape or transpose of it, or a nest of these. Adding x + 0 or x to a
    sum that starts as 0 has the same effect.
    """
    summands: dict[ir.Node, ir.Node] = {}
    while True:
        match term:
            case ir.Reshape() | ir.Transpose():
                term = term.x
            case ir.Apply(fn="add", args=(x, y)) if _is_zero(y):
                summands[term] = x
                term = x
            case _:
                return summands
