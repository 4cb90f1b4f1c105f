"""Split reductions are launches of parts and launches that combine them, on buffers between."""

import math

import numpy as np
import pytest
from tests.compiler.plan.executed import Memory

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.split_reduction import split
from jitney.compiler.plan import ir
from jitney.compiler.plan.parts import by_rows, launches


def summing(columns, rows, order=""):
    """The launch of a kernel that sums `rows` rows, and the largest of each column."""
    kernel = parse_kernel(
        f"kernel k(p0: float32, p1: float32, p2: float32) for i < {columns}, "
        f"reduce j < {rows}{order} {{\n  %0 = load p0[i + j*{columns}] : float32\n"
        "  reduce add p1[i] <- %0\n  reduce max p2[i] <- %0\n}"
    )
    buffers = [ir.Buffer("input", 4 * columns * rows, 0)]
    buffers += [ir.Buffer("output", 4 * columns, k) for k in range(2)]
    return ir.Launch(kernel, tuple(buffers), apart="a reason")


def check(launch, steps, columns, rows):
    x = np.random.default_rng(0).integers(-9, 9, (rows, columns)).astype(np.float32)
    memory = Memory([x])
    memory.run(steps)
    np.testing.assert_array_equal(memory.view(launch.buffers[1], np.float32), x.sum(0))
    np.testing.assert_array_equal(memory.view(launch.buffers[2], np.float32), x.max(0))


@pytest.mark.parametrize("length", [3, 5])
def test_parts_come_before_what_combines_them(length):
    launch = summing(4, 17)
    parts, last = launches(launch, split(launch.kernel, length))
    assert len(parts) == 2 and len(last) == 2 and {s.apart for s in parts + last} == {"a reason"}
    between = parts[0].buffers[1:]
    assert [b.place for b in between] == ["arena"] * 2
    assert {s.buffers[0] for s in last} == set(between)
    check(launch, [*parts, *last], 4, 17)


def test_rows_are_summed_in_equal_parts():
    rows = 2 * COSTS.summed_rows * COSTS.strip_rows
    launch = summing(4, rows)
    part, last = by_rows(launch, rows, 16 * rows)
    count = part.kernel.extents[0]
    assert rows % count == 0 and rows // count >= COSTS.summed_rows
    assert count >= COSTS.strip_rows
    check(launch, [part, *last], 4, rows)
    # Half a strip holds one row more than is needed, and such parts would leave some rows over.
    nbytes = COSTS.strip_bytes * rows // (2 * (COSTS.summed_rows + 1))
    part, last = by_rows(launch, math.lcm(*range(1, rows)), nbytes)
    assert part.kernel.extents[0] == rows // COSTS.summed_rows
    check(launch, [part, *last], 4, rows)


def test_other_launches_are_none():
    rows = 2 * COSTS.summed_rows * COSTS.strip_rows
    assert by_rows(summing(4, rows, " in order"), rows, 16 * rows) is None
    assert by_rows(summing(1, rows), rows, 4 * rows) is None  # one sum
    assert by_rows(summing(4, rows), rows, COSTS.strip_bytes * rows) is None  # too long rows
