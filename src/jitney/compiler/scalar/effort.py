"""Estimates the compile time of scalar functions from the number and width of their instructions.

The unit is one instruction on operands that fit in one register. An instruction on wider operands
counts once per register, since LLVM splits it first. LLVM takes 30 to 60 us per unit.

The instructions of each function are emitted and counted once, for a processor with 256-bit
registers. On other processors, vectors have more or fewer lanes, but occupy as many registers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import X86_AVX2
from jitney.compiler.llvm.values import Value, kind_of, register_kind
from jitney.compiler.scalar import table

_VECTOR = re.compile(r"<(\d+) x (\w+)>")
_CALLED = re.compile(r"call [^@]*@([\w.]+)\(")
_ELEMENT_BITS = {
    "i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16, "float": 32,
    "double": 64, "ptr": 64,
}  # fmt: skip


def function_effort(fn: str, operands: Sequence[np.dtype], result: np.dtype, lanes: int) -> int:
    """Returns the compile time of the scalar function `fn`, in units, for vectors of `lanes` lanes.

    For scalars, `lanes` is 1. Functions without native code are not part of kernels and cost
    nothing.
    """
    return _effort(fn, tuple(operands), result, lanes)


@cache
def _effort(fn: str, operands: tuple[np.dtype, ...], result: np.dtype, lanes: int) -> int:
    if kind_of(result) is None or any(kind_of(d) is None for d in operands):
        return 0
    e = Emitter(X86_AVX2)
    args = [Value(f"%a{i}", register_kind(d), lanes) for i, d in enumerate(operands)]
    table.emit(e, fn, operands[1] if fn == "select" else operands[0], args, result)
    return _units(e, e.lines)


def _units(e: Emitter, lines: Sequence[str]) -> int:
    """Returns the compile time of instructions in units; inlined helpers count at each call."""
    total = 0
    for line in lines:
        total += registers(line)
        called = _CALLED.search(line)
        text = e.functions.get(called[1], "") if called else ""
        if "alwaysinline" in text:
            total += _units(e, text.splitlines()[2:-1])
    return total


def registers(line: str) -> int:
    """Returns the number of registers of the widest operand or result of an instruction."""
    widths = [int(lanes) * _ELEMENT_BITS[element] for lanes, element in _VECTOR.findall(line)]
    return max(1, -(-max(widths, default=0) // COSTS.register_bits))
