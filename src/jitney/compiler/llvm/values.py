"""LLVM values as typed text, which `emit` returns and accepts.

A `Value` is the text of an operand, with the kind of its elements and its number of lanes. Kinds
are machine types without signedness: an operation on an `i32` determines, by its dtype, whether it
is signed. The kind `i1` is a predicate in registers, and one byte (0 or 1) in memory.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Literal, TypeAlias

import numpy as np

from jitney.core.settings import caches
from jitney.core.types import dtypes
from jitney.core.util import float_errors

Kind: TypeAlias = Literal[
    "i1", "i8", "i16", "i32", "i64", "i128", "f16", "bf16", "f32", "f64", "ptr", "void"
]

FLOAT_KINDS = frozenset(("f16", "bf16", "f32", "f64"))

BITS: dict[str, int] = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "i128": 128,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "ptr": 64,
}

# LLVM's name of each kind. 16-bit floats are represented by their bits: on processors without them,
# LLVM would move them by calls of functions that no library provides.
_ELEMENT: dict[str, str] = {
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "i128": "i128",
    "f16": "i16",
    "bf16": "i16",
    "f32": "float",
    "f64": "double",
    "ptr": "ptr",
    "void": "void",
}

_KIND_OF_NAME: dict[str, Kind] = {
    "bool": "i1",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "uint16": "i16",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
}
# Keyed by dtype, since NumPy takes a microsecond to return the name of a dtype.
_KIND_OF_DTYPE: dict[np.dtype, Kind] = {
    np.dtype(name): kind for name, kind in _KIND_OF_NAME.items()
}
_KIND_OF_DTYPE[np.dtype(dtypes.bfloat16)] = "bf16"


class Value:
    """An SSA name or a constant, with its kind and number of lanes; 1 lane is a scalar."""

    __slots__ = ("kind", "lanes", "text", "type")

    def __init__(self, text: str, kind: str, lanes: int = 1):
        self.text = text
        self.kind = kind
        self.lanes = lanes
        self.type = type_text(kind, lanes)

    def __repr__(self) -> str:
        return f"{self.type} {self.text}"


def is_constant(value: Value) -> bool:
    """Returns whether `value` is a constant that is equal in all lanes."""
    return not value.text.startswith(("%", "<"))


@cache
def type_text(kind: str, lanes: int = 1) -> str:
    """Returns LLVM's name of a type: `float`, `<16 x float>`."""
    element = _ELEMENT[kind]
    return element if lanes == 1 else f"<{lanes} x {element}>"


@cache
def mangled(kind: str, lanes: int = 1) -> str:
    """Returns the suffix of overloaded intrinsics for a type: `f32`, `v16f32`, `p0`."""
    element = "p0" if kind == "ptr" else "i16" if kind in ("f16", "bf16") else kind
    return element if lanes == 1 else f"v{lanes}{element}"


def kind_of(dtype: np.dtype) -> Kind | None:
    """Returns the kind of one element of `dtype`, or None if native code does not support it.

    Complex numbers are pairs of values and have no kind; their components do.
    """
    return _KIND_OF_DTYPE.get(dtype)


def register_kind(dtype: np.dtype) -> Kind:
    """Returns the kind of one element of `dtype`, which native code must support."""
    kind = kind_of(dtype)
    assert kind is not None, dtype
    return kind


def is_signed(dtype: np.dtype) -> bool:
    """Returns whether `dtype` is a signed integer; Booleans and unsigned integers are not."""
    return dtype.kind == "i"


def memory_bytes(kind: str) -> int:
    """Returns the bytes of an element in memory; a Boolean takes one byte."""
    return max(BITS[kind] // 8, 1)


def constant(value: float | int | bool, kind: str, lanes: int = 1) -> Value:
    """Returns `value` in every lane; integers wrap to the width of the kind, floats are rounded."""
    if kind in FLOAT_KINDS:
        # Keyed by bits: 0.0 and -0.0 would be equal keys, and NaN equals nothing.
        return _float_constant(struct.pack("<d", value), kind, lanes)
    return _integer_constant(int(value), kind, lanes)


def spread(value: Value, lanes: int) -> Value:
    """Returns a vector with a scalar constant in every lane."""
    return _spread(value.text, value.kind, lanes)


def constant_vector(values: tuple[float | int | bool, ...], kind: str) -> Value:
    """Returns a vector of constants, one per lane."""
    element = _ELEMENT[kind]
    parts = ", ".join(f"{element} {constant(v, kind).text}" for v in values)
    return Value(f"<{parts}>", kind, len(values))


@caches.memoized("constants as text", "value, type, lanes", 8192)
def _float_constant(bits: bytes, kind: str, lanes: int) -> Value:
    (value,) = struct.unpack("<d", bits)
    return _spread(_float_text(value, kind), kind, lanes)


def _float_text(value: float, kind: str) -> str:
    """Returns LLVM's text of a float: the bits of the equal double, or those of the 16-bit kind."""
    with float_errors.ignored():
        if kind == "f64":
            return f"0x{np.float64(value).view(np.uint64):016X}"
        if kind == "f32":
            return f"0x{np.float64(np.float32(value)).view(np.uint64):016X}"
        if kind == "f16":
            return str(int(np.float16(value).view(np.int16)))
        word = int(np.float32(value).view(np.uint32))
        rounded = (word + 0x7FFF + ((word >> 16) & 1)) >> 16 if value == value else 0x7FC0
        return str(rounded - ((rounded & 0x8000) << 1))


@caches.memoized("constants as text", "value, type, lanes", 8192)
def _integer_constant(value: int, kind: str, lanes: int) -> Value:
    if kind == "i1":
        return _spread("true" if value else "false", kind, lanes)
    if kind == "ptr":
        assert value == 0, "the only pointer constant is null"
        return _spread("null", kind, lanes)
    width = BITS[kind]
    value &= (1 << width) - 1
    if value >> (width - 1):
        value -= 1 << width
    return _spread(str(value), kind, lanes)


def _spread(text: str, kind: str, lanes: int) -> Value:
    if lanes > 1:
        text = f"splat ({_ELEMENT[kind]} {text})"
    return Value(text, kind, lanes)
