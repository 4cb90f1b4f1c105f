"""Kernels of equal code have equal keys: all but the outermost size."""

import pytest

from jitney.compiler.codegen.kernel_costs import body_cost, is_tile, lanes_hint
from jitney.compiler.codegen.kernel_key import (
    ANY_RANGE,
    Range,
    content_key,
    range_of,
)
from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.schedule import schedule

TEXT = """kernel k(p0: float32, p1: float32) for i < 300, for j < 50 {
  %0 = load p0[i*64 + j] : float32
  %1 = sin %0 : float32
  store p1[i*50 + j] <- %1
}"""


def key(*changes):
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return content_key(parse_kernel(text))


def test_the_outermost_size_is_a_parameter_of_the_code():
    assert key() == key(("i < 300", "i < 700"))


@pytest.mark.parametrize(
    "change",
    [("j < 50", "j < 51"), ("sin", "cos"), ("i*64", "i*65"), ("p1: float32", "p1: float64")],
)
def test_what_the_code_depends_on_is_in_the_key(change):
    assert key() != key(change)


def reduction(i, j, index="i*{j} + j"):
    return parse_kernel(
        f"kernel k(p0: float32, p1: float32) for i < {i}, reduce j < {j} {{\n"
        f"  %0 = load p0[{index.format(i=i, j=j)}] : float32\n  reduce add p1[i] <- %0\n}}"
    )


def test_long_rows_have_more_accumulators():
    hints = []
    for n in (8, COSTS.accumulators_above, COSTS.more_accumulators_above):
        rows = reduction(4, n)
        assert schedule(rows).reduces_lanes
        hints.append(lanes_hint(rows, schedule(rows)))
    assert hints[1] <= hints[2] == 2 * COSTS.accumulators
    elementwise = parse_kernel(TEXT)
    assert lanes_hint(elementwise, schedule(elementwise)) == 1
    keys = [content_key(reduction(4, n)) for n in (COSTS.more_accumulators_above, 9)]
    assert keys[0] != keys[1]


def test_ranges_are_of_the_vector_loop():
    """In the kernel above the outermost loop is not that of the lanes."""
    assert range_of(parse_kernel(TEXT)) == ANY_RANGE
    columns = reduction(2 * COSTS.lane_chunk, 8, "i + j*{i}")
    assert range_of(columns) == Range(COSTS.lane_chunk)


def test_costs_count_functions_and_products():
    kernel = parse_kernel(TEXT)
    assert body_cost(kernel) == 1 + 1 + COSTS.function("sin")
    products = parse_kernel(
        "kernel k(p0: float32, p1: float32) for i < 64, reduce j < 9 {\n"
        "  %0 = load p0[i + j*64] : float32\n  %1 = load p0[i + j*64 + 5] : float32\n"
        "  reduce add p1[i] <- %0 * %1\n  reduce add p1[i + 64] <- %0 * %0\n}"
    )
    assert body_cost(products) == 2 + 2 + 2 * COSTS.function("mul")
    assert is_tile(products, schedule(products))
    assert not is_tile(kernel, schedule(kernel))
