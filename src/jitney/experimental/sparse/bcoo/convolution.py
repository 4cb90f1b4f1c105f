"""`bcoo_conv_general_dilated`: convolutions of two sparse signals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jitney import lax, numpy as jnp
from jitney.experimental.sparse.bcoo.layout import is_stored, padding as beyond
from jitney.experimental.sparse.bcoo.matrix import BCOO, bcoo_sum_duplicates, bcoo_update_layout

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike


def bcoo_conv_general_dilated(
    lhs: BCOO,
    rhs: BCOO,
    *,
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: lax.ConvGeneralDilatedDimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: None = None,
) -> BCOO:
    """Computes the one-dimensional convolution of a sparse signal and a sparse window.

    Each pair of stored elements contributes a term, so that time and memory are proportional to the
    product of the numbers of stored elements.

    Args: as for `lax.conv_general_dilated`. Batch size, numbers of features and groups, strides and
      dilations must be 1.

    Returns: BCOO array whose first two axes are batch axes.

    Raises:
      NotImplementedError: if the arguments do not meet these conditions, or axes are not in the
        order NCH, OIH, NCH.
    """
    del precision, out_sharding
    name = "bcoo_conv_general_dilated"
    numbers = lax.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    if lhs.ndim != 3 or lhs.shape[:2] != (1, 1) or rhs.shape[:2] != (1, 1):
        raise NotImplementedError(
            f"{name}: operands must have one spatial axis, batch size 1 and one feature, but got {lhs} "
            f"and {rhs}"
        )
    if feature_group_count != 1 or batch_group_count != 1:
        raise NotImplementedError(
            f"{name}: `feature_group_count` and `batch_group_count` must be 1, but got "
            f"{feature_group_count=} and {batch_group_count=}"
        )
    if any(tuple(spec) != (0, 1, 2) for spec in numbers):
        raise NotImplementedError(
            f"{name}: axes must be in the order NCH, OIH, NCH, but got {numbers}"
        )
    for what, value in (
        ("window_strides", window_strides),
        ("lhs_dilation", lhs_dilation),
        ("rhs_dilation", rhs_dilation),
    ):
        if value is not None and tuple(value) != (1,):
            raise NotImplementedError(f"{name}: {what} must be (1,), but got {value}")
    n, window = lhs.shape[2], rhs.shape[2]
    if isinstance(padding, str):
        ((low, high),) = lax.padtype_to_pads((n,), (window,), (1,), padding)
    else:
        ((low, high),) = padding
    extent = max(0, n + low + high - window + 1)
    dtype = preferred_element_type or jnp.result_type(lhs.data, rhs.data)
    x, w = (bcoo_update_layout(m, n_batch=2, n_dense=0, on_inefficient=None) for m in (lhs, rhs))
    # Element i of the signal and element j of the window contribute to result i - j + low.
    at = x.indices[0, 0, :, None, :] - w.indices[0, 0, None, :, :] + low
    stored = is_stored(x.indices[0, 0], (n,))[:, None] & is_stored(w.indices[0, 0], (window,))
    inside = (stored & (at[..., 0] >= 0) & (at[..., 0] < extent)).reshape(-1)
    terms = (x.data[0, 0, :, None].astype(dtype) * w.data[0, 0].astype(dtype)).reshape(-1)
    at = at.reshape(-1, 1)
    at = jnp.where(inside[:, None], at, beyond(at.shape, (extent,), at.dtype))
    terms = jnp.where(inside, terms, jnp.zeros((), terms.dtype))
    out = BCOO((terms[None, None], at[None, None]), shape=(1, 1, extent))
    room = math.prod((extent,))
    return bcoo_sum_duplicates(out, nse=room) if out.nse > room else out
