"""Slices of static size have a static or dynamic start, and are pytrees of what is dynamic."""

import numpy as np
import pytest

from jitney.core.pytree.pytrees import tree_flatten, tree_unflatten
from jitney.primitives.refs.slices import Slice, ds


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize(
    "bounds", [(None, None, None), (2, 6, None), (0, None, 3), (1, None, 3), (-3, -1, 1), (5, 2, 2)]
)
def test_slices_of_python_have_the_same_positions(size, bounds):
    found = Slice.from_slice(slice(*bounds), size)
    positions = [found.start + k * found.stride for k in range(found.size)]
    assert positions == [*range(size)][slice(*bounds)]


def test_steps_are_positive():
    with pytest.raises(ValueError, match="must have a step >= 1, got -1"):
        Slice.from_slice(slice(None, None, -1), 3)
    with pytest.raises(ValueError, match="`stride` must be >= 0, got -2"):
        Slice(0, 1, -2)


@pytest.mark.parametrize(
    "index, leaves",
    [
        (Slice(1, 2, 3), 0),
        (Slice(np.int32(1), 2), 1),
        (Slice(0, np.int32(2)), 1),
        (Slice(np.int32(0), np.int32(2), 2), 2),
    ],
)
def test_dynamic_parts_are_leaves(index, leaves):
    found, structure = tree_flatten(index)
    assert len(found) == leaves == index.is_dynamic_start + index.is_dynamic_size
    assert tree_unflatten(structure, found) == index


def test_short_forms():
    assert ds(None) == slice(None)
    assert ds(3) == Slice(0, 3, 1)
    assert ds(2, 3) == Slice(2, 3)
    assert ds(2, 3, 0) == Slice(2, 3, 0)
