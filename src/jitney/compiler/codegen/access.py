"""Emits vector loads and stores: contiguous ones, gathers and scatters.

Calls of masked intrinsics pass the alignment as an argument, which all versions of LLVM accept.
Since LLVM 22 the alignment is an attribute, which older versions do not support; the IR parser
converts calls that pass the argument.

Masked accesses for which the processor has no instruction are lowered by LLVM to a branch per lane,
with superlinear compile time. Processors have no gathers and scatters of 8- and 16-bit elements.
Such elements are loaded by gathering the aligned 32-bit words that contain them, and are stored one
by one. Helper functions, which are defined once per module, contain the code for this.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import (
    BITS,
    Value,
    constant,
    constant_vector,
    mangled,
    memory_bytes,
    type_text,
)

WORD = "i32"  # the narrowest element that processors can gather


def lanes_below(e: Emitter, count: Value, lanes: int) -> Value:
    """Returns the mask of the lanes with indices below `count`, which can be any integer."""
    return _compared(e, "ult", count, lanes)


def lanes_from(e: Emitter, count: Value, lanes: int) -> Value:
    """Returns the mask of the lanes with indices of at least `count`, which can be any integer."""
    return _compared(e, "uge", count, lanes)


def _compared(e: Emitter, how: str, count: Value, lanes: int) -> Value:
    """Returns the comparison of lane indices with `count`, in vectors of at least 128 bits.

    LLVM 22 widens comparisons of smaller vectors, and wrongly assumes that they are false in the
    added lanes, so that a masked store of eight bytes could write up to sixteen.
    """
    capped = e.intrinsic("llvm.smin", [count, constant(lanes, "i64")])
    capped = e.intrinsic("llvm.smax", [capped, constant(0, "i64")])
    kind = {2: "i64", 4: "i32", 8: "i16"}.get(lanes, "i8" if lanes <= 64 else "i16")
    ids = constant_vector(tuple(range(lanes)), kind)
    return e.icmp(how, ids, e.splat(e.trunc(capped, kind), lanes))


def load_vector(e: Emitter, pointer: Value, kind: str, lanes: int, mask: Value | None) -> Value:
    """Loads `lanes` contiguous elements from `pointer`; the result is 0 in lanes masked off."""
    size, vector = memory_bytes(kind), type_text(kind, lanes)
    if mask is None:
        return e.emit(f"load {vector}, {pointer!r}, align {size}", kind, lanes)
    name = f"llvm.masked.load.{mangled(kind, lanes)}.p0"
    e.declarations.add(f"declare {vector} @{name}(ptr, i32, <{lanes} x i1>, {vector})")
    call = f"call {vector} @{name}({pointer!r}, i32 {size}, {mask!r}"
    return e.emit(f"{call}, {vector} zeroinitializer)", kind, lanes)


def store_vector(e: Emitter, value: Value, pointer: Value, mask: Value | None) -> None:
    """Stores the lanes of `value`, or only those in `mask`, to contiguous elements at `pointer`."""
    size, lanes = memory_bytes(value.kind), value.lanes
    if mask is None:
        e.line(f"store {value!r}, {pointer!r}, align {size}")
        return
    name = f"llvm.masked.store.{mangled(value.kind, lanes)}.p0"
    e.declarations.add(f"declare void @{name}({value.type}, ptr, i32, <{lanes} x i1>)")
    e.line(f"call void @{name}({value!r}, {pointer!r}, i32 {size}, {mask!r})")


def gather(e: Emitter, pointers: Value, kind: str, mask: Value | None) -> Value:
    """Loads the elements that `pointers` point to; the result is undefined in lanes masked off."""
    if BITS[kind] >= BITS[WORD] or mask is None or not e.target.has_gather:
        return _gather(e, pointers, kind, mask)
    lanes = pointers.lanes
    name = f"jitney.gather.{mangled(kind, lanes)}"
    if name not in e.functions:
        e.functions[name] = _gather_function(e, name, kind, lanes)
    call = f"call {type_text(kind, lanes)} @{name}({pointers!r}, {mask!r})"
    return e.emit(call, kind, lanes)


def _gather_function(e: Emitter, name: str, kind: str, lanes: int) -> str:
    """Returns a function that gathers narrow elements, by shifting the words that contain them."""
    inner = Emitter(e.target, e)
    pointers, mask = Value("%places", "ptr", lanes), Value("%mask", "i1", lanes)
    # An aligned word does not cross pages, so all of it can be read.
    address = inner.cast("ptrtoint", pointers, "i64")
    inside = inner.and_(address, inner.const(memory_bytes(WORD) - 1, address))
    words = inner.cast("inttoptr", inner.sub(address, inside), "ptr")
    word = _gather(inner, words, WORD, mask)
    shift = inner.shl(inner.trunc(inside, WORD), inner.const(3, word))
    value = inner.bitcast(inner.trunc(inner.lshr(word, shift), f"i{BITS[kind]}"), kind)
    return f"""\
