"""Leading axes are split into batches and a remainder."""

import numpy as np
import pytest

import jitney.numpy as jnp
from jitney.private.stand_ins.batches import batch_and_remainder


@pytest.mark.parametrize(("n", "size"), [(7, 3), (6, 3), (2, 3), (5, 1)])
def test_batches_and_remainder_are_all_rows_in_order(n, size):
    x = {"a": np.arange(n), "b": np.arange(2 * n).reshape(n, 2)}
    batches, rest = batch_and_remainder(x, size)
    for name, whole in x.items():
        parts = []
        if batches is not None:
            assert batches[name].shape == (n // size, size, *whole.shape[1:])
            parts.append(batches[name].reshape(-1, *whole.shape[1:]))
        if rest is not None:
            assert rest[name].shape == (n % size, *whole.shape[1:])
            parts.append(rest[name])
        np.testing.assert_array_equal(jnp.concatenate(parts), whole)
    assert (batches is None) == (n < size) and (rest is None) == (n % size == 0)


def test_leading_axes_have_one_size():
    with pytest.raises(ValueError, match=r"must have the same size, but got sizes \[2, 3\]"):
        batch_and_remainder((np.zeros(2), np.zeros(3)), 2)
    with pytest.raises(ValueError, match=r"but got sizes \[\]"):
        batch_and_remainder((), 2)
