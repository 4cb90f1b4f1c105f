"""Convolutions with fewer options than `conv_general_dilated`, and transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler.dims import dilated
from jitney.primitives.array.shape import rev, transpose
from jitney.primitives.convolution.convolution import conv_general_dilated
from jitney.primitives.convolution.dimensions import (
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    operand_shapes,
    pads_of_transpose,
)

if TYPE_CHECKING:
    from jitney.core.typing import Array, DTypeLike
    from jitney.primitives.linalg.precision import PrecisionLike


def conv(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Convolves [batch, feature, space ...] with a window [output feature, feature, space ...].

    Args:
      lhs: the array to convolve.
      rhs: the window.
      window_strides: the distance between windows along each spatial axis.
      padding: "SAME", "SAME_LOWER" or "VALID".
      precision: see `conv_general_dilated`.
      preferred_element_type: dtype of accumulation and of the result.

    Example:
      >>> lax.conv(jnp.ones((1, 3, 8, 8)), jnp.ones((4, 3, 3, 3)), (1, 1), "VALID").shape
      (1, 4, 6, 6)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def conv_with_general_padding(
    lhs: Array,
    rhs: Array,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Computes `conv` with numeric padding and dilations; see `conv_general_dilated`.

    Example:
      >>> x, w = jnp.ones((1, 3, 8)), jnp.ones((4, 3, 3))
      >>> lax.conv_with_general_padding(x, w, (1,), ((2, 0),), None, (2,)).shape
      (1, 4, 6)
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation,
        precision=precision, preferred_element_type=preferred_element_type,
    )  # fmt: skip


_DEFAULT_LAYOUTS = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(
    lhs: Array,
    rhs: Array,
    strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Computes a transposed convolution, also known as deconvolution.

    Args:
      lhs: array to convolve.
      rhs: window.
      strides: the factor by which each spatial axis is enlarged.
      padding: "SAME", which enlarges spatial axes exactly by the factors `strides`; "VALID", the
        padding of the convolution that is transposed; or a pair (low, high) for each spatial axis
        of the dilated `lhs`.
      rhs_dilation: dilation of the window.
      dimension_numbers: see `conv_dimension_numbers`. By default, the feature axis is last; in the
        window, the feature axis of `lhs` and then that of the result are last.
      transpose_kernel: whether to reverse the window and exchange its feature axes, so that the
        result is the transpose of the convolution with the same window.
      precision: see `conv_general_dilated`.
      preferred_element_type: dtype of accumulation and of the result.
      use_consistent_padding: whether pairs in `padding` are the padding of the convolution that is
        transposed.

    Raises:
      ValueError: if there are more than three spatial axes and `dimension_numbers` is not given.

    Example:
      >>> x, w = jnp.ones((1, 4, 4, 3)), jnp.ones((3, 3, 3, 5))
      >>> lax.conv_transpose(x, w, (2, 2), "SAME").shape
      (1, 8, 8, 5)
    """
    lhs_shape, rhs_shape = operand_shapes("conv_transpose", lhs, rhs, dimension_numbers)
    rank = len(lhs_shape) - 2
    if dimension_numbers is None:
        if rank + 2 not in _DEFAULT_LAYOUTS:
            raise ValueError(
                f"conv_transpose: there is no default layout for {rank} spatial axes; pass "
                "dimension_numbers"
            )
        dimension_numbers = _DEFAULT_LAYOUTS[rank + 2]
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    window = np.take(rhs_shape, numbers.rhs_spec)[2:].tolist()
    spread = (1,) * rank if rhs_dilation is None else tuple(rhs_dilation)
    reach = [dilated(k, d) for k, d in zip(window, spread, strict=True)]
    if isinstance(padding, str):
        if padding in ("SAME", "VALID"):
            padding = [
                pads_of_transpose(k, s, padding) for k, s in zip(reach, strides, strict=True)
            ]
    elif use_consistent_padding:
        padding = [
            (k - 1 - low, k - 1 - high) for k, (low, high) in zip(reach, padding, strict=True)
        ]
    if transpose_kernel:
        features = numbers.rhs_spec[:2]
        for axis in numbers.rhs_spec[2:]:
            rhs = rev(rhs, (axis,))
        order = list(range(len(rhs.shape)))
        order[features[0]], order[features[1]] = features[1], features[0]
        rhs = transpose(rhs, order)
    return conv_general_dilated(
        lhs, rhs, (1,) * rank, padding, tuple(strides), spread, numbers, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip
