"""Arrays are broadcast as by NumPy, and cotangents are summed along the axes that were added."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.array.broadcasting import (
    broadcast,
    broadcast_in_dim,
    broadcast_like,
    broadcast_shapes,
    broadcast_to,
    broadcast_to_rank,
    expand_dims,
)

X = np.arange(3, dtype=np.float32)


@pytest.mark.parametrize(
    "shapes",
    [[], [()], [(2, 1), (3,)], [(1, 1, 4), (3, 1), ()], [(0,), (1,)], [(2, 0), (1, 1), (2, 1)]],
)
def test_common_shapes(shapes):
    assert broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)


def test_shapes_that_do_not_match():
    with pytest.raises(ValueError, match=r"\(2, 3\), \(2,\) do not broadcast: .*3 meets 2"):
        broadcast_shapes((2, 3), (2,))
    with pytest.raises(TypeError, match=r"sizes must not be negative, but got the shape \(2, -1\)"):
        broadcast_shapes((2, -1), (1,))


def test_axes_become_the_named_ones():
    got = broadcast_in_dim(X[:, None], (2, 3, 4), (1, 2))
    np.testing.assert_array_equal(got, np.broadcast_to(X[:, None], (2, 3, 4)))
    np.testing.assert_array_equal(broadcast(X, (2, 0)), np.zeros((2, 0, 3)))
    np.testing.assert_array_equal(broadcast_like(X, np.zeros((2, 3), np.int8)), [X, X])


def test_no_copy_of_what_has_the_shape():
    x = jnp.asarray(X)
    assert broadcast_to(x, (3,)) is x
    assert broadcast_in_dim(x, (3,), (0,)) is x
    assert expand_dims(x, ()) is x
    assert broadcast_to_rank(x, 1) is x


def test_axes_of_size_one_are_inserted():
    assert expand_dims(X, (0, -1)).shape == (1, 3, 1)
    assert broadcast_to_rank(X, 3).shape == (1, 1, 3)
    with pytest.raises(ValueError, match="expand_dims: repeated axis"):
        expand_dims(X, (0, -3))


def test_ranks_are_not_lowered():
    with pytest.raises(ValueError, match="its rank, 2, is greater than 1"):
        broadcast_to(X[None], (3,))


def test_cotangents_are_summed():
    _, pull = jitney.vjp(lambda x: broadcast_in_dim(x, (2, 3, 4), (1, 2)), X[:, None])
    np.testing.assert_array_equal(pull(np.ones((2, 3, 4), np.float32))[0], [[8]] * 3)


def test_batches():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    got = jitney.vmap(lambda x: broadcast_in_dim(x, (3, 5), (0,)), in_axes=1)(x)
    np.testing.assert_array_equal(got, np.repeat(x.T[:, :, None], 5, 2))


@pytest.mark.parametrize(
    ("shape", "dims", "match"),
    [
        ((3, 2), (0, 1), "one entry for each of the 1 axes"),
        ((3, 2), (2,), "must name axes of the result of shape .*, which has the axes 0 to 1"),
        ((3, 2), (1,), "size 1 or the size of the corresponding axis"),
        ((3, -1), (0,), "must not be negative"),
    ],
)
def test_dimensions_that_do_not_fit(shape, dims, match):
    with pytest.raises(TypeError, match=match):
        broadcast_in_dim(X, shape, dims)
    with pytest.raises(
        ValueError, match=r"float32\[3\] does not broadcast to float32\[2\]: .*3 meets 2"
    ):
        broadcast_to(X, (2,))
