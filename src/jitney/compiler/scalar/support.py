"""Determines whether a scalar function has native code, by emitting it once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import X86_AVX2
from jitney.compiler.llvm.values import Value, kind_of
from jitney.compiler.scalar import table

MEMORY = "store"  # as a function name, it asks whether elements can be loaded and stored


def supports(fn: str, operands: Sequence[np.dtype], result: np.dtype) -> bool:
    """Returns whether kernels can compute `fn` on operands of these dtypes.

    All other functions are computed by their reference implementations, which compiled programs
    call.
    """
    return _supports(fn, tuple(operands), result)


@cache
def _supports(fn: str, operands: tuple[np.dtype, ...], result: np.dtype) -> bool:
    kinds = [kind_of(d) for d in operands]
    if kind_of(result) is None or None in kinds:
        return False
    if fn == MEMORY:
        return True
    args = [Value(f"%a{i}", kind) for i, kind in enumerate(kinds) if kind is not None]
    dtype = operands[1] if fn == "select" else operands[0]
    return table.emit(Emitter(X86_AVX2), fn, dtype, args, result) is not None
