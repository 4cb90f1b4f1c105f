"""An index is read into an entry for each axis of the array, and a layout of the result."""

from __future__ import annotations

import numpy as np
import pytest

import jitney.export
from jitney.numpy.index_plan import NEW, POINTS, Points, Scalar, Span, Window, plan
from jitney.primitives.refs.slices import Slice

SHAPE = (4, 5, 6)
ROWS = np.array([3, 0])
INDICES = {
    "block": np.s_[1:3],
    "reversed": np.s_[::-2, ..., 1:],
    "new axes": np.s_[None, 2:, :, None],
    "rows": np.s_[ROWS],
    "apart": np.s_[ROWS, :, ROWS],
    "neighbors": np.s_[:, ROWS, ROWS],
    "outer": np.s_[:, ROWS[:, None], [0, 1, 5]],
    "ellipsis that stands for no axis": np.s_[ROWS, ..., ROWS, :2],
    "apart by a new axis": np.s_[ROWS, None, ROWS],
    "mask of two axes": np.s_[np.arange(20).reshape(4, 5) % 3 == 0],
    "mask at the end": np.s_[..., np.arange(6) > 3],
    "true": np.s_[True],
    "false": np.s_[False],
    "bounds outside": np.s_[-9:9, 3:1, 5:0:-2],
    "nothing": (),
}


@pytest.mark.parametrize("name", INDICES)
def test_results_have_the_shape_that_numpy_gives(name):
    assert plan(SHAPE, INDICES[name]).result_shape == np.zeros(SHAPE)[INDICES[name]].shape


def test_entries_are_of_the_kind_of_their_item():
    p = plan((7, 4, 3, 5), np.s_[5:1:-2, 1, ROWS, Slice(2, 3)])
    assert [type(e) for e in p.entries] == [Span, Scalar, Points, Window]
    assert p.has_points
    assert [Scalar(k).value_dtype for k in (3, np.int8(3))] == [None, None]
    assert Scalar(ROWS[:1]).value_dtype == np.int32
    assert not plan((7, 4), np.s_[5:1, 1]).has_points


def test_masks_of_rank_0_take_an_axis_of_their_own():
    for mask in (True, np.array(False)):
        p = plan(SHAPE, np.s_[:, mask])
        assert (p.extra_axes, p.shape) == ((1,), (4, 1, 5, 6))
    assert plan(SHAPE, np.s_[:, ROWS]).extra_axes == ()


def test_index_arrays_that_are_apart_come_first():
    together, apart = plan(SHAPE, np.s_[:, ROWS, ROWS]), plan(SHAPE, np.s_[ROWS, :, ROWS])
    assert (together.together, together.layout) == (True, (0, POINTS))
    assert (apart.together, apart.layout) == (False, (POINTS, 1))
    p = plan(SHAPE, np.s_[ROWS[:, None], :, None, ROWS])
    assert p.layout == (POINTS, 1, NEW)
    assert p.new_axes == (3,)  # the index arrays have two axes


@pytest.mark.parametrize("bounds", [(1, 6, 2), (6, 1, -2), (None, None, -3), (3, 3, 1), (2, 9, 4)])
def test_spans_know_their_first_position_and_the_end(bounds):
    (span,) = plan((8,), slice(*bounds)).entries
    positions = range(8)[slice(*bounds)]
    assert (span.start, span.size, span.step) == (positions.start, len(positions), positions.step)
    if len(positions):
        # In ascending order: from the least position to just behind the greatest.
        assert span.first == min(positions)
        assert max(positions) < span.stop <= max(positions) + abs(positions.step)
    assert not span.is_whole
    assert plan((8,), slice(None)).entries[0].is_whole


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (np.s_[0, 0, 0, 0], IndexError, "4 axes, but the array has rank 3"),
        (np.s_[..., 0, ...], IndexError, "one ellipsis at most, but there are 2"),
        (
            np.ones(3, bool),
            IndexError,
            r"0 of the index has shape \(3,\), and these sizes are \[4\]",
        ),
        ([0, 1], TypeError, r"x\[sequence\]"),
        ("name", TypeError, "no named fields"),
        (1.5, TypeError, r"must be an integer, not the number 1.5 \(float64\); convert it"),
        (object(), IndexError, "an index must be an integer, a slice"),
        (Slice(0.5, 2), TypeError, "`start` must be an integer scalar"),
    ],
)
def test_wrong_indices(index, error, message):
    with pytest.raises(error, match=message):
        plan(SHAPE, index)


def test_spans_of_symbolic_axes():
    (n,) = jitney.export.symbolic_shape("n", constraints=["n >= 4"])
    sizes = [
        (np.s_[:], n), (np.s_[1:], n - 1), (np.s_[:-3], n - 3), (np.s_[::-1], n),
        (np.s_[-2:], 2), (np.s_[2:4], 2), (np.s_[3:1], 0), (np.s_[-1:0:-1], n - 1),
    ]  # fmt: skip
    for index, size in sizes:
        (span,) = plan((n,), index).entries
        assert span.size == size, index


def test_axes_of_size_zero_have_no_elements():
    assert plan((0, 3), np.s_[:, 1]).result_shape == (0,)
    with pytest.raises(IndexError, match="axis 1 has size 0"):
        plan((3, 0), np.s_[:, 1])
