"""Static analysis of loops: trip counts, loop-invariant carries and fully overwritten carries."""

from __future__ import annotations

from jitney.compiler.hlo import ir
from jitney.core.util.record import record


@record(frozen=True)
class CountedLoop:
    """A loop that counts from 0 up to `count`.

    Attributes:
      counter: the index of the carry that counts.
      count: the trip count.
    """

    counter: int
    count: int


def count_trips(node: ir.While) -> CountedLoop | None:
    """Returns the counter and trip count of a loop `for (i = 0; i < count; i++)`, else None."""
    test = node.cond.results[0]
    if not isinstance(test, ir.Apply) or test.fn != "lt":
        return None
    i, limit = test.args
    if not isinstance(i, ir.Parameter) or not isinstance(limit, ir.Constant) or i.shape:
        return None
    start, following = node.init[i.index], node.body.results[i.index]
    if (
        not isinstance(start, ir.Constant)
        or start.value != 0
        or not isinstance(following, ir.Apply)
    ):
        return None
    is_next = following.fn == "add" and any(
        x is node.body.parameters[i.index] and isinstance(one, ir.Constant) and one.value == 1
        for x, one in (following.args, following.args[::-1])
    )
    return CountedLoop(i.index, int(limit.value)) if is_next and limit.value > 0 else None


def is_invariant(body: ir.Region, node: ir.Node) -> bool:
    """Returns whether `node` is a parameter of `body` that each iteration returns unchanged."""
    return isinstance(node, ir.Parameter) and body.results[node.index] is node


def is_fully_overwritten(node: ir.While, carry: int) -> bool:
    """Returns whether the loop writes every row of a carry, one in each iteration.

    Such carries are the stacked results of a scan. Their initial values do not matter unless the
    loop reads them as well.
    """
    trips = count_trips(node)
    result = node.body.results[carry]
    if trips is None or not isinstance(result, ir.DynamicUpdateSlice):
        return False
    shape, block = result.x.shape, result.update.shape
    if not shape or (shape[0], block[0]) != (trips.count, 1) or shape[1:] != block[1:]:
        return False
    return covers_all_rows(result.starts[0], node.body.parameters[trips.counter], trips.count)


def covers_all_rows(start: ir.Node, counter: ir.Node, count: int) -> bool:
    """Returns whether `start` is `counter`, or `count` - 1 - `counter`."""
    while isinstance(start, ir.Apply) and start.fn == "convert" and start.dtype.itemsize >= 4:
        (start,) = start.args
    if start is counter:
        return True
    if not isinstance(start, ir.Apply) or start.fn != "sub":
        return False
    last, back = start.args
    return back is counter and isinstance(last, ir.Constant) and last.value == count - 1
