"""Loop fission: splits a loop if most of an iteration does not depend on the previous iteration.

    for i < n  k = g(k);  x = x + 0.1 * normal(k)
        ->  for i < n  k = g(k), ks[i] = k
            zs = normal(ks)
            for i < n  x = x + 0.1 * zs[i]

Loop fission, or loop distribution (Kuck 1981; Kennedy and McKinley, "Loop distribution with
arbitrary control flow", 1990), is combined with scalar expansion of the values that pass between
the loops (`batch_iterations`). Each loop then contains only the chain of dependent operations; the
computation between the loops is vectorized and uses all processors. Simulations with random draws,
forcing terms or observations of the state benefit.

The carries are divided into early ones, which depend only on each other, and late ones. A node that
depends only on early carries is computed in the first loop if the chain of early carries needs it,
between the loops if it is expensive, and otherwise in the second loop. The candidates for the early
carries are sets closed under dependence. The most promising ones (at most `fission_attempts`) are
tried, and the split that saves most is chosen. The cost is linear in the number of nodes of the
body.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.loop_analysis import (
    CountedLoop,
    count_trips,
    is_fully_overwritten,
    is_invariant,
)
from jitney.compiler.hlo.passes.batch_iterations import (
    VIEWS,
    batch_over_iterations,
    broadcast_over_iterations,
    can_lift,
    is_forward,
    with_stacked_outputs,
)
from jitney.compiler.hlo.passes.carries import add_carries, project_carries
from jitney.compiler.hlo.passes.loops import change_loops
from jitney.core.util.record import record


def run(module: ir.Module) -> ir.Module:
    """Returns `module` with its loops split, repeatedly if that saves more work."""
    return change_loops(module, lambda b, loop, used: run_in_parts(b, loop))


def run_in_parts(b: Builder, loop: ir.While) -> list[ir.Node]:
    """Builds `loop` in `b`, split repeatedly while that saves work, and returns its results."""
    division = _find_fission(loop)
    if division is None:
        return b.while_(loop.cond, loop.body, loop.init)
    return _divided(b, loop, division)


@record(eq=False)
class _Fission:
    """A split of a loop, which defines where each value is computed.

    Attributes:
      early: the carries of the first loop, except the counter.
      stacked: the values that the first loop stores in each iteration.
      read: the values, known for all iterations, that the second loop reads.
      filled: the carries whose rows are values known for all iterations.
      fillers: those values.
      fixed: the loop-invariant operands of the values that are computed between the loops.
      late: the carries of the second loop, except the counter.
      saved: the estimated saving per iteration, in additions.
    """

    early: list[int]
    stacked: list[ir.Node]
    read: list[ir.Node]
    filled: list[int]
    fillers: list[ir.Node]
    fixed: list[ir.Node]
    late: list[int]
    saved: float


# --- choosing a split -----------------------------------------------------------------------------


def _find_fission(loop: ir.While) -> _Fission | None:
    trips = count_trips(loop)
    if trips is None or trips.count < COSTS.fission_trips or loop.body.ordered:
        return None
    nodes = traversal.topological_order(loop.body.results)
    if sum(map(_gain, nodes)) < COSTS.fission_gain:
        return None
    needs = _Needs(loop, nodes)
    divisions = [_Divider(loop, trips, nodes, needs, early).division() for early in needs.sets()]
    best = max(divisions, key=lambda division: division.saved, default=None)
    return best if best is not None and best.saved >= COSTS.fission_gain else None


def _gain(node: ir.Node) -> float:
    """Estimates the additions saved per iteration by vectorizing `node` over the iterations."""
    if not isinstance(node, ir.Apply):
        return 0
    size = node.tensor_type.size
    return COSTS.function(node.fn) * (
        math.ceil(size / COSTS.fission_lanes) - size / COSTS.fission_lanes
    )


class _Needs:
    """The carries that each node of a body depends on, as bit masks."""

    def __init__(self, loop: ir.While, nodes: Sequence[ir.Node]) -> None:
        body = loop.body
        self.of: dict[ir.Node, int] = {}
        for node in nodes:
            if isinstance(node, ir.Parameter):
                self.of[node] = 0 if is_invariant(body, node) else 1 << node.index
            else:
                carries = 0
                for x in traversal.operands(node):
                    carries |= self.of[x]
                self.of[node] = carries
        self._of_carry = [0 if is_invariant(body, r) else self.of[r] for r in body.results]
        self._nodes = nodes

    def closed(self, carries: int) -> int:
        """Returns the transitive closure of `carries` under dependence across iterations."""
        closure = fresh = carries
        while fresh:
            needed = 0
            for i in bits(fresh):
                needed |= self._of_carry[i]
            fresh = needed & ~closure
            closure |= fresh
        return closure

    def sets(self) -> list[int]:
        """Returns candidate sets of early carries, from which much work can be vectorized."""
        gains: dict[int, float] = {}
        for node in self._nodes:
            gain = _gain(node)
            if gain:
                carries = self.of[node]
                gains[carries] = gains.get(carries, 0) + gain
        closed: dict[int, float] = {}
        for carries, gain in gains.items():
            key = self.closed(carries)
            closed[key] = closed.get(key, 0) + gain
        likely = sorted(closed, key=closed.__getitem__, reverse=True)[: COSTS.fission_attempts**2]
        total = {
            carries: sum([closed[inner] for inner in likely if inner | carries == carries])
            for carries in likely
        }
        worthwhile = [carries for carries in likely if total[carries] >= COSTS.fission_gain]
        return sorted(worthwhile, key=total.__getitem__, reverse=True)[: COSTS.fission_attempts]


def bits(mask: int) -> Iterable[int]:
    """Yields the indices of the set bits of `mask`, in ascending order."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


