"""Comparisons, compiled: NaN is unordered, or in its place in the total order; signs of integers."""

import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.scalar import comparisons

PARTS = [-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf, np.nan]
ORDERS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
          "gt": np.greater, "ge": np.greater_equal}  # fmt: skip


@pytest.mark.parametrize("name", ORDERS)
def test_usual_comparisons(name):
    code, wanted = getattr(comparisons, name), ORDERS[name]
    x, y = (v.ravel().astype(np.float32) for v in np.meshgrid(PARTS, PARTS))
    np.testing.assert_array_equal(apply(code.floats, x, y, result=bool), wanted(x, y))
    a, b = np.array([0, 0, 1, 1, 255, 128], np.uint8), np.array([0, 1, 0, 255, 1, 127], np.uint8)
    for dtype, signed in (("uint8", False), ("int8", True)):
        u, v = a.view(dtype), b.view(dtype)
        found = apply(lambda e, p, q, s=signed: code.by_sign(e, p, q, s), u, v, result=bool)
        np.testing.assert_array_equal(found, wanted(u, v))
    p, q = a > 0, b > 0
    np.testing.assert_array_equal(apply(code.booleans, p, q, result=bool), wanted(p, q))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["eq_to", "lt_to", "le_to"])
def test_total_order(name, dtype):
    order = [np.copysign(np.nan, -1), *PARTS[:-1], np.copysign(np.nan, 1)]
    i, j = (v.ravel() for v in np.meshgrid(np.arange(8), np.arange(8)))
    values = np.array(order, dtype)
    code = getattr(comparisons, name)
    rule = code.halves if dtype == "float16" else code.floats
    found = apply(rule, values[i], values[j], result=bool)
    np.testing.assert_array_equal(found, ORDERS[name[:2]](i, j))
