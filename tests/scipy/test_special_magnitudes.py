"""Special functions over signs and magnitudes from 1e-30 to 1e30 in each operand, against mpmath.

Errors are relative to the result, or to what it moves by where an operand moves by one unit. Results
below the range of normal numbers are as good as 0. `test_special_pairs.py` has more functions of two.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import jitney
import jitney.numpy as jnp
from jitney.scipy import special

mp: Any = mpmath.mp
Points = Sequence[tuple[float, ...]]

SIZES = (1e-30, 1e-10, 1e-4, 0.3, 0.5, 1.0, 1.5, 2.0, 7.5, 10.0, 50.3, 12345.6, 1e8, 1e15, 1e30)
BELOW_1000 = [x for x in SIZES if x < 1000]
SIGNED = [sign * x for x in BELOW_1000 for sign in (1, -1)]


def grid(*columns: Sequence[float]) -> Points:
    return list(itertools.product(*columns))


def box_cox(log: Callable[[mpf], mpf], x: mpf, power: mpf) -> mpf:
    return log(x) if power == 0 else mp.expm1(power * log(x)) / power


def lower_slope(a: mpf, x: mpf) -> mpf:
    """The derivative of the regularized lower incomplete gamma function by a."""
    return mp.diff(lambda t: mp.gammainc(t, 0, x, regularized=True), a, h=mpf(10) ** -20)


def density(a: mpf, x: mpf) -> mpf:
    """The derivative of the same function by x."""
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


# (ours, exact, points, the bound of errors in float32 and float64 in units of the last place)
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Points, float]] = {
    "i0": (special.i0, partial(mp.besseli, 0), grid(SIGNED), 60),
    "i1": (special.i1, partial(mp.besseli, 1), grid(SIGNED), 60),
    "i0e": (special.i0e, lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), grid(SIGNED), 10),
    "i1e": (special.i1e, lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), grid(SIGNED), 10),
    **{
        f"bessel_jn {v}": (
            lambda z, v=v: special.bessel_jn(z, v=v, n_iter=200)[v],
            partial(mp.besselj, v),
            grid(SIGNED),
            200,
        )
        for v in (0, 1, 2, 7)
    },
    "zeta": (
        special.zeta, mp.zeta,
        grid([1.0001, 1.5, 2.0, 7.5, 50.3, 200.0, 12345.6], [x for x in SIZES if x < 1e9]), 200,
    ),
    **{
        f"polygamma {n}": (
            partial(special.polygamma, n), partial(mp.polygamma, n),
            grid([*SIZES, -0.3, -1.5, -7.25]), 400,
        )
        for n in (0, 1, 2, 5)
    },
    "betainc": (
        special.betainc, lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
        grid((1e-30, 1e-4, 0.5, 2.5, 50.3), (1e-30, 1e-4, 0.5, 2.5, 50.3), (1e-30, 1e-4, 0.3, 0.9)),
        200,
    ),
    "slope of gammainc": (
        jitney.vmap(jitney.grad(special.gammainc)), lower_slope,
        grid((1e-4, 0.3, 1.0, 2.0, 7.5, 50.3), (1e-4, 0.3, 1.0, 7.5, 50.3)), 80,
    ),
    "boxcox": (special.boxcox, partial(box_cox, mp.log), grid(SIZES, [0.0, *SIGNED]), 200),
    "boxcox1p": (
        special.boxcox1p, partial(box_cox, mp.log1p),
        grid([*SIZES, -1e-30, -1e-10, -0.3, -0.9999], [0.0, *SIGNED]), 200,
    ),
    "hyp1f1": (
        special.hyp1f1, partial(mp.hyp1f1, maxterms=10**6),
        [
            *grid((1e-30, 1e-4, 0.5, 2.5), (1e-10, 0.5, 2.5),
                  (1e-30, -1e-4, 0.5, 7.5, 50.3, -500.0, -1e4)),
            # Sums of many terms, which overflow where they are not scaled.
            *grid((-1.5, 0.5, 1.5), (50.0, 1e3, 1e4, 1e6), (-200.0, -1e3, 1e3)),
            (1.5, 1e6, -2e5), (1.0, 2.0, -2000.0), (100.0, 120.0, -80.0),
        ],
        300,
    ),
}  # fmt: skip


def value(function: Callable[..., Any], point: Sequence[mpf]) -> mpf | None:
    """The exact result; None where there is none."""
    try:
        result = mpf(function(*point))
    except (ValueError, ZeroDivisionError, TypeError):
        return None
    return result if mp.isfinite(result) else None


def moves(function: Callable[..., Any], point: Sequence[Any], want: mpf) -> mpf:
    """How far the result moves where an operand moves by one unit in the last place."""
    most = mpf(0)
    for i, x in enumerate(point):
        for to in (0, 2):
            moved = [mpf(float(y)) for y in point]
            moved[i] = mpf(float(np.nextafter(x, x * x.dtype.type(to))))
            near = value(function, moved)
            most = most if near is None else max(most, abs(near - want))
    return most


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_signs_and_magnitudes(name: str, dtype: Any):
    function, exact, points, units = FUNCTIONS[name]
    if name == "slope of gammainc" and dtype is np.float64:
        units = 3e4  # outside of compiled programs it is a difference
    columns = [np.array(column, dtype) for column in zip(*points, strict=True)]
    limits = np.finfo(dtype)
    with jitney.enable_x64(dtype is np.float64), np.errstate(all="ignore"):
        eager = np.asarray(function(*map(jnp.asarray, columns)))
        compiled = np.asarray(jitney.jit(function)(*columns))
    compared = 0
    with mp.workdps(45):
        for *point, one, other in zip(*columns, eager, compiled, strict=True):
            want = value(exact, [mpf(float(x)) for x in point])
            if want is None:
                continue
            compared += 1
            if abs(want) > 0.99 * float(limits.max):
                assert all(
                    abs(v) > 0.98 * limits.max and (v > 0) == (want > 0) for v in (one, other)
                )
                continue
            bound = units * float(limits.eps) * abs(want) + 2 * float(limits.tiny)
            error = max(
                abs(mpf(float(v)) - want) if np.isfinite(v) else mp.inf for v in (one, other)
            )
            if error > bound:
                bound += 8 * moves(exact, point, want)
            assert error <= bound, (point, one, other, mp.nstr(want, 20))
    assert compared >= 0.7 * len(points)


def test_incomplete_beta_is_a_probability():
    a, b, x = map(np.array, zip(*grid(SIZES, SIZES, (1e-30, 0.5, 0.9999, 1 - 1e-9)), strict=True))
    with jitney.enable_x64(True):
        for f in (special.betainc, jitney.jit(special.betainc)):
            found = np.asarray(f(a, b, x))
            assert ((found >= 0) & (found <= 1)).all()


def test_slopes_of_bessel_functions_at_zero():
    slopes = jitney.jacfwd(lambda z: special.bessel_jn(z, v=3))(jnp.float32(0))
    np.testing.assert_array_equal(slopes, [0, 0.5, 0, 0])
