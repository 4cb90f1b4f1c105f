"""`map_coordinates` as in SciPy, for all modes beyond the edges, both orders, and integers."""

import numpy as np
import pytest
import scipy.ndimage

from jitney.scipy.ndimage import map_coordinates

IMAGE = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
PLACES = np.array([[-9.3, -1.0, 0.2, 1.5, 3.0, 3.7, 8.2], [0.3, 1.2, -0.6, 1.9, 2.0, 2.6, -4.4]])
# SciPy interpolates between an edge and what repeats by other rules for these modes.
NAMES = {"constant": "grid-constant", "wrap": "grid-wrap"}


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", ["constant", "nearest", "wrap", "mirror", "reflect"])
def test_modes(mode, order):
    found = map_coordinates(IMAGE, PLACES, order, mode, 0.5)
    wanted = scipy.ndimage.map_coordinates(IMAGE, PLACES, None, order, NAMES.get(mode, mode), 0.5)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_integers_are_rounded_away_from_zero():
    x = np.array([0, 1, -2])
    found = map_coordinates(x, [np.array([0.5, 1.5, 0.4])], 1)
    assert found.dtype == "int32"
    np.testing.assert_array_equal(found, [1, -1, 0])


def test_one_element_is_its_own_mirror_image():
    x = np.array([3.0])
    for mode in ("mirror", "reflect"):
        np.testing.assert_array_equal(map_coordinates(x, [np.array([-5, 0, 4])], 1, mode), 3)


def test_refusals():
    with pytest.raises(ValueError, match="one array for each axis of `input`, which has 2 axes"):
        map_coordinates(IMAGE, PLACES[:1], 1)
    with pytest.raises(NotImplementedError, match="mode must be one of"):
        map_coordinates(IMAGE, PLACES, 1, "grid-wrap")
    with pytest.raises(NotImplementedError, match="order must be 0 or 1, but got 3"):
        map_coordinates(IMAGE, PLACES, 3)
