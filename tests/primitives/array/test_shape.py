"""What operations on shapes refuse, compiled and not."""

import numpy as np
import pytest

import jitney
from jitney import lax

X = np.ones((1, 2, 1), np.float32)


@pytest.mark.parametrize("axes", [(0, 0), (0, -3)], ids=str)
@pytest.mark.parametrize("transformed", [lambda f: f, jitney.jit, jitney.vmap])
def test_squeeze_takes_each_axis_once(axes, transformed):
    x = np.stack([X, X]) if transformed is jitney.vmap else X
    with pytest.raises(ValueError, match="must be different axes"):
        transformed(lambda x: lax.squeeze(x, axes))(x)


def test_squeeze_takes_axes_of_size_1():
    with pytest.raises(ValueError, match="only axes of size 1"):
        jitney.jit(lambda x: lax.squeeze(x, (1,)))(X)


@pytest.mark.parametrize("shapes", [[(-1,)], [(2, -3), (1, 1)]], ids=str)
def test_sizes_that_are_broadcast_are_not_negative(shapes):
    for broadcast in (lax.broadcast_shapes, jitney.numpy.broadcast_shapes):
        with pytest.raises(TypeError, match=r"not be negative, but got the shape \(.*-\d"):
            broadcast(*shapes)


def test_shapes_without_a_size():
    with pytest.raises(ValueError, match=r"each axis needs a size, but the shape is \(None, 2\)"):
        jitney.ShapeDtypeStruct((None, 2), np.float32)
