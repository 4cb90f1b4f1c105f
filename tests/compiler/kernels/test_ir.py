"""What is known of a kernel from its indices: bounds, invariants, elements visited once."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Affine
from jitney.compiler.kernels.parse import parse_kernel


@pytest.mark.parametrize("coefficients", [(5, 1), (-5, 2), (0, -3), (0, 0)])
@pytest.mark.parametrize("extents", [(4, 5), (1, 1), (3, 1)])
def test_bounds_of_an_index_are_reached(coefficients, extents):
    index = Affine(7, coefficients)
    values = [
        7 + sum(c * i for c, i in zip(coefficients, at, strict=True))
        for at in itertools.product(*map(range, extents))
    ]
    assert index.bounds(extents) == (min(values), max(values))


def visiting(extents, coefficients, terms=()):
    int32 = np.dtype(np.int32)
    body = [ir.Load(0, Affine(0, (c, 0, 0)), int32) for c in (0, 1)]
    kernel = ir.Kernel(extents, 0, (int32,), tuple(body), ())
    return ir.visits_once(kernel, Affine(0, coefficients, terms))


@pytest.mark.parametrize("extents", [(2, 3, 4), (1, 3, 1), (2, 1, 3)])
@pytest.mark.parametrize(
    "coefficients", [(12, 4, 1), (1, 2, 6), (12, 4, -1), (3, 4, 1), (0, 4, 1), (7, 4, 1), (2, 3, 1)]
)
def test_what_is_visited_once_is(extents, coefficients):
    values = [
        sum(c * i for c, i in zip(coefficients, at, strict=True))
        for at in itertools.product(*map(range, extents))
    ]
    once = len(set(values)) == len(values)
    assert once or not visiting(extents, coefficients)
    if coefficients[1:] == (4, 1) and extents == (2, 3, 4):
        assert visiting(extents, coefficients) == (coefficients[0] >= 12)


def test_terms_must_be_the_same_everywhere():
    assert visiting((2, 3, 4), (12, 4, 1), ((0, 1),))
    assert not visiting((2, 3, 4), (12, 4, 1), ((1, 1),))


KERNEL = """kernel k(p0: float32, p1: int32, p2: float32) for i < 4, reduce j < 3 {
  %0 = float32 2.0
  %1 = load p1[3] : int32
  %2 = load p0[%1 + 1] : float32
  %3 = mul %0, %2 : float32
  %4 = load p0[j] : float32
  %5 = mul %3, %4 : float32
  %6 = load p0[%1*2 + i] : float32
  reduce add p2[i] <- %5 * %6
}"""


def test_statements_that_no_index_changes_are_invariant():
    assert ir.invariants(parse_kernel(KERNEL)) == [True] * 4 + [False] * 3


def test_equal_kernels_have_equal_keys():
    def key(*change):
        text = KERNEL.replace(*change) if change else KERNEL
        return ir.kernel_key(parse_kernel(text))

    assert key() == key() and hash(key()) == hash(key())
    changes = [
        ("2.0", "-0.0"), ("%1*2", "%1*3"), (" * %6", ""), ("reduce add", "reduce max"),
        ("< 4", "< 5"), ("3 {", "3 in order {"),
    ]  # fmt: skip
    keys = [key(), *[key(*change) for change in changes]]
    assert len(set(keys)) == len(keys)
    assert parse_kernel(KERNEL).points == 12 and parse_kernel(KERNEL).parallel == (4,)


def test_sums_of_halves_are_held_as_float32():
    for dtype in (np.float16, ml_dtypes.bfloat16):
        assert ir.is_half(np.dtype(dtype)) and ir.accumulator(np.dtype(dtype)) == np.float32
    for dtype in (np.int16, np.float32, np.float64, ml_dtypes.float8_e5m2):
        assert not ir.is_half(np.dtype(dtype)) and ir.accumulator(np.dtype(dtype)) == dtype
