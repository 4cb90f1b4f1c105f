"""Joining of arrays (`concatenate`, `stack`, `block`) and splitting (`split`, `unstack`)."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.symbolic.expressions import DimExpr
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.numpy import promotion
from jitney.primitives.array import concatenation
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.shape import reshape, shape_of, transpose
from jitney.primitives.elementwise.convert import as_value, convert, user_dtype

if TYPE_CHECKING:
    from jitney.core.typing import Value

# Of type Any, since their elements are of any type.
_SEQUENCES: tuple[type[Any], ...] = (list, tuple)

__all__ = [
    "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "block", "column_stack", "concat",
    "concatenate", "dsplit", "dstack", "hsplit", "hstack", "split", "stack", "unstack", "vsplit",
    "vstack",
]  # fmt: skip

Arrays: TypeAlias = "Array | np.ndarray | Sequence[ArrayLike]"
"""The arrays to join: a sequence, or one array whose slices along the first axis are joined."""


def _parts(name: str, arrays: Arrays) -> Array | list[Value]:
    """Returns the arrays to join: one array, joined along its first axis, or a list of operands."""
    if isinstance(arrays, Array | np.ndarray):
        if arrays.ndim == 0:
            refusal = TypeError if name == "stack" else ValueError
            argument = "arrays" if name in ("concatenate", "stack") else "tup"
            raise refusal(
                f"jnp.{name}: `{argument}` must be several arrays, or one array of rank 1 or more, "
                "whose slices are joined, but it is one array of rank 0; pass a list"
            )
        return as_value(arrays)
    try:
        parts = list(arrays)
    except TypeError:
        argument = "arrays" if name in ("concatenate", "stack") else "tup"
        raise TypeError(
            f"jnp.{name}: `{argument}` must be a sequence of arrays, but it is of {type(arrays)}"
        ) from None
    promotion.check_arraylike(name, *parts)
    return parts


def _promoted(parts: Sequence[ArrayLike], dtype: DTypeLike | None, name: str) -> list[Value]:
    if dtype is None:
        return promotion.promote_dtypes(*parts)
    dtype = user_dtype(dtype, name)
    return [convert(x, dtype) for x in parts]


# --- joining --------------------------------------------------------------------------------------


def concatenate(arrays: Arrays, axis: int | None = 0, dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along `axis`; their shapes must agree along all other axes.

    Args:
      arrays: a sequence of arrays, or one array, whose slices along the first axis are joined.
      axis: the axis along which to join; if None, the arrays are flattened first.
      dtype: the dtype of the result; the common dtype by default.

    Raises:
      ValueError: if there are no arrays, or if the first is a scalar.
      TypeError: if the ranks or shapes do not match.

    Example:
      >>> jnp.concatenate([jnp.array([1, 2]), jnp.array([3])])
      Array([1, 2, 3], dtype=int32)
      >>> jnp.concatenate([jnp.ones((2, 1)), jnp.zeros((2, 2))], axis=1)
      Array([[1., 0., 0.],
             [1., 0., 0.]], dtype=float32)
    """
    parts = _parts("concatenate", arrays)
    if isinstance(parts, Array):
        return _concatenate_slices(parts, axis, dtype)
    if not parts:
        raise ValueError("jnp.concatenate: at least one array is required, but there is none")
    if axis is None:
        parts = [_flat(x) for x in parts]
        axis = 0
    if not shape_of(parts[0]):
        raise ValueError(
            "jnp.concatenate: arrays must have at least one axis, but the first is a scalar; use "
            "jnp.stack to join scalars"
        )
    axis = canonical_axis(axis, len(shape_of(parts[0])))
    return concatenation.concatenate(_promoted(parts, dtype, "concatenate"), axis)


