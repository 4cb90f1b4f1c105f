"""Kernels mean what their loops would compute, one point after the other where they write again."""

import numpy as np

from jitney.compiler.kernels.interpret import run
from jitney.compiler.kernels.parse import parse_kernel


def test_stores_and_their_conditions():
    kernel = parse_kernel(
        "kernel k(p0: float32, p1: float32) for i < 3, for j < 4 {\n"
        "  %0 = load p0[i + j*3] : float32\n  %1 = float32 0.0\n  %2 = gt %0, %1 : bool\n"
        "  store p1[i*4 + j] <- %0 where %2\n}"
    )
    x = np.random.default_rng(0).normal(size=12).astype(np.float32)
    out = np.full(12, 9, np.float32)
    run(kernel, [x, out])
    turned = x.reshape(4, 3).T
    np.testing.assert_array_equal(out.reshape(3, 4), np.where(turned > 0, turned, 9))


def test_reductions_of_products_are_rounded_to_the_buffer():
    kernel = parse_kernel(
        "kernel k(p0: float32, p1: float16) for i < 2, reduce j < 3, reduce k < 2 {\n"
        "  %0 = load p0[i*6 + j*2 + k] : float32\n"
        "  reduce add p1[i] <- %0 * %0\n  reduce max p1[i + 2] <- %0\n}"
    )
    x = np.arange(12, dtype=np.float32) / 3
    out = np.zeros(4, np.float16)
    run(kernel, [x, out])
    rows = x.reshape(2, 6)
    np.testing.assert_array_equal(out[:2], (rows * rows).sum(1).astype(np.float16))
    np.testing.assert_array_equal(out[2:], rows.max(1).astype(np.float16))


def test_points_that_write_to_the_same_element_run_in_order():
    """A histogram: each point reads what those before it have written."""
    kernel = parse_kernel(
        "kernel k(p0: int32, p1: int32) for i < 6 {\n  %0 = load p0[i] : int32\n"
        "  %1 = load p1[%0] : int32\n  %2 = int32 1\n  %3 = add %1, %2 : int32\n"
        "  store p1[%0] <- %3\n}"
    )
    x, out = np.int32([2, 0, 2, 1, 2, 0]), np.zeros(4, np.int32)
    run(kernel, [x, out])
    np.testing.assert_array_equal(out, np.bincount(x, minlength=4))


def test_sums_in_order_add_one_after_the_other():
    text = (
        "kernel k(p0: float32, p1: float32) reduce i < 40 in order {{\n"
        "  %0 = load p0[i] : float32\n  reduce add p1[0] <- %0\n}}"
    ).format()
    x = np.random.default_rng(1).normal(size=40).astype(np.float32)
    out = np.zeros(1, np.float32)
    run(parse_kernel(text), [x, out])
    total = np.float32(0)
    for value in x:
        total += value
    assert out[0] == total


def test_domains_without_points_write_only_reductions():
    head, value = "kernel k(p0: float32, p1: float32)", "  %0 = load p0[i] : float32\n"
    store = parse_kernel(f"{head} for i < 0 {{\n{value}  store p1[i] <- %0\n}}")
    fold = parse_kernel(f"{head} for i < 2, reduce j < 0 {{\n{value}  reduce max p1[i] <- %0\n}}")
    x, out = np.ones(3, np.float32), np.ones(3, np.float32)
    run(store, [x, out])
    np.testing.assert_array_equal(out, [1, 1, 1])
    run(fold, [x, out])
    np.testing.assert_array_equal(out, [-np.inf, -np.inf, 1])
