"""Loops over rows: carries and rows in order, few operands, and the errors of their arguments."""

import numpy as np
import pytest

import jitney
from jitney.primitives.control.scan import _unroll_factor, scan

XS = np.arange(6, dtype=np.float32).reshape(3, 2)


def step(carry, row):
    return 2 * carry + row.sum(), {"old": carry, "row": row}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, True])
@pytest.mark.parametrize("eager", [False, True])
def test_rows_are_visited_in_order(reverse, unroll, eager):
    with jitney.disable_jit(eager):
        last, ys = scan(step, np.float32(1), XS, reverse=reverse, unroll=unroll)
    carry, olds = 1, [0] * 3
    for k in reversed(range(3)) if reverse else range(3):
        olds[k] = carry
        carry = 2 * carry + XS[k].sum()
    assert last == carry
    np.testing.assert_array_equal(ys["old"], olds)
    np.testing.assert_array_equal(ys["row"], XS)


def test_loops_without_arrays():
    last, ys = scan(lambda c, _: (c + 1, None), 0, length=4)
    assert last == 4
    assert ys is None
    assert scan(lambda c, _: (c + 1, None), 0, length=0)[0] == 0


def test_carries_that_never_change_are_constants_of_the_loop():
    def f(c, xs):
        return scan(lambda c, x: ((c[0], c[1] + x), (x, c[0])), (c, 0.0), xs)

    closed = jitney.make_jaxpr(f)(np.float32(1), XS[:, 0])
    (eqn,) = [e for e in closed.eqns if e.primitive.name == "scan"]
    consts, carry, rows = eqn.params["ft_in"].elts
    assert (len(consts), len(carry), len(rows)) == (1, 1, 1)
    (kept, total), (same, copies) = f(np.float32(5), XS[:, 0])
    assert (kept, total) == (5, 6)
    np.testing.assert_array_equal(same, XS[:, 0])
    np.testing.assert_array_equal(copies, [5, 5, 5])


@pytest.mark.parametrize(
    ("unroll", "want"), [(1, 1), (0, 1), (False, 1), (True, 7), (3, 3), (np.int64(9), 9)]
)
def test_factors_of_unrolling(unroll, want):
    assert _unroll_factor(unroll, 7) == want


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: scan(None, 0, XS), TypeError, "`f` must be a function, but is None"),
        (lambda: scan(step, 0.0), ValueError, "`length`"),
        (
            lambda: scan(step, 0.0, XS, length=2),
            ValueError,
            r"size length=2, but have the sizes \[3\]",
        ),
        (lambda: scan(step, 0.0, (XS, XS[1:])), ValueError, "along axis 0, but have 3, 2"),
        (lambda: scan(step, 0.0, 1.0), ValueError, "has rank 0"),
        (lambda: scan(lambda c, x: c, 0.0, XS), TypeError, r"must return a pair \(carry, y\)"),
        (lambda: scan(step, 0.0, XS, unroll=1.5), TypeError, "a bool or an int, but got 1.5"),
        (lambda: scan(step, 0.0, XS, unroll=-1), ValueError, "non-negative int, but got -1"),
    ],
)
def test_what_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()
