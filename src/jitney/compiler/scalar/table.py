"""Emits the code of scalar functions, given their name and dtype.

    emit(e, "exp", float32, [x], float32) -> the result, or None if there is no native code

Operands are scalars or vectors of the kinds that correspond to their dtypes. float16 and bfloat16
are computed in f32 and rounded. Names are those of the table in `compiler.scalar_functions`, the
rows of which refer to the code; results equal those of the table's references, except for NaN
payloads. Complex numbers must first be split into components: see `complexes`.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import FLOAT_KINDS, Value, is_signed, kind_of
from jitney.compiler.scalar import complexes
from jitney.compiler.scalar.code import Code, named
from jitney.compiler.scalar.convert import HALF_KINDS, narrow_result, widen
from jitney.compiler.scalar_functions import lookup


@cache
def code_of(fn: str) -> Code | None:
    """Returns the code of the scalar function `fn`, or None if it has none."""
    row = lookup(fn)
    if row.code is None:
        return None
    code = complexes.rule_of(row.part) if row.part else named(row.code)
    return code if isinstance(code, Code) else Code(floats=code)


def emit(
    e: Emitter, fn: str, dtype: np.dtype, args: list[Value], result_dtype: np.dtype
) -> Value | None:
    """Emits the scalar function `fn`; returns None if native code does not support it for `dtype`.

    Args:
      dtype: the dtype of the operands; for `select` and `clamp`, of the operands that are selected
        from.
      args: the operands, which all have the same number of lanes.
      result_dtype: the dtype of the result, which only `convert` and `bitcast` use.
    """
    code = code_of(fn)
    if code is None:
        return None
    if code.cast is not None:
        return code.cast(e, args[0], dtype, result_dtype)
    if kind_of(dtype) is None or len({x.kind for x in args if x.kind != "i1"}) > 1:
        return None
    if code.composed is not None:

        def apply(name: str, *xs: Value) -> Value | None:
            return emit(e, name, dtype, list(xs), dtype)

        return code.composed(apply, *args)
    kind = args[-1].kind  # the first operand of `select` is a predicate
    if kind in FLOAT_KINDS:
        return _emit_float(e, fn, code, args, kind)
    if kind == "i1":
        return code.booleans(e, *args) if code.booleans else None
    if code.by_sign is not None:
        return code.by_sign(e, *args, is_signed(dtype))
    return code.integers(e, *args) if code.integers else None


def _emit_float(e: Emitter, fn: str, code: Code, args: list[Value], kind: str) -> Value | None:
    if kind not in HALF_KINDS:
        return code.floats(e, *args) if code.floats else None
    if code.halves is not None:
        return code.halves(e, *args)
    if code.floats is None:
        return None
    result = code.floats(e, *[widen(e, x) for x in args])
    return narrow_result(e, lookup(fn).half, result, kind) if result.kind == "f32" else result
