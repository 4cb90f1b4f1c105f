"""Shapes of convolutions follow from the axes, paddings and distances of their windows."""

import pytest

from jitney.compiler.dims import ConvolutionDims, dilated


def along_one_axis(stride=1, low=0, high=0, x_dilation=1, w_dilation=1, **groups):
    return ConvolutionDims(
        (0, 1, 2), (0, 1, 2), (0, 1, 2), (stride,), (low,), (high,), (x_dilation,), (w_dilation,),
        **groups,
    )  # fmt: skip


def starts_of_windows(n, window, dims):
    """Places of the window at which it lies within the padded, dilated operand, counted one by one."""
    places = range(0, n * dims.x_dilation[0], dims.x_dilation[0])
    length = dims.low[0] + dims.high[0] + (places[-1] + 1 if n else 0)
    reach = (window - 1) * dims.w_dilation[0] + 1
    return len([k for k in range(0, max(length, 0), dims.strides[0]) if k + reach <= length])


@pytest.mark.parametrize("n", [1, 6, 7])
@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize(
    "given",
    [{}, {"stride": 2}, {"low": 2, "high": -1}, {"x_dilation": 3}, {"w_dilation": 2, "stride": 3}],
)
def test_the_result_has_an_element_for_each_place_of_the_window(n, window, given):
    dims = along_one_axis(**given)
    shape = dims.result_shape((5, 2, n), (4, 2, window))
    assert shape == (5, 4, starts_of_windows(n, window, dims))


def test_windows_larger_than_the_operand_give_nothing():
    assert along_one_axis().result_shape((1, 1, 2), (1, 1, 5)) == (1, 1, 0)
    assert along_one_axis(low=-3).result_shape((1, 1, 2), (1, 1, 1)) == (1, 1, 0)


def test_axes_may_lie_anywhere():
    dims = ConvolutionDims(
        (3, 0, 1, 2), (2, 3, 0, 1), (1, 2, 3, 0), (1, 2), (0, 0), (0, 0), (1, 1), (1, 1)
    )  # NumPy's order of axes: features, rows, columns, batch
    assert dims.rank == 2
    assert dims.result_shape((3, 10, 9, 8), (4, 5, 7, 3)) == (3, 8, 7, 7)


def test_groups_of_the_batch_divide_it():
    dims = along_one_axis(batch_groups=3)
    assert dims.result_shape((6, 2, 4), (9, 2, 1)) == (2, 9, 4)


@pytest.mark.parametrize(("n", "dilation", "size"), [(0, 4, 0), (1, 4, 1), (3, 1, 3), (3, 4, 9)])
def test_dilation_adds_places_between_elements_only(n, dilation, size):
    assert dilated(n, dilation) == size