def _concatenate_slices(x: Array, axis: int | None, dtype: DTypeLike | None) -> Array:
    """Joins the slices of `x` along its first axis, by a reshape."""
    if x.ndim == 0:
        raise TypeError("jnp.concatenate: a scalar has no slices to join; pass a list of arrays")
    if dtype is not None:
        x = convert(x, user_dtype(dtype, "concatenate"))
    if axis is None:
        return _flat(x)
    if x.shape[0] == 0:
        raise ValueError(f"jnp.concatenate: an array of shape {x.shape} has no slices to join")
    if x.ndim == 1:
        raise ValueError(
            f"jnp.concatenate: slices of an array of shape {x.shape} are scalars, which have no "
            "axis to join; use jnp.stack to join scalars"
        )
    axis = canonical_axis(axis, x.ndim - 1)
    order = (*range(1, axis + 1), 0, *range(axis + 1, x.ndim))
    slice_shape = x.shape[1:]
    joined = (*slice_shape[:axis], x.shape[0] * slice_shape[axis], *slice_shape[axis + 1 :])
    return reshape(transpose(x, order), joined)


def _flat(x: ArrayLike) -> Array:
    return reshape(x, (int(np.prod(shape_of(x), dtype=np.int64)),))


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Array:
    """Joins arrays along an axis; the name of `concatenate` in the array API standard.

    Args:
      arrays: a sequence of arrays of equal shape, except along `axis`.
      axis: the axis along which to join; if None, the arrays are flattened first.

    Returns: an array of the common dtype.

    Example:
      >>> jnp.concat([jnp.array([1, 2]), jnp.array([3])])
      Array([1, 2, 3], dtype=int32)
    """
    promotion.check_arraylike("concat", *arrays)
    return concatenate(arrays, axis=axis)


def stack(arrays: Arrays, axis: int = 0, out: None = None, dtype: DTypeLike | None = None) -> Array:
    """Joins arrays of the same shape along a new axis at position `axis`.

    Args:
      arrays: a sequence of arrays, or one array, whose slices along the first axis are joined.
      axis: the position of the new axis in the result.
      out: must be None.
      dtype: the dtype of the result; the common dtype by default.

    Raises:
      ValueError: if there are no arrays, or if their shapes differ.

    Example:
      >>> red, green, blue = jnp.full((4, 6), 0.2), jnp.zeros((4, 6)), jnp.ones((4, 6))
      >>> jnp.stack([red, green, blue]).shape
      (3, 4, 6)
      >>> image = jnp.stack([red, green, blue], axis=-1)
      >>> image[0, 0]
      Array([0.2, 0. , 1. ], dtype=float32)
    """
    parts = _parts("stack", arrays)
    if isinstance(parts, Array):
        promotion.check_no_out("stack", out)
        if dtype is not None:
            parts = convert(parts, user_dtype(dtype, "stack"))
        rank = parts.ndim
        axis = canonical_axis(axis, rank)
        order = (*range(1, axis + 1), 0, *range(axis + 1, rank))
        # Concatenating slices that have a new axis is equivalent to this transpose and reshape.
        x = transpose(parts, order)
        spread = expand_dims(x, (axis + 1,))
        return reshape(spread, x.shape)
    if not parts:
        raise ValueError("jnp.stack: at least one array is required, but there is none")
    promotion.check_no_out("stack", out)
    shape = shape_of(parts[0])
    if any(shape_of(x) != shape for x in parts):
        listed = ", ".join(str(shape_of(x)) for x in parts)
        raise ValueError(
            f"jnp.stack: arrays must have the same shape, but they have shapes {listed}"
        )
    axis = canonical_axis(axis, len(shape) + 1)
    return concatenation.stack(_promoted(parts, dtype, "stack"), axis)


def vstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along the first axis; arrays of rank 1 are joined as rows.

    Args:
      tup: a sequence of arrays, or one array, whose slices along the first axis are joined.
      dtype: the dtype of the result; the common dtype by default.

    Example:
      >>> jnp.vstack([jnp.array([1, 2]), jnp.array([[3, 4], [5, 6]])])
      Array([[1, 2],
             [3, 4],
             [5, 6]], dtype=int32)
    """
    parts = _parts("vstack", tup)
    if isinstance(parts, Array):
        return concatenate(_each("vstack", parts, 2), axis=0, dtype=dtype)
    return concatenate([atleast_2d(x) for x in parts], axis=0, dtype=dtype)


def hstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along the second axis, or along the first if they have rank 1.

    Args:
      tup: a sequence of arrays, or one array, whose slices along the first axis are joined; scalars
        are expanded to rank 1.
      dtype: the dtype of the result; the common dtype by default.

    Example:
      >>> jnp.hstack([jnp.array([1, 2]), jnp.array([3])])
      Array([1, 2, 3], dtype=int32)
    """
    parts = _parts("hstack", tup)
    if isinstance(parts, Array):
        parts = _each("hstack", parts, 1)
        rank = len(shape_of(parts)) - 1
    else:
        parts = [atleast_1d(x) for x in parts]
        rank = parts[0].ndim if parts else 1
    return concatenate(parts, axis=0 if rank == 1 else 1, dtype=dtype)


