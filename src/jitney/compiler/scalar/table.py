"""The table of scalar functions: how each is emitted as LLVM code, and how exact it is.

    emit(e, "exp", float32, [x], float32) -> the result, or None if there is no native code

Operands are values of the kinds of their dtypes, scalars or vectors alike; float16 and bfloat16
are computed in f32 and rounded. Names and results are those of `compiler.reference.scalar`,
NaN payloads apart. Complex numbers are split into their parts before: see `complexes`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import BITS, FLOAT_KINDS, Value, is_signed, kind_of
from jitney.compiler.scalar import (
    bessel,
    complexes,
    error_functions,
    exponential,
    floats,
    gamma,
    integers,
    inverse_trigonometric,
    logarithm,
    powers,
    trigonometric,
)
from jitney.compiler.scalar.convert import (
    HALF_KINDS,
    convert,
    narrow_result,
    round_to_bfloat16,
    round_to_float16,
    widen,
)

FloatRule = Callable[..., Value]
IntegerRule = Callable[..., Value]

# Functions of f32 and f64: rule(e, *args).
_FLOAT: dict[str, FloatRule] = {
    "add": Emitter.fadd, "sub": Emitter.fsub, "mul": Emitter.fmul, "div": Emitter.fdiv,
    "neg": Emitter.fneg, "abs": Emitter.fabs, "sqrt": Emitter.sqrt, "floor": Emitter.floor,
    "ceil": Emitter.ceil, "round_even": Emitter.roundeven, "max": floats.maximum,
    "min": floats.minimum, "square": lambda e, x: e.fmul(x, x), "sign": floats.sign,
    "round_away": floats.round_away, "rsqrt": floats.rsqrt, "cbrt": floats.cbrt,
    "rem": floats.rem, "exp": exponential.exp, "exp2": exponential.exp2,
    "expm1": exponential.expm1, "logistic": exponential.logistic, "tanh": exponential.tanh,
    "sinh": exponential.sinh, "cosh": exponential.cosh, "log": logarithm.log,
    "log1p": logarithm.log1p, "sin": trigonometric.sin, "cos": trigonometric.cos,
    "tan": trigonometric.tan, "erf": error_functions.erf, "erfc": error_functions.erfc,
    "erf_inv": error_functions.erf_inv, "is_finite": floats.is_finite,
    "asin": inverse_trigonometric.asin, "acos": inverse_trigonometric.acos,
    "atan": inverse_trigonometric.atan, "atan2": inverse_trigonometric.atan2,
    "asinh": inverse_trigonometric.asinh, "acosh": inverse_trigonometric.acosh,
    "atanh": inverse_trigonometric.atanh,
    "pow": powers.power, "logaddexp": powers.log_add_exp, "lgamma": gamma.lgamma,
    "digamma": gamma.digamma, "bessel_i0e": bessel.i0e, "bessel_i1e": bessel.i1e,
    "round_to_bfloat16": round_to_bfloat16, "round_to_float16": round_to_float16,
    **complexes.PART_RULES,
}  # fmt: skip

# Functions of 16-bit floats that work on their bits; the others go by way of f32.
_HALF: dict[str, FloatRule] = {
    "neg": floats.flip_sign, "abs": floats.clear_sign, "nextafter": floats.nextafter,
}  # fmt: skip

_FLOAT_ORDER = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_TOTAL_ORDER = {"eq_to": "eq", "lt_to": "slt", "le_to": "sle"}
_ORDER = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
          "eq_to": "eq", "lt_to": "lt", "le_to": "le"}  # fmt: skip

# Functions of integers: rule(e, *args) where the sign does not matter, rule(e, *args, signed).
_INTEGER: dict[str, IntegerRule] = {
    "add": Emitter.add, "sub": Emitter.sub, "mul": integers.mul, "and": Emitter.and_,
    "or": Emitter.or_, "xor": Emitter.xor, "not": Emitter.not_,
    "neg": lambda e, x: e.sub(e.const(0, x), x), "square": lambda e, x: integers.mul(e, x, x),
    "shift_left": integers.shift_left, "shift_right_logical": integers.shift_right_logical,
    "shift_right_arithmetic": integers.shift_right_arithmetic,
    "population_count": integers.population_count, "clz": integers.clz,
}  # fmt: skip
_SIGNED: dict[str, IntegerRule] = {
    "div": integers.div, "rem": integers.rem, "sign": integers.sign, "mulhi": integers.mulhi,
    "max": lambda e, x, y, s: e.intrinsic("llvm.smax" if s else "llvm.umax", [x, y]),
    "min": lambda e, x, y, s: e.intrinsic("llvm.smin" if s else "llvm.umin", [x, y]),
    "abs": lambda e, x, s: integers.absolute(e, x) if s else x,
}  # fmt: skip

_BOOL: dict[str, IntegerRule] = {
    "and": Emitter.and_, "or": Emitter.or_, "xor": Emitter.xor, "not": Emitter.not_,
    "add": Emitter.or_, "mul": Emitter.and_, "sub": Emitter.xor, "max": Emitter.or_,
    "min": Emitter.and_,
}  # fmt: skip


def emit(
    e: Emitter, fn: str, dtype: np.dtype, args: list[Value], result_dtype: np.dtype
) -> Value | None:
    """Emits scalar function `fn`; None if native code does not know it for `dtype`.

    Args:
      dtype: of the operands; for `select` and `clamp`, of the operands that are chosen from.
      args: as many values as the function takes, all of one lane count.
      result_dtype: of the result; matters to `convert` and `bitcast`.
    """
    if fn == "convert":
        return convert(e, args[0], dtype, result_dtype)
    if kind_of(dtype) is None or len({x.kind for x in args if x.kind != "i1"}) > 1:
        return None
    if fn == "select":
        return e.select(*args)
    if fn == "clamp":
        low, x, high = args
        raised = emit(e, "max", dtype, [low, x], dtype)
        return raised and emit(e, "min", dtype, [raised, high], dtype)
    if fn == "bitcast":
        kind = kind_of(result_dtype)
        if kind is None or BITS[kind] != BITS[args[0].kind]:
            return None
        return e.bitcast(args[0], kind)
    if args[0].kind in FLOAT_KINDS:
        return _emit_float(e, fn, args)
    if fn in _ORDER:
        order = _ORDER[fn]
        if order not in ("eq", "ne"):
            order = ("s" if is_signed(dtype) else "u") + order
        return e.icmp(order, *args)
    if args[0].kind == "i1":
        rule = _BOOL.get(fn)
        return rule(e, *args) if rule else None
    if fn in _INTEGER:
        return _INTEGER[fn](e, *args)
    if fn in _SIGNED:
        return _SIGNED[fn](e, *args, is_signed(dtype))
    return None


def _emit_float(e: Emitter, fn: str, args: list[Value]) -> Value | None:
    kind = args[0].kind
    if fn in _TOTAL_ORDER:
        return e.icmp(_TOTAL_ORDER[fn], *[floats.ordered_bits(e, x) for x in args])
    if fn == "nextafter":
        return floats.nextafter(e, *args)
    if kind in HALF_KINDS:
        if fn in _HALF:
            return _HALF[fn](e, *args)
        result = _emit_float(e, fn, [widen(e, x) for x in args])
        if result is None or result.kind != "f32":
            return result
        return narrow_result(e, fn, result, kind)
    if fn in _FLOAT_ORDER:
        return e.fcmp(_FLOAT_ORDER[fn], *args)
    rule = _FLOAT.get(fn)
    return rule(e, *args) if rule else None


# Largest errors in units in the last place, measured with `tests/accuracy`: f32, f64. For lgamma
# and digamma where x > 0 and away from their roots, for logaddexp where no terms cancel.
_ULP: dict[str, tuple[float, float]] = {
    "exp": (1, 1), "exp2": (1, 1), "expm1": (1.5, 2), "logistic": (2.5, 2.5), "tanh": (1.5, 3),
    "sinh": (2, 2), "cosh": (1.5, 1.5), "log": (1, 1), "log1p": (1, 1), "sin": (2, 2),
    "cos": (2, 2), "tan": (3, 2.5), "erf": (1.5, 1.5), "erfc": (4, 4), "erf_inv": (2.5, 3.5),
    "cbrt": (1, 1), "rsqrt": (1.5, 1.5), "asin": (2.5, 2.5), "acos": (2, 2), "atan": (2, 2),
    "atan2": (2, 2), "asinh": (3, 3), "acosh": (3, 3), "atanh": (3, 3), "pow": (1, 2),
    "lgamma": (0.6, 4), "digamma": (0.6, 48), "logaddexp": (1, 1),
    "bessel_i0e": (4, 4), "bessel_i1e": (4, 4),
}  # fmt: skip


def ulp_bound(fn: str, dtype: np.dtype) -> float:
    """How many units in the last place the result may be off; 0.5 is correctly rounded.

    A target without fused multiply-add may lose half a unit more.
    """
    bounds = _ULP.get(fn, (0.5, 0.5))
    if dtype.itemsize == 2:
        return 0.6  # rounded from f32
    return bounds[0] if dtype.itemsize == 4 else bounds[1]
