"""Which scalar functions have native code is found by emitting them: by dtypes, not by names alone."""

import numpy as np
import pytest

from jitney.compiler.scalar.support import MEMORY, supports


def dtypes(*names):
    return [np.dtype(n) for n in names]


@pytest.mark.parametrize(
    ("fn", "operands", "result", "wanted"),
    [
        ("exp", ["float32"], "float32", True),
        ("exp", ["float16"], "float16", True),
        ("exp", ["int32"], "int32", False),
        ("exp", ["complex64"], "complex64", False),
        ("and", ["int8", "int8"], "int8", True),
        ("and", ["float32", "float32"], "float32", False),
        ("select", ["bool", "float16", "float16"], "float16", True),
        ("select", ["bool", "complex64", "complex64"], "complex64", False),
        ("convert", ["float64"], "uint8", True),
        ("bitcast", ["float64"], "uint8", False),
        ("lt", ["float64", "float64"], "bool", True),
        (MEMORY, ["uint64"], "uint64", True),
        (MEMORY, ["complex128"], "complex128", False),
    ],
)
def test_support(fn, operands, result, wanted):
    assert supports(fn, dtypes(*operands), np.dtype(result)) is wanted
