"""Indices of references are parsed to the shapes that NumPy's indexing gives."""

import numpy as np
import pytest

import jitney
from jitney.core.diagnostics.errors import NonConcreteBooleanIndexError
from jitney.primitives.refs.indexer import indexer_of, is_whole, text_of, whole

X = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
ROWS, COLUMNS = np.array([0, 1, 1]), np.array([[2], [0]])


@pytest.mark.parametrize(
    "index",
    [
        (),
        0,
        (..., -1),
        (1, ..., slice(1, 4, 2)),
        slice(5, 9),
        (ROWS,),
        (slice(None), ROWS, COLUMNS),
        (0, slice(None), ROWS),
        (ROWS, slice(None), COLUMNS),
        (slice(None), 2, slice(1, 3), [0, 1]),
        (slice(None), ROWS, slice(None), COLUMNS),
    ],
)
def test_shapes_of_the_elements(index):
    indexer = indexer_of(index, X.shape)
    assert indexer.get_indexer_shape() == X[index].shape
    assert len(indexer.indices) == 4


def test_what_an_indexer_selects():
    everything = indexer_of((slice(0, 2), ..., slice(None)), X.shape)
    assert everything.is_whole
    assert everything == whole(X.shape)
    part = indexer_of((-1, slice(1, 3)), X.shape)
    assert part.is_block and not part.is_whole
    assert part.block_shape == (1, 2, 4, 5)
    assert (part.slice_axes, part.point_axes) == ((1, 2, 3), (0,))
    assert part.indices[0] == 1
    assert not indexer_of(slice(0, 2, 2), X.shape).is_block
    assert not indexer_of(ROWS, X.shape).is_block
    assert is_whole(jitney.ds(0, 4), 4)
    assert not is_whole(jitney.ds(0, 3), 4)


def test_indexers_are_pytrees_of_their_positions():
    indexer = indexer_of((jitney.numpy.int32(1), ROWS), X.shape)
    leaves, tree = jitney.tree.flatten(indexer)
    assert len([x for x in leaves if np.ndim(x)]) == 1
    again = jitney.tree.unflatten(tree, leaves)
    assert again.get_indexer_shape() == indexer.get_indexer_shape()


@pytest.mark.parametrize(
    ("index", "error", "match"),
    [
        ((..., 0, ...), ValueError, "may have one ellipsis, but has 2"),
        ((0,) * 5, ValueError, "must have at most 4 entries, but has 5"),
        (2, ValueError, "must be from -2 to 1, as the axis has size 2, but is 2"),
        (-3, ValueError, "but is -3"),
        (jitney.ds(1, 2), ValueError, "must be within the axis, of size 2"),
        (1.5, TypeError, "must contain integers, got float32"),
        ("a", TypeError, "but has 'a', of type <class 'str'>"),
        (np.array([True, False]), NonConcreteBooleanIndexError, "oolean"),
        ((np.arange(2), np.arange(3)), ValueError, "arrays in an index of a Ref must broadcast"),
    ],
)
def test_indices_that_are_refused(index, error, match):
    with pytest.raises(error, match=match):
        indexer_of(index, X.shape)


def test_texts():
    assert text_of(whole((2, 3))) == "..."
    index = (slice(None), slice(1, 3), slice(0, 2), slice(2, 5))
    assert text_of(indexer_of(index, X.shape)) == ":,1:,:2,2:"
