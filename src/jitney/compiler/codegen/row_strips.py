"""Generates an LLVM function that runs launches on successive strips of rows.

    i32 strips(ptr call, ptr slots, i64 begin, i64 end)        returns 1 if it has finished

`slots` points to the addresses of the buffers that the step accesses. `begin` and `end` are the
range of strips, so that they can be divided among threads. Each kernel is called for its part of a
strip. The buffers of a strip are on the stack. Since kernels index elements relative to the first
row of the complete array, they are passed the address that this row would have.
"""

from __future__ import annotations

from collections.abc import Callable

from jitney.compiler.codegen import polls
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.schedule import outer_extent
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value, constant
from jitney.compiler.plan import ir


def function(
    step: ir.RowStrips,
    name: str,
    e: Emitter,
    code_of: Callable[[Kernel], tuple[str, bool]],
) -> str:
    """Returns the definition of the function.

    Args:
      step: the launches.
      name: the name of the function.
      e: an empty emitter.
      code_of: returns the name of a kernel's function, and whether it is in another module.
    """
    stack = [f"  %own = alloca [{_own_bytes(step)} x i8], align 64"]
    at: dict[ir.Buffer, list[Value]] = {}  # places from which launches read a buffer's address
    for i, launch in enumerate(step.launches):
        stack.append(f"  %params.{i} = alloca [{len(launch.buffers)} x ptr], align 16")
        for j, buffer in enumerate(launch.buffers):
            place = e.emit(f"getelementptr ptr, ptr %params.{i}, i64 {j}", "ptr")
            at.setdefault(buffer, []).append(place)
    for j, buffer in enumerate(ir.touched(step)):
        slot = e.emit(f"getelementptr ptr, ptr %slots, i64 {j}", "ptr")
        _store(e, e.emit(f"load ptr, {slot!r}", "ptr"), at[buffer])
    before = e.block
    e.jump("head")
    e.label("head")
    counter = Value("%strip", "i64")
    phi = len(e.lines)
    e.lines.append("")  # its second edge follows after the body
    e.branch(e.icmp("slt", counter, Value("%end", "i64")), "body", "done")
    e.label("body")
    _strip(step, e, counter, at, code_of)
    after = e.add(counter, constant(1, "i64"))
    e.lines[phi] = f"  %strip = phi i64 [%begin, %{before}], [{after.text}, %{e.block}]"
    e.jump("head")
    e.label("done")
    e.line(f"ret {polls.SUCCEEDED!r}")
    head = f"define internal i32 @{name}(ptr %call, ptr %slots, i64 %begin, i64 %end)"
    body = ["entry:", *stack, *e.lines]
    return "\n".join([f"{head} {e.target.function_attributes} {{", *body, "}"])


def _own_bytes(step: ir.RowStrips) -> int:
    buffers = [b for launch in step.launches for b in launch.buffers if b.place == "strip"]
    return max([b.index + b.nbytes for b in buffers], default=0)


def _store(e: Emitter, address: Value, places: list[Value]) -> None:
    for place in places:
        e.line(f"store {address!r}, {place!r}")


def _strip(
    step: ir.RowStrips,
    e: Emitter,
    counter: Value,
    at: dict[ir.Buffer, list[Value]],
    code_of: Callable[[Kernel], tuple[str, bool]],
) -> None:
    """Writes the calls of the kernels for strip `counter`."""
    low = e.mul(counter, constant(step.strip, "i64"))
    high = e.add(low, constant(step.strip, "i64"))
    high = e.intrinsic("llvm.smin", [high, constant(step.rows, "i64")])
    for buffer, places in at.items():
        if buffer.place == "strip":
            before = e.mul(low, constant(buffer.nbytes // step.strip, "i64"))
            distance = e.sub(constant(buffer.index, "i64"), before)
            _store(e, e.emit(f"getelementptr i8, ptr %own, {distance!r}", "ptr"), places)
    for i, launch in enumerate(step.launches):
        name, is_outside = code_of(launch.kernel)
        if is_outside:
            e.declarations.add(f"declare i32 @{name}(ptr, ptr, i64, i64)")
        iterations = constant(outer_extent(launch.kernel) // step.rows, "i64")
        bounds = f"{e.mul(low, iterations)!r}, {e.mul(high, iterations)!r}"
        status = e.emit(f"call i32 @{name}(ptr %call, ptr %params.{i}, {bounds})", "i32")
        if polls.has_polls(launch.kernel):
            polls.check(e, status)
