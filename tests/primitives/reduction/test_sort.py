"""Sorting and `top_k`: values, dtypes and errors are JAX's."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.oracle import jax
from tests.primitives.side_by_side import DTYPES, check, sample

from jitney import lax


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(dtype):
    for shape, axis in [((40,), 0), ((6, 4), 0), ((6, 4), -1), ((0, 3), 1)]:
        x = sample(dtype, shape, True)
        ties = sample(np.int8, shape) % 3
        position = np.arange(x.size, dtype=np.int32).reshape(shape)
        check(lambda m, x, a=axis: m.sort(x if m is lax else jax.numpy.asarray(x), a), x)
        for num_keys in (1, 2):
            check(lambda m, *xs, a=axis, n=num_keys: m.sort(xs, a, num_keys=n), ties, x, position)


@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k(dtype):
    for shape, axis in [((40,), 0), ((6, 4), 0), ((6, 4), -1)]:
        for k in (0, 1, 3, 4, 41, -1):
            x = sample(dtype, shape, True)
            check(lambda m, x, k=k, a=axis: m.top_k(x, k, axis=a), x)
