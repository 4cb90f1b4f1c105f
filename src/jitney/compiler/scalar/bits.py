"""Bitwise functions of integers and predicates."""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.scalar import integers
from jitney.compiler.scalar.code import Code

and_ = Code(integers=Emitter.and_, booleans=Emitter.and_)
or_ = Code(integers=Emitter.or_, booleans=Emitter.or_)
xor = Code(integers=Emitter.xor, booleans=Emitter.xor)
not_ = Code(integers=Emitter.not_, booleans=Emitter.not_)
shift_left = Code(integers=integers.shift_left)
shift_right_logical = Code(integers=integers.shift_right_logical)
shift_right_arithmetic = Code(integers=integers.shift_right_arithmetic)
population_count = Code(integers=integers.population_count)
clz = Code(integers=integers.clz)
mulhi = Code(by_sign=integers.mulhi)
