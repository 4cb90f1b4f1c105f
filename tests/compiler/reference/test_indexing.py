"""Windows are read and written where their starts say, clamped or dropped, in order."""

import numpy as np
import pytest

from jitney.compiler.dims import GatherDims, ScatterDims
from jitney.compiler.reference.indexing import (
    dynamic_slice,
    dynamic_update_slice,
    gather,
    pad,
    scatter,
)

M = np.arange(20, dtype=np.float32).reshape(4, 5)


@pytest.mark.parametrize("low", [-4, -1, 0, 2])
@pytest.mark.parametrize("high", [-2, 0, 3])
@pytest.mark.parametrize("between", [0, 2])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_padding(low, high, between, n):
    """Elements are written far into zeros, from which the result is cut."""
    size = n + max(n - 1, 0) * between + low + high
    if size < 0:
        return
    wide = np.zeros(40)
    wide[10 : 10 + n * (between + 1) : between + 1] = np.arange(1, n + 1)
    found = pad(np.arange(1.0, n + 1), np.asarray(0.0), [low], [high], [between])
    np.testing.assert_array_equal(found, wide[10 - low : 10 - low + size])


@pytest.mark.parametrize("starts", [(0, 0), (1, 2), (-7, 9)])
def test_blocks_are_moved_into_bounds(starts):
    i, j = min(max(starts[0], 0), 2), min(max(starts[1], 0), 2)
    np.testing.assert_array_equal(dynamic_slice(M, starts, (2, 3)), M[i : i + 2, j : j + 3])
    expected = M.copy()
    expected[i : i + 2, j : j + 3] = -1
    found = dynamic_update_slice(M, np.full((2, 3), -1, np.float32), starts)
    np.testing.assert_array_equal(found, expected)
    assert M[0, 0] == 0


ROWS = GatherDims((1,), (0,), (0,))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64])
def test_rows_out_of_bounds_are_filled_or_clamped(dtype):
    places = np.array([[3], [100], [0]]).astype(dtype)
    if np.dtype(dtype).kind == "i":
        places[2] = -1
    if dtype == np.uint64:
        places[1] = np.iinfo(np.uint64).max
    filled = gather(M, places, ROWS, (1, 5), "fill", np.nan)
    clamped = gather(M, places, ROWS, (1, 5), "clip")
    np.testing.assert_array_equal(clamped, M[[3, 3, 0]])
    outside = [False, True, np.dtype(dtype).kind == "i"]
    np.testing.assert_array_equal(filled, np.where(np.array(outside)[:, None], np.nan, clamped))


def test_windows_and_the_places_of_their_axes():
    places = np.array([[[0, 1], [2, 2]], [[1, 0], [9, 9]]])
    dims = GatherDims((0, 2), (), (0, 1))
    found = gather(M, places, dims, (2, 3), "clip")
    assert found.shape == (2, 2, 3, 2)
    for a, b in np.ndindex(2, 2):
        expected = dynamic_slice(M, places[a, b], (2, 3))
        np.testing.assert_array_equal(found[:, a, :, b], expected)


def test_batches_of_operand_and_indices_are_paired():
    x, places = np.arange(24).reshape(2, 3, 4), np.array([[[2], [0]], [[1], [1]]])
    dims = GatherDims((2,), (1,), (1,), (0,), (0,))
    found = gather(x, places, dims, (1, 1, 4), "clip")
    np.testing.assert_array_equal(found, np.stack([x[0, [2, 0]], x[1, [1, 1]]]))


INTO_ROWS = ScatterDims((1,), (0,), (0,))


@pytest.mark.parametrize("combine", [None, "add", "mul", "max", lambda old, new: 2 * old + new])
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_updates_are_combined_in_order(combine, mode):
    places = np.array([[1], [3], [1], [4], [-2], [1]])
    updates = np.random.default_rng(0).integers(-4, 5, (6, 5)).astype(np.float32)
    meaning = {
        None: lambda old, new: new, "add": np.add, "mul": np.multiply, "max": np.maximum,
    }.get(combine, combine)  # fmt: skip
    expected = M.copy()
    for (place,), row in zip(places, updates, strict=True):
        at = min(max(place, 0), 3)
        if mode == "clip" or at == place:
            expected[at] = meaning(expected[at], row)
    found = scatter(M, places, updates, INTO_ROWS, combine, mode)
    np.testing.assert_array_equal(found, expected)


def test_empty_updates_change_nothing():
    nothing = scatter(
        M, np.zeros((0, 1), int), np.zeros((0, 5), np.float32), INTO_ROWS, "add", "clip"
    )
    np.testing.assert_array_equal(nothing, M)
    assert nothing is not M
    assert gather(M, np.zeros((0, 1), int), ROWS, (1, 5), "clip").shape == (0, 5)
