"""Convolutions are the sums of products of their definition, whatever the window and the axes."""

import itertools

import numpy as np
import pytest

from jitney.compiler.dims import ConvolutionDims
from jitney.compiler.reference.convolution import convolution

RNG = np.random.default_rng(0)


def by_definition(x, w, dims):
    """Sums over c and k of x[n, c, o stride + k dilation - low] w[f, c, k], element by element."""
    padded = np.zeros((*x.shape[:2], 200), x.dtype)
    n = x.shape[2]
    padded[:, :, 50 : 50 + n * dims.x_dilation[0] : dims.x_dilation[0]][:, :, :n] = x
    end = 50 + (n - 1) * dims.x_dilation[0] + 1 + dims.high[0]
    padded[:, :, end:] = 0
    padded[:, :, : 50 - dims.low[0]] = 0
    shape = dims.result_shape(x.shape, w.shape)
    out = np.zeros(shape, x.dtype)
    batch, features = x.shape[0] // dims.batch_groups, w.shape[0]
    groups = dims.groups * dims.batch_groups
    for m, f, o in itertools.product(*map(range, shape)):
        group = f // (features // groups)
        channels = range(w.shape[1])
        for c, k in itertools.product(channels, range(w.shape[2])):
            at = 50 - dims.low[0] + o * dims.strides[0] + k * dims.w_dilation[0]
            row = m + (group * batch if dims.batch_groups > 1 else 0)
            column = c + (group * w.shape[1] if dims.groups > 1 else 0)
            out[m, f, o] += padded[row, column, at] * w[f, c, k]
    return out


def dims_of(stride=1, low=0, high=0, x_dilation=1, w_dilation=1, **groups):
    axes = (0, 1, 2)
    return ConvolutionDims(
        axes, axes, axes, (stride,), (low,), (high,), (x_dilation,), (w_dilation,), **groups
    )


@pytest.mark.parametrize(
    "given",
    [
        {}, {"stride": 2, "low": 1, "high": 2}, {"low": -1, "high": -1}, {"x_dilation": 3, "low": 2},
        {"w_dilation": 2, "high": 3}, {"groups": 2}, {"batch_groups": 2},
    ],
)  # fmt: skip
@pytest.mark.parametrize("window", [1, 3, 7])
def test_one_spatial_axis(given, window):
    dims = dims_of(**given)
    x = RNG.integers(-4, 5, (2, 4, 9)).astype(np.int32)
    w = RNG.integers(-4, 5, (6, 4 // dims.groups, window)).astype(np.int32)
    np.testing.assert_array_equal(convolution(x, w, dims), by_definition(x, w, dims))


def test_axes_in_any_order():
    x, w = RNG.normal(size=(2, 3, 8, 7)), RNG.normal(size=(5, 3, 2, 3))
    plain = ConvolutionDims(*[(0, 1, 2, 3)] * 3, (1, 1), (0, 0), (0, 0), (1, 1), (1, 1))
    last = ConvolutionDims(
        (0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2), (1, 1), (0, 0), (0, 0), (1, 1), (1, 1)
    )
    found = convolution(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), last)
    np.testing.assert_allclose(found.transpose(0, 3, 1, 2), convolution(x, w, plain), atol=1e-13)


def test_halves_are_accumulated_as_float32():
    x = np.concatenate([[2048], np.full(64, 0.5)]).astype(np.float16).reshape(1, 1, -1)
    found = convolution(x, np.ones_like(x), dims_of())
    assert found.shape == (1, 1, 1) and found[0, 0, 0] == 2080


def test_windows_without_room_give_nothing():
    x, w = np.ones((1, 1, 2)), np.ones((1, 1, 3))
    assert convolution(x, w, dims_of()).shape == (1, 1, 0)
    nothing = convolution(x[:, :0], w[:, :0], dims_of(low=1))
    np.testing.assert_array_equal(nothing, [[[0.0]]])
