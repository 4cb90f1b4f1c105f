"""Logarithms, compiled: within some units for normal and subnormal numbers, exact at powers of 2."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply, ulps

from jitney.compiler.llvm.target import X86_SSE4, host
from jitney.compiler.scalar import logarithm

TINY = {"float32": 1e-42, "float64": 1e-310}
EXACT = {"log": mpmath.log, "log2": lambda x: mpmath.log(x, 2), "log1p": mpmath.log1p}


def exact(f, x):
    with mpmath.workdps(40):
        return np.array([np.longdouble(str(f(mpmath.mpf(float(v))))) for v in x])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXACT)
def test_values(name, dtype):
    x = np.array([TINY[dtype], 1e-30, 0.1, 0.7499, 0.75, 0.999, 1.001, 1.4999, 3.7, 1e30], dtype)
    if name == "log1p":
        x = np.concatenate([x, np.array([-1e-20, -1e-3, -0.4, -0.999], dtype)])
    found = apply(getattr(logarithm, name), x)
    assert np.max(ulps(found, exact(EXACT[name], x))) <= 2


@pytest.mark.parametrize("target", [None, X86_SSE4], ids=["host", "sse4"])
@pytest.mark.parametrize("name", EXACT)
def test_ends(name, target):
    if target is not None and host().triple != target.triple:
        pytest.skip("this processor has other instructions")
    shift = 1.0 if name == "log1p" else 0.0
    x = np.array([0.0, -0.0, np.inf, np.nan, -2.0, -np.inf]) - shift
    found = apply(getattr(logarithm, name), x, target=target)
    np.testing.assert_array_equal(found, [-np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan])


def test_powers_of_two_and_zeros_are_exact():
    n = np.arange(-149, 128)
    np.testing.assert_array_equal(apply(logarithm.log2, np.ldexp(np.float32(1), n)), n)
    found = apply(logarithm.log1p, np.array([0.0, -0.0, 1e-300]))
    np.testing.assert_array_equal(found, [0, 0, 1e-300])
    assert list(np.signbit(found)) == [False, True, False]
