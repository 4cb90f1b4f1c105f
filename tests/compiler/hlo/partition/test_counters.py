"""Counts in a shape are computed from the indices along its axes."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.parse import parse_region
from jitney.compiler.hlo.partition.counters import hoist_reshapes


def kinds(region):
    return [type(n) for n in traversal.topological_order(traversal.roots(region))]


def text(dtype, n, shape, lines=""):
    return parse_region(
        f"(p0: {dtype}[]) {{\n  %1 = iota dim=0 : {dtype}[{n}]\n"
        f"  %2 = broadcast p0 dims=() : {dtype}[{n}]\n  %3 = mul %1, %2 : {dtype}[{n}]\n"
        f"  %4 = reshape %3 : {dtype}[{shape}]\n{lines}  return %4\n}}"
    )


@pytest.mark.parametrize(("n", "shape"), [(24, "2,3,4"), (6, "1,6"), (6, "6,1"), (1, "1,1")])
@pytest.mark.parametrize("dtype", ["uint32", "int8"])
def test_values_stay_and_no_vector_is_reshaped(n, shape, dtype):
    region = text(dtype, n, shape)
    shaped = hoist_reshapes(region)
    assert ir.Reshape in kinds(region) and ir.Reshape not in kinds(shaped)
    factor = [np.asarray(11, dtype)]
    np.testing.assert_array_equal(run_region(shaped, factor)[0], run_region(region, factor)[0])


def test_counts_of_small_dtypes_wrap():
    region = text("uint8", 600, "2,300")
    found = run_region(hoist_reshapes(region), [np.uint8(1)])[0]
    np.testing.assert_array_equal(found, np.arange(600).astype(np.uint8).reshape(2, 300))


def test_programs_without_such_counts_are_left_alone():
    region = parse_region(
        "(p0: int32[6]) {\n  %1 = iota dim=0 : int32[6]\n  %2 = add %1, p0 : int32[6]\n"
        "  %3 = reshape %2 : int32[2,3]\n  return %3\n}"
    )
    assert hoist_reshapes(region) is region
