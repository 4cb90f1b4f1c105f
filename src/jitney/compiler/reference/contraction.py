"""Contractions, by `numpy.matmul` on transposed operands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler.reference import reduction, scalar
from jitney.core.types import dtypes
from jitney.core.util.thresholds import threshold

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike

# Longer dot products are summed by blocks.
_LONG, _BLOCK = threshold(1 << 14, small=32), threshold(1024, small=8)


def dot(
    x: np.ndarray,
    y: np.ndarray,
    contract: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]],
    dtype: DTypeLike | None = None,
) -> np.ndarray:
    """Returns the sums of products over the axes `contract`, for each index of the axes `batch`.

    The axes of the result are the batch axes, the free axes of x, and the free axes of y; `dtype`
    is its dtype. float16 and bfloat16 are accumulated in float32, integers wrap around, and
    Booleans are combined by "and" and "or".
    """
    dtype = np.dtype(x.dtype if dtype is None else dtype)
    wide = dtype
    if dtype.itemsize == 2 and dtypes.issubdtype(dtype, np.floating):
        wide = np.dtype(np.float32)
    free_x = [k for k in range(x.ndim) if k not in contract[0] and k not in batch[0]]
    free_y = [k for k in range(y.ndim) if k not in contract[1] and k not in batch[1]]
    b = [x.shape[k] for k in batch[0]]
    m, n = [x.shape[k] for k in free_x], [y.shape[k] for k in free_y]
    depth = math.prod(x.shape[k] for k in contract[0])
    left = scalar.convert(x, wide).transpose(*batch[0], *free_x, *contract[0])
    right = scalar.convert(y, wide).transpose(*batch[1], *contract[1], *free_y)
    left = left.reshape(*b, math.prod(m), depth)
    right = right.reshape(*b, depth, math.prod(n))
    return scalar.convert(product(left, right).reshape((*b, *m, *n)), dtype)


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Returns the product of matrices of equal dtype; long dot products are summed by blocks."""
    is_vector = left.shape[-2] == 1 or right.shape[-1] == 1
    if is_vector and left.shape[-1] > _LONG and left.dtype.kind in "fc":
        return _long_product(left, right)
    return np.matmul(left, right)


def _long_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Returns a product with a vector, summed by blocks, since BLAS adds all products in order."""
    *batch, rows, depth = left.shape
    count = depth // _BLOCK
    whole = count * _BLOCK
    lefts = left[..., :whole].reshape(*batch, rows, count, _BLOCK)
    rights = right[..., :whole, :].reshape(*batch, count, _BLOCK, right.shape[-1])
    products = np.matmul(np.moveaxis(lefts, -2, 0), np.moveaxis(rights, -3, 0))
    total = reduction.reduce(products, "add", (0,))
    return total + np.matmul(left[..., whole:], right[..., whole:, :])
