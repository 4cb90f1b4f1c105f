"""Selection between two arrays, and clipping, on which much of this package is built."""

from __future__ import annotations

from functools import partial

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.primitives.array.broadcasting import broadcast_shapes, broadcast_to
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import binary, compare, convert, select as lax_select


def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Selects `x` where `condition` is true, else `y`; `conditions.where` is public."""
    promotion.check_arraylike("where", condition, x, y)
    return _where(condition, x, y)


@partial(jit_when_traced, name="_where")
def _where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    if promotion.dtype_of(condition) != np.bool_:
        condition = compare.ne(
            condition, convert.scalar_operand(0, promotion.dtype_of(condition), False)
        )
    x, y = promotion.promote_dtypes(x, y)
    shape = broadcast_shapes(shape_of(condition), shape_of(x), shape_of(y))
    if shape_of(condition):
        condition = broadcast_to(condition, shape)
    return lax_select.select(condition, broadcast_to(x, shape), broadcast_to(y, shape))


@jit_when_traced
def clip(
    arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> Array:
    """Clips `arr` to [`min`, `max`]; a bound that is None has no effect.

    Args:
      arr: a real array.
      min: the lower bounds, broadcast against `arr`.
      max: the upper bounds, likewise; they take precedence where they are below the lower bounds.

    Returns: an array of the common dtype.

    Raises:
      ValueError: if an operand is complex, or `arr` is None.

    Example:
      >>> jnp.clip(jnp.arange(5), 1, 3)
      Array([1, 1, 2, 3, 3], dtype=int32)
    """
    if arr is None:
        raise ValueError("jnp.clip: `arr` must be an array, but it is None or missing")
    promotion.check_arraylike("clip", arr, *[b for b in (min, max) if b is not None])
    x = convert.as_value(arr)
    if any(promotion.is_complex(promotion.dtype_of(v)) for v in (x, min, max) if v is not None):
        kinds = [promotion.dtype_of(v) for v in (x, min, max) if v is not None]
        raise ValueError(
            "jnp.clip: the array and its bounds must be real, as complex values have no order, "
            f"but they are {', '.join(map(str, kinds))}; clip jnp.real and jnp.imag separately"
        )
    if min is not None:
        x = binary.max(*promotion.promote_args("clip", min, x))
    if max is not None:
        x = binary.min(*promotion.promote_args("clip", max, x))
    return x


for _function in (clip,):
    _function.__module__ = "jax.numpy"
