"""Arguments of the samplers: shapes, dtypes, broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core import dtypes
from jitney.primitives.array.canonical import canonical_shape

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike

Shape = tuple[int, ...]


def shape_of(shape: ShapeLike) -> Shape:
    """Returns a shape given as a number or a sequence.

    Raises:
      TypeError: if a size is not an integer known now, or is negative.
    """
    out = canonical_shape(shape)
    if any(n < 0 for n in out):
        raise TypeError(f"`shape` must have sizes of 0 or more, but is {shape}")
    return out


def inexact_dtype(name: str, dtype: DTypeLike | None, *, allow_complex: bool = False) -> np.dtype:
    """Returns the canonical floating dtype asked for, `float` by default.

    Raises:
      ValueError: if it is not one.
    """
    dtypes.check_user_dtype_supported(dtype)
    asked = dtypes.requested_dtype(float if dtype is None else dtype)
    kind = np.inexact if allow_complex else np.floating
    if not dtypes.issubdtype(asked, kind):
        allowed = "float or complex" if allow_complex else "float"
        raise ValueError(f"jax.random.{name}: `dtype` must be {allowed}, but is {asked}")
    return asked


def integer_dtype(name: str, dtype: DTypeLike | None, default: DTypeLike = int) -> np.dtype:
    """Returns the canonical integer dtype asked for.

    Raises:
      TypeError: if it is not one.
    """
    dtypes.check_user_dtype_supported(dtype)
    asked = dtypes.requested_dtype(default if dtype is None else dtype)
    if not dtypes.issubdtype(asked, np.integer):
        raise TypeError(f"jax.random.{name}: `dtype` must be an integer dtype, but is {asked}")
    return asked


def broadcast_shape(name: str, shape: ShapeLike | None, *shapes: Shape) -> Shape:
    """Returns the shape of the draw: `shape`, or what the parameters broadcast to if it is None.

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
            f"jax.random.{name}: parameters of the shapes {shapes} do not broadcast to `shape`, "
            f"which is {asked}"
        )
    return asked


def promoted(name: str, dtype: np.dtype, *parameters: ArrayLike) -> list[Array]:
    """Returns the parameters of a distribution as arrays of the dtype that is drawn.

    Raises:
      TypePromotionError: if one is of a dtype that does not promote to `dtype`, such as float64 to
        float32.
    """
    for x in parameters:
        parameter_dtype = dtypes.result_type(x)
        if dtypes.result_type(x, dtype) != dtype:
            raise dtypes.TypePromotionError(
                f"{name}: parameters must promote to {dtype}, which is drawn, but one is of dtype "
                f"{parameter_dtype}: cast it, or ask for dtype={parameter_dtype}"
            )
    return [lax.convert_element_type(x, dtype) for x in parameters]


def exponent(x: ArrayLike) -> Array:
    """Returns `x` as the exponent of a power in a sampler.

    It stands behind a barrier: a power whose exponent the compiler knows has other last bits, and a
    parameter is known within `jit` alone.
    """
    return lax.optimization_barrier(jnp.asarray(x))
