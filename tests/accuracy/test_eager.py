"""The errors of eager functions that docs/accuracy.md states, for the loops that NumPy selects here."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import samples, ulps
from tests.accuracy.reference import REFERENCES, domain

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler.llvm.target import host

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
ROW = re.compile(r"\| `(\w+)` \| ([\d.]+) \| ([\d.]+) ")
BOUNDS = {fn: (float(f32), float(f64)) for fn, f32, f64 in ROW.findall(PAGE.read_text())}
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux" or not host().is_x86, reason="measured with glibc on x86-64"
    ),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def _eager(fn: str, *arrays: np.ndarray) -> np.ndarray:
    function = jnp.logaddexp if fn == "logaddexp" else getattr(jax.lax, fn)
    with jax.enable_x64(True):
        return np.asarray(function(*map(jnp.asarray, arrays)))


def _errors(fn: str, *arrays: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        want = REFERENCES[fn][0](*[x.astype(np.longdouble) for x in arrays])
        return ulps(_eager(fn, *arrays), want)


def test_the_table_is_read():
    assert len(BOUNDS) == 24
    assert BOUNDS["exp"] == (2.5, 1)


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("fn", BOUNDS)
def test_errors_are_those_of_the_table(fn: str, dtype: np.dtype):
    arrays = [samples(dtype, 60_000, seed) for seed in range(REFERENCES[fn][1])]
    inside = domain(fn, *arrays)
    errors = _errors(fn, *[x[inside] for x in arrays])
    assert errors.max() <= BOUNDS[fn][dtype == F64]


@pytest.mark.parametrize(("fn", "low", "high"), [("exp", -700, 700), ("log", 0.001, 4)])
def test_errors_against_mpmath(fn: str, low: float, high: float):
    x = np.random.default_rng(0).uniform(low, high, 2000)
    got = _eager(fn, x)
    unit = np.ldexp(1.0, np.frexp(np.abs(got))[1] - 53)
    with mpmath.workprec(200):
        exact = map(getattr(mpmath, fn), map(float, x))
        errors = [abs(float(g) - y) / float(u) for g, y, u in zip(got, exact, unit, strict=True)]
    assert max(errors) <= BOUNDS[fn][1]


@pytest.mark.parametrize(("dtype", "ends"), [(F32, -88.7), (F64, -709.7)], ids=str)
def test_the_logistic_function_underflows_where_the_exponential_overflows(dtype, ends):
    x = samples(dtype, 60_000)
    assert _errors("logistic", x[x > ends]).max() <= 4
    assert np.all(_eager("logistic", np.linspace(ends - 0.2, ends - 9, 100, dtype=dtype)) == 0)


@pytest.mark.parametrize("fn", ["bessel_i0e", "bessel_i1e"])
def test_bessel_functions_of_small_arrays(fn: str):
    x = samples(F64, 30_000)
    parts = [_errors(fn, x[i : i + 1000]) for i in range(0, len(x), 1000)]
    assert max(part.max() for part in parts) <= 9
