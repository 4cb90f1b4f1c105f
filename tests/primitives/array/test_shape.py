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
    with pytest.raises(ValueError, match="not unique"):
        transformed(lambda x: lax.squeeze(x, axes))(x)


def test_squeeze_takes_axes_of_size_1():
    with pytest.raises(ValueError, match="only axes of size 1"):
        jitney.jit(lambda x: lax.squeeze(x, (1,)))(X)
