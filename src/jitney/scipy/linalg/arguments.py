"""Checks and conversions of the arguments of linear algebra functions with SciPy's interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import numpy as jnp
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import promote_dtypes_inexact
from jitney.primitives.elementwise.convert import as_value


def inexact(*xs: ArrayLike) -> list[Array]:
    """Promotes arrays to a common floating-point or complex dtype."""
    return [as_value(x) for x in promote_dtypes_inexact(*xs)]


def arrays(*xs: ArrayLike | list[Any] | tuple[Any, ...]) -> list[Array]:
    """Like `inexact`, but also accepts lists and tuples, as JAX does in some functions."""
    return inexact(*[jnp.asarray(x) if isinstance(x, list | tuple) else x for x in xs])


def complex_dtype(dtype: np.dtype[Any]) -> np.dtype:
    """Returns the complex dtype of the same precision as `dtype`."""
    wide = np.dtype(dtype) in (np.float64, np.complex128)
    return np.dtype(np.complex128 if wide else np.complex64)


def check_square(name: str, a: Array) -> None:
    """Raises ValueError unless the argument `a` of function `name` holds square matrices."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"{name}: `a` must be square in its last two axes, but it has shape {a.shape}"
        )
