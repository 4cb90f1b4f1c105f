"""Generates loop kernels as vectorized LLVM functions, in which carried scalars are phi nodes."""

from __future__ import annotations

from jitney.compiler.codegen.kernel import KernelWriter
from jitney.compiler.codegen.kernel_key import Range, body_cost, statement_key
from jitney.compiler.codegen.polls import Countdown, Strips, Unwatched, has_polls
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine
from jitney.compiler.kernels.loop_kernel import (
    CarrySlot,
    LoopCarried,
    LoopKernel,
    changing_statements,
    counted_by,
    varying,
)
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import Target
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.convert import convert


def loop_key(kernel: LoopKernel) -> tuple[object, ...]:
    """Returns a key that is equal for loop kernels with equal code.

    The number of lanes is not part of it, since it is a parameter of the code.
    """
    return (
        len(kernel.extents), kernel.params, kernel.carried,
        tuple([statement_key(s) for s in kernel.body]), kernel.condition, kernel.next_values,
        tuple([(o.param, o.index, o.value) for o in kernel.outputs]), has_polls(kernel),
    )  # fmt: skip


class LoopWriter(KernelWriter):
    """A writer of the function of a loop kernel."""

    def __init__(
        self, kernel: LoopKernel, target: Target, name: str, shared: Emitter, bounds: Range
    ) -> None:
        self.loop = kernel
        super().__init__(kernel, target, name, shared, bounds)
        self.varies = varying(kernel)
        self.changing = changing_statements(kernel)

    def _statements(self, position: int) -> None:
        """Writes nothing, since all statements are written together, in and around the loop."""

    def _emit_loops(self, position: int) -> None:
        if position < len(self.order):
            super()._emit_loops(position)
            return
        kernel = self.loop
        e = self.e
        for i, s in enumerate(kernel.body):
            if not self.changing[i]:
                self.state.values[i] = self._statement(i, s)
        starts = [self._lanes_of(self._start(p), p.varies) for p in kernel.carried]
        n = e.fresh()[1:]
        watch = self._watch(f"loop.{n}", starts)
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
            if isinstance(s, LoopCarried):
                self.state.values[i] = phis[s.index]
        if isinstance(watch, Strips):
            watch.branch(phis[watch.counter], f"body.{n}", f"end.{n}")
        else:
            e.branch(self._condition(), f"body.{n}", f"end.{n}")
        e.label(f"body.{n}")
        for i, s in enumerate(kernel.body):
            if i not in self.state.values:
                self.state.values[i] = self._statement(i, s)
        for o in kernel.outputs:
            value = self.state.values[o.value]
            if self.lanes > 1 and self._lane_stride(o.index):
                value = self._value(o.value)
            self._store(o, value)
        next_values = [
            self._lanes_of(self.state.values[f], p.varies)
            for f, p in zip(kernel.next_values, kernel.carried, strict=True)
        ]
        ends = watch.repeat()
        for place, phi, start, value in zip(places, phis, starts, next_values, strict=True):
            edges = [f"[{start.text}, %{before}]"]
            edges += [f"[{(value if is_next else phi).text}, %{b}]" for b, is_next in ends]
            e.lines[place] = f"  {phi.text} = phi {phi.type} {', '.join(edges)}"
        e.label(f"end.{n}")
        for p, phi in zip(kernel.carried, phis, strict=True):
            self._store_value(p.finish, p.index, p.dtype, phi)

    def _start(self, place: CarrySlot) -> Value:
        """Returns the initial value of a carried scalar."""
        stored = self.loop.params[place.start]
        load = ir.Load(place.start, place.index, stored)
        value = self._load(load, place.varies and self.lanes > 1)
        held = convert(self.e, value, stored, place.dtype)
        assert held is not None, "stored dtypes can be converted"
        return held

    def _watch(self, head: str, starts: list[Value]) -> Strips | Countdown | Unwatched:
        """Returns the object that writes the loop's polls for signals.

        This method must be called while the block before the loop is being written.
        """
        kernel = self.loop
        if not has_polls(kernel):
            return Unwatched(self.e, head)
        cost = body_cost(kernel)
        counted = counted_by(kernel)
        if counted is None:
            return Countdown(self.e, head, cost)
        counter, bound = counted
        limit = self.state.values.get(bound)
        assert limit is not None, "a loop-invariant bound is defined before the loop"
        return Strips(self.e, head, cost, counter, starts[counter], limit)

    def _condition(self) -> Value:
        """Returns whether any lane continues."""
        kernel = self.loop
        needed = self._needed_for(kernel.condition)
        for i, s in enumerate(kernel.body):
            if i in needed and i not in self.state.values:
                self.state.values[i] = self._statement(i, s)
        flag = self.state.values[kernel.condition]
        if flag.lanes > 1:
            if self.mask is not None:
                flag = self.e.and_(flag, self.mask)
            flag = self.e.any(flag)
        return flag

    def _used_indices(self) -> list[Affine]:
        indices = super()._used_indices()
        return list(dict.fromkeys([*indices, *(p.index for p in self.loop.carried)]))

    def _lanes_of(self, value: Value, varies: bool) -> Value:
        return self.e.splat(value, self.lanes) if varies and value.lanes != self.lanes else value

    def _needed_for(self, statement: int) -> set[int]:
        needed: set[int] = set()
        stack = [statement]
        while stack:
            i = stack.pop()
            if i in needed:
                continue
            needed.add(i)
            s = self.loop.body[i]
            if isinstance(s, ir.Call):
                stack.extend(s.args)
            elif isinstance(s, ir.Load | ir.IndexValue):
                stack.extend(t for t, _ in s.index.terms)
        return needed
