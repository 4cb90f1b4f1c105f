"""Conversion of the argument of `array`: arrays, scalars, sequences and convertible objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from jitney.core.array import Array
from jitney.core.tracing.trace import state
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval, is_valid_operand, shaped_array
from jitney.core.typing import ArrayLike, DTypeLike, PyTree
from jitney.numpy import promotion
from jitney.primitives.array.annotations import copy_p
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise.convert import (
    as_value,
    convert,
    not_real,
    refuse_complex_scalar,
    scalar_operand,
)
from jitney.primitives.rules import aval_of, typed
from jitney.runtime.arrays.array import array_from_numpy, copied
from jitney.runtime.arrays.array_interceptors import features as array_interceptors

if TYPE_CHECKING:
    from jitney.core.typing import Value

# Of type Any, since elements of nested sequences are of any type.
_SEQUENCES: tuple[type[Any], ...] = (list, tuple)
_ARRAYS: tuple[type[Any], ...] = (np.ndarray,)

_NONE = "jnp.array: None has no value; omit it, or use jnp.nan for a missing element"


def array_of(x: PyTree, dtype: dtypes.DType | None, must_copy: bool, ndmin: int) -> Array:
    """Converts `x` to an array; see `jitney.numpy.creation.array`."""
    if isinstance(x, Array):
        out = copy_p.bind(x) if must_copy else x
        out = out if dtype is None else convert(out, dtype)
    elif type(x) in promotion.SCALARS:
        out = _scalar(x, dtype)
    elif isinstance(x, _SEQUENCES):
        out = _of_sequence(x, dtype)
    elif hasattr(x, "__jax_array__"):
        out = _strong(array_of(x.__jax_array__(), dtype, must_copy, 0))
    elif x is None:
        raise ValueError(_NONE)
    else:
        out = _of_numpy(_as_ndarray(x, dtype), dtype)
    rank = len(shape_of(out))
    return expand_dims(out, tuple(range(ndmin - rank))) if rank < ndmin else out


def _strong(x: Array) -> Array:
    """Returns `x` without weak type, since the result of `__jax_array__` is not a Python scalar."""
    aval = aval_of(x)
    return convert(x, aval.dtype) if aval.weak_type else x


def _scalar(x: ArrayLike, dtype: Any) -> Array:
    for feature in array_interceptors.installed:
        feature.check_from_host(x, "array")
    if dtype is None:
        return as_value(x)
    if type(x) in _PYTHON_NUMBERS and dtypes.issubdtype(dtype, np.integer):
        return as_value(typed(_integer(cast("complex", x), dtype)))
    refuse_complex_scalar(x, dtype, "jnp.array")
    return convert(x, dtype)


_PYTHON_NUMBERS = {int, float, complex}


def _integer(x: complex, dtype: Any) -> np.ndarray:
    """Returns a Python scalar, truncated toward 0, as an integer of `dtype`.

    Raises:
      TypeError: if it is complex.
      OverflowError: if `dtype` cannot hold it.
      ValueError: if it is NaN.
    """
    if isinstance(x, complex):
        raise not_real(x, dtype, "jnp.array")
    if x != x:
        raise ValueError(f"jnp.array: NaN cannot be converted to the requested dtype {dtype}")
    info = dtypes.iinfo(dtype)
    if not info.min - 1 < x < info.max + 1:
        raise OverflowError(
            f"jnp.array: an element of dtype {dtype} must be between {info.min} and {info.max}, "
            f"but the value is {x}; `jnp.asarray({x}).astype({dtype})` "
            + ("saturates" if isinstance(x, float) else "wraps around")
        )
    return np.array(int(x), dtype)


def is_masked(x: np.ndarray) -> bool:
    """Returns whether a NumPy array has a mask."""
    return isinstance(x, np.ma.MaskedArray)


def _as_ndarray(x: Any, dtype: DTypeLike | dtypes.ExtendedDType | None) -> np.ndarray:
    if isinstance(x, _ARRAYS) and type(x) not in _ARRAYS and is_masked(x):
        get_aval(x)  # raises an error for masked arrays
    try:
        value = np.asarray(x) if dtype is None else np.asarray(x, dtypes.physical_dtype(dtype))
    except TypeError:
        if isinstance(x, (*_ARRAYS, *_SEQUENCES)):
            raise
        value = np.asarray(x)
    if value.dtype.type not in dtypes.numpy_scalar_types and value.dtype != dtypes.float0:
        first = value.ravel()[0] if value.size else x
        raise TypeError(
            "jnp.array: elements must be numeric or boolean, but NumPy converts them to dtype "
            f"{value.dtype}; the first one is '{first}'"
        )
    dtypes.check_valid_dtype(value.dtype)
    return value


def _of_numpy(value: np.ndarray, dtype: Any) -> Array:
    """Returns a NumPy array as a jitney array of canonical dtype."""
    target = dtypes.canonicalize_dtype(value.dtype) if dtype is None else dtype
    value = copied(value, target)
    if state.trace is state.eval_trace:
        for feature in array_interceptors.installed:
            feature.check_from_host(value, "array")
        return array_from_numpy(value, shaped_array(value.shape, target, False))
    return as_value(typed(value))


def _leaves(xs: Iterable[Any]) -> Iterator[Value | None]:
    """Yields the elements of nested sequences."""
    for x in xs:
        if isinstance(x, _SEQUENCES):
            yield from _leaves(x)
        elif not isinstance(x, Array) and hasattr(x, "__jax_array__"):
            yield x.__jax_array__()
        else:
            yield x


def _of_sequence(xs: Sequence[Any], dtype: Any) -> Array:
    leaves = list(_leaves(xs))
    if not any(isinstance(x, Array) for x in leaves):
        return _of_plain_sequence(xs, leaves, dtype)
    if any(x is None for x in leaves):
        raise ValueError(_NONE)
    if dtype is None:
        dtype = _common_dtype(leaves)
    if state.trace is state.eval_trace and not dtypes.is_extended(dtype):
        values = [_element(x, dtype) for x in leaves if x is not None]
        if len({v.shape for v in values}) == 1:
            elements = iter(values)
            value = np.array(_rebuilt(xs, elements), dtype)
            return array_from_numpy(value, shaped_array(value.shape, dtype, False))
    joined = _joined(xs, dtype)
    assert isinstance(joined, Array)  # `xs` is a sequence
    return joined


def _element(x: ArrayLike, dtype: np.dtype) -> np.ndarray:
    """Returns a concrete element as a NumPy array of `dtype`."""
    if isinstance(x, Array):
        return convert(x, dtype)._value  # type: ignore[union-attr]  # concrete, as it is
    return np.asarray(x, dtype)


def _rebuilt(xs: Sequence[Any], values: Iterator[Any]) -> list[object]:
    return [_rebuilt(x, values) if isinstance(x, _SEQUENCES) else next(values) for x in xs]


def _common_dtype(leaves: list[Any]) -> np.dtype:
    types: list[tuple[Any, bool]] = []
    for x in leaves:
        types.append(promotion.type_of(x if is_valid_operand(x) else np.asarray(x)))
    if any(dtypes.is_extended(t) for t, _ in types):
        return types[0][0]
    return dtypes.common_type(tuple(types))[0]


def _of_plain_sequence(xs: Sequence[Any], leaves: list[Any], dtype: Any) -> Array:
    """Converts a sequence that contains no jitney arrays by NumPy alone."""
    if any(x is None for x in leaves):
        raise ValueError(_NONE)
    if dtype is None:
        kinds = set(map(type, leaves))
        plain = kinds <= promotion.SCALARS
        if not leaves:
            dtype = dtypes.canonicalize_dtype(np.float64)
        elif plain:
            dtype = _dtype_of_scalars(leaves, kinds)
        else:
            arrays = [np.asarray(x) for x in leaves]
            for a in arrays:
                _as_ndarray(a, None)
            dtype = _common_dtype([x if type(x) in promotion.SCALARS else a
                                   for x, a in zip(leaves, arrays, strict=True)])  # fmt: skip
    if dtypes.is_extended(dtype):
        raise TypeError(f"jnp.array: cannot convert numeric elements to PRNG keys of dtype {dtype}")
    rows = _rebuilt(xs, iter(leaves))
    try:
        value = np.array(rows, dtype)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(f"jnp.array: {_uneven(rows)}") from None
    return _of_numpy(value, dtype)


def _uneven(rows: list[Any]) -> str:
    """Returns an error message that tells where nested lists have unequal lengths."""
    shape: tuple[int, ...] = ()
    level: list[Any] = [rows]
    while all(isinstance(x, list) for x in level):
        lengths = sorted({len(x) for x in level})
        if len(lengths) > 1:
            shown = ", ".join(map(str, lengths))
            return (
                f"nested lists must have the same length, but the elements of the array of shape "
                f"{shape} are lists of lengths {shown}; use jnp.nan for missing elements"
            )
        shape, level = (*shape, lengths[0]), [y for x in level for y in x]
    return f"at depth {len(shape)}, there must be only scalars, or only lists of the same length"


_KIND_DTYPES = ((complex, np.complex128), (float, np.float64), (int, np.int64), (bool, np.bool_))


def _dtype_of_scalars(leaves: list[Any], kinds: set[type]) -> np.dtype:
    if kinds <= {bool, int, float, complex}:
        wide = next(d for k, d in _KIND_DTYPES if k in kinds)
        return dtypes.canonicalize_dtype(wide)
    return _common_dtype(leaves)


def _joined(xs: PyTree, dtype: dtypes.DType) -> ArrayLike:
    """Joins nested sequences that contain arrays, level by level."""
    if not isinstance(xs, _SEQUENCES):
        if isinstance(xs, Array):
            return convert(xs, dtype)
        if type(xs) in promotion.SCALARS:
            return scalar_operand(xs, dtype, False)
        return array_of(xs, dtype, False, 0)
    if not any(isinstance(x, Array) for x in _leaves(xs)):
        return array_of(xs, dtype, False, 0)
    return concatenate([expand_dims(_joined(x, dtype), (0,)) for x in xs], 0)
