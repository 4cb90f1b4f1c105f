"""`jax.dtypes`: dtypes and type promotion. See `jitney.core.types.dtypes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney.core.types import dtypes as _dtypes
from jitney.core.types.dtypes import (
    TypePromotionError as TypePromotionError,
    bfloat16 as bfloat16,
    canonicalize_dtype as canonicalize_dtype,
    extended as extended,
    finfo as finfo,
    float0 as float0,
    iinfo as iinfo,
    issubdtype as issubdtype,
    itemsize_bits as itemsize_bits,
    prng_key as prng_key,
    result_type as result_type,
)
from jitney.core.util.lazy import listing

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike, DTypeLike

__dir__ = listing(__name__)


def scalar_type_of(x: ArrayLike | DTypeLike) -> type:
    """Returns the Python scalar type (such as `float`) that corresponds to the dtype of a value.

    Raises:
      TypeError: if there is no such type.
    """
    dtype = _dtypes.dtype(x)
    kinds = (
        (np.bool_, bool),
        (np.integer, int),
        (np.floating, float),
        (np.complexfloating, complex),
    )
    for kind, scalar_type in kinds:
        if issubdtype(dtype, kind):
            return scalar_type
    raise TypeError(
        f"scalar_type_of: no Python scalar type corresponds to dtype {dtype}, which is the dtype of "
        f"{x!r}"
    )
