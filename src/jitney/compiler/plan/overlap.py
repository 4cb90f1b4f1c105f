"""Calls that go on, and work beside them.

A call with `finish` begins something that others do: messages between processes. What does not need its
results is done before they are waited for. Steps are put into another order for that: calls as soon as
their operands are there, in their own order, then all that can be done, and a wait when nothing else
can. (What makes much of little, as a gather of weights does, is not begun before its turn: all that
such calls make would be there at once.) A wait that nothing can be done before is a part of its call
again.

Steps keep their order where one writes what the other touches (`accesses`), so results do not depend on
it. Buffers have no places in memory yet: those are for the new order.
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
from jitney.core.record import replace

# What goes first among steps that can be done.
_CALL, _OTHER, _WAIT = range(3)


def overlap(steps: list[ir.Step]) -> list[ir.Step]:
    """The steps of a program, in an order in which calls overlap with work."""
    if not any(map(_goes_on, steps)):
        return steps
    divided: list[ir.Step] = []
    for step in steps:
        divided.append(ir.with_inner(step, overlap))
        if isinstance(step, ir.HostCall) and step.finish is not None:
            divided.append(ir.Wait(step))
    return _rejoined(_scheduled(divided))


def _goes_on(step: ir.Step) -> bool:
    """Whether a step is, or has within it, a call that goes on."""
    return any([isinstance(x, ir.HostCall) and x.finish is not None for x in ir.all_steps([step])])


def _scheduled(steps: Sequence[ir.Step]) -> list[ir.Step]:
    """`steps` in an order that keeps to their dependences."""
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
    assert len(order) == len(steps), "dependences go forward"
    return order


def _rank(step: ir.Step) -> int:
    if isinstance(step, ir.Wait):
        return _WAIT
    return _CALL if _calls(step) else _OTHER


def _calls(step: ir.Step) -> bool:
    """Whether a step calls Python, itself or within it: such steps keep their order."""
    return any([isinstance(x, ir.HostCall) for x in ir.all_steps([step])])


def _dependences(steps: Sequence[ir.Step]) -> tuple[list[list[int]], list[int]]:
    """For each step which later ones need it, and how many earlier ones it needs."""
    following: list[list[int]] = [[] for _ in steps]
    missing = [0] * len(steps)
    earlier: dict[ir.Buffer, list[tuple[int, Access]]] = {}
    last_call: int | None = None
    for j, step in enumerate(steps):
        needed: set[int] = set()
        own = list(accesses(step))
        for access in own:
            needed |= {i for i, x in earlier.get(access.buffer, ()) if x.conflicts(access)}
        if isinstance(step, ir.SwapBuffers):  # ends an iteration
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
    """`steps` with waits that directly follow their calls made parts of these."""
    joined: list[ir.Step] = []
    for step in steps:
        before = joined[-1] if joined else None
        if isinstance(step, ir.Wait) and before is step.call:
            call = step.call
            assert call.finish is not None, "a call that goes on"
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
