"""Views are read and written as NumPy's views are."""

import numpy as np
import pytest

from jitney.core.types.avals import get_aval
from jitney.primitives.refs.indexer import indexer_of
from jitney.primitives.refs.views import bitcast, reshaped, transposed, type_through

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
TYPE = get_aval(X)


def same_view(view, want):
    """Reads the view, and writes what was read back."""
    got = view.read(X)
    np.testing.assert_array_equal(got, want)
    aval = view.result_type(TYPE)
    assert (aval.shape, aval.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(view.write(X, got), X)


@pytest.mark.parametrize("shape", [(6, 4), (-1, 2), ((24,),), (2, 1, 12)])
def test_other_shapes(shape):
    given = shape[0] if isinstance(shape[0], tuple) else shape
    same_view(reshaped(TYPE, shape), X.reshape(given))


@pytest.mark.parametrize("permutation", [None, (0, 2, 1), (1, -1, 0)])
def test_permuted_axes(permutation):
    same_view(transposed(TYPE, permutation), X.transpose(permutation))


def test_bits_of_other_widths_are_along_the_second_to_last_axis():
    same_view(bitcast(TYPE, np.int32), X.view(np.int32))
    # the parts of an element, low bits first, follow each other along that axis
    halves = X.view(np.uint16).reshape(2, 3, 4, 2).swapaxes(2, 3).reshape(2, 6, 4)
    same_view(bitcast(TYPE, np.uint16), halves)
    half_type = bitcast(TYPE, np.uint16).result_type(TYPE)
    np.testing.assert_array_equal(bitcast(half_type, np.float32).read(halves), X)


def test_types_through_several_steps():
    steps = [
        transposed(TYPE, (2, 0, 1)),
        indexer_of((slice(1, 3), 0), (4, 2, 3)),
        reshaped(get_aval(X[0, :2, :3]), (6,)),
        bitcast(get_aval(X[0, 0, 0]), np.int32),
    ]
    assert type_through(TYPE, steps) == get_aval(np.zeros(6, np.int32))


def test_views_that_are_refused():
    with pytest.raises(ValueError, match=r"cannot reshape shape \(2, 3, 4\) into shape \(5, -1\)"):
        reshaped(TYPE, (5, -1))
    with pytest.raises(ValueError, match=r"each of the 3 axes .* once, but is \(0, 0, 1\)"):
        transposed(TYPE, (0, 0, 1))
    with pytest.raises(NotImplementedError, match="requires at least two axes"):
        bitcast(get_aval(X[0, 0]), np.int8)
    with pytest.raises(ValueError, match="has 3 elements of 8 bits, not a multiple of the 16 bits"):
        bitcast(get_aval(np.zeros((3, 2), np.int8)), np.int16)


def test_texts():
    assert str(reshaped(TYPE, (6, 4))) == "reshape([6, 4])"
    assert str(transposed(TYPE, None)) == "transpose([2, 1, 0])"
    assert str(bitcast(TYPE, np.int32)) == "bitcast(int32)"
