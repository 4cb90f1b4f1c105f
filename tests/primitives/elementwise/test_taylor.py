"""Recurrences of Taylor series give the series that polynomials and known functions have."""

import math

import numpy as np
import pytest
from numpy.polynomial import polynomial

from jitney.primitives.elementwise import taylor, unary

X = [2.0, 3.0, 0.5, -1.0, 4.0]
Y = [0.5, -1.0, 2.0, 0.25, 1.0]
VARIABLE = [0.5, 1.0, None, None, None]  # the series of x at 0.5


def series(*terms):
    return [None if t is None else np.float32(t) for t in terms]


def close(got, want):
    got = [0 if t is None else float(t) for t in got]
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


def test_products_and_quotients_are_those_of_polynomials():
    x, y = series(*X), series(*Y)
    close(taylor.product(x, y), polynomial.polymul(X, Y)[:5])
    close(taylor.square(x), polynomial.polymul(X, X)[:5])
    close(taylor.quotient(taylor.product(x, y), y), X)


def test_terms_that_are_known_to_be_zero_stay_so():
    x = series(2, None, 3, None, None)
    got = taylor.product(x, x)
    assert [t is None for t in got] == [False, True, False, True, False]
    close(got, [4, 0, 12, 0, 9])
    assert taylor.add(None, None) is None
    assert taylor.sub(x[0], None) is x[0]
    assert taylor.sub(None, x[0]) == -2
    assert taylor.scale(None, 3) is None


@pytest.mark.parametrize("y", [0, 1, 3, -2])
def test_integer_powers(y):
    x = series(*X)
    power = taylor.integer_power(x, y=abs(y))
    want = polynomial.polypow(X, abs(y))[:5]
    close(power, [*want, *[0] * (5 - len(want))])
    if y < 0:
        close(taylor.product(taylor.integer_power(x, y=y), power), [1, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("x", "y"),
    [(X, [1.5, *[None] * 4]), ([2.0, *[None] * 4], Y), (X, Y)],
)
def test_powers_multiply_to_powers_of_sums(x, y):
    x, y = series(*x), series(*y)
    twice = [taylor.add(t, t) for t in y]
    close(taylor.product(taylor.power(x, y), taylor.power(x, y)),
          [float(t) for t in taylor.power(x, twice)])  # fmt: skip


def test_roots_logarithms_and_quadratic_slopes():
    root = taylor.of_power(unary.sqrt_p, 0.5)(series(*X), accuracy=None)
    close(taylor.square(root), X)
    at = 0.5
    log = taylor.of_logarithm(unary.log_p, lambda x: x)(series(*VARIABLE), accuracy=None)
    close(log, [math.log(at), *[-((-1 / at) ** k) / k for k in range(1, 5)]])
    exp = taylor.of_quadratic_slope(unary.exp_p, lambda y: y, 1, 0)(
        series(*VARIABLE), accuracy=None
    )
    close(exp, [math.exp(at) / math.factorial(k) for k in range(5)])


def test_sines_and_cosines_are_partners():
    sin = taylor.of_partner(unary.sin_p, unary.cos_p, 1, -1)(series(*VARIABLE), accuracy=None)
    want = [math.sin(0.5 + k * math.pi / 2) / math.factorial(k) for k in range(5)]
    close(sin, want)
    cos = taylor.of_partner(unary.cos_p, unary.sin_p, -1, 1)(series(*VARIABLE), accuracy=None)
    close([taylor.add(a, b) for a, b in zip(taylor.square(sin), taylor.square(cos), strict=True)],
          [1, 0, 0, 0, 0])  # fmt: skip
    close(taylor.angle(sin, cos), [0.5, 1, 0, 0, 0])
