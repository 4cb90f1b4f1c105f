"""Signs, rounding, extrema, roots, remainders and neighbors of floats, compiled: exact or nearly so."""

import numpy as np
import pytest
from tests.accuracy.harness import apply, ulps

from jitney.compiler.scalar import floats

PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e30, -1e30, 1e-42, np.inf, -np.inf, np.nan]
DTYPES = ["float32", "float64"]


def pairs(dtype):
    return [np.ravel(v).astype(dtype) for v in np.meshgrid(PARTS, PARTS)]


def same(found, wanted):
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_extrema_order_zeros_and_keep_nan(dtype):
    x, y = pairs(dtype)
    zeros = (x == 0) & (y == 0)
    either = np.signbit(x) | np.signbit(y)
    both = np.signbit(x) & np.signbit(y)
    same(apply(floats.maximum, x, y), np.where(zeros, np.where(both, -0.0, 0.0), np.maximum(x, y)))
    same(
        apply(floats.minimum, x, y), np.where(zeros, np.where(either, -0.0, 0.0), np.minimum(x, y))
    )
    for bound in (0.0, -0.0, 2.0, np.inf):
        b = np.full_like(x, bound)
        found = apply(lambda e, x, b=bound: floats.maximum(e, x, e.const(b, x)), x)
        same(found, apply(floats.maximum, x, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_neighbors(dtype):
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        same(apply(floats.nextafter, x, y), np.nextafter(x, y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_remainders_are_exact(dtype):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30)) * 10.0 ** rng.integers(-20, 20, (2, 30))
    x, y = (np.concatenate([a.astype(dtype), b]) for a, b in zip((x, y), pairs(dtype), strict=True))
    with np.errstate(all="ignore"):
        same(apply(floats.rem, x, y), np.fmod(x, y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_roots(dtype):
    x = np.array([27.0, -8.0, 0.3, 1e-40, 1e30, -5e-3, 0.0, -0.0, np.inf, np.nan], dtype)
    found = apply(floats.cbrt, x)
    assert np.max(ulps(found, np.cbrt(x.astype(np.longdouble)))) <= 1
    found = apply(floats.rsqrt, np.abs(x[2:6]))
    assert np.max(ulps(found, 1 / np.sqrt(np.abs(x[2:6]).astype(np.longdouble)))) <= 1.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_ties_round_away_from_zero(dtype):
    below = np.nextafter(np.asarray(0.5, dtype), np.asarray(0, dtype))
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, below, -0.2, 1e30, np.inf, np.nan], dtype)
    same(
        apply(floats.round_away, x),
        np.array([1, -1, 2, 3, -3, 0, -0.0, x[7], np.inf, np.nan], dtype),
    )


def test_signs_and_finiteness():
    x = np.array(PARTS)
    same(apply(floats.sign, x), np.where(x == 0, x, np.sign(x)))
    np.testing.assert_array_equal(apply(floats.is_finite, x, result=bool), np.isfinite(x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bits_are_ordered_as_floats(dtype):
    x = np.array([-np.nan, -np.inf, -2, -1e-7, -0.0, 0.0, 1e-7, 3, np.inf, np.nan], dtype)
    x[0], x[-1] = np.copysign(x[0], -1), np.copysign(x[-1], 1)
    word = f"int{8 * x.itemsize}"
    assert np.all(np.diff(apply(floats.ordered_bits, x, result=word).astype(object)) > 0)


def test_signs_of_halves():
    x = np.array([1.5, -2.0, 0.0, -np.inf], np.float16)
    same(apply(floats.flip_sign, x), -x)
    same(apply(floats.clear_sign, x), np.abs(x))
