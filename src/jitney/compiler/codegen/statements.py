"""Generates the statements of kernels at one point, or one vector of points, of a loop nest.

Values that are uniform across lanes are scalars, all others are vectors with an element per lane.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.codegen import access, interleaved, strided
from jitney.compiler.codegen.dependence import dependence
from jitney.compiler.codegen.grouped_loads import GroupedLoads, mask_of_several, memory_kind
from jitney.compiler.codegen.nest_state import State
from jitney.compiler.codegen.transposed_blocks import TransposedBlocks
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.effort import called_functions
from jitney.compiler.kernels.ir import Affine, Kernel
from jitney.compiler.kernels.schedule import indices, loop_order, schedule
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import Target
from jitney.compiler.llvm.values import (
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


class StatementWriter:
    """A writer of the statements and stores of a kernel.

    Attributes:
      kernel: the kernel.
      e: the emitter to which the code is written.
      state: the values available where code is being written.
      lanes: the number of lanes of the loop that is being written.
      mask: the active lanes; None if all of them are.
      remaining: the number of remaining iterations of a masked loop, else None.
      depth: the number of loops around each statement.
      varies: whether each statement differs between lanes.
    """

    def __init__(self, kernel: Kernel, target: Target, shared: Emitter) -> None:
        self.kernel = kernel
        self.target = target
        self.schedule = schedule(kernel)
        self.e = Emitter(target, shared)
        plan = self.schedule
        self.order = loop_order(plan)
        self.depth, self.varies = dependence(kernel, self.order, plan.vector)
        self.state = State()
        self.pointers: list[Value] = []
        self.lanes = 1
        self.mask: Value | None = None
        self.remaining: Value | None = None
        self._guarded = False  # whether the mask includes the condition of a store
        self._indices: list[Affine] | None = None
        self._grouped = GroupedLoads(kernel, plan.vector, self.varies, target)
        self._stored_together = interleaved.stored_together(
            kernel.outputs, plan.vector, self.varies
        )
        self._stored_along = {
            j for leader, group in self._stored_together.items() for j in group if j != leader
        }
        self._outlined_functions = called_functions(kernel.body)
        self.transposed: TransposedBlocks | None = None
        if plan.transposition is not None and plan.vector is not None:
            self.transposed = TransposedBlocks(plan.transposition, plan.vector, kernel.params)

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
        if self._indices is None:
            self._indices = list(dict.fromkeys(indices(self.kernel)))
        return self._indices

    def _indices_of_vectors(self) -> set[Affine]:
        """Returns the indices at which every load is grouped or reads a transposed block."""
        transposed = {} if self.transposed is None else self.transposed.places
        loads = [(s.param, s.index) for s in self.kernel.body if isinstance(s, ir.Load)]
        alone = [place for place in loads if place not in self._grouped and place not in transposed]
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
        c = self.lane_stride(index)
        if self.lanes > 1 and c and (per_lane is not None or c != 1):
            steps = constant_vector(tuple([c * j for j in range(self.lanes)]), "i64")
            per_lane = steps if per_lane is None else e.add(per_lane, steps)
        return base, per_lane

    def _is_gathered(self, index: Affine) -> bool:
        """Returns whether lanes at `index` are neither contiguous nor all at the same position."""
        return self.lane_stride(index) not in (0, 1) or any(self.varies[t] for t, _ in index.terms)

    def _is_strided_store(self, index: Affine) -> bool:
        """Returns whether lanes are stored at `index` by shuffles and contiguous vector stores.

        Strides other than -1 require masked stores.
        """
        stride = self.lane_stride(index)
        if any(self.varies[t] for t, _ in index.terms):
            return False
        return stride == -1 or (self.target.has_masks and strided.is_strided(stride, self.target))

    def lane_stride(self, index: Affine) -> int:
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
                self.state.values[i] = self.statement(i, s)

    def value(self, i: int) -> Value:
        """Returns the value of statement i in all lanes."""
        value = self.state.values[i]
        if self.lanes == 1 or value.lanes == self.lanes:
            return value
        splat = self.state.splats.get(i)
        if splat is None:
            splat = self.state.splats[i] = self.e.splat(value, self.lanes)
        return splat

    def statement(self, i: int, s: ir.Statement) -> Value:
        e = self.e
        varies = self.varies[i] and self.lanes > 1
        match s:
            case ir.Carried():
                raise AssertionError("carries are defined at the head of the loop")
            case ir.Const():
                return _constant(s.value)
            case ir.IndexValue():
                return self._position(s, varies)
            case ir.Load():
                return self.load(s, varies)
            case ir.Call():
                args = [self.value(a) if varies else self.state.values[a] for a in s.args]
                dtypes = [self.kernel.body[a].dtype for a in s.args]
                dtype = dtypes[1] if s.fn == "select" else dtypes[0]
                if s.fn in self._outlined_functions:
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
        c = self.lane_stride(s.index)
        steps = constant_vector(tuple([c * j for j in range(self.lanes)]), kind)
        return e.add(whole, steps)

    def load(self, s: ir.Load, varies: bool) -> Value:
        e = self.e
        place = (s.param, s.index)
        if varies and place in self._grouped:

            def pointer_at(index: Affine) -> Value:
                return self._pointer(s.param, self._address(index)[0], s.dtype)

            shared, remaining = self.state.shared, self._needed_lanes()
            return self._grouped.load(e, shared, place, s.dtype, pointer_at, self.lanes, remaining)
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
        assert per_lane is None or self.lane_stride(index) == 0
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
        if self.lanes == 1 or j not in self._stored_together:
            if self.lanes == 1 or j not in self._stored_along:
                self.store(o, self.value(o.value))
            return
        dtype = self.kernel.params[o.param]
        values = [self.kernel.outputs[member].value for member in self._stored_together[j]]
        parts = [self._as_stored(self.value(i), self.kernel.body[i].dtype, dtype) for i in values]
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
            self._guarded = True
            self.store(o, self.value(o.value))
            self.mask, self._guarded = outside, False
            return
        value = self.value(o.value)  # before the branch: later outputs can use it, too
        n = e.fresh()[1:]
        e.branch(condition, f"write.{n}", f"written.{n}", is_likely=True)
        e.label(f"write.{n}")
        self.store(o, value)
        e.jump(f"written.{n}")
        e.label(f"written.{n}")

    def store(self, o: ir.Store | ir.Reduce, value: Value) -> None:
        """Writes a store of `value`, in the dtype of its statement, to the output's buffer."""
        self.store_value(o.param, o.index, self.kernel.body[o.value].dtype, value)

    def store_value(self, param: int, index: Affine, source: np.dtype, value: Value) -> None:
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
        if per_lane is None and self.lane_stride(index):
            access.store_vector(e, value, pointer, self.mask)
            return
        stride = self.lane_stride(index)
        if self._is_strided_store(index) and not self._guarded:
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
