"""Loops and branches on values of user-defined types become those on the arrays they consist of."""

import numpy as np
import pytest

import jitney
from jitney import lax
from jitney.core.types.avals import shaped_array
from jitney.experimental import hijax
from jitney.primitives.control.high import row_type, rows_type

X = np.float32([1, 2, 3])


class Pair:
    """Two arrays of one shape, of which only the sum can be taken, and which can be scaled."""

    def __init__(self, first, second):
        self.first, self.second = first, second


class PairType(hijax.HiType):
    def __init__(self, shape):
        self.shape = tuple(shape)

    def __eq__(self, other):
        return type(other) is PairType and other.shape == self.shape

    def __hash__(self):
        return hash(self.shape)

    def str_short(self, short_dtypes=False, **_):
        return f"pair{list(self.shape)}"

    def lo_ty(self):
        return [shaped_array(self.shape, np.float32)] * 2

    def lower_val(self, x):
        return [x.first, x.second]

    def raise_val(self, first, second):
        return Pair(first, second)

    def dec_rank(self, size, spec):
        return PairType(self.shape[1:])

    def inc_rank(self, size, spec):
        return PairType((size, *self.shape))

    def leading_axis_spec(self):
        return 0


hijax.register_hitype(Pair, lambda x: PairType(np.shape(x.first)))


class Scale(hijax.HiPrimitive):
    def abstract_eval(self, x, k):
        return PairType(x.shape), set()

    def to_lojax(self, x, k):
        return Pair(x.first * k, x.second + k)


scale = Scale("scale_of_test").bind


def both(pair):
    return [np.asarray(pair.first).tolist(), np.asarray(pair.second).tolist()]


def test_types_of_rows():
    assert row_type(shaped_array((3, 2), np.float32)) == shaped_array((2,), np.float32)
    assert rows_type(shaped_array((2,), np.int8), 3) == shaped_array((3, 2), np.int8)
    assert row_type(PairType((3, 2))) == PairType((2,))
    assert rows_type(PairType((2,)), 3) == PairType((3, 2))


@pytest.mark.parametrize("wrap", [lambda f: f, jitney.jit])
def test_carries_and_rows_of_scans(wrap):
    def f(p, rows, ks):
        def body(carry, row_and_k):
            row, k = row_and_k
            return scale(carry, k), scale(row, 10 * k)

        return lax.scan(body, p, (rows, ks))

    last, ys = wrap(f)(Pair(np.float32(1), np.float32(0)), Pair(X, -X), X)
    assert both(last) == [6, 6]
    assert both(ys) == [(10 * X * X).tolist(), (10 * X - X).tolist()]


@pytest.mark.parametrize("wrap", [lambda f: f, jitney.jit])
def test_branches(wrap):
    def f(p, pair):
        return lax.cond(p, lambda x: scale(x, 2.0), lambda x: x, pair)

    for p, want in [(True, [2, 7]), (False, [1, 5])]:
        assert both(wrap(f)(p, Pair(np.float32(1), np.float32(5)))) == want


@pytest.mark.parametrize("wrap", [lambda f: f, jitney.jit])
def test_while_loops(wrap):
    def f(pair):
        return lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, scale(c[1], 2.0)), (0, pair))

    count, pair = wrap(f)(Pair(np.float32(1), np.float32(5)))
    assert count == 3
    assert both(pair) == [8, 11]
