"""Generates the loop of a kernel (`ir.While`), with its carries as phi nodes."""

from __future__ import annotations

from collections.abc import Iterable

from jitney.compiler.codegen.kernel_costs import body_cost
from jitney.compiler.codegen.polls import Countdown, Strips, Unwatched, has_polls
from jitney.compiler.codegen.statements import StatementWriter
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.while_analysis import counter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.convert import convert


def write_loop(w: StatementWriter, loop: ir.While) -> None:
    """Writes `loop`, that of the kernel of `w`, at the point or vector of points of `w`.

    All statements that do not depend on the loop have been written.
    """
    e, kernel = w.e, w.kernel
    starts = [_in_lanes(w, _start(w, carry), carry.varies) for carry in loop.carries]
    n = e.fresh()[1:]
    watch = _watch(w, loop, f"loop.{n}", starts)
    before = e.block
    e.jump(f"loop.{n}")
    e.label(f"loop.{n}")
    watch.begin(before)
    phis: list[Value] = []
    places: list[int] = []
    for start in starts:
        phis.append(Value(e.fresh(), start.kind, start.lanes))
        places.append(len(e.lines))
        e.lines.append("")  # completed after the body
    for i, s in enumerate(kernel.body):
        if isinstance(s, ir.Carried):
            w.state.values[i] = phis[s.carry]
    if isinstance(watch, Strips):
        watch.branch(phis[watch.counter], f"body.{n}", f"end.{n}")
    else:
        e.branch(_condition(w, loop), f"body.{n}", f"end.{n}")
    e.label(f"body.{n}")
    _write_missing(w, range(len(kernel.body)))
    for o in kernel.outputs:
        is_by_lane = w.lanes > 1 and w.lane_stride(o.index)
        w.store(o, w.value(o.value) if is_by_lane else w.state.values[o.value])
    next_values = [
        _in_lanes(w, w.state.values[i], carry.varies)
        for i, carry in zip(loop.next_values, loop.carries, strict=True)
    ]
    ends = watch.repeat()
    for place, phi, start, value in zip(places, phis, starts, next_values, strict=True):
        edges = [f"[{start.text}, %{before}]"]
        edges += [f"[{(value if is_next else phi).text}, %{b}]" for b, is_next in ends]
        e.lines[place] = f"  {phi.text} = phi {phi.type} {', '.join(edges)}"
    e.label(f"end.{n}")
    for carry, phi in zip(loop.carries, phis, strict=True):
        w.store_value(carry.finish, carry.index, carry.dtype, phi)


def _start(w: StatementWriter, carry: ir.Carry) -> Value:
    """Returns the initial value of a carry."""
    stored = w.kernel.params[carry.start]
    load = ir.Load(carry.start, carry.index, stored)
    held = convert(w.e, w.load(load, carry.varies and w.lanes > 1), stored, carry.dtype)
    assert held is not None, "stored dtypes can be converted"
    return held


def _watch(
    w: StatementWriter, loop: ir.While, head: str, starts: list[Value]
) -> Strips | Countdown | Unwatched:
    """Returns the object that writes the loop's polls for signals.

    This function must be called while the block before the loop is being written.
    """
    if not has_polls(w.kernel):
        return Unwatched(w.e, head)
    cost = body_cost(w.kernel)
    counted = counter(w.kernel, loop)
    if counted is None:
        return Countdown(w.e, head, cost)
    carry, bound = counted
    return Strips(w.e, head, cost, carry, starts[carry], w.state.values[bound])


def _condition(w: StatementWriter, loop: ir.While) -> Value:
    """Returns whether any lane continues."""
    needed: set[int] = set()
    stack = [loop.condition]
    while stack:
        i = stack.pop()
        if i not in needed:
            needed.add(i)
            stack.extend(_operands(w.kernel.body[i]))
    _write_missing(w, sorted(needed))
    flag = w.state.values[loop.condition]
    if flag.lanes > 1:
        if w.mask is not None:
            flag = w.e.and_(flag, w.mask)
        flag = w.e.any(flag)
    return flag


def _operands(s: ir.Statement) -> tuple[int, ...]:
    """Returns the statements that `s` uses."""
    match s:
        case ir.Call():
            return s.args
        case ir.Load() | ir.IndexValue():
            return tuple([t for t, _ in s.index.terms])
        case ir.Const() | ir.Carried():
            return ()


def _write_missing(w: StatementWriter, statements: Iterable[int]) -> None:
    """Writes those of the given statements, in ascending order, that are not available yet."""
    for i in statements:
        if i not in w.state.values:
            w.state.values[i] = w.statement(i, w.kernel.body[i])


def _in_lanes(w: StatementWriter, value: Value, varies: bool) -> Value:
    return w.e.splat(value, w.lanes) if varies and value.lanes != w.lanes else value
