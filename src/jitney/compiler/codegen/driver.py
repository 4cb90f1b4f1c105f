"""Generates the entry function of a program, which runs its steps, with native loops and branches.

    i32 entry(ptr call, ptr inputs, ptr outputs, ptr arena)        returns 1 if it has finished

Any other return value is a failure, so that only code that has run to its end reports success. The
same convention applies to the functions into which an entry is split, and to the functions of the
runtime that it calls. `call` belongs to the runtime and refers to the threads of the device and the
error of the call; it is the first argument of kernels and of the runtime's functions.

Kernels are compiled once and shared by all programs. Kernels, functions of the runtime and
constants are external symbols of the module, which are bound when it is loaded, so the code can be
stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from jitney.compiler import blas, library
from jitney.compiler.codegen import clocks, polls, row_strips, symbols
from jitney.compiler.codegen.kernel_costs import body_cost
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import collectives
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.schedule import is_independent, outer_extent, outermost, schedule
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import Target
from jitney.compiler.llvm.values import Value, constant
from jitney.compiler.plan import ir

# The calls of Python in a program, as steps or as named functions.
PythonCall: TypeAlias = ir.HostCall | ir.Wait | library.Call

# LLVM expands short copies inline, and compares each of their loads and stores with all others of
# the block, so long programs call this function instead.
_COPY = """\
define internal void @jitney.copy(ptr %to, ptr %from, i64 %count) noinline nounwind {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %count, i1 false)
  ret void
}"""

# An output can use the memory of a donated input.
_COPY_INPUT = """\
define internal void @jitney.copy_input(ptr %to, ptr %from, i64 %count) noinline nounwind {
  %same = icmp eq ptr %to, %from
  br i1 %same, label %done, label %copy
copy:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %count, i1 false)
  br label %done
