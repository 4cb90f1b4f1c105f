"""Arithmetic, rounding, minimum, maximum and selection, for all kinds of numbers."""

from __future__ import annotations

from collections.abc import Callable

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar import floats, integers
from jitney.compiler.scalar.code import Code


def _negative(e: Emitter, x: Value) -> Value:
    return e.sub(e.const(0, x), x)


def _float_square(e: Emitter, x: Value) -> Value:
    return e.fmul(x, x)


def _integer_square(e: Emitter, x: Value) -> Value:
    return integers.mul(e, x, x)


def _integer_absolute(e: Emitter, x: Value, signed: bool) -> Value:
    return integers.absolute(e, x) if signed else x


def _integer_maximum(e: Emitter, x: Value, y: Value, signed: bool) -> Value:
    return e.intrinsic("llvm.smax" if signed else "llvm.umax", [x, y])


def _integer_minimum(e: Emitter, x: Value, y: Value, signed: bool) -> Value:
    return e.intrinsic("llvm.smin" if signed else "llvm.umin", [x, y])


def _clamp(apply: Callable[..., Value | None], low: Value, x: Value, high: Value) -> Value | None:
    raised = apply("max", low, x)
    return raised and apply("min", raised, high)


# For predicates, the sum is "or", and the difference is "xor".
add = Code(floats=Emitter.fadd, integers=Emitter.add, booleans=Emitter.or_)
sub = Code(floats=Emitter.fsub, integers=Emitter.sub, booleans=Emitter.xor)
mul = Code(floats=Emitter.fmul, integers=integers.mul, booleans=Emitter.and_)
div = Code(floats=Emitter.fdiv, by_sign=integers.div)
rem = Code(floats=floats.rem, by_sign=integers.rem)
neg = Code(floats=Emitter.fneg, halves=floats.flip_sign, integers=_negative)
square = Code(floats=_float_square, integers=_integer_square)
sqrt = Code(floats=Emitter.sqrt)

absolute = Code(floats=Emitter.fabs, halves=floats.clear_sign, by_sign=_integer_absolute)
sign = Code(floats=floats.sign, by_sign=integers.sign)
floor = Code(floats=Emitter.floor)
ceil = Code(floats=Emitter.ceil)
round_even = Code(floats=Emitter.roundeven)
round_away = Code(floats=floats.round_away)
nextafter = Code(floats=floats.nextafter, halves=floats.nextafter)

maximum = Code(floats=floats.maximum, by_sign=_integer_maximum, booleans=Emitter.or_)
minimum = Code(floats=floats.minimum, by_sign=_integer_minimum, booleans=Emitter.and_)
clamp = Code(composed=_clamp)
select = Code(
    floats=Emitter.select, halves=Emitter.select, integers=Emitter.select, booleans=Emitter.select
)
