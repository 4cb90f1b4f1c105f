"""Reference implementations, in NumPy, of all tensor operations and scalar functions.

These functions are called by the eager rules of primitives, by the interpreter of the tensor IR,
and by constant folding; compiled code is tested against them. They take and return ndarrays. Under
`np.errstate(all="ignore")`, they do not warn about floating-point exceptions. If NumPy differs from
JAX (integer division by zero, shifts by the width or more, conversions out of range, NaN in max and
min), they follow JAX.
"""

from __future__ import annotations

from jitney.compiler.reference import scalar as scalar
from jitney.compiler.reference.elementwise import bitcast_bits as bitcast_bits
from jitney.compiler.reference.elementwise import clamp as clamp
from jitney.compiler.reference.elementwise import integer_pow as integer_pow
from jitney.compiler.reference.elementwise import reduce_precision as reduce_precision
from jitney.compiler.reference.elementwise import select_n as select_n
from jitney.compiler.scalar_functions.casts import bitcast as bitcast
