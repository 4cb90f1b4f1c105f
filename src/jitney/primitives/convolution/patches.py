"""Patches of arrays, and convolutions with a different window at each position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.creation import broadcasted_iota
from jitney.primitives.array.shape import reshape, shape_of, transpose
from jitney.primitives.convolution.convolution import conv_general_dilated
from jitney.primitives.convolution.dimensions import (
    ConvDimensionNumbers,
    ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers,
    inverse,
)
from jitney.primitives.elementwise import binary, compare
from jitney.primitives.elementwise.convert import as_value, convert_element_type
from jitney.primitives.linalg.dot import dot_general

if TYPE_CHECKING:
    import numpy as np

    from jitney.core.typing import Array, ArrayLike, DTypeLike
    from jitney.primitives.linalg.precision import PrecisionLike


def conv_general_dilated_patches(
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Extracts the windows of a convolution from an array, and returns them as features.

    Args:
      lhs: an array with batch, feature and spatial axes.
      filter_shape: the sizes of the window along the spatial axes.
      window_strides, padding, lhs_dilation, rhs_dilation: see `conv_general_dilated`.
      dimension_numbers: see `conv_dimension_numbers`. The entry for the window determines the order
        in which its elements become features.
      precision: see `conv_general_dilated`.
      preferred_element_type: dtype of the result.

    Returns: an array with batch, feature and spatial axes. It has one feature for each feature of
      `lhs` and each position in the window; the feature of `lhs` is the major index.

    Example:
      >>> x = jnp.arange(4.0).reshape(1, 1, 4)
      >>> lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")
      Array([[[0., 1., 2.],
              [1., 2., 3.]]], dtype=float32)
    """
    x = as_value(lhs)
    shape = shape_of(x)
    window = tuple([int(k) for k in filter_shape])
    numbers = conv_dimension_numbers(shape, (1, 1, *window), dimension_numbers)
    size, channels = math.prod(window), shape[numbers.lhs_spec[1]]
    filters = _identity(x.dtype, size, channels)
    filters = reshape(filters, (channels * size, 1, *window))
    # Permute the window to the requested layout.
    filters = _moved(filters, numbers.rhs_spec)
    return conv_general_dilated(
        x, filters, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
        feature_group_count=channels, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def _identity(dtype: np.dtype, n: int, copies: int) -> Array:
    """Returns `copies` stacked n x n identity matrices."""
    rows = broadcasted_iota("int32", (n, n), 0)
    rows = binary.add(rows, as_value(rows.dtype.type(0)))
    columns = broadcasted_iota("int32", (n, n), 1)
    eye = convert_element_type(compare.eq(rows, columns), dtype)
    return broadcast_in_dim(eye, (copies, n, n), (1, 2))


def _moved(filters: Array, spec: Sequence[int]) -> Array:
    """Permutes a window [output features, features, space] to the layout `spec`."""
    order = inverse(spec)
    return filters if order == tuple(range(len(order))) else transpose(filters, order)


def conv_general_dilated_local(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: PrecisionLike = None,
) -> Array:
    """Computes a convolution with a different window at each position of the result.

    Args:
      lhs: an array with batch, feature and spatial axes.
      rhs: the windows, an array with an axis for the features of the result, an axis for the
        features of `lhs` times the positions in the window (in the order of
        `conv_general_dilated_patches`), and the spatial axes of the result.
      window_strides, padding, lhs_dilation, rhs_dilation, precision: see `conv_general_dilated`.
      filter_shape: sizes of the window along the spatial axes.
      dimension_numbers: see `conv_dimension_numbers`.

    Returns: an array with axes for batch, features and space.

    Example:
      >>> x, w = jnp.arange(4.0).reshape(1, 1, 4), jnp.ones((1, 2, 3))
      >>> lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,))
      Array([[[1., 3., 5.]]], dtype=float32)
    """
    x, w = as_value(lhs), as_value(rhs)
    numbers = conv_dimension_numbers(shape_of(x), shape_of(w), dimension_numbers)
    numbers = ConvDimensionNumbers(*map(tuple, numbers))
    patches = conv_general_dilated_patches(
        x, filter_shape, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
        precision=precision,
    )  # fmt: skip
    _, rhs_spec, out_spec = numbers
    contract = ((out_spec[1],), (rhs_spec[1],))
    batch = (tuple(out_spec[2:]), tuple(rhs_spec[2:]))
    products = dot_general(patches, w, (contract, batch), precision)
    # The axes are in the order space, batch, feature.
    return transpose(products, inverse((*out_spec[2:], out_spec[0], out_spec[1])))
