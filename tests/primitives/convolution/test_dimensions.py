"""Dimension numbers, padding and shapes of convolutions are those of counting positions."""

import numpy as np
import pytest

from jitney.primitives.convolution.dimensions import (
    conv_dimension_numbers,
    conv_general_permutations,
    conv_general_shape_tuple,
    conv_shape_tuple,
    conv_transpose_shape_tuple,
    inverse,
    operand_shapes,
    pads_of,
    pads_of_transpose,
    permuted,
)

SPECS = ("NHWC", "HWIO", "NHWC")


def test_letters_name_axes():
    lhs, rhs, out = conv_general_permutations(("NWHC", "HWIO", "CNHW"))
    # spatial axes are in the order of the window: H, W
    assert lhs == (0, 3, 2, 1)
    assert rhs == (3, 2, 0, 1)
    assert out == (1, 0, 2, 3)
    shape = (2, 7, 5, 3)
    assert permuted(permuted(shape, lhs), inverse(lhs)) == shape
    assert conv_dimension_numbers((1, 2, 3), (1, 2, 3), None).rhs_spec == (0, 1, 2)


@pytest.mark.parametrize(
    ("specs", "match"),
    [
        (("NHWC", "HWIO"), "must have entries for lhs, rhs and result"),
        ("NHWC", "must be a tuple of three strings"),
        (("NHWC", "HWIO", 3), "must be strings such as 'NHWC'"),
        (("NHC", "HWIO", "NHWC"), r"dimension_numbers\[0\] must have one letter for each axis"),
        (("NHWC", "HWIO", "NHWN"), r"each of the letters N and C once, but is 'NHWN'"),
        (("NHHC", "HWIO", "NHWC"), "names an axis twice: 'NHHC'"),
        (("NHWC", "HDIO", "NHWC"), "must name the same spatial axes"),
    ],
)
def test_numbers_that_are_refused(specs, match):
    with pytest.raises(TypeError, match=match):
        conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 2), specs)


@pytest.mark.parametrize("n", [5, 8])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_as_many_positions_as_fit(n, stride):
    for low, high, k in [(0, 0, 3), (2, 1, 4), (0, 0, 9)]:
        want = len(range(0, n + low + high - k + 1, stride))
        shape = conv_shape_tuple((2, 4, n), (6, 4, k), (stride,), [(low, high)])
        assert shape == (2, 6, want)
        got = conv_general_shape_tuple(
            (n, 2, 4), (k, 4, 6), (stride,), [(low, high)], ("HNC", "HIO", "CHN")
        )
        assert got == (6, want, 2)


def test_same_padding_keeps_the_size_divided_by_the_stride():
    for n in range(1, 9):
        for k, stride, spread in [(3, 1, 1), (4, 2, 1), (3, 3, 2)]:
            ((low, high),) = pads_of("SAME", (n,), (k,), (stride,), (1,), (spread,))
            assert high - low in (0, 1)
            window = (k - 1) * spread + 1
            positions = len(range(0, n + low + high - window + 1, stride))
            assert positions == -(-n // stride)


@pytest.mark.parametrize(("k", "stride"), [(1, 1), (3, 1), (3, 2), (2, 3), (5, 2)])
def test_transposed_convolutions_invert_sizes(k, stride):
    for padding, want in [("SAME", 6 * stride), ("VALID", 6 * stride + max(k - stride, 0))]:
        low, high = pads_of_transpose(k, stride, padding)
        assert 5 * stride + 1 + low + high - k + 1 == want
        shape = conv_transpose_shape_tuple(
            (1, 6, 6, 3), (k, k, 3, 4), (stride,) * 2, padding, SPECS
        )
        assert shape == (1, want, want, 4)
    assert pads_of_transpose(3, 2, "SAME") == (2, 1)  # the odd element is in front
    with pytest.raises(ValueError, match="must be 'SAME' or 'VALID', but got 'same'"):
        pads_of_transpose(k, stride, "same")


def test_padding_and_ranks_that_are_refused():
    with pytest.raises(ValueError, match="not defined for a dilated lhs, but lhs_dilation is"):
        pads_of("SAME", (5,), (3,), (1,), (2,), (1,))
    with pytest.raises(ValueError, match=r"must be a name or a .low, high. pair"):
        pads_of([1], (5,), (3,), (1,), (1,), (1,))
    with pytest.raises(TypeError, match="must be equal and at least two"):
        operand_shapes("conv", np.zeros(3), np.zeros(3), None)
    with pytest.raises(TypeError, match="one pair for each of the 1 spatial axes, but has 2"):
        conv_shape_tuple((1, 1, 5), (1, 1, 3), (1,), [(0, 0), (0, 0)])
