"""Derivatives of functions of mantissas and exponents, against real jax."""

import numpy as np
import pytest
from tests.helpers.both import of_both

X = np.array([0.0, -0.0, 1.0, -3.0, np.inf, -np.inf, np.nan], np.float32)


@pytest.mark.parametrize("exponent", [3, 0, -2])
def test_ldexp_is_linear_everywhere(exponent):
    """The derivative of x 2**n is 2**n, at zero and at infinities as well."""

    def case(j):
        def f(x):
            return j.numpy.ldexp(x, exponent)

        return (
            np.asarray(j.vmap(j.grad(f))(X)),
            np.asarray(j.jvp(f, (X,), (np.ones_like(X),))[1]),
            np.asarray(j.jit(f)(X)),
        )

    ours, theirs = of_both(case, exponent)
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(ours[0], np.full(7, 2.0**exponent, np.float32))
