"""Partial results start at the neutral element and are combined lane by lane."""

import numpy as np
import pytest
from tests.compiler.written import run, vector

from jitney.compiler.codegen.access import lanes_below
from jitney.compiler.codegen.accumulators import Accumulators, neutral
from jitney.compiler.llvm.values import constant
from jitney.compiler.reference import reduction

X = np.float32([3, -1, 4, 1, -5, 9, 2, 6])
REDUCTIONS = [(fn, np.dtype(np.float32)) for fn in ("add", "mul", "max", "min")]


def reduced(reductions, add, *arrays):
    """Results of reductions over 8 and then 4 lanes, to which `add(accumulators, e, ...)` adds."""
    out = np.zeros(len(reductions), arrays[0].dtype)

    def write(e, *pointers):
        acc = Accumulators(e, reductions, [8, 4])
        e.lines[:0] = acc.allocas
        add(acc, e, *pointers[:-1])
        for j in range(len(reductions)):
            value = acc.reduced(j)
            value = e.zext(value, "i8") if value.kind == "i1" else value
            at = e.emit(f"getelementptr {value.type}, {pointers[-1]!r}, i64 {j}", "ptr")
            e.line(f"store {value!r}, {at!r}")

    run(write, *arrays, out)
    return out


def test_lanes_of_several_widths_are_combined():
    def add(acc, e, px):
        for j in range(4):
            acc.add(j, vector(e, px, "f32", 8), None)
            acc.add(j, vector(e, px, "f32", 4), None)

    found = reduced(REDUCTIONS, add, X)
    every = np.concatenate([X, X[:4]])
    np.testing.assert_array_equal(found, [every.sum(), every.prod(), every.max(), every.min()])


def test_nothing_gives_the_neutral_element():
    found = reduced(REDUCTIONS, lambda acc, e, px: None, X)
    np.testing.assert_array_equal(found, [0, 1, -np.inf, np.inf])


def test_masked_lanes_do_not_count():
    def add(acc, e, px):
        x = vector(e, px, "f32", 8)
        for j in range(4):
            acc.add(j, x, lanes_below(e, constant(3, "i64"), 8))

    found = reduced(REDUCTIONS, add, X)
    np.testing.assert_array_equal(found, [6, -12, 4, -1])


def test_products_are_accumulated():
    def add(acc, e, px):
        x = vector(e, px, "f32", 8)
        acc.add(0, x, lanes_below(e, constant(7, "i64"), 8), factor=x)

    assert reduced(REDUCTIONS[:1], add, X)[0] == (X[:7] ** 2).sum()


def test_predicates_are_bytes():
    x = np.array([0, 1, 1, 0, 1, 1, 1, 1], np.uint8)
    kinds = [(fn, np.dtype(bool)) for fn in ("or", "and", "max", "min")]

    def add(acc, e, px):
        flags = e.trunc(vector(e, px, "i8", 8), "i1")
        for j in range(4):
            acc.add(j, flags, None)

    np.testing.assert_array_equal(reduced(kinds, add, x), [1, 0, 1, 0])
    np.testing.assert_array_equal(reduced(kinds, add, np.ones_like(x)), [1, 1, 1, 1])


def test_strips_resume_except_for_the_first():
    def add(acc, e, px):
        x = vector(e, px, "f32", 8)
        acc.resume(0, x, unless=constant(True, "i1"))
        acc.resume(1, x, unless=constant(False, "i1"))

    found = reduced(REDUCTIONS[:2], add, X)
    np.testing.assert_array_equal(found, [0, X.prod()])


@pytest.mark.parametrize("fn", ["add", "mul", "max", "min", "and", "or", "xor"])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float64])
def test_neutral_elements_are_those_of_the_reference(fn, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "f" and fn in ("and", "or", "xor"):
        return
    with np.errstate(over="ignore"):
        found = np.asarray(neutral(fn, dtype)).astype(dtype)
    np.testing.assert_array_equal(found, reduction.neutral(fn, dtype))
