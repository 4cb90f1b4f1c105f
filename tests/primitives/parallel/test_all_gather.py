"""Values are gathered along a named axis and scattered sums are its transpose."""

import numpy as np
import pytest

import jitney
from jitney.primitives.parallel.all_gather import all_gather, merge_axis, psum_scatter, split_axis

X = np.arange(12, dtype=np.float32).reshape(3, 4)
SQUARE = np.arange(27, dtype=np.float32).reshape(3, 3, 3)


def over(f, *args, **options):
    return jitney.vmap(f, axis_name="i", **options)(*args)


@pytest.mark.parametrize("axis", [0, 1])
def test_all_instances_get_all_values(axis):
    got = over(lambda x: all_gather(x, "i", axis=axis), X)
    np.testing.assert_array_equal(got, [np.stack(X, axis)] * 3)
    got = over(lambda x: all_gather(x, "i", axis=axis, tiled=True), SQUARE)
    np.testing.assert_array_equal(got, [np.concatenate(SQUARE, axis)] * 3)


@pytest.mark.parametrize("axis", [0, 1])
def test_each_instance_gets_its_part_of_the_sum(axis):
    total = SQUARE.sum(0)
    got = over(lambda x: psum_scatter(x, "i", scatter_dimension=axis), SQUARE)
    np.testing.assert_array_equal(got, np.moveaxis(total, axis, 0))
    got = over(lambda x: psum_scatter(x, "i", scatter_dimension=axis, tiled=True), SQUARE)
    np.testing.assert_array_equal(got, np.split(total, 3, axis))


def test_groups_are_refused_by_vmap():
    with pytest.raises(NotImplementedError, match="axis_index_groups are not supported"):
        over(lambda x: all_gather(x, "i", axis_index_groups=[[0, 2, 1]]), X)


def test_cotangents_of_gathered_values_are_scattered_sums():
    weights = np.arange(36, dtype=np.float32).reshape(3, 3, 4)

    def loss(x):
        return (over(lambda x, w: all_gather(x, "i") * w, x, weights)).sum()

    np.testing.assert_array_equal(jitney.grad(loss)(X), weights.sum(0))


def test_axes_are_split_and_merged():
    np.testing.assert_array_equal(split_axis(X, 1, 2), X.reshape(3, 2, 2))
    np.testing.assert_array_equal(merge_axis(SQUARE, 1), SQUARE.reshape(3, 9))


def test_what_is_refused():
    with pytest.raises(
        ValueError,
        match=r"size of axis 0 of an operand of shape \(4,\S*\) must be the number of participants, 3",
    ):
        over(lambda x: psum_scatter(x, "i"), X)
    with pytest.raises(ValueError, match="the number of participants, 3, must divide"):
        over(lambda x: psum_scatter(x, "i", tiled=True), X)
    with pytest.raises(ValueError, match="`to` must be 'varying', 'invarying' or 'reduced'"):
        over(lambda x: all_gather(x, "i", to="same"), X)
    with pytest.raises(NameError):
        all_gather(X, "i")
