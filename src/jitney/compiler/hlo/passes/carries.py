"""Removes dead and congruent carries of loops, and adds carries by predictive commoning.

    while (a, b) ...   where b is dead   ->   while (a) ...

    while (a, b) ...   where b starts and is updated like a   ->   while (a) ...

    while (a, c) ...   where c always is the same constant   ->   while (a) ... constant

    while (a) ...  y = f(a), z = f(a')   where a' is the next value of a
        ->  while (a, y = f(a)) ...  z = f(a'), which is also the next value of y

A carry is removed if it is dead (by liveness analysis of carries), if it always equals another
carry (congruent induction variables), or if it is constant. A carry is added for a value that two
consecutive iterations would both compute (predictive commoning, O'Brien 1990; scalar replacement,
Callahan, Carr and Kennedy 1990). Examples are the forces in Verlet integration, and Runge-Kutta
methods in which the last stage of a step is the first stage of the next one.

Congruent carries are found by optimistic partition refinement. The cost of each analysis is linear
in the number of nodes of the body, times the number of refinements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.loop_analysis import is_invariant
from jitney.compiler.hlo.passes.loops import change_loops

Place: TypeAlias = int | ir.Constant | None


def run(module: ir.Module) -> ir.Module:
    """Returns `module` with dead and congruent carries removed, and common values carried."""
    return change_loops(module, _loop)


def _loop(b: Builder, loop: ir.While, used: set[int]) -> list[ir.Node]:
    """Returns the results of `loop`, rebuilt in `b`.

    Results that are not in `used` are replaced by the initial values.
    """
    values = list(loop.init)
    needed = live_carries(loop, used)
    if len(needed) < len(loop.init):
        loop = project_carries(loop, needed)
    start = loop.init
    kept, place = congruent_carries(loop)
    if len(kept) < len(start):
        loop = with_carries(loop, kept, place)
    known = common_across_iterations(loop)
    if known:
        loop = with_known(b, loop, known)
    results = b.while_(loop.cond, loop.body, loop.init)
    for i, j, x in zip(needed, place, start, strict=True):
        values[i] = results[j] if isinstance(j, int) else x
    return values


# --- removing carries -----------------------------------------------------------------------------


def live_carries(loop: ir.While, used: Iterable[int]) -> list[int]:
    """Returns the live carries of a loop.

    These are the carries that are `used` after the loop, and all carries that they, the condition,
    or effects depend on.
    """
    body = loop.body
    tested = [
        x for x in traversal.topological_order(loop.cond.results) if isinstance(x, ir.Parameter)
    ]
    needed = {*used, *[x.index for x in tested]}
    stack = [*[body.results[i] for i in needed], *body.ordered]
    seen: set[ir.Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(traversal.operands(node))
        if isinstance(node, ir.Parameter):
            needed.add(node.index)
            stack.append(body.results[node.index])
    return sorted(needed)


def congruent_carries(loop: ir.While) -> tuple[list[int], list[Place]]:
    """Returns the representatives of congruence classes of carries, and each carry's replacement.

    The representatives are distinct carries that change. A replacement is the position of a
    representative, or a constant. Carries are congruent if their initial values are equal and if,
    assuming congruence, their next values are equal. The result is the coarsest such partition; it
    is refined until it is stable.
    """
    first: dict[ir.Node, int] = {}
    group = [first.setdefault(x, len(first)) for x in loop.init]
    while len(first) < len(group):
        b = Builder()
        new: dict[ir.Node, Any] = {
            p: b.parameter(g, p.tensor_type)
            for p, g in zip(loop.body.parameters, group, strict=True)
        }
        traversal.rebuild_all(b, loop.body.results, new)
        results = [new[r] for r in loop.body.results]
        finer: dict[tuple[int, ir.Node], int] = {}
        divided = [finer.setdefault(key, len(finer)) for key in zip(group, results, strict=True)]
        if len(finer) == max(group) + 1:
            break
        group = divided
    kept: dict[int, int] = {}
    places: list[Place] = []
    for i, (g, x) in enumerate(zip(group, loop.init, strict=True)):
        if isinstance(x, ir.Constant) and is_invariant(loop.body, loop.body.parameters[i]):
            places.append(x)
        else:
            kept.setdefault(g, i)
            places.append(list(kept).index(g))
    return list(kept.values()), places


def with_carries(loop: ir.While, kept: Sequence[int], place: Sequence[Place]) -> ir.While:
    """Returns `loop` with only the carries `kept`.

    Uses of carry i are replaced by the new carry number place[i], or by a constant. place[i] is
    None if the kept carries do not depend on carry i.
    """
    init = tuple([loop.init[i] for i in kept])

    def reduced(region: ir.Region, is_body: bool) -> ir.Region:
        b = Builder()
        parameters = [b.parameter(j, x.tensor_type) for j, x in enumerate(init)]
        new: dict[ir.Node, Any] = {
            p: parameters[j] if isinstance(j, int) else b.constant(j.value)
            for p, j in zip(region.parameters, place, strict=True)
            if j is not None
        }
        results = [region.results[i] for i in kept] if is_body else [region.results[0]]
        traversal.rebuild_all(b, [*results, *region.ordered], new)
        results = [new[r] for r in results]
        return ir.Region(tuple(parameters), tuple(results), tuple(b.ordered))

    types = tuple([x.tensor_type for x in init])
    return ir.While(types, -1, reduced(loop.cond, False), reduced(loop.body, True), init)


def project_carries(loop: ir.While, kept: Sequence[int]) -> ir.While:
    """Returns `loop` with the carries `kept`, in order, and the invariant ones that they need."""
    body = loop.body
    needed = traversal.topological_order([*[body.results[i] for i in kept], *body.ordered])
    needed += traversal.topological_order(loop.cond.results)
    read = dict.fromkeys([x.index for x in needed if isinstance(x, ir.Parameter)])
    fixed = [i for i in read if is_invariant(body, body.parameters[i]) and i not in kept]
    every = [*kept, *fixed]
    place = {i: j for j, i in enumerate(every)}
    return with_carries(loop, every, [place.get(i) for i in range(len(loop.init))])


# --- adding carries -------------------------------------------------------------------------------


Change: TypeAlias = Callable[[Builder, dict[ir.Node, Any], Sequence[ir.Node]], None]
Following: TypeAlias = Callable[[Builder, dict[ir.Node, Any], Sequence[ir.Node]], list[ir.Node]]


def add_carries(
    loop: ir.While,
    first_values: Sequence[ir.Node],
    replace: Change | None = None,
    following: Following | None = None,
) -> ir.While:
    """Returns `loop` with additional carries.

    Args:
      loop: the loop.
      first_values: the initial values of the added carries.
      replace: a function of the builder of the new body, the map from old to new nodes, and the
        parameters of the added carries. It adds replacements of old nodes to the map.
      following: a function of the same arguments that returns the next values of the added carries;
        None if they do not change.
    """
    init = (*loop.init, *first_values)
    types = tuple([x.tensor_type for x in init])

    def region(old: ir.Region, is_body: bool) -> ir.Region:
        b = Builder()
        parameters = [b.parameter(i, t) for i, t in enumerate(types)]
        new: dict[ir.Node, Any] = dict(zip(old.parameters, parameters, strict=False))
        added = parameters[len(loop.init) :]
        if is_body and replace is not None:
            replace(b, new, added)
        traversal.rebuild_all(b, traversal.roots(old), new)
        results = [new[r] for r in old.results]
        if is_body:
            results += added if following is None else following(b, new, added)
        return ir.Region(tuple(parameters), tuple(results), tuple(b.ordered))

    return ir.While(types, -1, region(loop.cond, False), region(loop.body, True), init)


def common_across_iterations(loop: ir.While) -> dict[ir.Node, ir.Node]:
    """Returns the nodes of the body whose values the previous iteration has computed already.

    The result maps each such node y to the node z that computed its value: substituting the next
    values of the carries in y yields z. Only the largest such expressions are returned, if they are
    worth a carry.
    """
    body = loop.body
    if not any(_worth(node) for node in traversal.topological_order(traversal.roots(body))):
        return {}
    b = Builder()
    here: dict[ir.Node, Any] = {}
    nodes = traversal.topological_order(traversal.roots(body))
    traversal.rebuild_all(b, [*body.parameters, *nodes], here)
    old_of = {here[node]: node for node in nodes if not isinstance(here[node], list)}
    after: dict[ir.Node, Any] = {
        p: here[r] for p, r in zip(body.parameters, body.results, strict=True)
    }
    for node in nodes:
        if isinstance(node, ir.Constant):
            after[node] = here[node]
        elif type(node) in _PURE and all(x in after for x in traversal.operands(node)):
            rebuilt = traversal.rebuild(b, node, after.__getitem__)
            if rebuilt in old_of:
                after[node] = rebuilt
    changing = {
        node: old_of[after[node]]
        for node in nodes
        if type(node) in _PURE and node in after and after[node] is not here[node]
    }
    return {node: changing[node] for node in _frontier(body, nodes, changing)}


def _frontier(
    body: ir.Region, nodes: Sequence[ir.Node], known: dict[ir.Node, ir.Node]
) -> list[ir.Node]:
    """Returns the nodes in `known` that are used outside `known`, and that are worth a carry."""
    needed = {x for node in nodes if node not in known for x in traversal.operands(node)}
    needed.update(body.results)
    frontier: list[ir.Node] = []
    for node in known:
        if node in needed:
            work = sum([_work(x) for x in traversal.topological_order([node]) if x in known])
            if work > COSTS.transfer * node.tensor_type.size:
                frontier.append(node)
    return frontier


_PURE = (
    ir.Apply, ir.Broadcast, ir.Reshape, ir.Transpose, ir.Slice, ir.Reverse, ir.Pad, ir.Concatenate,
    ir.Bitcast, ir.DynamicSlice, ir.DynamicUpdateSlice, ir.Gather, ir.Scatter, ir.Reduce,
    ir.ArgReduce, ir.Cumulative, ir.Dot,
)  # fmt: skip


def _worth(node: ir.Node) -> bool:
    """Returns whether `node` alone can be expensive enough to be worth a carry."""
    if isinstance(node, ir.Apply):
        return COSTS.function(node.fn) >= COSTS.transfer
    return isinstance(node, ir.Reduce | ir.ArgReduce | ir.Cumulative | ir.Dot | ir.Scatter)


def _work(node: ir.Node) -> int:
    """Estimates the cost of `node` in additions."""
    match node:
        case ir.Apply():
            return COSTS.function(node.fn) * node.tensor_type.size
        case ir.Reduce() | ir.ArgReduce() | ir.Cumulative():
            return node.x.tensor_type.size
        case ir.Dot():
            contracted = [node.x.shape[j] for j in node.contract[0]]
            return node.tensor_type.size * math.prod(contracted)
        case ir.Scatter() | ir.Gather():
            return 4 * node.tensor_type.size
        case _:
            return 0


def with_known(b: Builder, loop: ir.While, known: dict[ir.Node, ir.Node]) -> ir.While:
    """Returns `loop` with an additional carry for each node in `known`.

    The initial values of these carries are computed in `b`.
    """
    first: dict[ir.Node, Any] = dict(zip(loop.body.parameters, loop.init, strict=True))
    traversal.rebuild_all(b, known, first)

    def replace(inner: Builder, new: dict[ir.Node, Any], added: Sequence[ir.Node]) -> None:
        new.update(zip(known, added, strict=True))

    def following(inner: Builder, new: dict[ir.Node, Any], _: Sequence[ir.Node]) -> list[ir.Node]:
        traversal.rebuild_all(inner, known.values(), new)
        return [new[x] for x in known.values()]

    return add_carries(loop, [first[x] for x in known], replace, following)
