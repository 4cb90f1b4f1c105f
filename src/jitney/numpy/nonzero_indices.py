"""Indices of selected elements: `nonzero`, `argwhere`, `extract`, `compress`, `place` and others.

The number of selected elements depends on the values of the array, so under `jit` it must be passed
as `size`. Results are truncated or padded to that size.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from jitney.core.array import Array
from jitney.core.diagnostics import errors
from jitney.core.messages import messages
from jitney.core.tracing.trace import Tracer, concrete_or_error, concrete_value, revealed
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, DTypeLike, ShapeLike
from jitney.numpy import promotion
from jitney.numpy.at import IndexUpdateRef
from jitney.numpy.cumulative import cumsum
from jitney.numpy.division import divmod as divide, floor_divide, remainder
from jitney.numpy.indexing import get
from jitney.numpy.reductions import sum as sum_of
from jitney.numpy.selection import clip, where
from jitney.numpy.take_put import check_not_inplace, repeated
from jitney.primitives.array.broadcasting import broadcast_to
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.concatenation import stack
from jitney.primitives.array.creation import full, iota
from jitney.primitives.array.shape import reshape, transpose
from jitney.primitives.elementwise import binary, compare
from jitney.primitives.elementwise.convert import as_value, convert

if TYPE_CHECKING:
    from jitney.core.typing import Value

_BOOL = np.dtype(bool)


def _integer() -> np.dtype:
    """Returns the default integer dtype."""
    return dtypes.canonicalize_dtype(np.int64)


def _mask(x: Array) -> Array:
    """Returns x != 0."""
    return x if x.dtype == _BOOL else compare.ne(x, convert(0, x.dtype))


def _static_size(name: str) -> str:
    """Returns the error message for a traced value that must be concrete for `name`."""
    of = "jnp.where with one argument, which is jnp.nonzero" if name == "jnp.where" else name
    return (
        f"The number of nonzero elements determines the shape of the result of {of}, so it must be "
        "known, or passed statically as `size`."
    )


def _constant(value: np.ndarray) -> Array:
    return as_value(value.astype(_integer()))


# --- positions ------------------------------------------------------------------------------------


def nonzero(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> tuple[Array, ...]:
    """Returns the indices of the nonzero elements in row-major order, as one array for each axis.

    Args:
      a: an array of rank 1 or more.
      size: the number of indices; required under `jit`.
      fill_value: the value that pads the result to `size`: a scalar, or a tuple of one scalar for
        each axis; 0 by default.

    Returns: a tuple of integer arrays of rank 1, one for each axis of `a`; `a[result]` are the
      nonzero elements.

    Raises:
      ValueError: if `a` is a scalar.
      ConcretizationTypeError: if `a` is traced and `size` is not passed.

    Example:
      >>> jnp.nonzero(jnp.array([0, 5, 0, 7]))
      (Array([1, 3], dtype=int32),)
      >>> jnp.nonzero(jnp.array([0, 5, 0, 7]), size=3, fill_value=-1)
      (Array([ 1,  3, -1], dtype=int32),)
    """
    promotion.check_arraylike("nonzero", a)
    return nonzero_of("jnp.nonzero", a, size, fill_value)


def nonzero_of(
    name: str,
    a: ArrayLike,
    size: int | None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None,
) -> tuple[Array, ...]:
    """Computes `nonzero` for the public function that error messages call `name`."""
    a = as_value(a)
    if a.ndim == 0:
        raise ValueError(
            f"{name}: `a` must have at least one axis, but it is a scalar, 0d; use "
            f"{name}(jnp.atleast_1d(a)) to treat it as an array of one element"
        )
    if size is None:
        known = concrete_value(a)
        if known is not None:
            return tuple(_constant(k) for k in np.nonzero(np.asarray(known)))
        assert isinstance(a, Tracer)
        raise errors.ConcretizationTypeError(a, _static_size(name))
    length: int = concrete_or_error(int, size, _static_size(name))
    return _nonzero_of_size(name, a, length, fill_value)


def _nonzero_of_size(
    name: str, a: Array, size: int, fill_value: ArrayLike | tuple[ArrayLike, ...] | None
) -> tuple[Array, ...]:
    dtype = _integer()
    if a.size == 0 or size == 0:
        return tuple(full((size,), 0, dtype) for _ in a.shape)
    mask = reshape(_mask(a), (a.size,))
    # Element k is at the first position where the running count of selected elements exceeds k: the
    # cumulative sum of a histogram of the counts gives the flat positions.
    counts = IndexUpdateRef(full((size,), 0, dtype), cumsum(mask)).add(1)
    flat = cumsum(counts)
    strides = [math.prod(a.shape[k + 1 :]) for k in range(a.ndim)]
    indices = [
        remainder(floor_divide(flat, stride), extent)
        for stride, extent in zip(strides, a.shape, strict=True)
    ]
    fill = fill_value if isinstance(fill_value, tuple) else (fill_value,) * a.ndim
    if len(fill) != a.ndim:
        raise ValueError(
            f"{name}: `fill_value` must be an index, or a tuple with one index for each axis of an "
            f"array of shape {a.shape}, but it is {fill}"
        )
    fill = tuple(0 if f is None else f for f in fill)
    if any(np.ndim(f) for f in fill):
        raise ValueError(
            f"{name}: `fill_value` must be an index, or a tuple with one index for each axis, but it "
            f"is {fill_value}"
        )
    missing = compare.ge(iota(dtype, size), broadcast_to(sum_of(mask), (size,)))
    return tuple(where(missing, f, k) for f, k in zip(fill, indices, strict=True))


def flatnonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Returns the positions of the nonzero elements in the flattened array.

    Args:
      a: an array.
      size: the number of positions; required under `jit`.
      fill_value: the value that pads the result to `size`; 0 by default.

    Example:
      >>> jnp.flatnonzero(jnp.array([[0, 5], [7, 0]]))
      Array([1, 2], dtype=int32)
    """
    promotion.check_arraylike("flatnonzero", a)
    a = as_value(a)
    return nonzero_of("jnp.flatnonzero", reshape(a, (a.size,)), size, fill_value)[0]


