"""Special functions of two operands over signs and magnitudes from 1e-30 to 1e30, against mpmath.

The bound is some units in the last place, of the result and of what it moves by where an operand moves
by one unit: next to poles and zeros no function of rounded operands is more precise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mpf

import jitney
import jitney.numpy as jnp
from jitney.scipy import special

mp: Any = mpmath.mp

MAGNITUDES = (
    1e-30,
    1e-10,
    1e-4,
    0.3,
    0.5,
    1.0,
    1.5,
    2.0,
    7.5,
    10.0,
    50.3,
    12345.6,
    1e8,
    1e15,
    1e30,
)
GRID = [sign * size for size in MAGNITUDES for sign in (1, -1)]


def log_size(x: mpf) -> mpf:
    return mp.re(mp.loggamma(x))


def sign(x: mpf) -> int:
    return 1 if x > 0 or int(mp.floor(x)) % 2 == 0 else -1


def betaln(a: mpf, b: mpf) -> mpf:
    return log_size(a) + log_size(b) - log_size(a + b)


def beta(a: mpf, b: mpf) -> mpf:
    return sign(a) * sign(b) * sign(a + b) * mp.exp(betaln(a, b))


def poch(z: mpf, m: mpf) -> mpf:
    return sign(z) * sign(z + m) * mp.exp(log_size(z + m) - log_size(z))


def comb(n: mpf, k: mpf) -> mpf | None:
    if not 0 <= k <= n:
        return None
    return mp.exp(log_size(n + 1) - log_size(k + 1) - log_size(n - k + 1))


def rel_entr(p: mpf, q: mpf) -> mpf | None:
    return p * mp.log(p / q) if p > 0 and q > 0 else None


def kl_div(p: mpf, q: mpf) -> mpf | None:
    return p * mp.log(p / q) - p + q if p > 0 and q > 0 else None


def xlogy(x: mpf, y: mpf) -> mpf | None:
    return x * mp.log(y) if y > 0 else None


def xlog1py(x: mpf, y: mpf) -> mpf | None:
    return x * mp.log1p(y) if y > -1 else None


def logaddexp(a: mpf, b: mpf) -> mpf:
    return max(a, b) + mp.log1p(mp.exp(min(a, b) - max(a, b)))


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], bool]] = {
    # (ours, exact, whether it is an exponential of what the error is relative to)
    "betaln": (special.betaln, betaln, False),
    "beta": (special.beta, beta, True),
    "poch": (special.poch, poch, True),
    "comb": (special.comb, comb, True),
    "rel_entr": (special.rel_entr, rel_entr, False),
    "kl_div": (special.kl_div, kl_div, False),
    "xlogy": (special.xlogy, xlogy, False),
    "xlog1py": (special.xlog1py, xlog1py, False),
    "logaddexp": (jnp.logaddexp, logaddexp, False),
}


def pairs(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    drawn = np.exp(rng.uniform(-7, 7, (60, 2))) * rng.choice([-1, 1], (60, 2))
    near = [(x * (1 + 1e-7), x) for x in GRID] + [(x, -x * (1 + 1e-6)) for x in GRID]
    grid = [(a, b) for a in GRID[::2] + GRID[1::4] for b in GRID[::3] + GRID[1::4]]
    points = np.concatenate([drawn, near, grid]).astype(dtype)
    return points[:, 0], points[:, 1]


def value(function: Callable[..., Any], *xs: Any) -> mpf | None:
    """The exact result; None where there is none, or where a gamma function has a pole."""
    try:
        result = function(*[mpf(float(x)) for x in xs])
    except ValueError:
        return None
    return result if result is None or mp.isfinite(result) else None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_signs_and_magnitudes(name: str, dtype: Any):
    function, exact, is_exponential = FUNCTIONS[name]
    a, b = pairs(dtype)
    limits = np.finfo(dtype)
    with jitney.enable_x64(dtype is np.float64), np.errstate(all="ignore"):
        eager = np.asarray(function(jnp.asarray(a), jnp.asarray(b)))
        compiled = np.asarray(jitney.jit(function)(a, b))
    compared = 0
    with mp.workdps(90):
        for x, y, *found in zip(a, b, eager, compiled, strict=True):
            want = value(exact, x, y)
            if want is None:
                continue
            compared += 1
            if abs(want) > float(limits.max):
                assert all(abs(v) > 0.99 * limits.max and (v > 0) == (want > 0) for v in found)
                continue
            size = abs(want)
            bound = 40 * float(limits.eps) * size + 8 * float(limits.tiny)
            if is_exponential and size > 0:
                bound += 12 * float(limits.eps) * size * abs(mp.log(size))
            errors = [abs(mpf(float(v)) - want) if np.isfinite(v) else mp.inf for v in found]
            if max(errors) > bound:
                down = (np.nextafter(x, dtype(0)), y), (x, np.nextafter(y, dtype(0)))
                up = (np.nextafter(x, dtype(2) * x), y), (x, np.nextafter(y, dtype(2) * y))
                for point in (*down, *up):
                    moved = value(exact, *point)
                    bound += 0 if moved is None else 8 * abs(moved - want)
            assert max(errors) <= bound, (x, y, found, mp.nstr(want, 20))
    assert compared > 60


@pytest.mark.parametrize(("a", "b", "log", "result"), [
    (-2.0, 1.0, -np.log(2), -0.5), (-3.0, 2.0, -np.log(6), 1 / 6), (-3.0, 5.0, np.inf, np.nan),
    (-1.0, 0.5, np.inf, np.nan), (-1.0, -2.0, np.inf, np.nan), (0.0, 0.5, np.inf, np.inf),
    (-0.0, 0.5, np.inf, -np.inf), (-0.5, 0.5, -np.inf, 0.0), (-1.5, -1.5, -np.inf, 0.0),
    (np.nan, -1.5, np.nan, np.nan), (-1.5, np.nan, np.nan, np.nan),
])  # fmt: skip
def test_poles_of_beta(a: float, b: float, log: float, result: float):
    for f in (lambda f: f, jitney.jit):
        np.testing.assert_allclose(f(special.betaln)(a, b), log, rtol=1e-6)
        np.testing.assert_allclose(f(special.beta)(a, b), result, rtol=1e-6)


def test_derivatives_of_reflected_beta():
    a, b = np.array([-0.5, -7.5, 0.3, -1.2]), np.array([1e4, 3.2, -50.4, -2.6])
    with jitney.enable_x64(True):
        slopes = jitney.vmap(jitney.grad(special.beta, (0, 1)))(a, b)
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        by_a, by_b = mp.diff(beta, (x, y), (1, 0)), mp.diff(beta, (x, y), (0, 1))
        np.testing.assert_allclose([s[i] for s in slopes], [float(by_a), float(by_b)], rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("s", "q", "result"),
    [
        (np.nan, 0.0, np.nan), (np.nan, -1.0, np.nan), (1.0, np.nan, np.nan), (0.0, 0.0, np.inf),
        (0.0, 1.0, np.nan), (0.5, 0.0, np.nan), (1.0, 1.0, np.inf), (1.0, np.inf, np.inf),
        (2.0, np.inf, 0.0), (np.inf, 2.0, 0.0), (np.inf, 1.0, 1.0), (np.inf, 0.5, np.inf),
        (1e30, 2.0, 0.0), (1e30, 1.0, 1.0), (1e30, 0.5, np.inf), (2.0, -1.0, np.inf),
    ],
)  # fmt: skip
def test_zeta_at_its_ends(s: float, q: float, result: float, dtype: Any):
    with jitney.enable_x64(dtype is np.float64):
        for f in (special.zeta, jitney.jit(special.zeta)):
            np.testing.assert_array_equal(f(dtype(s), dtype(q)), dtype(result))
