"""`map` applies a function to rows, one by one or in batches with a remainder."""

import numpy as np
import pytest

from jitney.primitives.control.mapping import map as lax_map

XS = np.arange(14, dtype=np.float32).reshape(7, 2)


def f(t):
    return {"sum": t["x"].sum() + t["k"], "x": t["x"]}


@pytest.mark.parametrize("batch_size", [None, 1, 2, 3, 7, 20])
def test_batches_of_any_size(batch_size):
    got = lax_map(f, {"x": XS, "k": np.arange(7, dtype=np.int32)}, batch_size=batch_size)
    np.testing.assert_array_equal(got["sum"], XS.sum(1) + np.arange(7))
    np.testing.assert_array_equal(got["x"], XS)


def test_no_rows():
    assert lax_map(lambda x: x.sum(), XS[:0]).shape == (0,)
    assert lax_map(lambda x: x.sum(), XS[:0], batch_size=2).shape == (0,)
