"""Powers, compiled: values, all special cases of C99, constant exponents, sums of exponentials."""

import mpmath
import numpy as np
import pytest
from tests.accuracy.harness import apply, ulps

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.target import X86_AVX2, host
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar import powers


def exact(x, y):
    with mpmath.workdps(60):
        pairs = zip(x, y, strict=True)
        return np.array(
            [np.longdouble(str(mpmath.mpf(float(a)) ** mpmath.mpf(float(b)))) for a, b in pairs]
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values(dtype):
    x = np.array([1.0001, 0.3, 7.7, 2.0, 1e-30, 1e10, 0.9999999, 3.0, -2.0, -3.0], dtype)
    y = np.array([1e4, -20.5, 30.25, -100.0, 1.2, 3.5, 1e5, 1e-20, 5.0, -4.0], dtype)
    assert np.max(ulps(apply(powers.power, x, y), exact(x, y))) <= 2


def test_special_cases_of_c():
    parts = np.array(
        [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, -3.0, -2.5, np.inf, -np.inf, np.nan]
    )
    x, y = (v.ravel() for v in np.meshgrid(parts, parts))
    with np.errstate(all="ignore"):
        wanted = np.power(x, y)
    found = apply(powers.power, x, y)
    np.testing.assert_allclose(found, wanted, rtol=4e-16)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("exponent", [-4.0, -1.5, -1.0, -0.5, 0.5, 1.5, 2.0, 3.0, 3.5])
def test_constant_exponents(exponent):
    if not host().has_fma:
        pytest.skip("without fused products few exponents have code of their own")
    x = np.array([0.3, 1e-20, 7.7, 1e15, 1.0])
    found = apply(lambda e, x: powers.constant_power(e, x, exponent), x)
    assert np.max(ulps(found, exact(x, np.full(5, exponent)))) <= 0.52
    ends = np.array([0.0, np.inf, np.nan])
    with np.errstate(divide="ignore"):
        wanted = np.power(ends, exponent)
    np.testing.assert_array_equal(
        apply(lambda e, x: powers.constant_power(e, x, exponent), ends), wanted
    )


@pytest.mark.parametrize("exponent", [4.5, 0.25, 1e300, -0.3])
def test_other_constants_have_no_code_of_their_own(exponent):
    assert powers.constant_power(Emitter(X86_AVX2), Value("%x", "f64", 4), exponent) is None


def test_logarithms_of_sums_of_exponentials():
    x = np.array([1000.0, -1000.0, 0.0, 3.0, np.inf, -np.inf, np.inf, np.nan])
    y = np.array([1000.0, -999.0, -50.0, 2.0, 1.0, -np.inf, -np.inf, 1.0])
    with np.errstate(invalid="ignore"):
        wanted = np.logaddexp(x, y)
    np.testing.assert_allclose(apply(powers.log_add_exp, x, y), wanted, rtol=4e-16)