_CAP = 1e6  # on estimates, which count shared operands repeatedly and could grow exponentially


class _Divider:
    """Splits a loop for a given set of early carries.

    Each node of the body is in one of these classes:
      fixed: loop-invariant;
      chain: computed in the first loop, because early carries need it or it cannot be lifted;
      lifted: computed from early carries for all iterations at once; `work` maps it to its gain;
      rest: all others.
    """

    def __init__(
        self,
        loop: ir.While,
        trips: CountedLoop,
        nodes: Sequence[ir.Node],
        needs: _Needs,
        early: int,
    ) -> None:
        self.loop, self.trips = loop, trips
        counter = 1 << trips.counter
        self.early = early & ~counter
        self.chain: set[ir.Node] = set()
        self.work: dict[ir.Node, float] = {}
        self.fixed = {node for node in nodes if not needs.of[node]}
        results = loop.body.results
        in_chain = set(traversal.topological_order([results[i] for i in bits(self.early)]))
        for node in nodes:
            carries = needs.of[node]
            if not carries or carries | early | counter != early | counter:
                continue
            of_early = bool(carries & self.early)
            if (of_early and node in in_chain) or (
                isinstance(node, VIEWS) and node.x in self.chain
            ):
                self.chain.add(node)
            elif self._can_lift(node):
                inner = sum([self.work.get(x, 0) for x in traversal.operands(node)])
                self.work[node] = min(_CAP, inner + _gain(node))
            elif of_early:
                self.chain.add(node)

    def _can_lift(self, node: ir.Node) -> bool:
        """Returns whether `node`, which does not depend on late carries, can be lifted."""
        if not can_lift(self.loop, self.trips, node) or node.dtype.kind == "c":
            return False
        known = (self.work, self.chain, self.fixed)
        return all(any(x in group for group in known) for x in traversal.operands(node))

    def division(self) -> _Fission:
        """Returns the split.

        Its saving is 0 if the stacked values would need too much memory, or if all carries are
        early ones or invariant.
        """
        body, counter = self.loop.body, self.trips.counter
        filled: list[int] = []
        fillers: list[ir.Node] = []
        late: list[int] = []
        for i, p in enumerate(body.parameters):
            if i == counter or self.early >> i & 1 or is_invariant(body, p):
                continue
            value = self._fills(i)
            if value is not None and (value in self.chain or self._is_heavy(value)):
                filled.append(i)
                fillers.append(value)
            else:
                late.append(i)
        read = self._read_by([body.results[i] for i in late])
        inner, stacked = self._cone([*read, *fillers])
        fixed = {x for node in inner for x in traversal.operands(node) if x in self.fixed}
        moved = [*stacked, *[x for x in read if x not in self.chain]]
        saved = (
            sum(map(_gain, inner))
            - COSTS.transfer * sum([x.tensor_type.size for x in moved])
            + COSTS.transfer * sum([x.tensor_type.size for x in fillers if x in self.chain])
        )
        nbytes = self.trips.count * sum([x.tensor_type.nbytes for x in moved])
        if nbytes > COSTS.stacked_bytes or not (late or filled):
            saved = 0.0
        early = [*bits(self.early)]
        outside = sorted(fixed, key=lambda node: node.id)
        return _Fission(early, stacked, read, filled, fillers, outside, late, saved)

    def _fills(self, carry: int) -> ir.Node | None:
        """Returns the value that each iteration writes to its row of `carry`.

        Returns None if the loop does not write all rows.
        """
        if not is_fully_overwritten(self.loop, carry):
            return None
        result = self.loop.body.results[carry]
        assert isinstance(result, ir.DynamicUpdateSlice)
        x = result.update
        return x.x if isinstance(x, ir.Reshape) else x

    def _is_heavy(self, node: ir.Node) -> bool:
        """Returns whether `node` is lifted, and is cheaper to store and load than to recompute."""
        work = self.work.get(node)
        return work is not None and work > COSTS.transfer * (node.tensor_type.size + 1)

    def _read_by(self, results: Iterable[ir.Node]) -> list[ir.Node]:
        """Returns the values known for all iterations that the second loop needs for `results`."""
        stored_nodes: dict[ir.Node, None] = {}
        seen: set[ir.Node] = set()
        stack = list(results)
        while stack:
            node = stack.pop()
            if node in seen or node in self.fixed:
                continue
            seen.add(node)
            stored = self._is_heavy(node) and not isinstance(node, ir.Broadcast)
            if node in self.chain or stored:
                stored_nodes[node] = None
            else:
                stack.extend(traversal.operands(node))
        return sorted(stored_nodes, key=lambda node: node.id)

    def _cone(self, ends: Iterable[ir.Node]) -> tuple[list[ir.Node], list[ir.Node]]:
        """Returns the lifted nodes that `ends` depend on, and the chain nodes that feed them."""
        inner: dict[ir.Node, None] = {}
        sources: dict[ir.Node, None] = {}
        stack = list(ends)
        while stack:
            node = stack.pop()
            if node in inner or node in sources or node in self.fixed:
                continue
            if node in self.chain:
                sources[node] = None
            else:
                inner[node] = None
                stack.extend(traversal.operands(node))
        return list(inner), sorted(sources, key=lambda node: node.id)


