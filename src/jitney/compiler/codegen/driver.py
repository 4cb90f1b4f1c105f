"""The entry of a compiled program: its steps in order, with native loops and branches.

    i32 entry(ptr inputs, ptr outputs, ptr arena)        0, or not 0 if a Python function failed

Kernels are called by address: they are compiled once and shared among programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jitney.compiler.codegen.emit import Emitter
from jitney.compiler.codegen.kernel import body_cost, outer_extent
from jitney.compiler.codegen.target import Target
from jitney.compiler.codegen.values import Value, constant
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.plan import ir

# Cost of a kernel (body cost times points) below which threads cost more than they bring.
PARALLEL_ABOVE = 400_000


class DriverWriter:
    """Writes the entry of one plan.

    Args:
      code_of: a kernel's code, as an operand: a function of the module, or an address.
      host_id: number under which a Python function is called.
      symbols: addresses of the runtime's functions: "parallel_for", "host", "sgemm", "dgemm".
    """

    def __init__(
        self,
        plan: ir.Plan,
        target: Target,
        name: str,
        code_of: Callable[[Kernel], str],
        host_id: Callable[[ir.Host], int],
        symbol: Callable[[str], int],
    ) -> None:
        self.plan = plan
        self.target = target
        self.name = name
        self.code_of = code_of
        self.host_id = host_id
        self.symbol = symbol
        self.e = Emitter(target)
        self.slots = 1  # pointers in the array that steps pass their buffers in
        self.numbers = 0  # 32-bit integers that BLAS takes by address
        self.known: dict[tuple[str, int], Value] = {}

    def text(self) -> str:
        """The whole module."""
        e = self.e
        self._steps(self.plan.steps)
        e.line("ret i32 0")
        head = f"define i32 @{self.name}(ptr %inputs, ptr %outputs, ptr %arena)"
        stack = [f"  %slots = alloca [{self.slots} x ptr], align 16"]
        if self.numbers:
            stack.append(f"  %blas = alloca [{self.numbers} x i64], align 16")
        body = ["entry:", *stack, *e.lines]
        function = "\n".join([f"{head} {self.target.function_attributes} {{", *body, "}"])
        return "\n".join([function, e.module_text()])

    # --- buffers ----------------------------------------------------------------------------------

    def _pointer(self, buffer: ir.Buffer) -> Value:
        e = self.e
        match buffer.place:
            case "constant":
                assert buffer.value is not None
                return self._address(buffer.value.ctypes.data)
            case "arena":
                return e.emit(f"getelementptr i8, ptr %arena, i64 {buffer.index}", "ptr")
            case place:
                at = e.emit(f"getelementptr ptr, ptr %{place}s, i64 {buffer.index}", "ptr")
                return e.emit(f"load ptr, ptr {at.text}", "ptr")

    def _address(self, address: int) -> Value:
        return Value(f"inttoptr (i64 {address} to ptr)", "ptr")

    def _fill_slots(self, buffers: Sequence[ir.Buffer]) -> None:
        self.slots = max(self.slots, len(buffers))
        for i, buffer in enumerate(buffers):
            pointer = self._pointer(buffer)
            at = self.e.emit(f"getelementptr ptr, ptr %slots, i64 {i}", "ptr")
            self.e.line(f"store {pointer!r}, ptr {at.text}")

    # --- steps ------------------------------------------------------------------------------------

    def _steps(self, steps: Sequence[ir.Step]) -> None:
        for step in steps:
            match step:
                case ir.Launch():
                    self._launch(step)
                case ir.Gemm():
                    self._gemm(step)
                case ir.Host():
                    self._host(step)
                case ir.Copy():
                    self._copy(step)
                case ir.Loop():
                    self._loop(step)
                case ir.Branch():
                    self._branch(step)

    def _launch(self, step: ir.Launch) -> None:
        e = self.e
        kernel = step.kernel
        self._fill_slots(step.buffers)
        code = Value(self.code_of(kernel), "ptr")
        extent = outer_extent(kernel)
        work = body_cost(kernel) * kernel.points
        if work < PARALLEL_ABOVE or extent < 2:
            e.line(f"call void {code.text}(ptr %slots, i64 0, i64 {extent})")
            return
        # Chunks of at least the work that pays, whole vectors where lanes run along the axis.
        grain = max(extent * PARALLEL_ABOVE // (2 * work), 1)
        if len(kernel.extents) == 1:
            grain = -(-grain // 64) * 64
        run = self._address(self.symbol("parallel_for"))
        e.line(f"call void {run.text}(ptr {code.text}, ptr %slots, i64 {extent}, i64 {grain})")

    def _copy(self, step: ir.Copy) -> None:
        if not step.to.nbytes:
            return
        e = self.e
        to, source = self._pointer(step.to), self._pointer(step.source)
        name = "llvm.memcpy.p0.p0.i64"
        e.declarations.add(f"declare void @{name}(ptr, ptr, i64, i1)")
        e.line(f"call void @{name}({to!r}, {source!r}, i64 {step.to.nbytes}, i1 false)")

    def _host(self, step: ir.Host) -> None:
        e = self.e
        self._fill_slots([b for b, _ in (*step.args, *step.results)])
        call = self._address(self.symbol("host"))
        status = e.emit(f"call i32 {call.text}(i64 {self.host_id(step)}, ptr %slots)", "i32")
        n = e.fresh()[1:]
        e.branch(e.icmp("eq", status, constant(0, "i32")), f"fine.{n}", f"failed.{n}")
        e.label(f"failed.{n}")
        e.line(f"ret i32 {status.text}")
        e.label(f"fine.{n}")

    def _loop(self, step: ir.Loop) -> None:
        e = self.e
        n = e.fresh()[1:]
        e.jump(f"while.{n}")
        e.label(f"while.{n}")
        self._steps(step.cond)
        flag = e.emit(f"load i8, {self._pointer(step.predicate)!r}", "i8")
        e.branch(e.icmp("ne", flag, constant(0, "i8")), f"do.{n}", f"end.{n}")
        e.label(f"do.{n}")
        self._steps(step.body)
        e.jump(f"while.{n}")
        e.label(f"end.{n}")

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
        """Row-major out = x @ y is, to Fortran, out' = y' x'."""
        e = self.e
        kind = "f32" if step.dtype.name == "float32" else "f64"
        gemm = self._address(self.symbol("sgemm" if kind == "f32" else "dgemm"))
        lead_y = step.k if step.trans_y else step.n
        lead_x = step.m if step.trans_x else step.k
        flags = (ord("T" if step.trans_y else "N"), ord("T" if step.trans_x else "N"))
        numbers = (*flags, step.n, step.m, step.k, max(lead_y, 1), max(lead_x, 1), step.n)
        self.numbers = max(self.numbers, len(numbers) + 2)
        places: list[str] = []
        for i, number in enumerate(numbers):
            at = e.emit(f"getelementptr i64, ptr %blas, i64 {i}", "ptr")
            e.line(f"store i64 {number}, ptr {at.text}")
            places.append(at.text)
        for i, scale in enumerate((1.0, 0.0), start=len(numbers)):
            at = e.emit(f"getelementptr i64, ptr %blas, i64 {i}", "ptr")
            e.line(f"store {constant(scale, kind)!r}, ptr {at.text}")
            places.append(at.text)
        ta, tb, n, m, k, ldb, lda, ldc, one, zero = places
        x, y, out = (self._pointer(b) for b in (step.x, step.y, step.out))
        size = step.dtype.itemsize
        counter: Value | None = None
        label = e.fresh()[1:]
        if step.batch > 1:
            before = e.block
            e.jump(f"batch.{label}")
            e.label(f"batch.{label}")
            counter = Value(f"%b.{label}", "i64")
            place = len(e.lines)
            e.lines.append("")
            x, y, out = (
                e.emit(
                    f"getelementptr i8, {p!r}, i64 "
                    f"{e.mul(counter, constant(count * size, 'i64')).text}",
                    "ptr",
                )
                for p, count in (
                    (x, step.m * step.k),
                    (y, step.k * step.n),
                    (out, step.m * step.n),
                )
            )
        operands = (ta, tb, n, m, k, one, y.text, ldb, x.text, lda, zero, out.text, ldc)
        e.line(f"call void {gemm.text}({', '.join(f'ptr {p}' for p in operands)})")
        if counter is not None:
            after = e.add(counter, constant(1, "i64"))
            e.branch(
                e.icmp("slt", after, constant(step.batch, "i64")),
                f"batch.{label}",
                f"batched.{label}",
            )
            e.lines[place] = (
                f"  {counter.text} = phi i64 [0, %{before}], [{after.text}, %batch.{label}]"
            )
            e.label(f"batched.{label}")
