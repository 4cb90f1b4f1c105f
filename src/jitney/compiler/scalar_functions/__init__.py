"""The table of scalar functions: a row for each, with all its properties.

    lookup("exp")        reference, operands, result dtype, cost, error bound, name of its code

Each family of functions is declared in one module. There are no other lists of scalar functions. A
row contains the name of its code instead of the code itself, since reference implementations are
also needed without LLVM.
"""

from __future__ import annotations

from jitney.compiler.scalar_functions import (
    arithmetic as arithmetic,
    bits as bits,
    casts as casts,
    special as special,
    transcendental as transcendental,
)
from jitney.compiler.scalar_functions import complex_functions as complex_functions
from jitney.compiler.scalar_functions.declaration import ScalarFunction as ScalarFunction
from jitney.compiler.scalar_functions.declaration import declare as declare
from jitney.compiler.scalar_functions.declaration import find as find
from jitney.compiler.scalar_functions.declaration import lookup as lookup
from jitney.compiler.scalar_functions.declaration import real_dtype as real_dtype
from jitney.compiler.scalar_functions.declaration import rows as rows
