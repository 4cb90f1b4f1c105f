"""Cumulative reductions are the prefixes that NumPy's accumulations give."""

import numpy as np
import pytest

import jitney
from jitney.primitives.calculus import add, mul
from jitney.primitives.reduction.cumulative import (
    cumlogsumexp,
    cummax,
    cummin,
    cumprod,
    cumsum,
    scan_by_halves,
)

X = np.array([[1, -2, 3, 4], [2, 2, -1, 0.5]], np.float32)


@pytest.mark.parametrize(
    ("of", "ufunc"),
    [
        (cumsum, np.add),
        (cumprod, np.multiply),
        (cummax, np.maximum),
        (cummin, np.minimum),
        (cumlogsumexp, np.logaddexp),
    ],
)
@pytest.mark.parametrize("reverse", [False, True])
def test_prefixes(of, ufunc, reverse):
    turn = -1 if reverse else 1
    want = ufunc.accumulate(X[:, ::turn], axis=1)[:, ::turn]
    np.testing.assert_allclose(of(X, 1, reverse), want, rtol=1e-6)
    assert of(X[:, :0], 1, reverse).shape == (2, 0)


def test_sums_of_exponentials_of_infinities():
    x = np.array([-np.inf, -np.inf, 0, np.inf, np.nan], np.float32)
    want = [-np.inf, -np.inf, 0, np.inf, np.nan]
    np.testing.assert_array_equal(cumlogsumexp(x), want)


def test_tangents_after_an_infinity_are_those_of_the_infinity():
    x, t = np.array([1, np.inf, 2], np.float32), np.array([3, 5, 7], np.float32)
    _, got = jitney.jvp(cumlogsumexp, (x,), (t,))
    np.testing.assert_array_equal(got, [3, 5, 5])


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8])
def test_a_scan_by_halves_keeps_the_order(n):
    """Affine maps x -> a x + b, whose composition does not commute."""
    a, b = np.arange(1, n + 1, dtype=np.float32), np.arange(n, dtype=np.float32) - 2

    def after(first, second):
        return [mul(first[0], second[0]), add(mul(first[1], second[0]), second[1])]

    got = scan_by_halves(after, [a, b], 0)
    offset, want = 0, []
    for p, q in zip(a, b, strict=True):
        offset = offset * p + q
        want.append(offset)
    np.testing.assert_array_equal(got[1], want)
    np.testing.assert_array_equal(got[0], np.cumprod(a))


def test_tangents_of_products_and_extremes():
    t = np.ones_like(X)
    _, got = jitney.jvp(lambda x: cumprod(x, 1), (X,), (t,))
    want = np.cumprod(X, 1) * np.cumsum(1 / X, 1)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    _, got = jitney.jvp(lambda x: cummax(x, 1), (X,), (X,))
    np.testing.assert_array_equal(got[0], np.maximum.accumulate(X[0]))


def test_axes_and_dtypes_that_are_refused():
    with pytest.raises(ValueError, match="cumsum: `axis` must not be negative, but is -1"):
        cumsum(X, -1)
    with pytest.raises(ValueError, match=r"an operand of shape \(2, 4\) has no axis 2"):
        cummax(X, 2)
    with pytest.raises(TypeError, match=r"cumsum: .*numeric"):
        cumsum(X > 0)
