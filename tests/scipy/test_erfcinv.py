"""`erfcinv`, which JAX has since 0.11, against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.scipy.special import erfc, erfcinv
from jitney.test_util import check_grads

POINTS = [1e-300, 1e-30, 1e-10, 1e-3, 0.1, 0.5, 0.999, 1.001, 1.5, 1.9, 1.999999]


def exact(y):
    """The root of log(erfc(x)) = log(y), by secants with 50 digits."""
    with mpmath.workdps(50):
        y = mpmath.mpf(y)
        tail = min(y, 2 - y)
        start = mpmath.sqrt(-mpmath.log(tail))
        root = mpmath.findroot(lambda x: mpmath.log(mpmath.erfc(x) / tail), (start, start + 0.01))
        return root if y < 1 else -root


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 2e-15), ("float32", 6e-7)])
def test_values(dtype, rtol):
    with jitney.enable_x64(True):
        y = np.array(POINTS[2 if dtype == "float32" else 0 :], dtype)
        wanted = np.array([exact(float(v)) for v in y], float)
        for f in (erfcinv, jitney.jit(erfcinv)):
            found = f(y)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, wanted, rtol=rtol)


def test_special_values():
    y = np.array([0, 2, -1, 2.5, np.nan, 1], "f4")
    found = erfcinv(y)
    np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan, np.nan, np.nan, 0])
    assert not np.signbit(found[-1])
    assert erfcinv(np.zeros((0, 2), "f4")).shape == (0, 2)
    assert erfcinv(1) == 0 and erfcinv(1).dtype == "float32"
    for dtype in ("float16", "bfloat16"):
        assert erfcinv(jnp.array(0.5, dtype)).dtype == dtype


def test_derivatives():
    with jitney.enable_x64(True):
        y = np.array([1e-3, 0.1, 1.0, 1.7])
        check_grads(erfcinv, (y,), order=2, rtol=1e-4, eps=1e-6)
        slope = jitney.vmap(jitney.grad(erfcinv))(y)
        back = jitney.vmap(jitney.grad(erfc))(erfcinv(y))
        np.testing.assert_allclose(slope * back, 1, rtol=1e-12)


@pytest.mark.parametrize(("y", "error"), [([0.5], TypeError), ("a", TypeError), (1j, ValueError)])
def test_wrong_operands(y, error):
    with pytest.raises(error, match="erfcinv"):
        erfcinv(y)
