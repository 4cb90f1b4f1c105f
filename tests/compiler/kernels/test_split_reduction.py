"""Partial results of parts, reduced in turn, are the reduction of the whole."""

import numpy as np
import pytest

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels.interpret import run
from jitney.compiler.kernels.parse import parse_kernel
from jitney.compiler.kernels.split_reduction import split, split_fold

X = np.random.default_rng(0).integers(-9, 9, 4 * 23 * 2).astype(np.float32)


def kernel(rows=23, columns=4, dtype="float32", order=""):
    """The sums, and the largest elements, of `columns` columns of pairs."""
    text = (
        f"kernel k(p0: float32, p1: {dtype}, p2: {dtype}) "
        f"for i < {columns}, reduce j < {rows}, reduce k < 2{order} {{\n"
        f"  %0 = load p0[i*2 + j*{2 * columns} + k] : float32\n"
        "  reduce add p2[i] <- %0\n  reduce max p1[i] <- %0\n}"
    )
    return parse_kernel(text)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("length", [1, 4, 5, 11, 22])
def test_parts_and_a_remainder(length, dtype):
    whole = kernel(dtype=dtype)
    found = split(whole, length)
    assert found.inputs == [0] and len(found.parts) == 1 + bool(23 % length)
    assert found.count == 4 * -(-23 // length)
    partial = [np.full(found.count, np.nan, np.float32) for _ in range(2)]
    for part in found.parts:
        run(part, [X, *partial])
    results = [np.zeros(4, dtype) for _ in range(2)]
    for last, mine, out in zip(found.last, partial, results, strict=True):
        run(last, [mine, out])
    expected = [np.zeros(4, dtype) for _ in range(2)]
    run(whole, [X, *expected])
    np.testing.assert_array_equal(results, expected[::-1])


def test_only_large_reductions_to_few_elements_are_split():
    rows = COSTS.split_above
    assert split_fold(kernel(rows, 1)) is not None
    assert split_fold(kernel(rows, 1, order=" in order")) is None
    assert split_fold(kernel()) is None
    assert split_fold(kernel(8, COSTS.split_results)) is None
