"""Queries about types and shapes: `result_type`, `issubdtype`, `finfo`, `shape`, `isscalar`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.core.array import Array
from jitney.core.pytree import pytrees
from jitney.core.source.user_warnings import warn
from jitney.core.types import dtypes
from jitney.core.types.avals import is_valid_operand
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.numpy.functions import one_operation
from jitney.primitives.array.canonical import canonical_axes
from jitney.primitives.array.shape import shape_of

__all__ = [
    "can_cast", "finfo", "iinfo", "iscomplexobj", "isdtype", "isrealobj", "isscalar", "issubdtype",
    "iterable", "ndim", "promote_types", "result_type", "shape", "size",
]  # fmt: skip

finfo = dtypes.finfo
iinfo = dtypes.iinfo
can_cast = np.can_cast
iterable = np.iterable


@one_operation
def result_type(*args: ArrayLike | DTypeLike) -> np.dtype:
    """Returns the dtype to which arrays, scalars and dtypes are promoted together.

    Python scalars and weakly typed arrays do not widen other dtypes of their kind.

    Example:
      >>> jnp.result_type(jnp.int8, jnp.float16)
      dtype('float16')
      >>> jnp.result_type(jnp.zeros(2, jnp.float16), 1.0)
      dtype('float16')
    """
    return dtypes.result_type(*args)


@one_operation
def promote_types(a: DTypeLike, b: DTypeLike) -> np.dtype:
    """Returns the dtype to which two dtypes are promoted together.

    Example:
      >>> jnp.promote_types("int32", "float16")
      dtype('float16')
    """
    return dtypes.promote_types(a, b)


@one_operation
def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Returns whether dtype `arg1` is `arg2` or belongs to the category `arg2`.

    Example:
      >>> [d for d in ("uint8", "float16", "bfloat16", "bool") if jnp.issubdtype(d, jnp.inexact)]
      ['float16', 'bfloat16']
    """
    return dtypes.issubdtype(arg1, arg2)


_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (np.bool_,),
    "signed integer": (np.signedinteger,),
    "unsigned integer": (np.unsignedinteger,),
    "integral": (np.integer,),
    "real floating": (np.floating,),
    "complex floating": (np.complexfloating,),
    "numeric": (np.number,),
}


@one_operation
def isdtype(dtype: DTypeLike | Array, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Returns whether `dtype` is of `kind`: a category name, a dtype, or a tuple of these.

    Raises:
      ValueError: if a kind is neither a dtype nor one of the names "bool", "signed integer",
        "unsigned integer", "integral", "real floating", "complex floating", "numeric".

    Example:
      >>> jnp.isdtype(jnp.float32, "real floating")
      True
    """
    canonical = dtypes.dtype(dtype) if isinstance(dtype, Array) else np.dtype(dtype)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    answers: list[bool] = []
    for k in kinds:
        if isinstance(k, str) and k in _KINDS:
            answers.append(any(dtypes.issubdtype(canonical, category) for category in _KINDS[k]))
            continue
        try:
            answers.append(canonical == np.dtype(k))
        except TypeError:
            shown = f"{k!r}"
            if isinstance(k, str):
                raise ValueError(
                    f"jnp.isdtype: `kind` must be one of {list(_KINDS)}, or name a dtype, but it "
                    f"is {shown}"
                ) from None
            raise TypeError(
                "jnp.isdtype: `kind` must be a dtype, the name of a kind, or a tuple of them, but "
                f"it is {shown}"
            ) from None
    return any(answers)


@one_operation
def iscomplexobj(x: object) -> bool:
    """Returns whether the dtype of `x` is complex.

    Example:
      >>> jnp.iscomplexobj(jnp.array([1j]))
      True
    """
    kind: Any = getattr(x, "dtype", None)
    if kind is None:
        if is_valid_operand(x):
            kind = dtypes.dtype(x)
        else:
            # Lists may contain tracers.
            kinds = [dtypes.dtype(leaf) for leaf in pytrees.tree_leaves(x)]
            kind = dtypes.result_type(*kinds) if kinds else np.asarray(x).dtype
    return dtypes.issubdtype(kind, np.complexfloating)


@one_operation
def isrealobj(x: object) -> bool:
    """Returns whether the dtype of `x` is not complex.

    Example:
      >>> jnp.isrealobj(jnp.array([1.0]))
      True
    """
    return not iscomplexobj(x)


@one_operation
def isscalar(element: object) -> bool:
    """Returns True for Python and NumPy scalars and, unlike NumPy, for arrays of rank 0.

    Example:
      >>> jnp.isscalar(jnp.array(1.0))
      True
    """
    if np.isscalar(element):
        return True
    convert = getattr(element, "__jax_array__", None)
    if convert is not None:
        element = convert()
    return isinstance(element, Array | np.ndarray) and element.ndim == 0


def _warn_unless_arraylike(name: str, x: object) -> None:
    if not is_valid_operand(x):
        warn(
            f"jnp.{name}: `a` must be an array or a scalar, but is of type {type(x).__name__}, which "
            "will be an error in a later version; convert it with jnp.asarray first",
            DeprecationWarning,
        )


@one_operation
def shape(a: ArrayLike) -> tuple[int, ...]:
    """Returns the shape of `a`, an array or a scalar.

    Example:
      >>> jnp.shape(jnp.zeros((2, 3)))
      (2, 3)
    """
    if not hasattr(a, "shape"):
        _warn_unless_arraylike("shape", a)
    return tuple(shape_of(a))


@one_operation
def ndim(a: ArrayLike) -> int:
    """Returns the rank of `a`, an array or a scalar.

    Example:
      >>> jnp.ndim(jnp.zeros((2, 3)))
      2
    """
    rank = getattr(a, "ndim", None)
    if rank is not None:
        return rank
    _warn_unless_arraylike("ndim", a)
    return len(shape_of(a))


@one_operation
def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """Returns the number of elements of an array, or its size along axes.

    Args:
      a: an array or a scalar.
      axis: the axis or axes whose sizes are multiplied; all by default.

    Raises:
      ValueError: if an axis is repeated.

    Example:
      >>> jnp.size(jnp.zeros((2, 3)))
      6
    """
    if not hasattr(a, "shape"):
        _warn_unless_arraylike("size", a)
    extents = shape_of(a)
    if axis is None:
        return int(np.prod(extents, dtype=np.int64))
    axes = canonical_axes(axis, len(extents))
    if len(set(axes)) != len(axes):
        raise ValueError(f"jnp.size: `axis` must not have a repeated axis, but it is {axis}")
    return int(np.prod([extents[k] for k in axes], dtype=np.int64))


for _function in (result_type, promote_types, issubdtype, isdtype, iscomplexobj, isrealobj,
                  isscalar, shape, ndim, size):  # fmt: skip
    _function.__module__ = "jax.numpy"
