"""The table of scalar functions: one row for each, with all that the compiler knows of it.

    lookup("exp")        reference, operands, result dtype, cost, error bound, and where its code is

Rows are declared in one file for each family. Nothing else lists scalar functions by name. The code
of a row is named, not imported: reference implementations are needed without LLVM, too.
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
