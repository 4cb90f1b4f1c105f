"""Reorders collectives to save memory: gathers run late, and reduce-scatters early.

Steps are in topological order, so a step without dependences, such as a gather of weights, comes
first. Without reordering, all gathered weights of a program would be in memory at the same time, as
would all gradients before the first one is scattered.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler.plan import ir


def order_collectives(steps: Sequence[ir.Step]) -> list[ir.Step]:
    """Moves collectives with results larger or smaller than their operands.

    A gather is moved directly before the first step that reads its result, and a reduce-scatter
    directly after the last step that writes its operand.
    """
    if not any([growth(step) for step in ir.all_steps(steps)]):
        return [*steps]
    ordered = [ir.with_inner(step, order_collectives) for step in steps]
    for i in reversed(range(len(ordered))):
        if growth(ordered[i]) > 0:
            ordered.insert(_neighbor(ordered, i, 1) - 1, ordered.pop(i))
    for i in range(len(ordered)):
        if growth(ordered[i]) < 0:
            ordered.insert(_neighbor(ordered, i, -1) + 1, ordered.pop(i))
    return ordered


def growth(step: ir.Step) -> int:
    """Returns the result's size minus the operand's size of a collective, in bytes.

    It is 0 for all other steps. Collectives between processes are asynchronous host calls.
    """
    match step:
        case ir.Collective(args=(x,), result=result):
            return result.nbytes - x.nbytes
        case ir.HostCall(args=((x, _),), results=((result, _),), finish=finish) if finish:
            return result.nbytes - x.nbytes
        case _:
            return 0


def _neighbor(steps: Sequence[ir.Step], i: int, direction: int) -> int:
    """Returns the index of the nearest step that shares a buffer with step `i`.

    If there is none in that direction, it is the end of `steps`.
    """
    own = {*ir.touched(steps[i])}
    j = i + direction
    while 0 <= j < len(steps) and own.isdisjoint(ir.all_touched(steps[j])):
        j += direction
    return j