done:
  ret void
}"""


class DriverWriter:
    """A writer of the entry function of a plan.

    Args:
      code_of: returns the name of a kernel's function, and whether it is in another module.
      symbol: returns the address of a native function, such as "parallel_for", "host" or "sgemm".

    Attributes:
      natives: the names of the runtime's functions that the program calls.
      constants: the arrays that the program reads, by the names of their symbols.
      python_calls: the calls of Python, that is, of callbacks and of library functions without
        machine code, by the names of the symbols that hold their numbers.
    """

    def __init__(
        self,
        plan: ir.Plan,
        target: Target,
        name: str,
        code_of: Callable[[Kernel], tuple[str, bool]],
        symbol: Callable[[str], int],
    ) -> None:
        self.plan = plan
        self.target = target
        self.name = name
        self.code_of = code_of
        self.symbol = symbol
        self.e = Emitter(target)
        self.unseen = 0  # cost of the steps since the last poll for signals
        self.functions: list[str] = []  # helper functions of this program, such as products
        self.gemms: dict[object, str] = {}  # names of the functions of products, by key
        self.releases_gil = len(plan.steps) > COSTS.entry_steps
        self.slots = 1  # size of the array of pointers that passes buffers to steps
        # For buffers that are swapped, the number of the cell that holds the current pointer.
        self.cells: dict[ir.Buffer, int] = {}
        self.cell_count = 0
        self.natives: dict[str, None] = {}
        self.constants: dict[str, np.ndarray] = {}
        self.python_calls: dict[str, PythonCall] = {}
        self._constant_names: dict[int, str] = {}

    def text(self) -> str:
        """Returns the text of the module."""
        e = self.e
        self._steps(self.plan.steps)
        cells = f"  %cells = alloca [{self.cell_count} x ptr], align 16"
        head = f"define i32 @{self.name}(ptr %call, ptr %inputs, ptr %outputs, ptr %arena)"
        function = self._function(head, [cells])
        return "\n".join([*self.functions, function, e.module_text()])

    def _function(self, head: str, stack: list[str]) -> str:
        """Returns the definition of a function with the code written so far."""
        self.e.line(f"ret {polls.SUCCEEDED!r}")
        slots = [f"  %slots = alloca [{self.slots} x ptr], align 16"]
        for i in range(self.slots):
            slots.append(f"  %slot.{i} = getelementptr ptr, ptr %slots, i64 {i}")
        body = ["entry:", *slots, *stack, *self.e.lines]
        return "\n".join([f"{head} {self.target.function_attributes} {{", *body, "}"])

    # --- buffers ----------------------------------------------------------------------------------

    def _pointer(self, buffer: ir.Buffer) -> Value:
        e = self.e
        cell = self.cells.get(buffer)
        if cell is not None:
            return e.emit(f"load ptr, {self._cell(cell)!r}", "ptr")
        match buffer.place:
            case "constant":
                assert buffer.value is not None
                return self._constant(buffer.value)
            case "arena":
                return e.emit(f"getelementptr i8, ptr %arena, i64 {buffer.index}", "ptr")
            case place:
                at = e.emit(f"getelementptr ptr, ptr %{place}s, i64 {buffer.index}", "ptr")
                return e.emit(f"load ptr, ptr {at.text}", "ptr")

    def _constant(self, data: np.ndarray) -> Value:
        """Returns the symbol of a constant array."""
        name = self._constant_names.get(id(data))
        if name is None:
            name = self._constant_names[id(data)] = f"jitney.constant.{len(self.constants)}"
            self.constants[name] = data
            self.e.declarations.add(f"@{name} = external global i8")
        return Value(f"@{name}", "ptr")

    def native(self, name: str, result: str, types: str) -> str:
        """Declares a function of the runtime, and returns its symbol with its type."""
        self.natives[name] = None
        self.e.declarations.add(f"declare {result} @jitney.{name}({types})")
        return f"{result} @jitney.{name}"

    def _fill_slots(self, buffers: Sequence[ir.Buffer]) -> None:
        self.slots = max(self.slots, len(buffers))
        for i, buffer in enumerate(buffers):
            self.e.line(f"store {self._pointer(buffer)!r}, ptr %slot.{i}")

    # --- steps ------------------------------------------------------------------------------------

    def _steps(self, steps: Sequence[ir.Step]) -> None:
        if len(steps) <= COSTS.entry_steps:
            self._few_steps(steps)
            return
        for start in range(0, len(steps), COSTS.entry_steps):
            self._part(steps[start : start + COSTS.entry_steps])

    def _part(self, steps: Sequence[ir.Step]) -> None:
        """Writes steps as a separate function, and a call of it."""
        outside = self.e, self.slots
        self.e, self.slots = Emitter(self.target, self.e), 1
        self._few_steps(steps)
        name = f"part.{len(self.functions)}"
        pointers = [f"ptr %{place}" for place in ("call", "inputs", "outputs", "arena", "cells")]
        head = f"define internal i32 @{name}({', '.join(pointers)}) noinline"
        self.functions.append(self._function(head, []))
        self.e, self.slots = outside
        status = self.e.emit(f"call i32 @{name}({', '.join(pointers)})", "i32")
        polls.check(self.e, status)

    def _few_steps(self, steps: Sequence[ir.Step]) -> None:
        for step in steps:
            self.unseen += _step_cost(step)
            if self.unseen > COSTS.poll_steps:
                self._poll()
            match step:
                case ir.Launch():
                    self._launch(step)
                case ir.RowStrips():
                    self._row_strips(step)
                case ir.Gemm():
                    self._gemm(step)
                case ir.LibraryCall(native=None):
                    self._python(step.call, [*step.args, *step.results])
                case ir.LibraryCall():
                    self._library(step)
                case ir.Collective():
                    self._collective(step)
                case ir.HostCall():
                    self._python(step, [b for b, _ in (*step.args, *step.results)])
                case ir.Wait():
                    self._python(step, ir.touched(step))
                case ir.Copy():
                    self._copy(step)
                case ir.SwapBuffers():
                    self._swap_buffers(step)
                case ir.Loop():
                    self._loop(step)
                case ir.Branch():
                    self._branch(step)
                case ir.Clock():
                    clocks.write(self.e, step, self._constant)

    def _poll(self) -> None:
        self.natives[polls.POLL] = None
        polls.poll(self.e)
        self.unseen = 0

    def _launch(self, step: ir.Launch) -> None:
        e = self.e
        kernel = step.kernel
        self._fill_slots(step.buffers)
        name, is_outside = self.code_of(kernel)
        code = Value(f"@{name}", "ptr")
        if is_outside:
            e.declarations.add(f"declare i32 {code.text}(ptr, ptr, i64, i64)")
        extent = outer_extent(kernel)
        way = division(kernel)
        if way is None:
            # A kernel without polls does not use `call`. If it is not passed, it need not be kept
            # in a register across hundreds of launches, which saves a tenth of LLVM's time.
            is_polling = polls.has_polls(kernel)
            call = "%call" if is_polling else "poison"
            status = e.emit(
                f"call i32 {code.text}(ptr {call}, ptr %slots, i64 0, i64 {extent})", "i32"
            )
            if is_polling:
                polls.check(e, status)
            return
        # Chunks are large enough for a thread to pay off, and multiples of the vector width if
        # lanes run along the axis.
        plan, work = schedule(kernel), body_cost(kernel) * kernel.points
        axis = outermost(plan)
        grain = max(extent * COSTS.parallel_above // (2 * work), 1)
        if axis == plan.vector:
            chunk = COSTS.lane_chunk
            grain = -(-max(grain, COSTS.column_grain if plan.strip else 1) // chunk) * chunk
        if plan.transposition is not None and len(plan.outer) == 1:  # chunks of complete blocks
            grain = -(-grain // plan.transposition.side) * plan.transposition.side
        run = self.native(way, "i32", "ptr, ptr, ptr, i64, i64")
        call = f"call {run}(ptr %call, ptr {code.text}, ptr %slots, i64 {extent}, i64 {grain})"
        polls.check(e, e.emit(call, "i32"))
        self.unseen = 0

    def _row_strips(self, step: ir.RowStrips) -> None:
        e = self.e
        name = f"strips.{len(self.functions)}"
        self.functions.append(
            row_strips.function(step, name, Emitter(self.target, e), self.code_of)
        )
        self._fill_slots(ir.touched(step))
        work = _step_cost(step)
        if work < COSTS.parallel_above or step.count < 2:
            call = f"call i32 @{name}(ptr %call, ptr %slots, i64 0, i64 {step.count})"
        else:
            grain = max(step.count * COSTS.parallel_above // (2 * work), 1)
            run = self.native("parallel_for", "i32", "ptr, ptr, ptr, i64, i64")
            sizes = f"i64 {step.count}, i64 {grain}"
            call = f"call {run}(ptr %call, ptr @{name}, ptr %slots, {sizes})"
        polls.check(e, e.emit(call, "i32"))
        self.unseen = 0

    def _copy(self, step: ir.Copy) -> None:
        if step.to.nbytes:
            places = step.to.place, step.source.place
            is_output = places == ("output", "input") and step.to.nbytes > 64
            to, source = self._pointer(step.to), self._pointer(step.source)
            self._copy_bytes(to, source, step.to.nbytes, may_be_same=is_output)

    def _copy_bytes(self, to: Value, source: Value, count: int, may_be_same: bool = False) -> None:
        e = self.e
        e.declarations.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        if may_be_same:
            e.functions["jitney.copy_input"] = _COPY_INPUT
            e.line(f"call void @jitney.copy_input({to!r}, {source!r}, i64 {count})")
        elif self.releases_gil:
            e.functions["jitney.copy"] = _COPY
            e.line(f"call void @jitney.copy({to!r}, {source!r}, i64 {count})")
        else:
            e.line(f"call void @llvm.memcpy.p0.p0.i64({to!r}, {source!r}, i64 {count}, i1 false)")

    def _swap_buffers(self, step: ir.SwapBuffers) -> None:
        carry, after = (self._cell(self.cells[b]) for b in (step.carry, step.after))
        pointers = [self.e.emit(f"load ptr, {cell!r}", "ptr") for cell in (carry, after)]
        self.e.line(f"store {pointers[1]!r}, {carry!r}")
        self.e.line(f"store {pointers[0]!r}, {after!r}")

    def _library(self, step: ir.LibraryCall) -> None:
        e, native = self.e, step.native
        assert native is not None
        options, *workspace = step.beside
        self._fill_slots([options, *step.args, *step.results, *workspace])
        self.natives[native.symbol] = None
        e.declarations.add(f"@jitney.{native.symbol} = external global i8")
        run = self.native("over_batch", "i32", "ptr, ptr, ptr, i64, i64, i32")
        alone = int(native.keeps_to_one_thread)
        sizes = f"i64 {native.batch}, i64 {native.grain}, i32 {alone}"
        call = f"call {run}(ptr %call, ptr @jitney.{native.symbol}, ptr %slots, {sizes})"
        polls.check(e, e.emit(call, "i32"))
        self.unseen = 0

    def _collective(self, step: ir.Collective) -> None:
        """Writes a collective in a group of one participant, whose result is its operand or zero.

        Raises:
          ValueError: if the group has more participants, since a program runs on one device.
        """
        node, e, count = step.node, self.e, step.result.nbytes
        size = collectives.group_size(node.axes, node.groups)
        if size != 1:
            raise ValueError(
                f"{node.kind} along {dict(node.axes)} has {size} participants, but there is one device"
            )
        result = self._pointer(step.result)
        if collectives.is_operand(node.kind, node.params):
            self._copy_bytes(result, self._pointer(step.args[0]), count)
            return
        e.declarations.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        e.line(f"call void @llvm.memset.p0.i64({result!r}, i8 0, i64 {count}, i1 false)")

    def _python(self, called: PythonCall, buffers: Sequence[ir.Buffer]) -> None:
        e = self.e
        self._fill_slots(buffers)
        name = f"jitney.call.{len(self.python_calls)}"
        self.python_calls[name] = called
        e.declarations.add(f"@{name} = external global i64")
        number = e.emit(f"load i64, ptr @{name}", "i64")
        host = self.native("host", "i32", "ptr, i64, ptr")
        polls.check(e, e.emit(f"call {host}(ptr %call, {number!r}, ptr %slots)", "i32"))

    def _loop(self, step: ir.Loop) -> None:
        e = self.e
        homes = {b: self._pointer(b) for x in step.swapped for b in (x.carry, x.after)}
        outside = self.cells
        self.cells = outside | {b: self._new_cell(home) for b, home in homes.items()}
        n = e.fresh()[1:]
        before = e.block
        e.jump(f"while.{n}")
        e.label(f"while.{n}")
        self.natives[polls.POLL] = None
        cost = sum(map(_step_cost, (*step.cond, *step.body)))
        countdown = polls.Countdown(e, f"while.{n}", cost)
        countdown.begin(before)
        self._steps(step.cond)
        flag = e.emit(f"load i8, {self._pointer(step.predicate)!r}", "i8")
        e.branch(e.icmp("ne", flag, constant(0, "i8")), f"do.{n}", f"end.{n}")
        e.label(f"do.{n}")
        self._steps(step.body)
        countdown.repeat()
        self.unseen = 0
        e.label(f"end.{n}")
        for i, exchange in enumerate(step.swapped):  # swapped an odd number of times
            home, current = homes[exchange.carry], self._pointer(exchange.carry)
            e.branch(
                e.emit(f"icmp ne {home!r}, {current.text}", "i1"), f"away.{n}.{i}", f"home.{n}.{i}"
            )
            e.label(f"away.{n}.{i}")
            self._copy_bytes(home, current, exchange.carry.nbytes)
            e.jump(f"home.{n}.{i}")
            e.label(f"home.{n}.{i}")
        self.cells = outside

    def _new_cell(self, pointer: Value) -> int:
        """Returns the number of a new cell, initialized to `pointer`."""
        number = self.cell_count
        self.cell_count += 1
        self.e.line(f"store {pointer!r}, {self._cell(number)!r}")
        return number

    def _cell(self, number: int) -> Value:
        return self.e.emit(f"getelementptr ptr, ptr %cells, i64 {number}", "ptr")

    def _branch(self, step: ir.Branch) -> None:
        e = self.e
        n = e.fresh()[1:]
        index = e.emit(f"load i32, {self._pointer(step.index)!r}", "i32")
        index = e.intrinsic("llvm.smax", [index, constant(0, "i32")])
        last = len(step.cases) - 1
        choices = " ".join(f"i32 {i}, label %case{i}.{n}" for i in range(last))
        e.line(f"switch i32 {index.text}, label %case{last}.{n} [{choices}]")
        for i, case in enumerate(step.cases):
            e.label(f"case{i}.{n}")
            self._steps(case)
            e.jump(f"join.{n}")
        e.label(f"join.{n}")

    def _gemm(self, step: ir.Gemm) -> None:
        operands = [self._pointer(b) for b in (step.x, step.y, step.out)]
        name = self._gemm_function(step)
        call = f"call i32 @{name}(ptr %call, {', '.join(map(repr, operands))})"
        polls.check(self.e, self.e.emit(call, "i32"))

    def _gemm_function(self, step: ir.Gemm) -> str:
        """Returns the name of the function that computes `step`.

        Products with equal sizes, layouts and dtypes share a function.
        """
        key = (
            step.dtype,
            step.batch,
            step.m,
            step.n,
            step.k,
            step.trans_x,
            step.trans_y,
            step.adds,
        )
        name = self.gemms.get(key)
        if name is None:
            name = self.gemms[key] = f"gemm.{len(self.functions)}"
            self.functions.append(_GemmWriter(step, self, name).text())
        return name


def division(kernel: Kernel) -> Literal["in_order", "parallel_for"] | None:
    """Returns how a kernel is run: shared by threads, in ordered chunks, or as a whole (None)."""
    axis = outermost(schedule(kernel))
    is_ordered = axis is None or not is_independent(kernel, axis)
    least = COSTS.poll_steps if is_ordered else COSTS.parallel_above
    if body_cost(kernel) * kernel.points < least or outer_extent(kernel) < 2:
        return None
    return "in_order" if is_ordered else "parallel_for"


def _step_cost(step: ir.Step) -> int:
    """Returns the cost of a step, on which the distance between polls depends.

    It is 0 if the step itself polls, or calls Python.
    """
    match step:
        case ir.Launch():
            return body_cost(step.kernel) * step.kernel.points
        case ir.RowStrips():
            return sum(map(_step_cost, step.launches))
        case ir.Gemm():
            return step.batch * step.m * step.n * step.k // 8
        case ir.Copy():
            return step.to.nbytes // 8
        case ir.Branch():
            return max([sum(map(_step_cost, case)) for case in step.cases], default=0)
        case _:
            return 0


class _GemmWriter:
    """A writer of the function of a (batched) product: i32 gemm(ptr call, ptr x, ptr y, ptr out).

    A large product, or a batch of products, is computed by a second function. Like a kernel, it
    takes a range, of rows or of products, so that the work can be divided among the runtime's
    threads. Meanwhile BLAS is restricted to one thread.
    """

    def __init__(self, step: ir.Gemm, driver: DriverWriter, name: str) -> None:
        self.step = step
        self.driver = driver
        self.target = driver.target
        self.name = name
        self.e = Emitter(driver.target, driver.e)
        self.count = 0

    def text(self) -> str:
        """Returns the definitions of the function, and of the function for a range."""
        step = self.step
        work = 2 * step.batch * step.m * step.n * step.k
        if step.batch > 1 or (work >= COSTS.parallel_product_above and step.m > 1):
            return f"{self._part()}\n{self._whole(work)}"
        e = self.e
        self._keep_to_one_thread(e)
        self._call(
            Value("%x", "ptr"), Value("%y", "ptr"), Value("%out", "ptr"), constant(step.m, "i64")
        )
        self._release_threads(e)
        e.line(f"ret {polls.SUCCEEDED!r}")
        return self._function(e, f"  %blas = alloca [{self.count} x i64], align 16")

    def _keep_to_one_thread(self, e: Emitter) -> None:
        e.line(f"call {self.driver.native('blas_enter', 'void', '')}()")

    def _release_threads(self, e: Emitter) -> None:
        e.line(f"call {self.driver.native('blas_leave', 'void', '')}()")

    def _function(self, e: Emitter, stack: str) -> str:
        head = f"define internal i32 @{self.name}(ptr %call, ptr %x, ptr %y, ptr %out) noinline"
        body = ["entry:", stack, *e.lines]
        return "\n".join([f"{head} {self.target.function_attributes} {{", *body, "}"])

    def _whole(self, work: int) -> str:
        step, e = self.step, Emitter(self.target, self.driver.e)
        for i, operand in enumerate(("%x", "%y", "%out")):
            at = e.emit(f"getelementptr ptr, ptr %slots, i64 {i}", "ptr")
            e.line(f"store ptr {operand}, ptr {at.text}")
        extent = step.batch if step.batch > 1 else step.m
        self._keep_to_one_thread(e)
        if work < COSTS.parallel_product_above or extent < 2 or not blas.is_guarded():
            part = f"@{self.name}.part(ptr %call, ptr %slots, i64 0, i64 {extent})"
            status = e.emit(f"call i32 {part}", "i32")
        else:
            grain = -(-extent // min(extent, max(symbols.threads(), 2)))
            run = self.driver.native("parallel_for", "i32", "ptr, ptr, ptr, i64, i64")
            part = f"ptr %call, ptr @{self.name}.part, ptr %slots"
            status = e.emit(f"call {run}({part}, i64 {extent}, i64 {grain})", "i32")
        self._release_threads(e)
        e.line(f"ret {status!r}")
        return self._function(e, "  %slots = alloca [3 x ptr], align 16")

    def _part(self) -> str:
        e, step = self.e, self.step
        pointers = [
            e.emit(
                f"load ptr, ptr {e.emit(f'getelementptr ptr, ptr %slots, i64 {i}', 'ptr').text}",
                "ptr",
            )
            for i in range(3)
        ]
        begin, end = Value("%begin", "i64"), Value("%end", "i64")
        if step.batch > 1:
            e.jump("batch")
            e.label("batch")
            counter = Value("%b", "i64")
            place = len(e.lines)
            e.lines.append("")
            sizes = (step.m * step.k, step.k * step.n, step.m * step.n)
            x, y, out = [self._offset(p, counter, n) for p, n in zip(pointers, sizes, strict=True)]
            self._call(x, y, out, constant(step.m, "i64"))
            after = e.add(counter, constant(1, "i64"))
            e.branch(e.icmp("slt", after, end), "batch", "done")
            e.lines[place] = f"  %b = phi i64 [%begin, %entry], [{after.text}, %batch]"
            e.label("done")
        else:
            x, y, out = pointers
            x = self._offset(x, begin, 1 if step.trans_x else step.k)
            out = self._offset(out, begin, step.n)
            self._call(x, y, out, e.sub(end, begin))
        e.line(f"ret {polls.SUCCEEDED!r}")
        head = f"define internal i32 @{self.name}.part(ptr %call, ptr %slots, i64 %begin, i64 %end)"
        stack = f"  %blas = alloca [{self.count} x i64], align 16"
        body = ["entry:", stack, *e.lines]
        return "\n".join([f"{head} {self.target.function_attributes} {{", *body, "}"])

    def _offset(self, pointer: Value, index: Value, elements: int) -> Value:
        e = self.e
        distance = e.mul(index, constant(elements * self.step.dtype.itemsize, "i64"))
        return e.emit(f"getelementptr i8, {pointer!r}, {distance!r}", "ptr")

    def _place(self, value: Value) -> str:
        """Returns an address that holds `value`, since Fortran passes arguments by reference."""
        at = self.e.emit(f"getelementptr i64, ptr %blas, i64 {self.count}", "ptr")
        self.e.line(f"store {value!r}, ptr {at.text}")
        self.count += 1
        return at.text

    def _place_factor(self, value: float) -> str:
        """Returns an address that holds `value` in the product's dtype."""
        words = np.zeros(2, np.int64)
        words.view(self.step.dtype)[0] = value
        first, _ = (self._place(constant(int(word), "i64")) for word in words)
        return first

    def _call(self, x: Value, y: Value, out: Value, rows: Value) -> None:
        """Writes a call of BLAS; row-major out = x @ y is out' = y' @ x' in column-major order."""
        e, step = self.e, self.step
        name = blas.PRODUCTS[step.dtype]
        lead_y = step.k if step.trans_y else step.n
        lead_x = step.m if step.trans_x else step.k

        def number(n: int) -> str:
            return self._place(constant(n, "i64"))

        flag_y, flag_x = (number(ord("T" if t else "N")) for t in (step.trans_y, step.trans_x))
        n, m, k = number(step.n), self._place(rows), number(step.k)
        ldy, ldx, ldo = number(max(lead_y, 1)), number(max(lead_x, 1)), number(max(step.n, 1))
        one, kept = (self._place_factor(v) for v in (1.0, float(step.adds)))
        operands = (flag_y, flag_x, n, m, k, one, y.text, ldy, x.text, ldx, kept, out.text, ldo)
        call = self.driver.native(name, "void", ", ".join(["ptr"] * len(operands)))
        e.line(f"call {call}({', '.join(f'ptr {p}' for p in operands)})")
