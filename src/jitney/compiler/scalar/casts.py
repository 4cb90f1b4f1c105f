"""Casts: conversions of values, of bits, and to the precision of 16-bit floats."""

from __future__ import annotations

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import BITS, Value, kind_of
from jitney.compiler.scalar import convert as conversions
from jitney.compiler.scalar.code import Code


def _bitcast(e: Emitter, x: Value, old: np.dtype, new: np.dtype) -> Value | None:
    kind = kind_of(new)
    if kind is None or kind_of(old) is None or BITS[kind] != BITS[x.kind]:
        return None
    return e.bitcast(x, kind)


convert = Code(cast=conversions.convert)
bitcast = Code(cast=_bitcast)
round_to_bfloat16 = Code(floats=conversions.round_to_bfloat16)
round_to_float16 = Code(floats=conversions.round_to_float16)
