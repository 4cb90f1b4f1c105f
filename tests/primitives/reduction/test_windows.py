"""Windows over arrays: their number, their padding, and folds that do not commute."""

import numpy as np
import pytest

from jitney.primitives.calculus import add, mul
from jitney.primitives.reduction.windows import (
    fold_windows,
    highest,
    lowest,
    padtype_to_pads,
    reduce_window_shape_tuple,
    with_axis,
)


@pytest.mark.parametrize(
    ("padding", "want"),
    [
        ("VALID", [(0, 0), (0, 0)]),
        ("same", [(1, 2), (0, 0)]),
        ("SAME_LOWER", [(2, 1), (0, 0)]),
    ],
)
def test_padding_by_name(padding, want):
    assert padtype_to_pads((5, 6), (4, 1), (2, 3), padding) == want


def test_what_is_no_padding():
    with pytest.raises(
        RuntimeError, match="must be 'VALID', 'SAME' or 'SAME_LOWER', but is 'FULL'"
    ):
        padtype_to_pads((5,), (4,), (2,), "FULL")
    with pytest.raises(TypeError, match="takes the name of a padding"):
        padtype_to_pads((5,), (4,), (2,), [(0, 0)])


def test_numbers_of_windows():
    # 5 elements become 9 by dilation and 10 by padding; a window spans 4 of them
    assert reduce_window_shape_tuple((5,), (2,), (2,), [(1, 0)], (2,), (3,)) == (4,)
    assert reduce_window_shape_tuple((2, 0), (3, 1), (1, 1), [(0, 0)] * 2) == (0, 0)
    with pytest.raises(TypeError, match=r"one entry for each axis of shape \(5, 2\)"):
        reduce_window_shape_tuple((5, 2), (2,), (1,), [(0, 0)])


@pytest.mark.parametrize("window", [1, 2, 3, 7, 11, 20])
@pytest.mark.parametrize(("stride", "spread"), [(1, 1), (3, 1), (2, 2)])
def test_folds_of_affine_maps_keep_the_order(window, stride, spread):
    """A pair (a, b) stands for x -> a x + b; its composition does not commute."""
    rng = np.random.default_rng(window)
    a, b = rng.integers(1, 4, 43).astype(float), rng.integers(-3, 4, 43).astype(float)
    a, b = a.astype(np.float32), b.astype(np.float32)

    def after(first, second):
        return [mul(first[0], second[0]), add(mul(first[1], second[0]), second[1])]

    params = {
        "window_dimensions": (window,), "window_strides": (stride,), "padding": ((1, 0),),
        "window_dilation": (spread,),
    }  # fmt: skip
    got = fold_windows([a, b], [np.float32(1), np.float32(0)], after, params)
    a, b = np.append(1, a), np.append(0, b)
    want = []
    for start in range(0, 44 - (window - 1) * spread, stride):
        factor, offset = 1, 0
        for k in range(window):
            factor, offset = (
                factor * a[start + k * spread],
                (offset * a[start + k * spread] + b[start + k * spread]),
            )
        want.append((factor, offset))
    np.testing.assert_allclose(np.stack(got, 1), want, rtol=1e-6)


def test_windows_along_a_batch_axis_have_one_element():
    params = {"window_dimensions": (2, 3), "padding": ((1, 0), (0, 1)), "name": "kept"}
    assert with_axis(params, 1) == {
        "window_dimensions": (2, 1, 3), "padding": ((1, 0), (0, 0), (0, 1)), "name": "kept",
    }  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, bool, np.float16])
def test_neutral_elements_of_extremes(dtype):
    low, high = lowest(np.dtype(dtype)), highest(np.dtype(dtype))
    x = np.array([low, 1, high], dtype)
    np.testing.assert_array_equal(np.maximum(low, x), x)
    np.testing.assert_array_equal(np.minimum(high, x), x)
