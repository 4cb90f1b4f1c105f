"""Recognizes map loops: each iteration reads a row of some arrays and writes a row of others.

`lax.map`, and `lax.scan` with no carries except counters, produce such loops. Their iterations are
independent of each other, so they can be sharded over devices like any other node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.loop_analysis import (
    CountedLoop,
    count_trips,
    covers_all_rows,
    is_fully_overwritten,
    is_invariant,
)
from jitney.core.util.record import record


@record(frozen=True)
class MapLoop:
    """The carries of a map loop, classified by their use.

    Attributes:
      counted: the trip count and the counter.
      sliced: carries of which each iteration reads its own row, and nothing else.
      stacked: carries of which each iteration writes its own row.
      steps: the increments of further carries that count, by index.
      is_backwards: whether the first iteration computes the last row.
    """

    counted: CountedLoop
    sliced: frozenset[int]
    stacked: frozenset[int]
    steps: dict[int, np.ndarray]
    is_backwards: bool

    @property
    def mapped(self) -> frozenset[int]:
        """The carries of which each iteration reads or writes a row."""
        return self.sliced | self.stacked


def as_map(node: ir.While) -> MapLoop | None:
    """Returns the description of `node` as a map loop, or None if it is not one."""
    counted = count_trips(node)
    if counted is None or node.body.ordered:
        return None
    body, counter = node.body, node.body.parameters[counted.counter]
    stacked: dict[int, ir.DynamicUpdateSlice] = {}
    steps: dict[int, np.ndarray] = {}
    for k, (p, result) in enumerate(zip(body.parameters, body.results, strict=True)):
        if k == counted.counter or is_invariant(body, result):
            continue
        step = _step(p, result)
        if step is not None:
            steps[k] = step
            continue
        if not is_fully_overwritten(node, k) or not isinstance(result, ir.DynamicUpdateSlice):
            return None
        if result.x is not p:
            return None
        stacked[k] = result
    if not stacked:
        return None
    backwards = {_is_backwards(result.starts[0], counter) for result in stacked.values()}
    users = _users(body)
    for k, result in stacked.items():
        if users.get(result) or users.get(body.parameters[k]) != [result]:
            return None
    if len(backwards) > 1:
        return None
    (is_backwards,) = backwards
    sliced = frozenset([
        p.index
        for p in body.parameters
        if is_invariant(body, body.results[p.index])
        and users.get(p)
        and all([_is_row(x, p, counter, counted.count, is_backwards) for x in users[p]])
    ])  # fmt: skip
    return MapLoop(counted, sliced, frozenset(stacked), steps, is_backwards) if sliced else None


def _step(p: ir.Parameter, result: ir.Node) -> np.ndarray | None:
    """Returns the constant integer that each iteration adds to a scalar `p`, else None."""
    if (
        not isinstance(result, ir.Apply)
        or result.fn != "add"
        or p.shape
        or p.dtype.kind not in "iu"
    ):
        return None
    for x, step in (result.args, result.args[::-1]):
        if x is p and isinstance(step, ir.Constant):
            return step.value
    return None


def _users(region: ir.Region) -> dict[ir.Node, list[ir.Node]]:
    users: dict[ir.Node, list[ir.Node]] = {}
    for node in traversal.topological_order(traversal.roots(region)):
        for x in dict.fromkeys(traversal.operands(node)):
            users.setdefault(x, []).append(node)
    return users


def _is_backwards(start: ir.Node, counter: ir.Node) -> bool:
    while isinstance(start, ir.Apply) and start.fn == "convert":
        (start,) = start.args
    return start is not counter


def _is_row(user: ir.Node, p: ir.Node, counter: ir.Node, count: int, is_backwards: bool) -> bool:
    """Returns whether `user` is the current iteration's row of `p`."""
    if not isinstance(user, ir.DynamicSlice) or user.x is not p:
        return False
    start = user.starts[0]
    return (
        (p.shape[0], user.sizes[0]) == (count, 1)
        and p not in user.starts
        and covers_all_rows(start, counter, count)
        and _is_backwards(start, counter) == is_backwards
    )


def for_rows(node: ir.While, loop: MapLoop, parts: int) -> ir.While:
    """Returns the loop that computes one of `parts` equal parts of the rows.

    Args:
      node: a map loop.
      loop: its description.
      parts: a divisor of its trip count.

    Returns:
      A loop whose mapped carries have fewer rows, and which has an additional last carry. This
      carry, a scalar of the counter's dtype, is the value of the original loop's counter in the
      first iteration for these rows. The initial values of the loop are parameters, numbered like
      its carries.
    """
    counted = loop.counted
    count = counted.count // parts
    types = [
        ir.TensorType((count, *p.shape[1:]), p.dtype) if k in loop.mapped else p.tensor_type
        for k, p in enumerate(node.body.parameters)
    ]
    dtype = types[counted.counter].dtype
    types.append(ir.TensorType((), dtype))
    b = Builder()
    init = [b.parameter(k, t) for k, t in enumerate(types)]
    results = b.while_(
        _condition(types, counted.counter, count), _body(node, loop, types, count), init
    )
    projected = results[0]
    assert isinstance(projected, ir.Project) and isinstance(projected.node, ir.While)
    return projected.node


def _condition(types: Sequence[ir.TensorType], counter: int, count: int) -> ir.Region:
    b = Builder()
    parameters = [b.parameter(k, t) for k, t in enumerate(types)]
    i = parameters[counter]
    test = b.apply("lt", i, b.constant(np.array(count, i.dtype)))
    return ir.Region(tuple(parameters), (test,), ())


def _body(node: ir.While, loop: MapLoop, types: Sequence[ir.TensorType], count: int) -> ir.Region:
    body, counter = node.body, loop.counted.counter
    b = Builder()
    parameters = [b.parameter(k, t) for k, t in enumerate(types)]
    i, first = parameters[counter], parameters[-1]
    row = b.apply("sub", b.constant(np.array(count - 1, i.dtype)), i) if loop.is_backwards else i
    new: dict[ir.Node, ir.Node] = dict(zip(body.parameters, parameters, strict=False))
    new[body.parameters[counter]] = b.apply("add", first, i)
    rows = {body.parameters[k] for k in loop.sliced}
    written = {body.results[k] for k in loop.stacked}

    def make(old: ir.Node) -> ir.Node | list[ir.Node]:
        if isinstance(old, ir.DynamicSlice) and old.x in rows:
            return b.dynamic_slice(new[old.x], _at(b, row, old.starts, new), old.sizes)
        if isinstance(old, ir.DynamicUpdateSlice) and old in written:
            starts = _at(b, row, old.starts, new)
            return b.dynamic_update_slice(new[old.x], new[old.update], starts)
        return traversal.rebuild(b, old, new.__getitem__)

    following = b.apply("add", i, b.constant(np.array(1, i.dtype)))
    results = [r for k, r in enumerate(body.results) if k != counter]
    traversal.rebuild_all(b, results, new, make)
    after = [following if k == counter else new[r] for k, r in enumerate(body.results)]
    return ir.Region(tuple(parameters), (*after, first), ())


def _at(
    b: Builder, row: ir.Node, starts: Sequence[ir.Node], new: Mapping[ir.Node, ir.Node]
) -> list[ir.Node]:
    """Returns `starts` with the first index replaced by `row`."""
    return [b.convert(row, starts[0].dtype), *[new[x] for x in starts[1:]]]
