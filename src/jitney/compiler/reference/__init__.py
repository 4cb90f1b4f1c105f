"""Reference implementations, in NumPy, of all tensor operations and scalar functions.

The eager rules of primitives, the interpreter of the tensor IR and constant folding call these same
functions; compiled code is tested against them. They accept and return ndarrays, never warn about
floating-point events if called under `np.errstate(all="ignore")`, and follow JAX where NumPy
differs (integer division by zero, shifts past the width, conversions out of range, NaN in max and
min).
"""

from __future__ import annotations

from jitney.compiler.reference import scalar as scalar
from jitney.compiler.reference.elementwise import bitcast_bits as bitcast_bits
from jitney.compiler.reference.elementwise import clamp as clamp
from jitney.compiler.reference.elementwise import integer_pow as integer_pow
from jitney.compiler.reference.elementwise import reduce_precision as reduce_precision
from jitney.compiler.reference.elementwise import select_n as select_n
from jitney.compiler.scalar_functions.casts import bitcast as bitcast
