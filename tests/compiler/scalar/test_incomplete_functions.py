"""Incomplete gamma and beta functions, zeta and polygamma, as compiled code, against mpmath."""

import mpmath as mp
import numpy as np
import pytest
from tests.accuracy.harness import Loop, ulps

from jitney.compiler.llvm.target import X86_SSE4, host
from jitney.compiler.scalar import table

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
COUNT = 60
DRAW = np.random.default_rng(0)


def between(low, high, count=COUNT):
    """Numbers whose decimal logarithms are uniform."""
    return 10 ** DRAW.uniform(low, high, count)


def lower_gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a, x):
    return mp.gammainc(a, x, regularized=True)


def slope_by_a(a, x):
    return mp.diff(lambda t: mp.gammainc(t, 0, x, regularized=True), a)


def slope_of_sample(a, x):
    density = mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))
    return -slope_by_a(a, x) / density


def beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def zeta(s, q):
    if q > 0:
        return mp.zeta(s, q)
    steps = int(mp.ceil(-q))
    return mp.zeta(s, q + steps) + sum((q + k) ** -int(s) for k in range(steps))


def polygamma(m, x):
    return mp.polygamma(int(m), x)


def near(a):
    """Samples of gamma distributions, near enough to their means that neither P nor Q vanishes."""
    return a * np.exp(DRAW.normal(size=a.size) * 2 / np.sqrt(a))


FEW, MANY = between(-2, 1), between(0, 2.5)
A, X = np.concatenate([FEW, MANY]), np.concatenate([between(-3, 1.3), near(MANY)])
LONG_A = np.concatenate([A, between(2, 5, 20)])
LONG_X = np.concatenate([X, near(LONG_A[-20:])])
P = [np.concatenate([between(-3, 1), between(0, 3)]) for _ in range(2)]
HALF = np.floor(between(0.31, 1.4)), -DRAW.uniform(0, 20, COUNT)

# Function -> what it is, where, and the largest relative error in float64.
CASES = {
    "igamma": (lower_gamma, (LONG_A, LONG_X), 1e-13),
    "igammac": (upper_gamma, (LONG_A, LONG_X), 1e-13),
    "igamma_grad_a": (slope_by_a, (A[::3], X[::3]), 3e-14),
    "random_gamma_grad": (slope_of_sample, (A[::3], X[::3]), 3e-14),
    "regularized_incomplete_beta": (beta, (*P, np.clip(DRAW.beta(*P), 1e-9, 1 - 1e-9)), 5e-13),
    "zeta": (
        zeta,
        (np.concatenate([1 + between(-4, 1), HALF[0]]), np.concatenate([between(-3, 3), HALF[1]])),
        1e-13,
    ),
    "polygamma": (polygamma, (np.floor(DRAW.uniform(0, 12, COUNT)), between(-2, 2)), 1e-14),
}


def compiled(fn, count, dtype, target=None, lanes=None):
    return Loop(
        lambda e, xs: table.emit(e, fn, dtype, xs, dtype), [dtype] * count, dtype, target, lanes
    )


def exactly(rule, *arrays):
    with mp.workdps(40):
        return [rule(*map(mp.mpf, point)) for point in zip(*arrays, strict=True)]


@pytest.mark.parametrize("fn", CASES)
def test_relative_errors(fn):
    rule, arrays, bound = CASES[fn]
    want = np.array([float(v) for v in exactly(rule, *arrays)])
    got = compiled(fn, len(arrays), F64)(*arrays)
    inside = np.abs(want) > 1e-290
    assert inside.mean() > 0.9
    errors = np.abs(got - want)[inside] / np.abs(want[inside])
    worst = int(np.argmax(errors))
    assert errors[worst] < bound, [x[inside][worst] for x in arrays]


@pytest.mark.parametrize("s", [1 + 1e-10, 1.5, 2.0, 3.0, 17.0, 300.0])
def test_zeta_where_the_first_term_underflows(s):
    q = np.array([1e15, 2.0**60, 2.0**60.1, 1e20, 1e100, 1e154, 1e200, 1.7e308])
    got = compiled("zeta", 2, F64)(np.full_like(q, s), q)
    rest = lambda s, q: q ** (1 - s) / (s - 1) + q**-s / 2 + s * q ** (-1 - s) / 12  # noqa: E731
    want = np.array([float(v) for v in exactly(rest, np.full_like(q, s), q)])
    tiny = float(np.finfo(F64).tiny)
    np.testing.assert_allclose(got, want, rtol=1e-15, atol=tiny)
    slopes = compiled("polygamma", 2, F64)(np.ones_like(q), q)
    np.testing.assert_allclose(slopes, 1 / q, rtol=1e-15, atol=tiny)


@pytest.mark.parametrize("where", ["host", "sse4", "scalar"])
@pytest.mark.parametrize("fn", CASES)
def test_single_precision_is_rounded_once(fn, where):
    if where == "sse4" and not host().is_x86:
        pytest.skip("needs an x86 processor")
    rule, arrays, _ = CASES[fn]
    arrays = [x[::2].astype(F32) for x in arrays]
    want = np.array([float(v) for v in exactly(rule, *[x.astype(F64) for x in arrays])])
    target, lanes = (X86_SSE4 if where == "sse4" else None), (1 if where == "scalar" else None)
    got = compiled(fn, len(arrays), F32, target, lanes)(*arrays)
    inside = np.abs(want) > np.finfo(F32).tiny
    assert ulps(got[inside], want[inside].astype(np.longdouble)).max() <= 0.51


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_one_lane_does_not_disturb_another(dtype):
    # A vector takes all the methods that its lanes need; edges lie between ordinary points.
    edges = np.array([0.0, np.inf, np.nan, -1.0, 1e-40, 1e30], dtype)
    for fn, (_, arrays, _) in CASES.items():
        arrays = [np.resize(x, 54).astype(dtype) for x in arrays]
        alone = compiled(fn, len(arrays), dtype)(*arrays)
        for k in range(len(arrays)):
            mixed = [x.copy() for x in arrays]
            mixed[k][::9] = edges
            with np.errstate(all="ignore"):
                got = compiled(fn, len(arrays), dtype)(*mixed)
            kept = np.arange(54) % 9 != 0
            np.testing.assert_array_equal(got[kept], alone[kept])


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("fn", ["igamma", "igammac", "igamma_grad_a", "random_gamma_grad"])
def test_results_do_not_depend_on_neighbours(fn, dtype):
    a, x = (between(-2, 2, 50_000).astype(dtype) for _ in range(2))
    order = DRAW.permutation(a.size)
    run = compiled(fn, 2, dtype)
    np.testing.assert_array_equal(run(a[order], x[order]), run(a, x)[order])


def test_equal_arguments_in_the_millions_end():
    a = np.array([1e7, 1e10, 1e15, 1e30])
    np.testing.assert_allclose(compiled("igamma", 2, F64)(a, a), 0.5, rtol=1e-4)
    np.testing.assert_allclose(compiled("igammac", 2, F64)(a, a), 0.5, rtol=1e-4)
