"""Positions of elements, of triangles and of diagonals are those of NumPy, padded to a given size."""

from __future__ import annotations

import numpy as np
import pytest

import jitney
from jitney.numpy.nonzero_indices import (
    argwhere,
    compress,
    diag_indices,
    diag_indices_from,
    extract,
    flatnonzero,
    mask_indices,
    nonzero,
    place,
    ravel_multi_index,
    tril_indices_from,
    triu_indices,
    unravel_index,
)

X = np.array([[0.0, 2.0, np.nan], [-0.0, 0.0, 5.0]], np.float32)


def same(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


def test_positions_are_in_row_major_order():
    same(nonzero(X), np.nonzero(X))
    same(argwhere(X), np.argwhere(X))
    same(flatnonzero(X), np.flatnonzero(X))
    assert argwhere(np.float32(3)).shape == (1, 0)
    assert argwhere(np.float32(0)).shape == (0, 0)
    with pytest.raises(ValueError, match="to treat it as an array of one element"):
        nonzero(np.float32(3))


@pytest.mark.parametrize("size", [0, 2, 3, 5])
def test_a_size_pads_or_cuts_positions(size):
    rows, columns = nonzero(X, size=size, fill_value=(7, 9))
    same((rows, columns), [([0, 0, 1] + [7] * 2)[:size], ([1, 2, 2] + [9] * 2)[:size]])
    same(nonzero(X, size=5)[0], [0, 0, 1, 0, 0])
    same(nonzero(np.zeros((0, 3)), size=2), [[0, 0], [0, 0]])


def test_traced_positions_need_a_size():
    with pytest.raises(jitney.errors.ConcretizationTypeError, match="passed statically as `size`"):
        jitney.jit(nonzero)(X)
    with pytest.raises(ValueError, match="one index for each axis"):
        nonzero(X, size=4, fill_value=(1, 2, 3))


def test_elements_where_a_condition_is_true():
    same(extract(X > 1, X), [2, 5])
    same(extract(X > 1, X, size=3, fill_value=-1), [2, 5, -1])
    same(compress(np.array([False, True]), X, axis=0), X[1:])
    same(compress(np.array([True, False, True]), X, axis=1), X[:, [0, 2]])
    same(compress(np.array([0, 3]), X), [2])
    with pytest.raises(ValueError, match="true at position 2 or later"):
        compress(np.array([1, 0, 1]), X, axis=0)


def test_place_repeats_its_values():
    for values in ([1.0, 2.0, 3.0, 4.0], [9.0], [7.0, 8.0]):
        mine = np.zeros((2, 3), np.float32)
        mask = np.array([[True, False, True], [False, True, True]])
        ours = place(mine, mask, np.array(values), inplace=False)
        np.place(mine, mask, values)
        same(ours, mine)
    with pytest.raises(ValueError, match="`vals` must have at least one"):
        place(mine, mask, np.zeros(0), inplace=False)


@pytest.mark.parametrize("k", [-2, 0, 1])
def test_triangles_and_diagonals(k):
    same(triu_indices(3, k, 5), np.triu_indices(3, k, 5))
    same(tril_indices_from(X, k), np.tril_indices_from(X, k))
    same(mask_indices(4, np.triu, k), np.mask_indices(4, np.triu, k))
    same(diag_indices_from(np.zeros((3,) * 3)), np.diag_indices(3, 3))
    with pytest.raises(ValueError, match="the same size"):
        diag_indices_from(X)
    with pytest.raises(ValueError, match="`n` must be 0 or more"):
        diag_indices(-1)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_flat_positions(order, mode):
    index = (np.array([1, -1, 7]), np.array([0, 3, -5]))
    ours = ravel_multi_index(index, (3, 4), mode, order)
    same(ours, np.ravel_multi_index(index, (3, 4), mode, order))


def test_flat_positions_are_inverted():
    flat = np.arange(24)
    index = unravel_index(flat, (2, 3, 4))
    same(index, np.unravel_index(flat, (2, 3, 4)))
    same(ravel_multi_index(index, (2, 3, 4)), flat)
    # Positions out of range are clipped.
    same(unravel_index(np.array([-1, 6, 99]), (2, 3)), [[1, 1, 1], [2, 2, 2]])
    with pytest.raises(ValueError, match="from 0 to 2, but one is 3"):
        ravel_multi_index((np.array([0, 3]),), (3,))