def dstack(tup: Arrays, dtype: DTypeLike | None = None) -> Array:
    """Joins arrays along the third axis, after expanding them to rank 3 or more.

    Args:
      tup: a sequence of arrays, or one array, whose slices along the first axis are joined; arrays
        of rank less than 3 are expanded as by `atleast_3d`.
      dtype: the dtype of the result; the common dtype by default.

    Example:
      >>> jnp.dstack([jnp.array([1, 2]), jnp.array([3, 4])])
      Array([[[1, 3],
              [2, 4]]], dtype=int32)
    """
    parts = _parts("dstack", tup)
    if isinstance(parts, Array):
        return concatenate(_each("dstack", parts, 3), axis=2, dtype=dtype)
    return concatenate([atleast_3d(x) for x in parts], axis=2, dtype=dtype)


def _each(name: str, x: Array, rank: int) -> Array:
    """Expands the slices of `x` along its first axis to rank `rank` or more."""
    missing = rank - (x.ndim - 1)
    if missing <= 0:
        return x
    if x.ndim == 0:
        raise TypeError(f"jnp.{name}: `tup` must be a sequence of arrays, but it is a scalar")
    dims = {1: {1: (1,)}, 2: {2: (1, 2), 1: (1,)}, 3: {3: (1, 2, 3), 2: (1, 3), 1: (3,)}}
    return expand_dims(x, dims[rank][missing])


def column_stack(tup: Arrays) -> Array:
    """Joins arrays of rank 1 as the columns of a matrix; arrays of rank 2 are joined unchanged.

    Args:
      tup: a sequence of arrays, or one array, whose slices along the first axis are joined.

    Returns: a matrix of the common dtype.

    Example:
      >>> jnp.column_stack([jnp.array([1, 2]), jnp.array([3, 4])])
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    parts = _parts("column_stack", tup)
    if isinstance(parts, Array):
        parts = list(concatenation.unstack(parts))
    columns = [transpose(atleast_2d(x), (1, 0)) if len(shape_of(x)) < 2 else x for x in parts]
    return concatenate(columns, axis=1)


@jit_when_traced
def block(arrays: ArrayLike | Sequence[Any]) -> Array:
    """Assembles an array from nested lists of blocks; innermost lists are joined on the last axis.

    Args:
      arrays: an array, or nested lists of arrays, all of the same depth.

    Raises:
      ValueError: if there are tuples or empty lists, or if lists are not nested to the same depth.

    Example:
      >>> a, b = jnp.array([[2, 1]]), jnp.array([[5], [6]])
      >>> jnp.block([[a, 0], [jnp.diag(jnp.array([3, 4])), b]])
      Array([[2, 1, 0],
             [3, 0, 5],
             [0, 4, 6]], dtype=int32)
    """
    out, _ = _block(arrays)
    return out


def _block(xs: ArrayLike | Sequence[Any]) -> tuple[Array, int]:
    """Returns the array that the nested lists `xs` describe, and their depth."""
    if isinstance(xs, tuple):
        raise ValueError(f"jnp.block: blocks must be nested in lists, but there is a tuple, {xs}")
    if not isinstance(xs, list):
        promotion.check_arraylike("block", xs)
        value: Any = xs  # not a sequence, as checked above
        return as_value(value), 0
    if not xs:
        raise ValueError("jnp.block: each list must have at least one block, but one is empty")
    parts, depths = zip(*[_block(x) for x in xs], strict=True)
    if any(d != depths[0] for d in depths):
        raise ValueError(
            f"jnp.block: blocks must be nested equally deep, but the depths in one list are {depths}"
        )
    rank = max(depths[0] + 1, *[x.ndim for x in parts])
    parts = [expand_dims(x, tuple(range(rank - x.ndim))) for x in parts]
    return concatenate(parts, axis=-depths[0] - 1), depths[0] + 1


# --- ranks ----------------------------------------------------------------------------------------


@overload
def atleast_1d(arys: ArrayLike, /) -> Array: ...


@overload
def atleast_1d(*arys: ArrayLike) -> Array | tuple[Array, ...]: ...


@jit_when_traced
def atleast_1d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Converts arguments to arrays of rank 1 or more.

    Args:
      *arys: arrays; scalars are expanded to shape (1,).

    Returns: an array if there is one argument, otherwise a tuple of arrays.

    Example:
      >>> jnp.atleast_1d(3.0)
      Array([3.], dtype=float32, weak_type=True)
    """
    return _at_least("atleast_1d", arys, lambda x: expand_dims(x, (0,)) if x.ndim == 0 else x)