def argwhere(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Array:
    """Returns the indices of the nonzero elements, as one row for each element.

    Args:
      a: an array.
      size: the number of rows; required under `jit`.
      fill_value: the value that pads the result to `size`: a scalar, or a tuple of one scalar for
        each axis; 0 by default.

    Returns: an integer array of shape (number of nonzero elements, rank of `a`).

    Example:
      >>> jnp.argwhere(jnp.array([[0, 5], [7, 0]]))
      Array([[0, 1],
             [1, 0]], dtype=int32)
    """
    promotion.check_arraylike("argwhere", a)
    a = as_value(a)
    if a.ndim == 0:
        indices = nonzero_of("jnp.argwhere", reshape(a, (1,)), size, fill_value)
        return full((indices[0].shape[0], 0), 0, _integer())
    return stack(list(nonzero_of("jnp.argwhere", a, size, fill_value)), axis=1)


# --- elements -------------------------------------------------------------------------------------


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """Returns the elements of `arr` where `condition` is true, in row-major order.

    Args:
      condition: an array of booleans.
      arr: an array.
      size: the number of elements; required under `jit`.
      fill_value: the value that pads the result to `size`.

    Returns: an array of rank 1.

    Example:
      >>> jnp.extract(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    promotion.check_arraylike("extract", condition, arr, fill_value)
    return compress(_flattened(condition), _flattened(arr), size=size, fill_value=fill_value)


def _flattened(x: ArrayLike) -> Array:
    x = as_value(x)
    return reshape(x, (x.size,))


def compress(
    condition: ArrayLike,
    a: ArrayLike,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """Returns the slices of `a` along `axis` where `condition` is true.

    Args:
      condition: an array of booleans of rank 1; missing elements at the end count as False.
      a: an array.
      axis: the axis of the slices; if None, `a` is flattened first.
      size: the number of slices; required under `jit`.
      fill_value: the value that pads the result to `size`.
      out: must be None.

    Raises:
      ValueError: if `condition` is not of rank 1, or is true past the end of the axis.

    Example:
      >>> jnp.compress(jnp.array([True, False, True]), jnp.array([1, 2, 3]))
      Array([1, 3], dtype=int32)
    """
    promotion.check_no_out("compress", out)
    promotion.check_arraylike("compress", condition, a, fill_value)
    condition, x = _mask(as_value(condition)), as_value(a)
    if condition.ndim != 1:
        raise ValueError(
            f"jnp.compress: `condition` must be a vector, but it has shape {condition.shape}"
        )
    if axis is None:
        axis, x = 0, reshape(x, (x.size,))
    axis = canonical_axis(axis, x.ndim)
    order = (axis, *[k for k in range(x.ndim) if k != axis])
    rows = transpose(x, order)
    n = rows.shape[0]
    extra = condition[n:]
    condition = condition[:n]
    if extra.shape[0] and bool(extra.any()):
        raise ValueError(
            f"jnp.compress: `condition` is true at position {n} or later, but axis {axis} of `a` "
            f"has size {n}"
        )
    rows = rows[: condition.shape[0]]
    if size is None:
        picked = get(rows, condition)
    else:
        places = nonzero(condition, size=size, fill_value=condition.shape[0])[0]
        picked = get(rows, places, mode="fill", fill_value=_scalar(fill_value))
    back = tuple(int(k) for k in np.argsort(order))
    return transpose(picked, back)


def _scalar(x: ArrayLike) -> ArrayLike:
    value = concrete_value(x) if isinstance(x, Array) else x
    return x if value is None else np.asarray(value).item()


def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike, *, inplace: bool = True) -> Array:
    """Returns `arr` with the elements where `mask` is true replaced by `vals`, repeated as needed.

    Args:
      arr: an array.
      mask: an array of booleans with as many elements as `arr`.
      vals: the new elements, in the order of the true elements of `mask`.
      inplace: must be False, unlike in NumPy, since arrays are immutable.

    Raises:
      ValueError: if `inplace` is True, the sizes of `mask` and `arr` differ, or `vals` is empty.

    Example:
      >>> temperatures = jnp.array([3.5, -1.0, 0.5, -4.0])
      >>> jnp.place(temperatures, temperatures < 0, 0.0, inplace=False)
      Array([3.5, 0. , 0.5, 0. ], dtype=float32)
    """
    check_not_inplace("place", inplace)
    promotion.check_arraylike("place", arr, mask, vals)
    data, mask, values = as_value(arr), _flattened(mask), _flattened(vals)
    if data.size != mask.size:
        raise ValueError(
            "jnp.place: `mask` must have as many elements as `arr`, but they have sizes "
            f"{mask.size} and {data.size}"
        )
    if not values.size:
        raise ValueError(
            "jnp.place: `vals` must have at least one element to repeat, but it is empty"
        )
    if not data.size:
        return data
    places = nonzero(mask, size=mask.size, fill_value=mask.size)[0]
    flat = IndexUpdateRef(reshape(data, (data.size,)), places)
    return reshape(flat.set(repeated(values, data.size), mode="drop"), data.shape)


# --- triangles and diagonals ----------------------------------------------------------------------


def mask_indices(
    n: int, mask_func: Callable[[Array, int], Array], k: int = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """Returns the indices of the elements of an n by n matrix that `mask_func` selects.

    Args:
      n: the number of rows and columns.
      mask_func: a function of a matrix and `k`, such as `jnp.triu`, which sets the other elements
        to zero.
      k: the second argument of `mask_func`.
      size: the number of indices; see `nonzero`.

    Returns: (rows, columns), integer arrays of rank 1.

    Example:
      >>> above = jnp.mask_indices(3, jnp.triu, 1)
      >>> jnp.arange(9).reshape(3, 3)[above]
      Array([1, 2, 5], dtype=int32)
    """
    ones = full((n, n), 1, np.float32)
    rows, columns = nonzero(mask_func(ones, k), size=size)
    return rows, columns


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Returns the indices of the triangle of a matrix on and below a diagonal.

    Args:
      n: the number of rows.
      k: the offset of the diagonal; positive offsets are above the main diagonal.
      m: the number of columns; `n` by default.

    Returns: (rows, columns), integer arrays of rank 1.

    Example:
      >>> rows, columns = jnp.tril_indices(3, k=-1)
      >>> list(zip(rows.tolist(), columns.tolist()))
      [(1, 0), (2, 0), (2, 1)]
    """
    rows, columns = np.tril_indices(operator.index(n), operator.index(k), m)
    return _constant(rows), _constant(columns)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Returns the indices of the triangle of a matrix on and above a diagonal.

    Args:
      n: the number of rows.
      k: the offset of the diagonal; positive offsets are above the main diagonal.
      m: the number of columns; `n` by default.

    Returns: (rows, columns), integer arrays of rank 1.

    Example:
      >>> rows, columns = jnp.triu_indices(2, m=3)
      >>> list(zip(rows.tolist(), columns.tolist()))
      [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]
    """
    rows, columns = np.triu_indices(operator.index(n), operator.index(k), m)
    return _constant(rows), _constant(columns)


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Returns `tril_indices` for a matrix of the shape of `arr`.

    Args:
      arr: a matrix; only its shape is used.
      k: the offset of the diagonal; positive offsets are above the main diagonal.

    Raises:
      ValueError: if `arr` is not of rank 2.

    Example:
      >>> jnp.tril_indices_from(jnp.zeros((2, 2)))
      (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    n, m = _matrix_shape("tril_indices_from", arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Returns `triu_indices` for a matrix of the shape of `arr`.

    Args:
      arr: a matrix; only its shape is used.
      k: the offset of the diagonal; positive offsets are above the main diagonal.

    Raises:
      ValueError: if `arr` is not of rank 2.

    Example:
      >>> jnp.triu_indices_from(jnp.zeros((2, 2)))
      (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    n, m = _matrix_shape("triu_indices_from", arr)
    return triu_indices(n, k, m)


def _matrix_shape(name: str, arr: ArrayLike) -> tuple[int, int]:
    shape = np.shape(revealed(arr))
    if len(shape) != 2:
        raise ValueError(f"jnp.{name}: `arr` must be one matrix, but it has shape {shape}")
    return shape


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Returns the indices of the main diagonal of an array with `ndim` axes of size `n`.

    Args:
      n: the size of each axis.
      ndim: the number of axes.

    Returns: a tuple of `ndim` integer arrays of rank 1.

    Example:
      >>> jnp.zeros((3, 3)).at[jnp.diag_indices(3)].set(jnp.array([1.0, 2.0, 3.0]))
      Array([[1., 0., 0.],
             [0., 2., 0.],
             [0., 0., 3.]], dtype=float32)
    """
    for name, value in (("n", n), ("ndim", ndim)):
        if value < 0:
            raise ValueError(f"jnp.diag_indices: `{name}` must be 0 or more, but it is {value}")
    return (iota(_integer(), n),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Returns `diag_indices` for an array of the shape of `arr`.

    Args:
      arr: an array of rank 2 or more with axes of equal size; only its shape is used.

    Raises:
      ValueError: if `arr` has fewer than two axes, or axes of different sizes.

    Example:
      >>> jnp.diag_indices_from(jnp.zeros((2, 2)))
      (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    promotion.check_arraylike("diag_indices_from", arr)
    shape = np.shape(revealed(arr))
    if len(shape) < 2:
        raise ValueError(
            f"jnp.diag_indices_from: `arr` must have two or more axes, but it has shape {shape}"
        )
    if any(n != shape[0] for n in shape):
        raise ValueError(
            "jnp.diag_indices_from: the axes of `arr` must have the same size, but it has shape "
            f"{shape}"
        )
    return diag_indices(shape[0], ndim=len(shape))


# --- flat and multiple indices --------------------------------------------------------------------


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Converts one index array per axis to flat positions in an array of shape `dims`.

    Args:
      multi_index: a sequence of integer arrays, one for each axis.
      dims: the shape of the array that is indexed.
      mode: how indices out of range are handled: "raise" raises ValueError and requires concrete
        indices, "clip" uses the nearest index, "wrap" reduces indices modulo the size, "ignore"
        does not check them.
      order: "C" for row-major positions, "F" for column-major ones.
      dtype: the dtype of the result; that of the indices by default.

    Example:
      >>> jnp.ravel_multi_index((jnp.array([0, 1]), jnp.array([2, 0])), (2, 3))
      Array([2, 3], dtype=int32)
    """
    if len(multi_index) != len(dims):
        raise AssertionError(
            "jnp.ravel_multi_index: `multi_index` and `dims` must have the same length, but they "
            f"have lengths {len(multi_index)} and {len(dims)}"
        )
    dims = tuple(
        concrete_or_error(int, d, "`dims` of jnp.ravel_multi_index must be static") for d in dims
    )
    promotion.check_arraylike("ravel_multi_index", *multi_index)
    indices = [as_value(k) for k in multi_index]
    if dtype is not None:
        kind = dtypes.canonicalize_dtype(dtype)
    elif indices:
        kind = dtypes.wider(*[k.dtype for k in indices])
    else:
        kind = _integer()
    for k in indices:
        if not promotion.is_integer(k.dtype):
            raise ValueError(
                f"jnp.ravel_multi_index: indices must have integer dtypes, but one has dtype {k.dtype}"
            )
    indices = _bring_within(indices, dims, mode)
    if order == "C":
        strides = [math.prod(dims[k + 1 :]) for k in range(len(dims))]
    elif order == "F":
        strides = [math.prod(dims[:k]) for k in range(len(dims))]
    else:
        raise ValueError(f"jnp.ravel_multi_index: `order` must be 'C' or 'F', but it is {order!r}")
    total: Value = np.asarray(0, kind)[()]
    for k, stride in zip(indices, strides, strict=True):
        term = binary.mul(convert(k, kind), kind.type(stride))
        total = binary.add(*promotion.promote_args("add", total, term))
    return as_value(total)


def _bring_within(indices: list[Array], dims: tuple[int, ...], mode: str) -> list[Array]:
    """Returns indices, one array for each axis, with those out of range handled as `mode` says."""
    match mode:
        case "raise":
            for k, n in zip(indices, dims, strict=True):
                _check_within(k, n)
            return indices
        case "clip":
            return [clip(k, 0, n - 1) for k, n in zip(indices, dims, strict=True)]
        case "wrap":
            return [remainder(k, n) for k, n in zip(indices, dims, strict=True)]
        case "ignore":
            return indices
        case _:
            raise ValueError(
                "jnp.ravel_multi_index: `mode` must be 'raise', 'wrap', 'clip' or 'ignore', but it "
                f"is {mode!r}"
            )


def _check_within(k: Array, n: int) -> None:
    """Raises ValueError unless all indices `k`, which must be concrete, are in range(n)."""
    known = concrete_or_error(
        np.asarray,
        k,
        "jnp.ravel_multi_index compares indices with `dims` in mode 'raise', so they must be "
        "concrete; the modes 'wrap', 'clip' and 'ignore' accept traced indices.",
    )
    outside = known[(known < 0) | (known >= n)]
    if outside.size and n < 1:
        raise ValueError(f"jnp.ravel_multi_index: an axis of size {n} has no indices")
    if outside.size:
        raise ValueError(
            f"jnp.ravel_multi_index: indices along an axis of size {n} must be from 0 to {n - 1}, "
            f"but one is {outside.flat[0]}; use mode 'wrap' or 'clip' for indices out of range"
        )


def unravel_index(indices: ArrayLike, shape: ShapeLike | Array | np.ndarray) -> tuple[Array, ...]:
    """Converts flat positions in an array of `shape` to indices, one array for each axis.

    Negative positions count from the end; positions out of range are clipped.

    Args:
      indices: an integer array of flat positions.
      shape: the shape that the positions refer to.

    Returns: a tuple of integer arrays of the shape of `indices`, one for each axis of `shape`.

    Example:
      >>> jnp.unravel_index(jnp.array([2, 3]), (2, 3))
      (Array([0, 1], dtype=int32), Array([2, 0], dtype=int32))
    """
    promotion.check_arraylike("unravel_index", indices)
    flat = as_value(indices)
    if isinstance(shape, Array | np.ndarray):
        array = cast("np.ndarray", shape)
        shape = tuple(array) if array.ndim else (array,)
    extents = shape if isinstance(shape, Sequence) else (shape,)
    shape = tuple([n if isinstance(n, Tracer) else int(n) for n in extents])
    if any(type(n) is int and n == 0 for n in shape) and flat.size:
        raise ValueError(
            f"jnp.unravel_index: an array of shape {shape} has no elements, but "
            f"{messages.there_are(flat.size, 'index')}"
        )
    coordinates: list[Any] = []
    for n in reversed(shape):
        flat, k = divide(flat, n)
        coordinates.append(k)
    above: Any = compare.gt(flat, convert(0, flat.dtype)) if shape else None
    signed = dtypes.issubdtype(flat.dtype, np.signedinteger)
    below = compare.lt(flat, convert(-1, flat.dtype)) if shape and signed else None
    out: list[Array] = []
    for k, n in zip(reversed(coordinates), shape, strict=True):
        inside = k if below is None else where(below, 0, k)
        out.append(where(above, n - 1, inside))
    return tuple(out)


__all__ = [
    "argwhere",
    "compress",
    "diag_indices",
    "diag_indices_from",
    "extract",
    "flatnonzero",
    "mask_indices",
    "nonzero",
    "place",
    "ravel_multi_index",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]


for _function in (
    argwhere,
    compress,
    diag_indices,
    diag_indices_from,
    extract,
    flatnonzero,
    mask_indices,
    nonzero,
    place,
    ravel_multi_index,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
    unravel_index,
):
    _function.__module__ = "jax.numpy"
