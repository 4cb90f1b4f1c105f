"""Patches are the windows that NumPy's sliding windows give; local convolutions weigh each."""

import numpy as np
import pytest

from jitney.primitives.convolution.patches import (
    conv_general_dilated_local,
    conv_general_dilated_patches,
)

X = np.arange(2 * 3 * 5 * 6, dtype=np.float32).reshape(2, 3, 5, 6)
WINDOWS = np.lib.stride_tricks.sliding_window_view(X, (2, 3), (2, 3))  # [n, c, h, w, 2, 3]


def test_features_are_windows():
    got = conv_general_dilated_patches(X, (2, 3), (1, 1), "VALID")
    want = WINDOWS.transpose(0, 1, 4, 5, 2, 3).reshape(2, 18, 4, 4)
    np.testing.assert_array_equal(got, want)
    strided = conv_general_dilated_patches(X, (2, 3), (2, 3), "VALID")
    np.testing.assert_array_equal(strided, want[:, :, ::2, ::3])


def test_the_layout_of_features_is_the_users():
    numbers = ("NHWC", "OIHW", "NHWC")
    got = conv_general_dilated_patches(
        np.moveaxis(X, 1, -1), (2, 3), (1, 1), "VALID", dimension_numbers=numbers
    )
    want = conv_general_dilated_patches(X, (2, 3), (1, 1), "VALID")
    np.testing.assert_array_equal(got, np.moveaxis(np.asarray(want), 1, -1))


@pytest.mark.parametrize("padding", ["VALID", [(1, 0), (0, 2)]])
def test_each_position_has_its_own_kernel(padding):
    patches = np.asarray(conv_general_dilated_patches(X, (2, 3), (1, 1), padding))
    h, w = patches.shape[2:]
    kernel = np.random.default_rng(0).integers(-2, 3, (4, 18, h, w)).astype(np.float32)
    got = conv_general_dilated_local(X, kernel, (1, 1), padding, (2, 3))
    np.testing.assert_array_equal(got, np.einsum("ochw,nchw->nohw", kernel, patches))