# --- building the loops ---------------------------------------------------------------------------


def _divided(b: Builder, loop: ir.While, division: _Fission) -> list[ir.Node]:
    """Builds `loop` in `b`, split according to `division`, and returns its results."""
    trips = count_trips(loop)
    assert trips is not None
    results = list(loop.init)
    results[trips.counter] = b.constant(loop.init[trips.counter].dtype.type(trips.count))
    rows: dict[ir.Node, ir.Node] = {}

    if division.early:
        kept = [trips.counter, *division.early]
        first = run_in_parts(b, with_stacked_outputs(b, loop, trips, division.stacked, kept))
        for i, x in zip(division.early, first[1:], strict=False):
            results[i] = x
        rows.update(zip(division.stacked, first[len(kept) :], strict=False))

    _lift(b, loop, trips, division, rows)
    for i, x in zip(division.filled, division.fillers, strict=True):
        results[i] = _filled_with(b, loop, trips, i, rows[x])

    if division.late:
        second = run_in_parts(b, _reading(loop, trips, division, rows))
        for i, x in zip(division.late, second[1:], strict=False):
            results[i] = x
    return results


def _lift(
    b: Builder,
    loop: ir.While,
    trips: CountedLoop,
    division: _Fission,
    rows: dict[ir.Node, ir.Node],
) -> None:
    """Builds the values for all iterations in `b`.

    These are the values that the second loop reads, and those that fill carries.
    """
    outside: dict[ir.Node, Any] = dict(zip(loop.body.parameters, loop.init, strict=True))
    traversal.rebuild_all(b, division.fixed, outside)
    for node in division.fixed:
        rows[node] = broadcast_over_iterations(b, outside[node], trips.count)
    batch_over_iterations(b, loop, trips, [*division.read, *division.fillers], rows)


def _filled_with(
    b: Builder, loop: ir.While, trips: CountedLoop, carry: int, value: ir.Node
) -> ir.Node:
    """Returns the final value of `carry`; iteration i writes row i of `value` to its own row."""
    result = loop.body.results[carry]
    assert isinstance(result, ir.DynamicUpdateSlice)
    filled = b.reshape(value, result.shape)
    forward = is_forward(result.starts[0], loop.body.parameters[trips.counter])
    return filled if forward else b.reverse(filled, (0,))


def _reading(
    loop: ir.While, trips: CountedLoop, division: _Fission, rows: dict[ir.Node, ir.Node]
) -> ir.While:
    """Returns the second loop, which has only the late carries.

    It looks up the values that are known for all iterations.
    """

    def look_up(inner: Builder, new: dict[ir.Node, Any], every: Sequence[ir.Node]) -> None:
        counter = new[loop.body.parameters[trips.counter]]
        for node, x in zip(division.read, every, strict=True):
            new[node] = inner.row(x, counter)

    larger = add_carries(loop, [rows[x] for x in division.read], look_up)
    added = range(len(loop.init), len(larger.init))
    return project_carries(larger, [trips.counter, *division.late, *added])
