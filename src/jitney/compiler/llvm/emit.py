"""Emits LLVM instructions: an `Emitter` appends them to a function body and names the results.

The operands of an operation have the same kind and number of lanes; the same methods emit scalar
and vector code. Floating-point arithmetic is strict IEEE 754, without fast-math flags. Declarations
and helper functions are collected in the emitter, or shared with other emitters, and written to the
module once. Functions that are called instead of inlined are separate modules that are shared by
all modules of the process, so LLVM compiles them once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from jitney.compiler.llvm import outlined
from jitney.compiler.llvm.outlined import Outlined
from jitney.compiler.llvm.target import Target
from jitney.compiler.llvm.values import (
    BITS,
    FLOAT_KINDS,
    Value,
    constant,
    is_constant,
    mangled,
    spread,
    type_text,
)

Body = Callable[["Emitter", list[Value]], Value]

_LIKELY = '!0 = !{!"branch_weights", i32 2000, i32 1}'


class Emitter:
    """An emitter of the body of an LLVM function.

    Attributes:
      target: the processor to generate code for.
      lines: the body so far, with one instruction or label per line.
      declarations: the `declare ...` lines that the module needs.
      functions: the texts, by name, of helper functions that the module needs.
      outlined: the functions of other modules that it calls, by name.
      globals: the texts, by name, of constants that the module needs.
      block: the label of the current block, for phi nodes.
    """

    __slots__ = (
        "block", "count", "declarations", "functions", "globals", "lines", "outlined", "target",
    )  # fmt: skip

    def __init__(self, target: Target, shared: Emitter | None = None):
        self.target = target
        self.lines: list[str] = []
        self.count = 0
        self.block = "entry"
        self.declarations: set[str] = shared.declarations if shared else set()
        self.functions: dict[str, str] = shared.functions if shared else {}
        self.globals: dict[str, str] = shared.globals if shared else {}
        self.outlined: dict[str, Outlined] = shared.outlined if shared else {}

    def module_text(self) -> str:
        """Returns the text that the module needs besides the function, in a deterministic order."""
        return "\n".join(
            [*self.globals.values(), *self.functions.values(), *sorted(self.declarations), ""]
        )

    # --- the plain machinery ------------------------------------------------------------------

    def fresh(self) -> str:
        """Returns a fresh SSA name."""
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str, kind: str, lanes: int = 1) -> Value:
        """Appends `NAME = text` with a fresh name, and returns the value NAME."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}")
        return Value(name, kind, lanes)

    def line(self, text: str) -> None:
        """Appends an instruction without a result."""
        self.lines.append(f"  {text}")

    def const(self, value: float | bool, like: Value) -> Value:
        """Returns `value` in every lane, with the kind and lanes of `like`."""
        return constant(value, like.kind, like.lanes)

    def splat(self, value: Value, lanes: int) -> Value:
        """Returns a vector with a scalar in every lane."""
        if lanes == 1:
            return value
        if is_constant(value):
            # A constant vector lets LLVM fold operations on it and select instructions for it.
            return spread(value, lanes)
        vector = type_text(value.kind, lanes)
        first = self.emit(f"insertelement {vector} poison, {value!r}, i32 0", value.kind, lanes)
        return self.emit(
            f"shufflevector {first!r}, {vector} poison, <{lanes} x i32> zeroinitializer",
            value.kind,
            lanes,
        )

    def extract(self, value: Value, lane: int) -> Value:
        """Returns a lane of a vector as a scalar."""
        if value.lanes == 1:
            return value
        return self.emit(f"extractelement {value!r}, i32 {lane}", value.kind)

    def insert(self, vector: Value, value: Value, lane: int) -> Value:
        """Returns `vector` with one lane replaced."""
        if vector.lanes == 1:
            return value
        return self.emit(
            f"insertelement {vector!r}, {value!r}, i32 {lane}", vector.kind, vector.lanes
        )

    def _binary(self, op: str, a: Value, b: Value) -> Value:
        return self.emit(f"{op} {a!r}, {b.text}", a.kind, a.lanes)

    # --- calls and control flow -----------------------------------------------------------------

    def call(self, name: str, args: Sequence[Value], kind: str, lanes: int = 1) -> Value:
        """Emits a call of a function that the module defines or declares."""
        operands = ", ".join(map(repr, args))
        return self.emit(f"call {type_text(kind, lanes)} @{name}({operands})", kind, lanes)

    def intrinsic(
        self,
        name: str,
        args: Sequence[Value],
        kind: str | None = None,
        lanes: int | None = None,
        overload: Iterable[Value] | None = None,
    ) -> Value:
        """Emits a call of intrinsic `name`, whose result by default has the first operand's type.

        The suffix of the name consists of the types in `overload`, which by default is the type of
        the result; there is no suffix if `overload` is empty.
        """
        kind = kind or args[0].kind
        lanes = lanes or args[0].lanes
        if overload is None:
            name = f"{name}.{mangled(kind, lanes)}"
        else:
            name = ".".join([name, *(mangled(v.kind, v.lanes) for v in overload)])
        types = ", ".join(a.type for a in args)
        self.declarations.add(f"declare {type_text(kind, lanes)} @{name}({types})")
        return self.call(name, args, kind, lanes)

    def helper(self, name: str, args: Sequence[Value], kind: str, body: Body) -> Value:
        """Emits a call of a helper function of this module; `body` writes its body on first use.

        Helpers allow branches in straight-line code: LLVM inlines a helper and splits the block of
        the caller. `name` and the types of the operands identify the function.
        """
        name = _with_types(name, args)
        if name not in self.functions:
            self.functions[name] = ""  # reserves its position before that of its own helpers
            inner = Emitter(self.target, self)
            attributes = f"alwaysinline {self.target.function_attributes}"
            text = _function(inner, "internal ", name, args, kind, body, attributes)
            self.functions[name] = text
        return self.call(name, args, kind, args[0].lanes)

    def outline(
        self, name: str, args: Sequence[Value], kind: str, body: Body, is_rare: bool = False
    ) -> Value:
        """Emits a call of a function in a separate module, which is compiled once per process.

        `body` writes its body. `name`, the types of the operands and the processor identify the
        function.
        """
        name = _with_types(name, args)
        attributes = f"noinline {'cold ' if is_rare else ''}{self.target.function_attributes}"
        if name not in self.outlined:
            key = self.target, name
            function = outlined.known.get(key)
            if function is None:
                inner = Emitter(self.target)
                text = _function(inner, "", name, args, kind, body, attributes)
                text = f"{text}\n{inner.module_text()}"
                function = outlined.known[key] = Outlined(name, text, inner.outlined)
            self.outlined[name] = function
            types = ", ".join([a.type for a in args])
            returned = type_text(kind, args[0].lanes)
            self.declarations.add(f"declare {returned} @{name}({types}) {attributes}")
        return self.call(name, args, kind, args[0].lanes)

    def where_rare(
        self, name: str, mask: Value, usual: Value, args: Sequence[Value], body: Body
    ) -> Value:
        """Returns `usual`, with lanes in `mask` replaced by results of the scalar function `body`.

        `body` is emitted once, out of line, for scalars; the lanes in `mask` call it one by one, on
        their elements of `args`.
        """

        def lane(e: Emitter, xs: list[Value]) -> Value:
            return e.outline(f"{name}.rare", xs, usual.kind, body, is_rare=True)

        def all_lanes(e: Emitter, xs: list[Value]) -> Value:
            if xs[0].lanes == 1:
                return lane(e, xs[2:])
            # A loop over the lanes in memory, which is short code for a rare case.
            slots = [e.spilled(x if x.kind != "i1" else e.zext(x, "i8")) for x in xs]
            start = e.block
            e.jump("head")
            e.label("head")
            i = Value("%i", "i64")
            e.line(f"{i.text} = phi i64 [0, %{start}], [%next, %tail]")
            wanted = e.element(slots[0], "i8", i)
            e.branch(e.icmp("ne", wanted, constant(0, "i8")), "lane", "tail")
            e.label("lane")
            operands = [
                e.element(slot, x.kind, i) for slot, x in zip(slots[2:], xs[2:], strict=True)
            ]
            value = lane(e, operands)
            at = e.emit(f"getelementptr {value.type}, {slots[1]!r}, {i!r}", "ptr")
            e.line(f"store {value!r}, {at!r}")
            e.jump("tail")
            e.label("tail")
            e.line(f"%next = add {i!r}, 1")
            e.line(f"%more = icmp ult i64 %next, {xs[0].lanes}")
            e.branch(Value("%more", "i1"), "head", "end")
            e.label("end")
            return e.emit(f"load {usual.type}, {slots[1]!r}", usual.kind, usual.lanes)

        def choose(e: Emitter, xs: list[Value]) -> Value:
            mask, result = xs[0], xs[1]
            start = e.block
            e.branch(e.any(mask), "rare", "done")
            e.label("rare")
            fixed = e.outline(f"{name}.lanes", xs, usual.kind, all_lanes, is_rare=True)
            e.line("br label %done")
            e.label("done")
            return e.phi([(result, start), (fixed, "rare")])

        return self.helper(f"{name}.choose", [mask, usual, *args], usual.kind, choose)

    def where_any(
        self, name: str, mask: Value, usual: Value, args: Sequence[Value], body: Body
    ) -> Value:
        """Returns `usual`, replaced by the result of `body` on `args` in the lanes of `mask`.

        `body` is out of line. It is called if any lane is in `mask`, and computes all lanes.
        """

        def choose(e: Emitter, xs: list[Value]) -> Value:
            mask, usual = xs[:2]
            start = e.block
            e.branch(e.any(mask), "some", "done")
            e.label("some")
            computed = e.outline(f"{name}.all", xs[2:], usual.kind, body)
            computed = e.select(mask, computed, usual)
            e.jump("done")
            e.label("done")
            return e.phi([(usual, start), (computed, "some")])

        return self.helper(f"{name}.choose", [mask, usual, *args], usual.kind, choose)

    def repeat(
        self, start: Sequence[Value], step: Callable[[list[Value]], tuple[list[Value], Value]]
    ) -> list[Value]:
        """Emits a loop that applies `step` to the state while the predicate it returns is true."""
        n = self.fresh()[1:]
        before = self.block
        self.jump(f"head.{n}")
        self.label(f"head.{n}")
        state = [Value(self.fresh(), v.kind, v.lanes) for v in start]
        place = len(self.lines)
        self.lines += [""] * len(state)  # phi nodes, completed after the body
        following, again = step(state)
        end = self.block
        self.branch(again, f"head.{n}", f"done.{n}")
        for at, (first, old, new) in enumerate(zip(start, state, following, strict=True), place):
            edges = f"[{first.text}, %{before}], [{new.text}, %{end}]"
            self.lines[at] = f"  {old.text} = phi {old.type} {edges}"
        self.label(f"done.{n}")
        return following

    def spilled(self, value: Value) -> Value:
        """Returns a pointer to a stack slot with `value`; only for the entry block of a helper."""
        slot = self.emit(f"alloca {value.type}", "ptr")
        self.line(f"store {value!r}, {slot!r}")
        return slot

    def element(self, pointer: Value, kind: str, index: Value) -> Value:
        """Loads element `index` of an array of `kind`."""
        at = self.emit(f"getelementptr {type_text(kind)}, {pointer!r}, {index!r}", "ptr")
        return self.emit(f"load {type_text(kind)}, {at!r}", kind)

    def label(self, name: str) -> None:
        """Starts the block `name`."""
        self.lines.append(f"{name}:")
        self.block = name

    def branch(self, condition: Value, yes: str, no: str, is_likely: bool = False) -> None:
        """Branches to block `yes` if the scalar `condition` is true, else to block `no`."""
        weights = ""
        if is_likely:
            self.declarations.add(_LIKELY)
            weights = ", !prof !0"
        self.line(f"br i1 {condition.text}, label %{yes}, label %{no}{weights}")

    def jump(self, label: str) -> None:
        """Branches to block `label`."""
        self.line(f"br label %{label}")

    def phi(self, incoming: Sequence[tuple[Value, str]]) -> Value:
        """Returns a phi node: the value paired with the predecessor from which control came.

        `incoming` contains pairs of a value and the label of a predecessor block.
        """
        first = incoming[0][0]
        pairs = ", ".join(f"[{v.text}, %{label}]" for v, label in incoming)
        return self.emit(f"phi {first.type} {pairs}", first.kind, first.lanes)

    def any(self, mask: Value) -> Value:
        """Returns whether any lane of `mask` is true."""
        if mask.lanes == 1:
            return mask
        return self.intrinsic("llvm.vector.reduce.or", [mask], "i1", 1, [mask])

    # --- floats ---------------------------------------------------------------------------------

    def fadd(self, a: Value, b: Value) -> Value:
        """Returns a + b."""
        return self._binary("fadd", a, b)

    def fsub(self, a: Value, b: Value) -> Value:
        """Returns a - b."""
        return self._binary("fsub", a, b)

    def fmul(self, a: Value, b: Value) -> Value:
        """Returns a * b."""
        return self._binary("fmul", a, b)

    def fdiv(self, a: Value, b: Value) -> Value:
        """Returns a / b."""
        return self._binary("fdiv", a, b)

    def fneg(self, a: Value) -> Value:
        """Returns -a, with the sign bit flipped."""
        return self.emit(f"fneg {a!r}", a.kind, a.lanes)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """Returns a * b + c, rounded once if the target has an instruction for it, else twice."""
        if self.target.has_fma:
            return self.intrinsic("llvm.fma", [a, b, c])
        return self.fadd(self.fmul(a, b), c)

    def fnma(self, a: Value, b: Value, c: Value) -> Value:
        """Returns c - a * b, rounded like `fma`."""
        return self.fma(self.fneg(a), b, c)

    def fabs(self, a: Value) -> Value:
        """Returns |a|."""
        return self.intrinsic("llvm.fabs", [a])

    def sqrt(self, a: Value) -> Value:
        """Returns the square root, correctly rounded."""
        return self.intrinsic("llvm.sqrt", [a])

    def floor(self, a: Value) -> Value:
        """Returns the largest integer that is at most a."""
        return self.intrinsic("llvm.floor", [a])

    def ceil(self, a: Value) -> Value:
        """Returns the smallest integer that is at least a."""
        return self.intrinsic("llvm.ceil", [a])

    def trunc_float(self, a: Value) -> Value:
        """Returns a rounded toward zero to an integer."""
        return self.intrinsic("llvm.trunc", [a])

    def roundeven(self, a: Value) -> Value:
        """Returns the nearest integer, with ties to even."""
        return self.intrinsic("llvm.roundeven", [a])

    def copysign(self, a: Value, b: Value) -> Value:
        """Returns |a| with the sign of b."""
        return self.intrinsic("llvm.copysign", [a, b])

    def maximum(self, a: Value, b: Value) -> Value:
        """Returns the maximum of a and b; NaN if either is NaN; -0 is less than 0."""
        return self.intrinsic("llvm.maximum", [a, b])

    def minimum(self, a: Value, b: Value) -> Value:
        """Returns the minimum of a and b; NaN if either is NaN; -0 is less than 0."""
        return self.intrinsic("llvm.minimum", [a, b])

    def maxnum(self, a: Value, b: Value) -> Value:
        """Returns the maximum of a and b; NaN only if both are NaN."""
        return self.intrinsic("llvm.maxnum", [a, b])

    def minnum(self, a: Value, b: Value) -> Value:
        """Returns the minimum of a and b; NaN only if both are NaN."""
        return self.intrinsic("llvm.minnum", [a, b])

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        """Returns the result of a comparison of floats.

        The predicates are oeq one olt ole ogt oge ord, ueq une ult ule ugt uge uno.
        """
        return self.emit(f"fcmp {predicate} {a!r}, {b.text}", "i1", a.lanes)

    def is_nan(self, a: Value) -> Value:
        """Returns whether a is NaN."""
        return self.fcmp("uno", a, a)

    def at_most(self, a: Value, high: float) -> Value:
        """Returns min(a, high) in one instruction; NaN is propagated."""
        bound = self.const(high, a)
        return self.select(self.fcmp("olt", bound, a), bound, a)

    def at_least(self, a: Value, low: float) -> Value:
        """Returns max(a, low) in one instruction; NaN is propagated."""
        bound = self.const(low, a)
        return self.select(self.fcmp("ogt", bound, a), bound, a)

    # --- integers -------------------------------------------------------------------------------

    def add(self, a: Value, b: Value) -> Value:
        """Returns a + b, wrapping."""
        return self._binary("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        """Returns a - b, wrapping."""
        return self._binary("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        """Returns a * b, wrapping."""
        return self._binary("mul", a, b)

    def sdiv(self, a: Value, b: Value) -> Value:
        """Returns a / b of signed integers, rounded to 0; undefined if b = 0 and on overflow."""
        return self._binary("sdiv", a, b)

    def udiv(self, a: Value, b: Value) -> Value:
        """Returns a / b of unsigned integers, rounded down; undefined if b = 0."""
        return self._binary("udiv", a, b)

    def srem(self, a: Value, b: Value) -> Value:
        """Returns the remainder a - b * sdiv(a, b); undefined where sdiv is undefined."""
        return self._binary("srem", a, b)

    def urem(self, a: Value, b: Value) -> Value:
        """Returns the remainder a - b * udiv(a, b); undefined if b = 0."""
        return self._binary("urem", a, b)

    def and_(self, a: Value, b: Value) -> Value:
        """Returns a & b."""
        return self._binary("and", a, b)

    def or_(self, a: Value, b: Value) -> Value:
        """Returns a | b."""
        return self._binary("or", a, b)

    def xor(self, a: Value, b: Value) -> Value:
        """Returns a ^ b."""
        return self._binary("xor", a, b)

    def not_(self, a: Value) -> Value:
        """Returns a with every bit flipped."""
        return self._binary("xor", a, self.const(1 if a.kind == "i1" else -1, a))

    def shl(self, a: Value, b: Value) -> Value:
        """Returns a << b; undefined unless b is less than the width."""
        return self._binary("shl", a, b)

    def lshr(self, a: Value, b: Value) -> Value:
        """Returns the logical shift a >> b; undefined unless b is less than the width."""
        return self._binary("lshr", a, b)

    def ashr(self, a: Value, b: Value) -> Value:
        """Returns the arithmetic shift a >> b; undefined unless b is less than the width."""
        return self._binary("ashr", a, b)

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        """Returns a comparison of integers: eq ne, slt sle sgt sge, ult ule ugt uge."""
        return self.emit(f"icmp {predicate} {a!r}, {b.text}", "i1", a.lanes)

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """Returns `yes` where `condition` (i1) is true, else `no`.

        A scalar condition selects between whole vectors.
        """
        return self.emit(f"select {condition!r}, {yes!r}, {no!r}", yes.kind, yes.lanes)

    # --- conversions ----------------------------------------------------------------------------

    def cast(self, op: str, a: Value, kind: str) -> Value:
        """Returns every lane converted to `kind` by LLVM's instruction `op`."""
        return self.emit(f"{op} {a!r} to {type_text(kind, a.lanes)}", kind, a.lanes)

    def sitofp(self, a: Value, kind: str) -> Value:
        """Converts signed integers to floats, rounding to nearest."""
        return self.cast("sitofp", a, kind)

    def uitofp(self, a: Value, kind: str) -> Value:
        """Converts unsigned integers to floats, rounding to nearest."""
        return self.cast("uitofp", a, kind)

    def fptosi(self, a: Value, kind: str) -> Value:
        """Converts floats to signed integers by truncation; poison if out of range."""
        return self.cast("fptosi", a, kind)

    def fptoui(self, a: Value, kind: str) -> Value:
        """Converts floats to unsigned integers by truncation; poison if out of range."""
        return self.cast("fptoui", a, kind)

    def fptosi_sat(self, a: Value, kind: str) -> Value:
        """Converts floats to signed integers by truncation and saturation; NaN becomes 0.

        On x86, LLVM's own intrinsic is scalarized, whereas this code stays in vector registers.
        """
        low, high = -(2.0 ** (BITS[kind] - 1)), 2.0 ** (BITS[kind] - 1)
        return self._saturated(a, kind, "fptosi", low, high, -int(low) - 1)

    def fptoui_sat(self, a: Value, kind: str) -> Value:
        """Converts floats to unsigned integers by truncation and saturation; NaN becomes 0."""
        return self._saturated(a, kind, "fptoui", 0.0, 2.0 ** BITS[kind], 2 ** BITS[kind] - 1)

    def _saturated(self, a: Value, kind: str, op: str, low: float, high: float, most: int) -> Value:
        zero = self.const(0.0, a)
        floored = self.select(self.fcmp("ogt", a, self.const(low, a)), a, self.const(low, a))
        known = self.select(self.is_nan(a), zero, floored)
        over = self.fcmp("oge", known, self.const(high, a))
        inside = self.select(over, zero, known)
        return self.select(over, constant(most, kind, a.lanes), self.cast(op, inside, kind))

    def fpext(self, a: Value, kind: str) -> Value:
        """Converts floats to a wider format."""
        if a.kind != "f16":
            return self.cast("fpext", a, kind)
        half = self.half_type(a.lanes)
        bits = self.emit(f"bitcast {a!r} to {half}", "f16", a.lanes)
        return self.emit(f"fpext {half} {bits.text} to {type_text(kind, a.lanes)}", kind, a.lanes)

    def fptrunc(self, a: Value, kind: str) -> Value:
        """Converts floats to a narrower format, rounding to nearest even."""
        if kind != "f16":
            return self.cast("fptrunc", a, kind)
        half = self.half_type(a.lanes)
        rounded = self.emit(f"fptrunc {a!r} to {half}", "f16", a.lanes)
        return self.emit(
            f"bitcast {half} {rounded.text} to {type_text('i16', a.lanes)}", "f16", a.lanes
        )

    def half_type(self, lanes: int) -> str:
        """Returns LLVM's float16 type, for the conversion instructions."""
        return "half" if lanes == 1 else f"<{lanes} x half>"

    def zext(self, a: Value, kind: str) -> Value:
        """Converts integers to a wider kind by zero extension."""
        return a if a.kind == kind else self.cast("zext", a, kind)

    def sext(self, a: Value, kind: str) -> Value:
        """Converts integers to a wider kind by sign extension."""
        return a if a.kind == kind else self.cast("sext", a, kind)

    def trunc(self, a: Value, kind: str) -> Value:
        """Converts integers to a narrower kind by keeping the low bits."""
        return a if a.kind == kind else self.cast("trunc", a, kind)

    def bitcast(self, a: Value, kind: str) -> Value:
        """Reinterprets the bits of every lane as another kind of the same width."""
        assert BITS[a.kind] == BITS[kind], f"bitcast of {a.kind} to {kind}"
        if type_text(a.kind) == type_text(kind):
            return Value(a.text, kind, a.lanes)
        return self.cast("bitcast", a, kind)

    def bits(self, a: Value) -> Value:
        """Returns the bits of floats as integers of the same width."""
        return self.bitcast(a, f"i{BITS[a.kind]}")

    def is_float(self, a: Value) -> bool:
        """Returns whether the kind of `a` is a float."""
        return a.kind in FLOAT_KINDS


def _with_types(name: str, args: Sequence[Value]) -> str:
    return ".".join([name, *dict.fromkeys(mangled(a.kind, a.lanes) for a in args)])


def _function(
    inner: Emitter, linkage: str, name: str, args: Sequence[Value], kind: str, body: Body,
    attributes: str,
) -> str:  # fmt: skip
    """Returns the definition of a function whose body is written to `inner` by `body`."""
    params = [Value(f"%a{i}", a.kind, a.lanes) for i, a in enumerate(args)]
    result = body(inner, params)
    inner.line(f"ret {result!r}")
    head = f"define {linkage}{type_text(kind, args[0].lanes)} @{name}"
    operands = ", ".join(map(repr, params))
    return "\n".join([f"{head}({operands}) {attributes} {{", "entry:", *inner.lines, "}"])
