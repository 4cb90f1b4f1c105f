"""`jax._src.numpy.util` and `jax._src.dtypes`: checks and promotion of operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.types import dtypes
from jitney.core.typing import SupportsArray
from jitney.numpy import promotion
from jitney.numpy.selection import where
from jitney.primitives.array.broadcasting import broadcast_to
from jitney.primitives.array.canonical import canonical_shape
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike


def promote_args(fun_name: str, *args: ArrayLike) -> list[Array]:
    """Returns the operands as arrays of their common dtype and, except scalars, of equal rank.

    Raises:
      TypeError: if an operand is neither an array nor a scalar.
    """
    return [as_value(x) for x in promotion.promote_args(fun_name, *args)]


def promote_args_inexact(fun_name: str, *args: ArrayLike) -> list[Array]:
    """Promotes like `promote_args`, to a floating-point or complex dtype."""
    return [as_value(x) for x in promotion.promote_args_inexact(fun_name, *args)]


def promote_args_numeric(fun_name: str, *args: ArrayLike) -> list[Array]:
    """Promotes like `promote_args`, and converts booleans to integers."""
    return [as_value(x) for x in promotion.promote_args_numeric(fun_name, *args)]


def promote_args_complex(fun_name: str, *args: ArrayLike) -> list[Array]:
    """Promotes like `promote_args`, to a complex dtype."""
    promotion.check_arraylike(fun_name, *args)
    return promotion.promote_shapes(fun_name, *promote_dtypes_complex(*args))


def promote_dtypes(*args: ArrayLike) -> list[Array]:
    """Returns the operands as arrays of their common dtype."""
    return [as_value(x) for x in promotion.promote_dtypes(*args)]


def promote_dtypes_inexact(*args: ArrayLike) -> list[Array]:
    """Returns the operands as arrays of their common dtype; integers are converted to floats."""
    return [as_value(x) for x in promotion.promote_dtypes_inexact(*args)]


def promote_dtypes_numeric(*args: ArrayLike) -> list[Array]:
    """Returns the operands as arrays of their common dtype; booleans are converted to integers."""
    return [as_value(x) for x in promotion.promote_dtypes_numeric(*args)]


def promote_dtypes_complex(*args: ArrayLike) -> list[Array]:
    """Returns the operands as arrays of the complex dtype that can represent all of them."""
    dtype, is_weak = dtypes.lattice_result_type(*args)
    return [as_value(promotion.as_type(x, to_complex_dtype(dtype), is_weak)) for x in args]


def check_arraylike_or_none(fun_name: str, *args: object) -> None:
    """Raises TypeError if an operand is neither None nor a scalar nor an array."""
    promotion.check_arraylike(fun_name, *[x for x in args if x is not None and not np.isscalar(x)])


def ensure_arraylike_tuple(fun_name: str, tup: Sequence[ArrayLike]) -> tuple[Array, ...]:
    """Returns several operands as arrays.

    Raises:
      TypeError: if one is not an array or a scalar.
    """
    promotion.check_arraylike(fun_name, *tup)
    return tuple(promotion.ensure_arraylike(fun_name, x) for x in tup)


def is_arraylike(x: object) -> bool:
    """Returns whether `x` has a dtype, or is a scalar of NumPy or Python, including strings."""
    return hasattr(x, "dtype") or isinstance(x, SupportsArray) or np.isscalar(x)


def check_no_float0s(fun_name: str, *args: object) -> None:
    """Raises TypeError if an operand has dtype float0, the dtype of tangents of integers."""
    if any(getattr(x, "dtype", None) == dtypes.float0 for x in args):
        raise dtypes.float0_error(fun_name)


def select(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Selects `x` where the condition is True, else `y`; operands are promoted and broadcast."""
    return where(condition, x, y)


def broadcast(arr: ArrayLike, shape: ShapeLike, sharding: ShardingLike | None = None) -> Array:
    """Broadcasts an array to a shape, with the given sharding, if any."""
    return broadcast_to(arr, canonical_shape(shape), out_sharding=sharding)


def default_int_dtype() -> np.dtype:
    """Returns the default dtype of integers."""
    return dtypes.canonicalize_dtype(int)


def default_uint_dtype() -> np.dtype:
    """Returns the default dtype of unsigned integers."""
    return dtypes.canonicalize_dtype(np.uint64)


def default_float_dtype() -> np.dtype:
    """Returns the default floating-point dtype."""
    return dtypes.canonicalize_dtype(float)


def default_complex_dtype() -> np.dtype:
    """Returns the default complex dtype."""
    return dtypes.canonicalize_dtype(complex)


def to_inexact_dtype(dtype: DTypeLike) -> np.dtype:
    """Returns `dtype` if it is floating or complex, otherwise a floating dtype.

    That is float64 for 64-bit integers, whether x64 is enabled or not, and float32 for all others.
    """
    kind = np.dtype(dtype)
    if dtypes.issubdtype(kind, np.inexact):
        return kind
    return np.dtype(np.float64 if kind.itemsize == np.dtype(np.int64).itemsize else np.float32)


def to_floating_dtype(dtype: DTypeLike) -> np.dtype:
    """Returns the real floating-point dtype for the real parts of values of `dtype`."""
    inexact = to_inexact_dtype(dtype)
    return np.finfo(inexact).dtype if inexact.kind == "c" else inexact


def to_complex_dtype(dtype: DTypeLike) -> np.dtype:
    """Returns the complex dtype that can represent values of `dtype`."""
    inexact = to_inexact_dtype(dtype)
    if inexact.kind == "c":
        return inexact
    return np.dtype(np.complex128 if inexact == np.float64 else np.complex64)


def supports_inf(dtype: DTypeLike) -> bool:
    """Returns whether a dtype can represent infinity."""
    kind = dtypes.dtype(dtype)
    if not dtypes.issubdtype(kind, np.inexact):
        return False
    with np.errstate(all="ignore"):
        return bool(np.isinf(np.array(np.inf).astype(kind).astype(np.complex128)))
