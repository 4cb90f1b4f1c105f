"""Derivatives of `x.at[i].max` and `min` at indices out of range, against real jax."""

import numpy as np
import pytest
from tests.helpers.both import of_both

X = np.array([1.0, 5.0, 0.0, 2.0], np.float32)
INDICES = {
    "in range": np.array([1, 1, 0, 3], np.int32),
    "beyond": np.array([1, 9, 0, 7], np.int32),
    "from the end": np.array([1, -2, 0, 7], np.int32),
    "unsigned": np.array([1, 4294967294, 0, 7], np.uint32),
}


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("mode", ["clip", "drop", None])
@pytest.mark.parametrize("method", ["max", "min"])
def test_derivatives(method, mode, name):
    """An element that several updates tie for has a share of the cotangent for each."""

    def case(j):
        def f(x, updates):
            return getattr(x.at[INDICES[name]], method)(updates, mode=mode).sum()

        return [np.asarray(g) for g in j.grad(f, (0, 1))(j.numpy.asarray(X), j.numpy.full(4, 2.0))]

    ours, theirs = of_both(case, method, mode, name)
    for got, want in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
