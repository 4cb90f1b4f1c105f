"""Checks of the arguments of samplers: shapes, dtypes, broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.types import dtypes
from jitney.primitives.array.canonical import canonical_shape

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike

Shape = tuple[int, ...]


def shape_of(shape: ShapeLike, name: str = "sizes in `shape`") -> Shape:
    """Converts an integer or a sequence of integers, called `name` in messages, to a shape.

    Raises:
      TypeError: if a size is not a static integer, or is negative.
    """
    out = canonical_shape(shape)
    if any(n < 0 for n in out):
        raise TypeError(f"{name} must be 0 or more, but got {shape}")
    return out


def inexact_dtype(name: str, dtype: DTypeLike | None, *, allow_complex: bool = False) -> np.dtype:
    """Returns the requested dtype, canonicalized; `float` by default.

    Raises:
      ValueError: if the dtype is not floating (or complex, if `allow_complex`).
    """
    dtypes.check_user_dtype_supported(dtype)
    asked = dtypes.requested_dtype(float if dtype is None else dtype)
    kind = np.inexact if allow_complex else np.floating
    if not dtypes.issubdtype(asked, kind):
        allowed = "float or complex" if allow_complex else "float"
        raise ValueError(f"jax.random.{name}: `dtype` must be {allowed}, but got {asked}")
    return asked


def integer_dtype(name: str, dtype: DTypeLike | None, default: DTypeLike = int) -> np.dtype:
    """Returns the requested dtype, canonicalized; `default` if it is None.

    Raises:
      TypeError: if the dtype is not an integer dtype.
    """
    dtypes.check_user_dtype_supported(dtype)
    asked = dtypes.requested_dtype(default if dtype is None else dtype)
    if not dtypes.issubdtype(asked, np.integer):
        raise TypeError(f"jax.random.{name}: `dtype` must be an integer dtype, but got {asked}")
    return asked


def broadcast_shape(name: str, shape: ShapeLike | None, *shapes: Shape) -> Shape:
    """Returns the shape of the draw: `shape`, or the broadcast shape of the parameters if None.

    Raises:
      ValueError: if the parameters do not broadcast to `shape`.
    """
    if shape is None:
        return lax.broadcast_shapes(*shapes)
    asked = shape_of(shape)
    try:
        fits = np.broadcast_shapes(asked, *shapes) == asked
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"jax.random.{name}: parameters of shapes {shapes} do not broadcast to shape={asked}"
        )
    return asked


def promoted(name: str, dtype: np.dtype, *parameters: ArrayLike) -> list[Array]:
    """Converts the parameters of a distribution to arrays of the dtype of the draw.

    Raises:
      TypePromotionError: if the dtype of a parameter does not promote to `dtype`, such as float64
        to float32.
    """
    for x in parameters:
        parameter_dtype = dtypes.result_type(x)
        if dtypes.result_type(x, dtype) != dtype:
            raise dtypes.TypePromotionError(
                f"jax.random.{name}: parameters must promote to {dtype}, the dtype of the result, but "
                f"one has dtype {parameter_dtype}; cast it, or pass dtype={parameter_dtype}"
            )
    return [lax.convert_element_type(x, dtype) for x in parameters]


def exponent(x: ArrayLike) -> Array:
    """Returns `x` behind an optimization barrier, for use as an exponent in a sampler.

    The compiler rounds powers with a constant exponent differently, and a parameter is a constant
    only within `jit`; the barrier makes the results the same in both cases.
    """
    return lax.optimization_barrier(jnp.asarray(x))
