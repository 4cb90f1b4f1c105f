"""Shapes and axes of users become tuples of ints, with axes counted from the front."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.array.canonical import canonical_axes, canonical_axis, canonical_shape


@pytest.mark.parametrize(
    ("shape", "want"),
    [
        ((), ()),
        (3, (3,)),
        ([2, np.int64(3)], (2, 3)),
        (np.array([4, 5]), (4, 5)),
        (jnp.array(7), (7,)),
        ((jnp.array(2), True), (2, 1)),
    ],
)
def test_shapes(shape, want):
    got = canonical_shape(shape)
    assert got == want
    assert all(type(n) is int for n in got)


def test_entries_that_are_no_integers():
    with pytest.raises(TypeError, match=r"got \(2, 1.5\). In full."):
        canonical_shape((2, 1.5), "In full")
    with pytest.raises(TypeError, match="got \\('a',\\)"):
        canonical_shape("a")
    with pytest.raises(TypeError, match=r"Shapes must be 1D sequences.*\n.*static_argnames"):
        jitney.jit(lambda n: jnp.zeros(canonical_shape((n,))))(2)


@pytest.mark.parametrize(("axis", "want"), [(0, 0), (-1, 2), (-3, 0), (np.int8(2), 2)])
def test_axes_count_from_either_end(axis, want):
    assert canonical_axis(axis, 3) == want
    assert canonical_axes(axis, 3) == (want,)
    assert canonical_axes([axis, 1], 3) == (want, 1)


def test_axes_that_are_refused():
    with pytest.raises(ValueError, match=r"axis -4 is out of bounds: .* has the axes -3 to 2"):
        canonical_axis(-4, 3)
    with pytest.raises(ValueError, match="an array of rank 0 has no axes"):
        canonical_axis(0, 0)
    with pytest.raises(TypeError, match=r"an axis must be an integer, but is 1\.0"):
        canonical_axes((0, 1.0), 3)
    assert canonical_axes(np.array([0, -1]), 3) == (0, 2)
