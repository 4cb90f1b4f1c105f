"""`shard_alike` returns its operands, and differentiates and batches them one by one."""

import numpy as np
import pytest

import jitney
from jitney.primitives.array.shard_alike import shard_alike_p

X, Y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.int32)


def test_values_are_the_operands():
    for of in (shard_alike_p.bind, jitney.jit(shard_alike_p.bind)):
        x, y = of(X, Y)
        np.testing.assert_array_equal(x, X)
        np.testing.assert_array_equal(y, Y)
    with pytest.raises(ValueError, match=r"must have the same shape, .*reshape one of them"):
        shard_alike_p.bind(X, Y.T)


def test_derivatives_of_one_operand():
    _, pull = jitney.vjp(lambda x: shard_alike_p.bind(x, X)[0] * 3, X)
    np.testing.assert_array_equal(pull(X)[0], 3 * X)


def test_an_operand_that_is_not_mapped_is_repeated():
    x, y = jitney.vmap(shard_alike_p.bind, in_axes=(1, None))(X, Y[:, 0])
    np.testing.assert_array_equal(x, X.T)
    np.testing.assert_array_equal(y, np.ones((3, 2)))
