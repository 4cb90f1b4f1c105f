"""Validation and promotion of the operands of linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from jitney.core.typing import Array, ArrayLike
from jitney.numpy import promotion
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.typing import Value


@overload
def inexact(name: str, operand: ArrayLike, /) -> Array: ...


@overload
def inexact(name: str, first: ArrayLike, second: ArrayLike, /) -> list[Array]: ...


def inexact(name: str, /, *operands: ArrayLike) -> Array | list[Array]:
    """Checks operands and promotes them to a common inexact dtype."""
    promotion.check_arraylike(f"jnp.linalg.{name}", *operands)
    values = [as_value(x) for x in promotion.promote_dtypes_inexact(*operands)]
    return values[0] if len(values) == 1 else values


def check_square(name: str, a: Array) -> None:
    """Raises ValueError unless operand `a` of the function `name` consists of square matrices."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"jnp.linalg.{name}: `a` must be square matrices, of shape (..., n, n), but its shape is "
            f"{a.shape}"
        )


def of_dtype(value: complex, like: Array) -> Value:
    """Returns `value` as a scalar of the dtype of `like`."""
    return np.asarray(value, like.dtype)[()]
