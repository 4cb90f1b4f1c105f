"""Types and values of the arguments of random programs."""

from __future__ import annotations

import random

import ml_dtypes
import numpy as np
from tests.fuzz.differential.program import Input, Type

SHAPES = (
    (), (), (1,), (3,), (3,), (4,), (7,), (17,), (33,), (0,),
    (2, 3), (2, 3), (3, 2), (3, 3), (1, 3), (3, 1), (2, 0), (5, 4),
    (2, 1, 3), (2, 3, 4), (2, 2, 2, 2), (1, 1, 1),
)  # fmt: skip

# Extents around powers of two: sizes at which something is computed in another way, where the setting
# JITNEY_SMALL_THRESHOLDS lowers them; programs whose shapes are drawn so have `LARGE` elements at most.
EXTENTS = (4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 128, 130)
LARGE = 300

# By how often they are wanted; those of 64 bits only where these are enabled.
NARROW = (
    *["float32"] * 12, *["int32"] * 5, *["bool"] * 3, "int8", "int16", "uint8", "uint16", "uint32",
    "uint32", "float16", "float16", "bfloat16", "bfloat16", "complex64", "complex64", "int4",
    "uint4", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
WIDE = (*NARROW, *["float64"] * 8, *["int64"] * 3, "uint64", "complex128", "complex128")


def dtype(r: random.Random, x64: bool) -> str:
    return r.choice(WIDE if x64 else NARROW)


def shape(r: random.Random) -> tuple[int, ...]:
    """A shape: a usual one, or one of an extent near a threshold."""
    if r.random() < 0.75:
        return r.choice(SHAPES)
    n = r.choice(EXTENTS)
    rest = r.choice((1, 2, 3, 5, n, r.choice(EXTENTS)))
    if n * rest > LARGE:
        rest = 2
    return r.choice(((n,), (n, rest), (rest, n), (2, n) if rest == 1 else (1, rest, n), (n, rest)))


def kind(name: str) -> str:
    """One of b, i, u, f, c."""
    if name.startswith(("float", "bfloat")):
        return "f"
    return {"bool": "b", "int": "i", "uint": "u", "complex": "c"}[name.rstrip("0123456789")]


def _real(r: random.Random, style: str, info: ml_dtypes.finfo) -> float:
    if style == "whole":
        return float(r.randint(-3, 4))
    if style == "special" and r.random() < 0.6:
        edges = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), float(info.max)]
        edges += [float(info.min), float(info.tiny), -1.0, 1.0, 0.5, -2.5]
        return r.choice(edges)
    if style == "subnormal" and r.random() < 0.5:
        return r.choice((-1, 1)) * float(info.tiny) * r.random()
    return r.gauss(0, 1.5)


def _integer(r: random.Random, style: str, name: str) -> int:
    info = ml_dtypes.iinfo(name)
    low, high = int(info.min), int(info.max)
    if style == "special":
        return r.choice((low, high, low + 1, high - 1, 0, 1, max(low, -1)))
    if style == "normal":
        return r.randint(low, high)
    return r.randint(max(low, -3), 4)


def argument(r: random.Random, name: str, x64: bool) -> Input:
    """A random argument."""
    if r.random() < 0.08:
        value = r.choice((2, -3, 0, 0.5, -1.5, 2.0, True, 1 + 2j))
        scalar = {bool: "bool", int: "int32", float: "float32", complex: "complex64"}[type(value)]
        wide = {"int32": "int64", "float32": "float64", "complex64": "complex128"}
        return Input(name, Type(wide.get(scalar, scalar) if x64 else scalar, (), True), (value,))
    type_ = Type(dtype(r, x64), shape(r))
    style = r.choice(("whole", "whole", "normal", "normal", "normal", "special"))
    if r.random() < 0.02:
        style = "subnormal"
    size = int(np.prod(type_.shape))
    return Input(name, type_, tuple([_value(r, style, type_.dtype) for _ in range(size)]))


def _value(r: random.Random, style: str, name: str) -> bool | int | float | complex:
    match kind(name):
        case "b":
            return r.random() < 0.5
        case "i" | "u":
            return _integer(r, style, name)
        case "c":
            info = ml_dtypes.finfo("float32" if name == "complex64" else "float64")
            return complex(_real(r, style, info), _real(r, style, info))
        case _:
            # As the dtype rounds it, so that the source shows the value that is used.
            return float(np.float64(_real(r, style, ml_dtypes.finfo(name))).astype(name))
