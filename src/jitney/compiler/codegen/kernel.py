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

import numpy as np

from jitney.compiler.codegen import access, interleaved, polls, strided
from jitney.compiler.codegen.accumulators import Accumulators
from jitney.compiler.codegen.dependence import dependence
from jitney.compiler.codegen.grouped_loads import GroupedLoads, mask_of_several, memory_kind
from jitney.compiler.codegen.kernel_key import Range, is_tile, lanes_hint
from jitney.compiler.codegen.nest_state import State
from jitney.compiler.codegen.transposed_blocks import TransposedBlocks
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.effort import called_functions
from jitney.compiler.kernels.ir import Affine, Kernel
from jitney.compiler.kernels.loop_kernel import LoopCarried, LoopKernel, LoopStatement
from jitney.compiler.kernels.schedule import loop_order, outermost, schedule
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import Target
from jitney.compiler.llvm.values import (
    BITS,
    Value,
    constant,
    constant_vector,
    memory_bytes,
    register_kind,
    type_text,
)
from jitney.compiler.scalar import complexes, powers, table
from jitney.compiler.scalar_functions import lookup
from jitney.compiler.scalar_functions.declaration import Part

_POWERS = ("f32", "f64")  # kinds with shorter code for some constant powers


class KernelWriter:
    """A writer of the function of a kernel."""

    def __init__(
        self,
        kernel: Kernel | LoopKernel,
        target: Target,
        name: str,
        shared: Emitter,
        bounds: Range,
    ) -> None:
        self.kernel = kernel
        self.bounds = bounds
        self.target = target
        self.name = name
        self.schedule = schedule(kernel)
        self.e = Emitter(target, shared)
        plan = self.schedule
        self.order = loop_order(plan)
        self.depth, self.varies = dependence(kernel, self.order, plan.vector)
        self.polling = polls.polling_position(kernel)
        self.state = State()
        self.pointers: list[Value] = []
        self.allocas: list[str] = []
        self.lanes = 1  # lanes of the loop that is being written
        self.mask: Value | None = None
        self.guarded = False  # whether the mask includes the condition of a store
        self.remaining: Value | None = None  # iterations left, in a masked loop
        self.strip: tuple[Value, Value] | None = (
            None  # range of the current strip of the reduced axis
        )
        self.grouped = GroupedLoads(kernel, plan.vector, self.varies, target)
        self.stored_together = interleaved.stored_together(kernel.outputs, plan.vector, self.varies)
        self.stored_along = {
            j for leader, group in self.stored_together.items() for j in group if j != leader
        }
        self.outlined = called_functions(kernel.body)
        self.transposed: TransposedBlocks | None = None
        if plan.transposition is not None and plan.vector is not None:
            self.transposed = TransposedBlocks(plan.transposition, plan.vector, kernel.params)
            self.allocas += self.transposed.allocas
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
                so_far = self._load(ir.Load(o.param, o.index, reductions[j][1]), self.lanes > 1)
                self.accumulators.resume(j, so_far, unless=is_first)
        self._emit_loops(position)
        for j, o in enumerate(outputs):
            value = self.accumulators.reduced(j) if reduces_lanes else self.accumulators.value(j)
            self._store(o, value)

    def _accumulate(self, j: int, o: ir.Reduce) -> None:
        """Writes the accumulation of the value of a point into output j."""
        factor = None if o.factor is None else self._value(o.factor)
        self.accumulators.add(j, self._value(o.value), self._fold_mask(), factor)

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

    # --- addresses ----------------------------------------------------------------------------------

    def _extend_addresses(self, axis: int, counter: Value) -> None:
        """Adds the contribution of the loop over `axis` to the linear positions used in it."""
        e, state = self.e, self.state
        products: dict[int, Value] = {}
        # Positions that differ by a constant share the variable part of their addresses.
        for coefficients in dict.fromkeys([i.coefficients for i in self._used_indices()]):
            if not (c := coefficients[axis]):
                continue
            part = products.get(c)
            if part is None:
                part = counter if c == 1 else e.mul(counter, constant(c, "i64"))
                products[c] = part
            known = state.addresses.get(coefficients)
            state.addresses[coefficients] = part if known is None else e.add(known, part)

    def _used_indices(self) -> list[Affine]:
        indices = getattr(self, "_indices", None)
        if indices is None:
            all_used = [s.index for s in self.kernel.body if isinstance(s, ir.Load | ir.IndexValue)]
            all_used += [o.index for o in self.kernel.outputs]
            indices = self._indices = list(dict.fromkeys(all_used))
        return indices

    def _indices_of_vectors(self) -> set[Affine]:
        """Returns the indices at which every load is grouped or reads a transposed block."""
        transposed = {} if self.transposed is None else self.transposed.places
        loads = [(s.param, s.index) for s in self.kernel.body if isinstance(s, ir.Load)]
        alone = [place for place in loads if place not in self.grouped and place not in transposed]
        return {index for _, index in loads} - {index for _, index in alone}

    def _address(self, index: Affine) -> tuple[Value, Value | None]:
        """Returns the uniform part and the per-lane part of a linear position, as i64.

        The per-lane part is None if the lanes are contiguous or all at the same position.
        """
        e = self.e
        base = self.state.addresses.get(index.coefficients, constant(0, "i64"))
        if index.offset:
            base = e.add(base, constant(index.offset, "i64"))
        per_lane: Value | None = None
        for statement, factor in index.terms:
            value = self.state.values[statement]
            wide = access.as_i64(e, value, self.kernel.body[statement].dtype)
            if factor != 1:
                wide = e.mul(wide, constant(factor, "i64", wide.lanes))
            if wide.lanes == 1:
                base = e.add(base, wide)
            else:
                per_lane = wide if per_lane is None else e.add(per_lane, wide)
        c = self._lane_stride(index)
        if self.lanes > 1 and c and (per_lane is not None or c != 1):
            steps = constant_vector(tuple([c * j for j in range(self.lanes)]), "i64")
            per_lane = steps if per_lane is None else e.add(per_lane, steps)
        return base, per_lane

    def _is_gathered(self, index: Affine) -> bool:
        """Returns whether lanes at `index` are neither contiguous nor all at the same position."""
        return self._lane_stride(index) not in (0, 1) or any(self.varies[t] for t, _ in index.terms)

    def _is_strided_store(self, index: Affine) -> bool:
        """Returns whether lanes are stored at `index` by shuffles and contiguous vector stores.

        Strides other than -1 require masked stores.
        """
        stride = self._lane_stride(index)
        if any(self.varies[t] for t, _ in index.terms):
            return False
        return stride == -1 or (self.target.has_masks and strided.is_strided(stride, self.target))

    def _lane_stride(self, index: Affine) -> int:
        axis = self.schedule.vector
        return 0 if axis is None else index.coefficients[axis]

    def _pointer(self, param: int, position: Value, dtype: np.dtype) -> Value:
        element = type_text(memory_kind(dtype))
        base = self.pointers[param]
        lanes = position.lanes
        return self.e.emit(f"getelementptr {element}, {base!r}, {position!r}", "ptr", lanes)

    # --- statements -------------------------------------------------------------------------------

    def _statements(self, position: int) -> None:
        """Writes the statements that become available at `position`."""
        for i, s in enumerate(self.kernel.body):
            if self.depth[i] == position:
                self.state.values[i] = self._statement(i, s)

    def _value(self, i: int) -> Value:
        """Returns the value of statement i in all lanes."""
        value = self.state.values[i]
        if self.lanes == 1 or value.lanes == self.lanes:
            return value
        splat = self.state.splats.get(i)
        if splat is None:
            splat = self.state.splats[i] = self.e.splat(value, self.lanes)
        return splat

    def _statement(self, i: int, s: LoopStatement) -> Value:
        e = self.e
        varies = self.varies[i] and self.lanes > 1
        match s:
            case LoopCarried():
                raise AssertionError("carried values are defined at the head of the loop")
            case ir.Const():
                return _constant(s.value)
            case ir.IndexValue():
                return self._position(s, varies)
            case ir.Load():
                return self._load(s, varies)
            case ir.Call():
                args = [self._value(a) if varies else self.state.values[a] for a in s.args]
                dtypes = [self.kernel.body[a].dtype for a in s.args]
                dtype = dtypes[1] if s.fn == "select" else dtypes[0]
                if s.fn in self.outlined:
                    return self._outlined(s, dtype, args)
                exponent = self.kernel.body[s.args[-1]]
                result: Value | None = None
                if s.fn == "pow" and isinstance(exponent, ir.Const) and args[0].kind in _POWERS:
                    result = powers.constant_power(e, args[0], float(exponent.value))
                part = lookup(s.fn).part
                if part is not None:
                    return self._complex_part(part, s, args)
                if result is None:
                    result = table.emit(e, s.fn, dtype, args, s.dtype)
                assert result is not None, f"no code for {s.fn} of {dtype}"
                return result

    def _complex_part(self, part: Part, s: ir.Call, args: list[Value]) -> Value:
        """Returns one component of a complex function; both are computed on first use."""
        key = (part.of.fn, s.args)
        parts = self.state.shared.get(key)
        if parts is None:
            parts = self.state.shared[key] = complexes.evaluate(self.e, part.of, args)
        return parts[part.which]

    def _outlined(self, s: ir.Call, dtype: np.dtype, args: list[Value]) -> Value:
        """Writes a call of a function that computes `s` and is defined once in the module."""

        def body(inner: Emitter, params: list[Value]) -> Value:
            result = table.emit(inner, s.fn, dtype, params, s.dtype)
            assert result is not None
            return result

        kind = register_kind(s.dtype)
        return self.e.outline(f"jitney.{s.fn}.{dtype.name}.{s.dtype.name}", args, kind, body)

    def _position(self, s: ir.IndexValue, varies: bool) -> Value:
        e = self.e
        base, per_lane = self._address(s.index)
        kind = register_kind(s.dtype)
        base = e.trunc(base, kind)
        if not varies:
            return base
        whole = e.splat(base, self.lanes)
        if per_lane is not None:
            return e.add(whole, e.trunc(per_lane, kind))
        c = self._lane_stride(s.index)
        steps = constant_vector(tuple([c * j for j in range(self.lanes)]), kind)
        return e.add(whole, steps)

    def _load(self, s: ir.Load, varies: bool) -> Value:
        e = self.e
        place = (s.param, s.index)
        if varies and place in self.grouped:

            def pointer_at(index: Affine) -> Value:
                return self._pointer(s.param, self._address(index)[0], s.dtype)

            shared, remaining = self.state.shared, self._needed_lanes()
            return self.grouped.load(e, shared, place, s.dtype, pointer_at, self.lanes, remaining)
        if varies and self.transposed is not None and place in self.transposed:
            counters, masks = self.state.counters, (self.mask, self._needed_lanes())
            shared = self.state.shared
            value = self.transposed.load(e, shared, place, counters, self.lanes, masks)
            return e.trunc(value, "i1") if s.dtype == np.bool_ else value
        base, per_lane = self._address(s.index) if varies else self._uniform_address(s.index)
        memory = memory_kind(s.dtype)
        size = memory_bytes(memory)
        pointer = self._pointer(s.param, base, s.dtype)
        if not varies:
            value = e.emit(f"load {type_text(memory)}, {pointer!r}, align {size}", memory)
        elif per_lane is None:
            value = access.load_vector(e, pointer, memory, self.lanes, self.mask)
        else:
            pointers = e.emit(
                f"getelementptr {type_text(memory)}, {pointer!r}, {per_lane!r}", "ptr", self.lanes
            )
            value = access.gather(e, pointers, memory, self.mask)
        return e.trunc(value, "i1") if s.dtype == np.bool_ else value

    def _uniform_address(self, index: Affine) -> tuple[Value, None]:
        base, per_lane = self._address(index)
        assert per_lane is None or self._lane_stride(index) == 0
        return base, None

    def _needed_lanes(self) -> Value | None:
        """Returns the number of remaining lanes if the loop is masked, else None."""
        return None if self.mask is None else self.remaining

    # --- outputs ----------------------------------------------------------------------------------

    def _store_output(self, j: int, o: ir.Store) -> None:
        """Writes the store of output j, unless it is grouped with an earlier store."""
        if o.where is not None:
            self._guarded_store(o, o.where)
            return
        if self.lanes == 1 or j not in self.stored_together:
            if self.lanes == 1 or j not in self.stored_along:
                self._store(o, self._value(o.value))
            return
        dtype = self.kernel.params[o.param]
        values = [self.kernel.outputs[member].value for member in self.stored_together[j]]
        parts = [self._as_stored(self._value(i), self.kernel.body[i].dtype, dtype) for i in values]
        pointer = self._pointer(o.param, self._address(o.index)[0], dtype)
        remaining = self._needed_lanes()
        mask = mask_of_several(self.e, self.state.shared, remaining, len(parts), self.lanes)
        access.store_vector(self.e, interleaved.merge(self.e, parts), pointer, mask)

    def _guarded_store(self, o: ir.Store, where: int) -> None:
        """Writes a store conditional on statement `where`, by a branch or by the mask."""
        e, condition = self.e, self.state.values[where]
        if condition.lanes > 1:
            outside = self.mask
            self.mask = condition if outside is None else e.and_(outside, condition)
            self.guarded = True
            self._store(o, self._value(o.value))
            self.mask, self.guarded = outside, False
            return
        n = e.fresh()[1:]
        e.branch(condition, f"write.{n}", f"written.{n}", is_likely=True)
        e.label(f"write.{n}")
        self._store(o, self._value(o.value))
        e.jump(f"written.{n}")
        e.label(f"written.{n}")

    def _store(self, o: ir.Store | ir.Reduce, value: Value) -> None:
        """Writes a store of `value`, in the dtype of its statement, to the output's buffer."""
        self._store_value(o.param, o.index, self.kernel.body[o.value].dtype, value)

    def _store_value(self, param: int, index: Affine, source: np.dtype, value: Value) -> None:
        """Writes a store of `value`, of dtype `source`, to a buffer in all lanes."""
        e = self.e
        dtype = self.kernel.params[param]
        value = self._as_stored(value, source, dtype)
        memory = memory_kind(dtype)
        size = memory_bytes(memory)
        base, per_lane = self._address(index)
        pointer = self._pointer(param, base, dtype)
        if value.lanes == 1:
            e.line(f"store {value!r}, {pointer!r}, align {size}")
            return
        if per_lane is None and self._lane_stride(index):
            access.store_vector(e, value, pointer, self.mask)
            return
        stride = self._lane_stride(index)
        if self._is_strided_store(index) and not self.guarded:
            strided.store(e, value, pointer, stride, self._needed_lanes())
            return
        if per_lane is None:  # all lanes have the same position: the last one wins
            per_lane = constant(0, "i64", self.lanes)
        pointers = e.emit(
            f"getelementptr {type_text(memory)}, {pointer!r}, {per_lane!r}", "ptr", self.lanes
        )
        access.scatter(e, value, pointers, self.mask)

    def _as_stored(self, value: Value, source: np.dtype, dtype: np.dtype) -> Value:
        """Returns `value`, of dtype `source`, converted to the elements of a buffer of `dtype`."""
        if source != dtype:
            converted = table.emit(self.e, "convert", source, [value], dtype)
            assert converted is not None
            value = converted
        return self.e.zext(value, "i8") if dtype == np.bool_ else value


def _constant(value: np.ndarray) -> Value:
    number = value.astype(np.float64) if value.dtype.kind in "fV" else value
    return constant(number.item(), register_kind(value.dtype))
