"""Simple convolutions agree with NumPy's; transposed ones are adjoint to them."""

import numpy as np
import pytest

from jitney.primitives.convolution.functions import (
    conv,
    conv_transpose,
    conv_with_general_padding,
)

RNG = np.random.default_rng(4)
X, W = (RNG.integers(-3, 4, n).astype(np.float32) for n in (9, 4))


def test_correlations():
    got = conv(X[None, None], W[None, None], (2,), "VALID")
    np.testing.assert_array_equal(got[0, 0], np.correlate(X, W, "valid")[::2])
    got = conv_with_general_padding(X[None, None], W[None, None], (1,), [(3, 3)], (1,), (1,))
    np.testing.assert_array_equal(got[0, 0], np.correlate(X, W, "full"))


def test_dilations_insert_zeros():
    wide = np.zeros(7, np.float32)
    wide[::2] = W
    got = conv_with_general_padding(X[None, None], W[None, None], (1,), [(0, 0)], None, (2,))
    np.testing.assert_array_equal(got[0, 0], np.correlate(X, wide, "valid"))


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_a_transposed_convolution_is_the_adjoint(stride):
    """<conv(x), y> = <x, conv_transpose(y)>, with `transpose_kernel`."""
    forward = np.asarray(conv(X[None, None], W[None, None], (stride,), "VALID"))
    n = forward.shape[-1]
    y = RNG.integers(-3, 4, n).astype(np.float32)
    back = conv_transpose(
        y[None, :, None], W[:, None, None], (stride,), "VALID", transpose_kernel=True
    )
    back = np.asarray(back)[0, :, 0]
    reached = min(back.size, X.size)
    assert forward[0, 0] @ y == X[:reached] @ back[:reached]
    assert not back[reached:].any()


def test_padding_may_be_that_of_the_convolution():
    forward = conv_with_general_padding(X[None, None], W[None, None], (2,), [(2, 1)], None, None)
    forward = np.asarray(forward)[0, 0]
    y = RNG.integers(-3, 4, forward.size).astype(np.float32)
    back = conv_transpose(
        y[None, :, None], W[:, None, None], (2,), [(2, 1)], transpose_kernel=True,
        use_consistent_padding=True,
    )  # fmt: skip
    back = np.asarray(back)[0, :, 0]
    assert back.size == X.size
    assert forward @ y == X @ back


def test_layouts_without_default():
    x = np.zeros((1,) * 6, np.float32)
    with pytest.raises(ValueError, match="no default layout for 4 spatial axes"):
        conv_transpose(x, x, (1,) * 4, "SAME")
