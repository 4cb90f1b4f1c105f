"""BFGS finds minima of quadratics and of a curved valley, batches, and says how it ended."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.scipy.optimize.bfgs import _between, minimize

MATRIX = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]], np.float32)
B = np.array([1.0, -2.0, 0.5], np.float32)


def quadratic(x, b):
    return 0.5 * x @ MATRIX @ x - b @ x


def test_a_quadratic_has_its_minimum_where_the_slope_is_zero():
    found = minimize(quadratic, np.zeros(3), (B,), method="bfgs")
    np.testing.assert_allclose(found.x, np.linalg.solve(MATRIX, B), rtol=1e-4)
    np.testing.assert_allclose(found.fun, quadratic(np.asarray(found.x), B), rtol=1e-6)
    np.testing.assert_allclose(found.hess_inv, np.linalg.inv(MATRIX), rtol=0.1, atol=0.05)
    assert found.success and found.status == 0 and np.max(np.abs(found.jac)) < 1e-5
    assert found.nfev == found.njev >= found.nit > 1


def test_curved_valley():
    def f(x):
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    with jitney.enable_x64(True):
        found = minimize(f, np.array([-1.2, 1.0]), method="BFGS", tol=1e-8)
    np.testing.assert_allclose(found.x, [1, 1], rtol=1e-7)


def test_a_minimum_needs_no_step():
    found = minimize(lambda x: x @ x, np.zeros(2), method="BFGS")
    assert found.success and found.nit == 0 and found.nfev == 1


def test_too_few_iterations_and_functions_without_minimum():
    assert minimize(quadratic, np.zeros(3), (B,), method="BFGS", options={"maxiter": 1}).status == 1
    found = minimize(lambda x: jnp.sum(jnp.where(x > 0, jnp.nan, -x)), -np.ones(1), method="BFGS")
    assert not found.success and np.isfinite(found.x[0])


def test_cubic_steps():
    ends = [tuple(jnp.array(v) for v in (x, (x - 0.7) ** 2, 2 * (x - 0.7))) for x in (0.0, 2.0)]
    np.testing.assert_allclose(_between(*ends), 0.7, rtol=1e-6)
    np.testing.assert_allclose(_between(*ends[::-1]), 0.7, rtol=1e-6)
    flat = [tuple(jnp.array(v) for v in (x, 1.0, 0.0)) for x in (0.0, 2.0)]
    assert _between(*flat) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"args": [1]}, TypeError, "`args` must be a tuple"),
        ({"method": "CG"}, ValueError, "method 'CG' is not supported"),
        ({"x0": np.zeros((2, 2))}, ValueError, "x0 must be a vector"),
        ({"options": {"disp": True}}, ValueError, r"unknown options \['disp'\]"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        minimize(lambda x: x @ x, **({"x0": np.zeros(2), "method": "BFGS"} | arguments))
