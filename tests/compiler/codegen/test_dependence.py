"""A statement is computed in the outermost loop in which its operands are known."""

import pytest

from jitney.compiler.codegen.dependence import dependence
from jitney.compiler.kernels.parse import parse_kernel

KERNEL = """kernel k(p0: float32, p1: int32, p2: float32) for i < 8, for j < 8 {
  %0 = float32 2.0
  %1 = load p0[i] : float32
  %2 = load p1[j + 3] : int32
  %3 = load p0[%2 + 1] : float32
  %4 = mul %1, %0 : float32
  %5 = mul %4, %3 : float32
  %6 = load p0[7] : float32
  store p2[i*8 + j] <- %5
}"""


@pytest.mark.parametrize(
    ("order", "depths"),
    [((0, 1), [0, 1, 2, 2, 1, 2, 0]), ((1, 0), [0, 2, 1, 1, 2, 2, 0])],
)
def test_depths_follow_the_order_of_loops(order, depths):
    found, _ = dependence(parse_kernel(KERNEL), order, 1)
    assert found == depths


@pytest.mark.parametrize(
    ("vector", "varies"),
    [
        (0, [False, True, False, False, True, True, False]),
        (1, [False, False, True, True, False, True, False]),
        (None, [False] * 7),
    ],
)
def test_what_differs_between_lanes(vector, varies):
    assert dependence(parse_kernel(KERNEL), (0, 1), vector)[1] == varies


def test_what_the_kernel_writes_is_read_in_the_innermost_loop():
    kernel = parse_kernel(KERNEL.replace("load p0[7]", "load p2[7]"))
    assert dependence(kernel, (0, 1), 1)[0][6] == 2
