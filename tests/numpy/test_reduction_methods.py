"""Methods that reduce hand their arguments on in the order of NumPy's methods."""

from __future__ import annotations

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.numpy.reduction_methods import ReductionMethods

X = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 5.0]], np.float32)
MASK = np.array([[True, False, True], [True, True, False]])
DTYPE = np.float16

# Method -> positional arguments, keyword arguments, as NumPy's methods take them.
CALLS = [
    ("all", (1,), {"keepdims": True}), ("any", (0,), {"where": MASK}),
    ("argmax", (1,), {"keepdims": True}), ("argmin", (), {}),
    ("max", (0, None, True, 4, MASK), {}), ("min", (1, None, False, 1.5, MASK), {}),
    ("mean", (1, DTYPE, None, True), {"where": MASK}),
    ("sum", (0, DTYPE, None, True, 10, MASK), {}), ("prod", (1, None, None, False, 2, MASK), {}),
    ("std", (1, None, None, 1, True), {}), ("var", (0, DTYPE, None, 1), {}),
    ("cumsum", (1, DTYPE), {}), ("cumprod", (0,), {}), ("dot", (X.T,), {}),
    ("trace", (1, 1, 0, DTYPE), {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "options"), CALLS, ids=lambda x: x if isinstance(x, str) else ""
)
def test_arguments(name, arguments, options):
    expected = getattr(X, name)(*arguments, **options)
    found = getattr(ReductionMethods, name)(jnp.array(X), *arguments, **options)
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    assert found.dtype == expected.dtype or found.dtype == np.int32
    assert found.shape == np.shape(expected)


def test_arguments_that_numpy_does_not_have():
    x = jnp.array(X)
    assert ReductionMethods.ptp(x, 1, None, True).tolist() == [[2], [5]]
    np.testing.assert_allclose(ReductionMethods.var(x, correction=1), X.var(ddof=1), rtol=1e-6)
    np.testing.assert_allclose(ReductionMethods.std(x, correction=2), X.std(ddof=2), rtol=1e-6)
    small = jnp.array([100, 100], np.int8)
    assert ReductionMethods.sum(small) == 200
    assert ReductionMethods.sum(small, promote_integers=False) == -56
    assert ReductionMethods.prod(small, promote_integers=False).dtype == np.int8
    assert ReductionMethods.dot(small, small, preferred_element_type=np.int32) == 20000
