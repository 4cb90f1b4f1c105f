"""Overlaps communication with computation, by moving steps between asynchronous calls and waits.

A host call with `finish` is asynchronous; it exchanges messages with other processes. Steps that do
not depend on its results can run before the wait for them. The order is found by list scheduling:
calls start as soon as their operands are available, in their original order; all other ready steps
follow, and waits run only if nothing else is ready. Calls whose results are larger than their
operands, such as gathers of weights, do not start early, since the results of all of them would be
in memory at the same time. A wait that directly follows its call is merged with it.

Two steps keep their order if one writes memory that the other accesses (`accesses`), so results do
not change. Memory is assigned to buffers later, for the new order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from jitney.compiler.cost import COSTS
from jitney.compiler.library import Procedure
from jitney.compiler.plan import ir
from jitney.compiler.plan.accesses import Access, accesses
from jitney.compiler.plan.collective_order import growth
from jitney.core.util.record import replace

# The priorities of ready steps, highest first.
_CALL, _OTHER, _WAIT = range(3)


def overlap(steps: list[ir.Step]) -> list[ir.Step]:
    """Returns the steps of a program in an order that overlaps communication with computation."""
    if not any(map(_goes_on, steps)):
        return steps
    divided: list[ir.Step] = []
    for step in steps:
        divided.append(ir.with_inner(step, overlap))
        if isinstance(step, ir.HostCall) and step.finish is not None:
            divided.append(ir.Wait(step))
    return _rejoined(_scheduled(divided))


def _goes_on(step: ir.Step) -> bool:
    """Returns whether a step is, or contains, an asynchronous call."""
    return any([isinstance(x, ir.HostCall) and x.finish is not None for x in ir.all_steps([step])])


def _scheduled(steps: Sequence[ir.Step]) -> list[ir.Step]:
    """Returns `steps` in the order of list scheduling, which respects their dependences."""
    following, missing = _dependences(steps)
    ready = [(_rank(step), i) for i, step in enumerate(steps) if not missing[i]]
    heapq.heapify(ready)
    order: list[ir.Step] = []
    while ready:
        _, i = heapq.heappop(ready)
        order.append(steps[i])
        for j in following[i]:
            missing[j] -= 1
            if not missing[j]:
                heapq.heappush(ready, (_rank(steps[j]), j))
    assert len(order) == len(steps), "the dependences are not acyclic"
    return order


def _rank(step: ir.Step) -> int:
    if isinstance(step, ir.Wait):
        return _WAIT
    return _CALL if _calls(step) else _OTHER


def _calls(step: ir.Step) -> bool:
    """Returns whether a step or a nested step calls Python; such steps keep their order."""
    return any([isinstance(x, ir.HostCall) for x in ir.all_steps([step])])


def _dependences(steps: Sequence[ir.Step]) -> tuple[list[list[int]], list[int]]:
    """Returns the successors of each step in the dependence graph, and its in-degree."""
    following: list[list[int]] = [[] for _ in steps]
    missing = [0] * len(steps)
    earlier: dict[ir.Buffer, list[tuple[int, Access]]] = {}
    last_call: int | None = None
    for j, step in enumerate(steps):
        needed: set[int] = set()
        own = list(accesses(step))
        for access in own:
            needed |= {i for i, x in earlier.get(access.buffer, ()) if x.conflicts(access)}
        if isinstance(step, ir.SwapBuffers):  # has to stay at the end of the iteration
            needed |= {*range(j)}
        if _calls(step):
            if last_call is not None:
                needed.add(last_call)
            last_call = j
            if j and growth(step) > COSTS.gathered_early:
                needed.add(j - 1)
        for access in own:
            earlier.setdefault(access.buffer, []).append((j, access))
        for i in needed:
            following[i].append(j)
        missing[j] = len(needed)
    return following, missing


def _rejoined(steps: Sequence[ir.Step]) -> list[ir.Step]:
    """Merges waits that directly follow their calls into synchronous calls."""
    joined: list[ir.Step] = []
    for step in steps:
        before = joined[-1] if joined else None
        if isinstance(step, ir.Wait) and before is step.call:
            call = step.call
            assert call.finish is not None, "the call is not asynchronous"
            joined[-1] = replace(call, fn=_both(call.fn, call.finish), finish=None)
        else:
            joined.append(step)
    return joined


def _both(begin: Callable[..., Any], finish: Callable[..., None]) -> Callable[..., None]:
    if isinstance(begin, Procedure) and isinstance(finish, Procedure):
        return Procedure(begin.routines + finish.routines)

    def run(*arrays: Any) -> None:
        begin(*arrays)
        finish(*arrays)

    return run
