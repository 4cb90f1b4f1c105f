"""How much text a scalar function is, and how wide: what LLVM's time for it depends on.

The unit is an instruction on values that fill a register at most. One on values of several registers
counts once for each, as LLVM divides it before anything else. LLVM takes 30 to 60 us for a unit.

Found out by writing the function once and looking, for a processor with registers of 256 bits: on
others vectors have more or fewer lanes, but take as many registers.
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
    """Units of the scalar function `fn` for vectors of `lanes` lanes, or for scalars (1).

    Functions without native code cost nothing: they are not part of a kernel.
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
    """Units of instructions; helpers that are written out at each call count there."""
    total = 0
    for line in lines:
        total += registers(line)
        called = _CALLED.search(line)
        text = e.functions.get(called[1], "") if called else ""
        if "alwaysinline" in text:
            total += _units(e, text.splitlines()[2:-1])
    return total


def registers(line: str) -> int:
    """Registers that the widest operand or result of an instruction takes."""
    widths = [int(lanes) * _ELEMENT_BITS[element] for lanes, element in _VECTOR.findall(line)]
    return max(1, -(-max(widths, default=0) // COSTS.register_bits))