@overload
def atleast_2d(arys: ArrayLike, /) -> Array: ...


@overload
def atleast_2d(*arys: ArrayLike) -> Array | tuple[Array, ...]: ...


@jit_when_traced
def atleast_2d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Converts arguments to arrays of rank 2 or more, by prepending axes of size 1.

    Args:
      *arys: arrays.

    Returns: an array if there is one argument, otherwise a tuple of arrays.

    Example:
      >>> jnp.atleast_2d(jnp.array([1, 2]))
      Array([[1, 2]], dtype=int32)
    """
    return _at_least(
        "atleast_2d", arys, lambda x: expand_dims(x, tuple(range(2 - x.ndim))) if x.ndim < 2 else x
    )


@overload
def atleast_3d(arys: ArrayLike, /) -> Array: ...


@overload
def atleast_3d(*arys: ArrayLike) -> Array | tuple[Array, ...]: ...


@jit_when_traced
def atleast_3d(*arys: ArrayLike) -> Array | tuple[Array, ...]:
    """Converts arguments to rank 3 or more: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1).

    Args:
      *arys: arrays.

    Returns: an array if there is one argument, otherwise a tuple of arrays.

    Example:
      >>> jnp.atleast_3d(jnp.array([1, 2])).shape
      (1, 2, 1)
    """
    dims: dict[int, tuple[int, ...]] = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _at_least(
        "atleast_3d", arys, lambda x: expand_dims(x, dims[x.ndim]) if x.ndim < 3 else x
    )


def _at_least(
    name: str, arys: tuple[Any, ...], widen: Callable[[Array], Array]
) -> Array | tuple[Array, ...]:
    promotion.check_arraylike(name, *arys)
    out = [widen(as_value(x)) for x in arys]
    return out[0] if len(out) == 1 else tuple(out)


# --- splitting ------------------------------------------------------------------------------------


def _split(
    name: str, ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int], axis: int
) -> list[Array]:
    ary = promotion.ensure_arraylike(name, ary)
    axis = operator.index(concrete_or_error(None, axis, f"`axis` of jnp.{name} must be static"))
    if not -ary.ndim <= axis < ary.ndim:
        raise IndexError(
            f"jnp.{name}: axis {axis} is out of bounds: operand `ary` has "
            f"{messages.counted(ary.ndim, 'dimension')}"
        )
    size = ary.shape[axis]
    spec: Any = indices_or_sections
    if isinstance(spec, _SEQUENCES) or np.ndim(spec) > 0:
        points = [
            i
            if type(i) is DimExpr
            else int(
                concrete_or_error(
                    np.int64, i, f"`indices_or_sections` of jnp.{name} must be static"
                )
            )
            for i in spec
        ]
        if not isinstance(size, DimExpr):  # positions are clipped like the bounds of slices
            points = [p if type(p) is DimExpr else slice(p).indices(size)[1] for p in points]
        sizes = [hi - lo for lo, hi in itertools.pairwise([0, *points, size])]
    else:
        count = int(
            concrete_or_error(np.int64, spec, f"`indices_or_sections` of jnp.{name} must be static")
        )
        if count == 0:
            raise ZeroDivisionError(
                f"jnp.{name}: the number of parts must be at least 1, but it is 0"
            )
        if count < 0:
            raise ValueError(
                f"jnp.{name}: the number of parts must be at least 1, but it is {count}"
            )
        part, extra = divmod(size, count)
        if extra and name != "array_split":
            raise ValueError(
                f"jnp.{name}: parts must be equal, but axis {axis} of shape {ary.shape} leaves a "
                f"remainder of {extra} after {count} parts of size {part}; use jnp.array_split for "
                "unequal parts"
            )
        sizes = [part + 1] * extra + [part] * (count - extra)
    return list(concatenation.split(ary, tuple([_extent(n) for n in sizes]), axis=axis))


def _extent(n: int | DimExpr) -> Any:
    return n if isinstance(n, DimExpr) else np.int64(n)  # the integer type in printed jaxprs


def split(
    ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int], axis: int = 0
) -> list[Array]:
    """Splits `ary` along `axis` into equal parts, or at given indices.

    Args:
      ary: an array.
      indices_or_sections: the number of parts, or the ascending positions at which all parts but
        the first begin.
      axis: the axis to split.

    Returns: a list of arrays.

    Raises:
      ValueError: if equal parts are requested and the size is not a multiple of their number.

    Example:
      >>> left, right = jnp.split(jnp.ones((3, 8)), 2, axis=1)
      >>> left.shape, right.shape
      ((3, 4), (3, 4))
      >>> head, body, tail = jnp.split(jnp.linspace(0.0, 1.0, 11), [2, 9])
      >>> tail
      Array([0.90000004, 1.        ], dtype=float32)
    """
    return _split("split", ary, indices_or_sections, axis)


def array_split(
    ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int], axis: int = 0
) -> list[Array]:
    """Splits `ary` along `axis`, like `split`, into parts whose sizes can differ by one.

    Args:
      ary: an array.
      indices_or_sections: the number of parts, or the ascending positions at which all parts but
        the first begin.
      axis: the axis to split.

    Returns: a list of arrays.

    Example:
      >>> [part.size for part in jnp.array_split(jnp.zeros(11), 4)]
      [3, 3, 3, 2]
    """
    return _split("array_split", ary, indices_or_sections, axis)


def vsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int]) -> list[Array]:
    """Splits along the first axis; see `split`.

    Args:
      ary: an array of rank 1 or more.
      indices_or_sections: the number of parts, or the positions at which all parts but the first
        begin.

    Returns: a list of arrays.

    Raises:
      ValueError: if equal parts are requested and the size is not a multiple of their number.

    Example:
      >>> jnp.vsplit(jnp.array([[1, 2], [3, 4]]), 2)
      [Array([[1, 2]], dtype=int32), Array([[3, 4]], dtype=int32)]
    """
    return _split("vsplit", ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int]) -> list[Array]:
    """Splits along the second axis, or the first if the rank is 1; see `split`.

    Args:
      ary: an array of rank 1 or more.
      indices_or_sections: the number of parts, or the positions at which all parts but the first
        begin.

    Returns: a list of arrays.

    Raises:
      ValueError: if equal parts are requested and the size is not a multiple of their number.

    Example:
      >>> jnp.hsplit(jnp.array([[1, 2], [3, 4]]), 2)
      [Array([[1],
             [3]], dtype=int32), Array([[2],
             [4]], dtype=int32)]
    """
    ary = promotion.ensure_arraylike("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[int]) -> list[Array]:
    """Splits along the third axis; see `split`.

    Args:
      ary: an array of rank 3 or more.
      indices_or_sections: the number of parts, or the positions at which all parts but the first
        begin.

    Returns: a list of arrays.

    Raises:
      ValueError: if equal parts are requested and the size is not a multiple of their number.

    Example:
      >>> [part.shape for part in jnp.dsplit(jnp.ones((2, 3, 4)), 2)]
      [(2, 3, 2), (2, 3, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 2)


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Returns the slices of `x` along `axis`, without that axis; the inverse of `stack`.

    Args:
      x: an array of rank 1 or more.
      axis: the axis of the slices, which is removed.

    Returns: a tuple of arrays.

    Example:
      >>> jnp.unstack(jnp.array([[1, 2], [3, 4]]))
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    x = promotion.ensure_arraylike("unstack", x)
    return concatenation.unstack(x, axis=canonical_axis(axis, x.ndim))


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