define internal {value.type} @{name}({pointers!r}, {mask!r}) noinline {e.target.function_attributes} {{
entry:
{chr(10).join(inner.lines)}
  ret {value!r}
}}"""


def _gather(e: Emitter, pointers: Value, kind: str, mask: Value | None) -> Value:
    lanes = pointers.lanes
    vector = type_text(kind, lanes)
    mask = constant(True, "i1", lanes) if mask is None else mask
    name = f"llvm.masked.gather.{mangled(kind, lanes)}.v{lanes}p0"
    e.declarations.add(f"declare {vector} @{name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {vector})")
    call = f"call {vector} @{name}({pointers!r}, i32 {memory_bytes(kind)}, {mask!r}"
    return e.emit(f"{call}, {vector} zeroinitializer)", kind, lanes)


def scatter(e: Emitter, value: Value, pointers: Value, mask: Value | None) -> None:
    """Stores the lanes of `value`, or those in `mask`, in order.

    If addresses are equal, the last lane wins.
    """
    lanes = value.lanes
    if BITS[value.kind] < BITS[WORD] and mask is not None:
        name = f"jitney.scatter.{mangled(value.kind, lanes)}"
        if name not in e.functions:
            e.functions[name] = _scatter_function(e, name, value, pointers)
        e.line(f"call void @{name}({value!r}, {pointers!r}, {mask!r})")
    else:
        _scatter(e, value, pointers, constant(True, "i1", lanes) if mask is None else mask)


def _scatter(e: Emitter, value: Value, pointers: Value, mask: Value) -> None:
    lanes, size = value.lanes, memory_bytes(value.kind)
    name = f"llvm.masked.scatter.{mangled(value.kind, lanes)}.v{lanes}p0"
    e.declarations.add(f"declare void @{name}({value.type}, <{lanes} x ptr>, i32, <{lanes} x i1>)")
    e.line(f"call void @{name}({value!r}, {pointers!r}, i32 {size}, {mask!r})")


def _scatter_function(e: Emitter, name: str, value: Value, pointers: Value) -> str:
    """Returns a function that scatters all lanes, or loops over the set bits of the mask."""
    inner = Emitter(e.target, e)
    lanes, element = value.lanes, type_text(value.kind)
    value = Value("%values", value.kind, lanes)
    pointers = Value("%places", "ptr", lanes)
    inner.declarations.add(f"declare i{lanes} @llvm.cttz.i{lanes}(i{lanes}, i1)")
    _scatter(inner, value, pointers, constant(True, "i1", lanes))
    params = f"{value!r}, {pointers!r}, <{lanes} x i1> %mask"
    return f"""\
define internal void @{name}({params}) noinline {e.target.function_attributes} {{
entry:
  %value = alloca {value.type}, align 64
  %place = alloca {pointers.type}, align 64
  %bits = bitcast <{lanes} x i1> %mask to i{lanes}
  %all = icmp eq i{lanes} %bits, -1
  br i1 %all, label %whole, label %part
whole:
{chr(10).join(inner.lines)}
  ret void
part:
  store {value!r}, ptr %value, align 64
  store {pointers!r}, ptr %place, align 64
  %some = icmp ne i{lanes} %bits, 0
  br i1 %some, label %lane, label %done
lane:
  %left = phi i{lanes} [%bits, %part], [%rest, %lane]
  %first = call i{lanes} @llvm.cttz.i{lanes}(i{lanes} %left, i1 true)
  %j = zext i{lanes} %first to i64
  %from = getelementptr {element}, ptr %value, i64 %j
  %x = load {element}, ptr %from, align {memory_bytes(value.kind)}
  %to.at = getelementptr ptr, ptr %place, i64 %j
  %to = load ptr, ptr %to.at, align 8
  store {element} %x, ptr %to, align {memory_bytes(value.kind)}
  %lower = sub i{lanes} %left, 1
  %rest = and i{lanes} %left, %lower
  %more = icmp ne i{lanes} %rest, 0
  br i1 %more, label %lane, label %done
done:
  ret void
}}"""


def as_i64(e: Emitter, value: Value, dtype: np.dtype) -> Value:
    """Returns an integer of `dtype` extended to 64 bits, with or without sign."""
    if value.kind == "i64":
        return value
    return e.sext(value, "i64") if dtype.kind == "i" else e.zext(value, "i64")
