"""Generates kernels as LLVM functions, with loops, SIMD lanes, masks and accumulators.

    i32 kernel(ptr call, ptr params, i64 begin, i64 end)        returns 1 if it has finished

`params` points to the addresses of the buffers. `begin` and `end` are the range of the outermost
loop, so that a kernel can be divided among threads, and so that its code can be used for all sizes
of that loop with the same `Range`.

The code uses explicit vectors. Elements that do not fill a vector are processed by masked
instructions if the target has them, and otherwise by a scalar loop. Each statement is placed in the
outermost loop in which its operands are available. Values that are uniform across lanes are
scalars.
"""

from __future__ import annotations

from collections.abc import Callable

from jitney.compiler.codegen import access, polls
from jitney.compiler.codegen.accumulators import Accumulators
from jitney.compiler.codegen.carried_loop import write_loop
from jitney.compiler.codegen.kernel_costs import is_tile, lanes_hint
from jitney.compiler.codegen.kernel_key import Range
from jitney.compiler.codegen.statements import StatementWriter
from jitney.compiler.codegen.transposed_blocks import TransposedBlocks
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.schedule import outermost
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import Target
from jitney.compiler.llvm.values import (
    BITS,
    Value,
    constant,
    register_kind,
)


class KernelWriter(StatementWriter):
    """A writer of the function of a kernel."""

    def __init__(
        self,
        kernel: Kernel,
        target: Target,
        name: str,
        shared: Emitter,
        bounds: Range,
    ) -> None:
        super().__init__(kernel, target, shared)
        self.name = name
        self.bounds = bounds
        self.polling = polls.polling_position(kernel)
        self.allocas = [] if self.transposed is None else [*self.transposed.allocas]
        self.strip: tuple[Value, Value] | None = None  # the current strip of the reduced axis
        self.one_vector = self._choose_lanes()
        self.vector_lanes = self.one_vector * self._vectors_at_once()

    # --- the function -----------------------------------------------------------------------------

    def text(self) -> str:
        """Returns the definition of the function."""
        e = self.e
        for i in range(len(self.kernel.params)):
            at = e.emit(f"getelementptr inbounds ptr, ptr %params, i64 {i}", "ptr")
            self.pointers.append(e.emit(f"load ptr, ptr {at.text}", "ptr"))
        self._nest(0)
        e.line(f"ret {polls.SUCCEEDED!r}")
        head = f"define i32 @{self.name}(ptr %call, ptr %params, i64 %begin, i64 %end)"
        body = ["entry:", *self.allocas, *e.lines]
        return "\n".join([f"{head} {self.target.function_attributes} {{", *body, "}"])

    def natives(self) -> list[str]:
        """Returns the names of the runtime's functions that the code calls."""
        transposed = [] if self.transposed is None else self.transposed.natives
        return [*transposed, *[polls.POLL] * polls.has_polls(self.kernel)]

    def _choose_lanes(self) -> int:
        """Returns the number of lanes of a vector."""
        axis = self.schedule.vector
        if axis is None or self.bounds.is_short:
            return 1
        widths = [
            BITS[register_kind(s.dtype)]
            for s, varies in zip(self.kernel.body, self.varies, strict=True)
            if varies
        ]
        widest = max(widths, default=32)
        whole = self._indices_of_vectors()
        used = [index for index in self._used_indices() if index not in whole]
        used += [o.index for o in self.kernel.outputs]
        if any(map(self._is_gathered, used)):
            widest = max(widest, BITS[access.WORD])
        lanes = max(self.target.vector_bits // max(widest, 8), 1)
        extent = self.kernel.extents[axis]
        while axis != outermost(self.schedule) and lanes > 1 and lanes >= 2 * extent:
            lanes //= 2
        return lanes

    def _vectors_at_once(self) -> int:
        """Returns the number of vectors per iteration; for tiles, as many as fit in registers."""
        if self.one_vector == 1:
            return 1
        count, sums = lanes_hint(self.kernel, self.schedule), len(self.kernel.outputs)
        if is_tile(self.kernel, self.schedule):
            while count > 1 and (sums + 1) * count + 1 > self.target.vector_registers:
                count //= 2
        return count

    # --- loops ------------------------------------------------------------------------------------

    def _nest(self, position: int) -> None:
        """Writes the statements available at `position` in the loop order, then the inner loops."""
        plan = self.schedule
        n_outer = len(plan.outer)
        reducing = bool(self.kernel.outputs) and isinstance(self.kernel.outputs[0], ir.Reduce)
        start_reduction = n_outer if plan.reduces_lanes or plan.vector is None else n_outer + 1
        if reducing and position == start_reduction:
            self._statements(position)
            self._reductions(position)
            return
        self._statements(position)
        self._emit_loops(position)

    def _emit_loops(self, position: int) -> None:
        """Writes the loops from `position` inwards, with the outputs in the innermost loop."""
        if position == len(self.order):
            if self.kernel.loop is not None:
                write_loop(self, self.kernel.loop)
                return
            for j, o in enumerate(self.kernel.outputs):
                if isinstance(o, ir.Store):
                    self._store_output(j, o)
                else:
                    self._accumulate(j, o)
            return
        axis = self.order[position]
        if self.schedule.strip and axis == self.schedule.vector and self.strip is None:
            self._strips(position)
            return
        if (
            self.transposed is not None
            and axis == self.transposed.transposition.axis
            and self.transposed.ranges is None
        ):
            self._blocks(position, self.transposed)
            return
        low, high = self._bounds(axis)
        if axis != self.schedule.vector or self.vector_lanes == 1:
            self._loop(axis, low, high, 1, position)
            return
        *most, (last, masked) = self._steps()
        for lanes, _ in most:
            count = self.e.sub(high, low)
            remainder = self.e.srem(count, constant(lanes, "i64"))
            whole = self.e.sub(high, remainder)
            self.lanes = lanes
            self._loop(axis, low, whole, lanes, position)
            low = whole
        self.lanes = last
        self._loop(axis, low, high, last, position, masked_to=high if masked else None)
        self.lanes, self.mask = 1, None

    def _steps(self) -> list[tuple[int, bool]]:
        """Returns the loops over the vector axis, in order, as (lanes, whether masked).

        A load with an empty mask is still executed, and stalls on a recent store to the same
        memory. A loop with several vectors per iteration therefore handles only full vectors.
        """
        wide, one = self.vector_lanes, self.one_vector
        whole = (wide, False)
        tail = (one, one > 1) if self.target.has_masks else (1, False)
        axis = self.schedule.vector
        if axis is None or axis == outermost(self.schedule):
            is_divided, has_whole = self.bounds.multiple % wide == 0, True
        else:
            n = self.kernel.extents[axis]
            is_divided, has_whole = n % wide == 0 and n > 0, n >= wide
        if is_divided:
            return [whole]
        if wide == one and self.target.has_masks:
            return [tail]
        return [whole] * has_whole + [tail]

    # --- reductions -------------------------------------------------------------------------------

    def _reductions(self, position: int) -> None:
        """Writes the reduction over the loops from `position` inwards, and stores its results."""
        outputs = self.kernel.outputs
        reductions = [
            (o.fn, self.kernel.body[o.value].dtype) for o in outputs if isinstance(o, ir.Reduce)
        ]
        reduces_lanes = self.schedule.reduces_lanes
        widths = [lanes for lanes, _ in self._steps()] if reduces_lanes else [self.lanes]
        self.accumulators = Accumulators(self.e, reductions, widths)
        self.allocas += self.accumulators.allocas
        if self.strip is not None:
            is_first = self.e.icmp("eq", self.strip[0], constant(0, "i64"))
            for j, o in enumerate(outputs):
                so_far = self.load(ir.Load(o.param, o.index, reductions[j][1]), self.lanes > 1)
                self.accumulators.resume(j, so_far, unless=is_first)
        self._emit_loops(position)
        for j, o in enumerate(outputs):
            value = self.accumulators.reduced(j) if reduces_lanes else self.accumulators.value(j)
            self.store(o, value)

    def _accumulate(self, j: int, o: ir.Reduce) -> None:
        """Writes the accumulation of the value of a point into output j."""
        factor = None if o.factor is None else self.value(o.factor)
        self.accumulators.add(j, self.value(o.value), self._fold_mask(), factor)

    def _fold_mask(self) -> Value | None:
        """Returns the mask of lanes to reduce; None for all lanes, or if lanes are not reduced."""
        return self.mask if self.schedule.reduces_lanes else None

    def _bounds(self, axis: int) -> tuple[Value, Value]:
        ranges = None if self.transposed is None else self.transposed.ranges
        if ranges is not None and axis in ranges:
            return ranges[axis]
        if axis == outermost(self.schedule):
            return Value("%begin", "i64"), Value("%end", "i64")
        if self.strip is not None and axis == self.order[-1]:
            return self.strip
        return constant(0, "i64"), constant(self.kernel.extents[axis], "i64")

    def _loop(
        self,
        axis: int,
        low: Value,
        high: Value,
        step: int,
        position: int,
        masked_to: Value | None = None,
    ) -> None:
        """Writes a loop over `axis` from `low` to `high` around the nest at position + 1."""

        def body(counter: Value) -> None:
            self.state.counters[axis] = counter
            if masked_to is not None:
                self.remaining = self.e.sub(masked_to, counter)
                self.mask = access.lanes_below(self.e, self.remaining, step)
            if position == self.polling:
                polls.poll(self.e)
            self._extend_addresses(axis, counter)
            self._nest(position + 1)

        self._count(low, high, step, body)

    def _strips(self, position: int) -> None:
        """Writes a loop over strips of the reduced axis.

        It contains the loops from `position` inwards.
        """
        high = constant(self.kernel.extents[self.order[-1]], "i64")
        step = self.schedule.strip

        def body(begin: Value) -> None:
            end = self.e.add(begin, constant(step, "i64"))
            self.strip = begin, self.e.intrinsic("llvm.smin", [end, high])
            self._emit_loops(position)
            self.strip = None

        self._count(constant(0, "i64"), high, step, body)

    def _blocks(self, position: int, transposed: TransposedBlocks) -> None:
        """Writes loops over transposed blocks around the loops from `position` inwards."""

        def block() -> None:
            types = self.kernel.params
            transposed.fill(
                self.e, lambda p, at: self._pointer(p, at, types[p]), self.state.addresses
            )
            self._emit_loops(position)

        whole = self._bounds(transposed.transposition.axis), self._bounds(transposed.vector)
        transposed.loops(self.e, self._count, whole, block)

    def _count(self, low: Value, high: Value, step: int, body: Callable[[Value], None]) -> None:
        """Writes the loop for (i = low; i < high; i += step); `body` writes its body, given i."""
        e = self.e
        n = e.fresh()[1:]
        before = e.block
        e.jump(f"head.{n}")
        e.label(f"head.{n}")
        counter = Value(f"%i.{n}", "i64")
        place = len(e.lines)
        e.lines.append("")  # the phi, which is completed after the body
        e.branch(e.icmp("slt", counter, high), f"body.{n}", f"done.{n}")
        e.label(f"body.{n}")
        outside = self.state
        self.state = outside.copy()
        body(counter)
        self.state = outside
        after = e.emit(f"add nsw {counter!r}, {step}", "i64")
        end = e.block
        e.jump(f"head.{n}")
        e.lines[place] = (
            f"  {counter.text} = phi i64 [{low.text}, %{before}], [{after.text}, %{end}]"
        )
        e.label(f"done.{n}")
