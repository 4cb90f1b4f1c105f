"""Operands of linear algebra: checked, of one inexact dtype."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from jitney.core.typing import Array, ArrayLike
from jitney.numpy import promotion
from jitney.primitives.elementwise.convert import as_value


@overload
def inexact(name: str, operand: ArrayLike, /) -> Array: ...


@overload
def inexact(name: str, first: ArrayLike, second: ArrayLike, /) -> list[Array]: ...


def inexact(name: str, /, *operands: ArrayLike) -> Any:
    """Operands checked, of one inexact dtype, as values."""
    promotion.check_arraylike(f"jnp.linalg.{name}", *operands)
    values = [as_value(x) for x in promotion.promote_dtypes_inexact(*operands)]
    return values[0] if len(values) == 1 else values


def check_square(what: str, a: Array, end: str = "") -> None:
    """Raises ValueError unless `a` is made of square matrices; `end` ends the message."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to {what} must have shape [..., n, n], got {a.shape}{end}")


def of_dtype(value: complex, like: Array) -> Any:
    """A number as a scalar of the dtype of `like`."""
    return np.asarray(value, like.dtype)[()]
