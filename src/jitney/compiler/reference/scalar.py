"""The scalar functions, elementwise on ndarrays of any dtype.

    function(name)(*arrays) -> array        convert(array, dtype) -> array

The functions are declared in `compiler.scalar_functions`. Names are those of JAX's primitives,
except that `round` is called `round_even` or `round_away`. The operands of `select` are (predicate,
on true, on false). float16 and bfloat16 are computed in float32 and rounded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.compiler.scalar_functions import lookup
from jitney.compiler.scalar_functions.casts import convert as convert
from jitney.compiler.scalar_functions.complex_functions import (
    COMPLEX_FUNCTIONS as COMPLEX_FUNCTIONS,
)
from jitney.compiler.scalar_functions.declaration import BOOL, Reference
from jitney.compiler.scalar_functions.ufuncs import (
    for_small as for_small,
    use_threads as use_threads,
)
from jitney.core.types import dtypes


def function(name: str) -> Reference:
    """Returns the reference implementation of the scalar function `name`."""
    return lookup(name).reference


def apply(name: str, xs: Sequence[np.ndarray]) -> np.ndarray:
    """Returns `function(name)(*xs)`, with support for 4- and 2-bit integers."""
    dtype = xs[-1].dtype
    if dtype.kind == "V" and dtypes.issubdtype(dtype, np.integer):
        return _of_narrow_integers(name, xs, dtype)
    return function(name)(*xs)


_OF_BITS = {"shift_right_logical", "population_count", "clz"}


def _of_narrow_integers(name: str, xs: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """Computes function `name` in 8 bits and wraps the result."""
    bits = dtypes.iinfo(dtype).bits
    is_signed = dtypes.issubdtype(dtype, np.signedinteger)
    wide = [x.astype(np.int8) if x.dtype == dtype else x for x in xs]
    if name in _OF_BITS or (not is_signed and name != "shift_right_arithmetic"):
        wide = [
            (x & np.int8(2**bits - 1)).view(np.uint8) if x.dtype == np.int8 else x for x in wide
        ]
    elif not is_signed:  # sign-extended from the narrow width
        wide = [(x << np.int8(8 - bits)) >> np.int8(8 - bits) for x in wide]
    result = np.asarray(function(name)(*wide))
    if name == "clz":
        result = result - np.uint8(8 - bits)
    return result if result.dtype == BOOL else result.astype(np.int8).astype(dtype)
