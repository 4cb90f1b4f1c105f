"""Structured matrices: `eye`, `tri`, `tril`, `diag`, `diagonal`; and grids of coordinates."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.tracing.trace import Tracer, state
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, DTypeLike, ShapeLike
from jitney.numpy import promotion
from jitney.numpy.reductions import sum as sum_of
from jitney.numpy.selection import where
from jitney.primitives.array.broadcasting import broadcast_in_dim, broadcast_to, expand_dims
from jitney.primitives.array.canonical import canonical_axes, canonical_axis, canonical_shape
from jitney.primitives.array.concatenation import pad, stack
from jitney.primitives.array.creation import broadcasted_iota, iota
from jitney.primitives.array.placement import placed
from jitney.primitives.array.shape import reshape, shape_of, transpose
from jitney.primitives.control.platform import chosen_by_platform
from jitney.primitives.elementwise import binary, compare, select as lax_select
from jitney.primitives.elementwise.convert import as_value, convert, scalar_operand, user_dtype
from jitney.primitives.reduction.reduce import reduce_sum

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value
    from jitney.runtime.devices.device import Device

R = TypeVar("R")

__all__ = [
    "diag", "diagflat", "diagonal", "eye", "fromfunction", "identity", "indices", "meshgrid",
    "trace", "tri", "tril", "triu",
]  # fmt: skip

_INT32 = np.dtype(np.int32)
_BOOL = np.dtype(bool)


def _dtype_or_float(dtype: DTypeLike | None, name: str) -> np.dtype:
    if dtype is None:
        return dtypes.canonicalize_dtype(np.float64)
    return user_dtype(dtype, name)


def _offset(k: Any) -> Value:
    """Returns the offset of a diagonal as a scalar operand of type int32.

    Raises:
      TypeError: if it is not an integer.
    """
    if isinstance(k, Tracer):
        return convert(k, _INT32)
    return scalar_operand(k if type(k) is int else _known_offset(k), _INT32, False)


def _known_offset(k: Any) -> int:
    """Returns the offset of a diagonal, an integer or a concrete array, as a Python integer."""
    try:
        return int(operator.index(k))
    except TypeError:
        raise TypeError(
            f"the offset `k` of a diagonal must be a scalar integer, but it is {k!r}, of type "
            f"{type(k).__name__}; round it, for example with int(k)"
        ) from None


def _rows_and_columns(n: int, m: int) -> tuple[Array, Array]:
    return broadcasted_iota(_INT32, (n, m), 0), broadcasted_iota(_INT32, (n, m), 1)


def eye(
    N: int,
    M: int | None = None,
    k: ArrayLike = 0,
    dtype: DTypeLike | None = None,
    *,
    device: Device | Sharding | None = None,
) -> Array:
    """Returns a matrix with ones on the diagonal at offset `k` and zeros elsewhere.

    Args:
      N: the number of rows.
      M: the number of columns; `N` by default.
      k: the offset of the diagonal; positive offsets are above the main diagonal.
      dtype: the dtype of the result; the default float dtype if None.
      device: the Device or Sharding of the result; by default, the result is uncommitted.

    Example:
      >>> jnp.eye(2)
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    dtype = _dtype_or_float(dtype, "eye")
    (n,) = canonical_shape((N,), "`N` of jnp.eye must be static")
    m = n if M is None else canonical_shape((M,), "`M` of jnp.eye must be static")[0]
    if n < 0 or m < 0:
        raise ValueError(f"jnp.eye: `N` and `M` must be 0 or more, but they are {N} and {M}")
    if isinstance(k, int):
        k = max(-n, min(int(k), m))  # diagonals farther out are empty as well
    if shape_of(k) or not promotion.is_integer(promotion.dtype_of(k)):
        raise ValueError(
            f"jnp.eye: `k`, the offset of a diagonal, must be an integer, but it is {k}"
        )
    rows, columns = _rows_and_columns(n, m)
    return placed(convert(compare.eq(binary.add(rows, _offset(k)), columns), dtype), device)


def identity(n: int, dtype: DTypeLike | None = None) -> Array:
    """Returns the `n` by `n` identity matrix, of the default float dtype unless `dtype` is passed.

    Example:
      >>> jnp.identity(3, dtype=jnp.complex64)[1]
      Array([0.+0.j, 1.+0.j, 0.+0.j], dtype=complex64)
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Returns a matrix with ones on and below a diagonal and zeros above.

    Args:
      N: the number of rows.
      M: the number of columns; `N` by default.
      k: the offset of the diagonal; positive offsets are above the main diagonal.
      dtype: the dtype of the result; the default float dtype if None.

    Example:
      >>> jnp.tri(3, dtype=int)
      Array([[1, 0, 0],
             [1, 1, 0],
             [1, 1, 1]], dtype=int32)
    """
    dtype = _dtype_or_float(dtype, "tri")
    n = operator.index(N)
    return _tri(n, n if M is None else operator.index(M), k, dtype)


def _tri(n: int, m: int, k: int, dtype: np.dtype[Any]) -> Array:
    rows = binary.add(broadcasted_iota(_INT32, (n, m), 0), _offset(k))
    return convert(compare.ge(rows, broadcasted_iota(_INT32, (n, m), 1)), dtype)


@partial(jit_when_traced, static_argnames=("k",))
def tril(m: ArrayLike, k: int = 0) -> Array:
    """Returns the lower triangles of matrices, with zeros above a diagonal.

    Args:
      m: an array of shape (*batch, rows, columns).
      k: the offset of the diagonal; positive offsets are above the main diagonal.

    Raises:
      ValueError: if the rank of `m` is less than 2.

    Example:
      >>> jnp.tril(jnp.array([[1, 2], [3, 4]]))
      Array([[1, 0],
             [3, 4]], dtype=int32)
    """
    m = _matrix("tril", m)
    rows, columns = m.shape[-2:]
    mask = broadcast_to(_tri(rows, columns, k, _BOOL), m.shape)
    return lax_select.select(mask, m, _zeros_like(m))


@partial(jit_when_traced, static_argnames=("k",))
def triu(m: ArrayLike, k: int = 0) -> Array:
    """Returns the upper triangles of matrices, with zeros below a diagonal.

    Args:
      m: an array of shape (*batch, rows, columns).
      k: the offset of the diagonal; positive offsets are above the main diagonal.

    Raises:
      ValueError: if the rank of `m` is less than 2.

    Example:
      >>> jnp.triu(jnp.array([[1, 2], [3, 4]]))
      Array([[1, 2],
             [0, 4]], dtype=int32)
    """
    m = _matrix("triu", m)
    rows, columns = m.shape[-2:]
    k = k if isinstance(k, Tracer) or type(k) is int else _known_offset(k)
    mask = broadcast_to(_tri(rows, columns, k - 1, _BOOL), m.shape)
    return lax_select.select(mask, _zeros_like(m), m)


def _matrix(name: str, m: ArrayLike) -> Array:
    m = promotion.ensure_arraylike(name, m)
    if m.ndim < 2:
        raise ValueError(f"jnp.{name}: `m` must have two or more axes, but it has shape {m.shape}")
    return m


def _zeros_like(x: Array) -> Array:
    from jitney.numpy.creation import zeros_like

    return zeros_like(x)


# --- diagonals ------------------------------------------------------------------------------------


def diag(v: ArrayLike, k: int = 0) -> Array:
    """Returns the matrix with the given diagonal, or the diagonal of a matrix.

    Args:
      v: an array of rank 1 or 2.
      k: the offset of the diagonal; positive offsets are above the main diagonal.

    Returns: a square matrix with len(v) + |k| rows, or the diagonal as an array of rank 1.

    Raises:
      ValueError: if the rank of `v` is neither 1 nor 2.

    Example:
      >>> superdiagonal = jnp.diag(jnp.array([0.5, 0.25]), k=1)
      >>> superdiagonal
      Array([[0.  , 0.5 , 0.  ],
             [0.  , 0.  , 0.25],
             [0.  , 0.  , 0.  ]], dtype=float32)
      >>> jnp.diag(superdiagonal, k=1)
      Array([0.5 , 0.25], dtype=float32)
    """
    promotion.check_arraylike("diag", v)
    return _diag(v, _known_offset(k))


@partial(jit_when_traced, name="_diag", static_argnames=("k",))
def _diag(v: ArrayLike, k: int) -> Array:
    v = as_value(v)
    if v.ndim == 2:
        return diagonal(v, offset=k)
    if v.ndim != 1:
        raise ValueError(f"jnp.diag: `v` must be a vector or a matrix, but it has shape {v.shape}")
    zero = scalar_operand(0, v.dtype, v.weak_type)
    n = v.shape[0] + abs(k)
    column = pad(v, zero, ((max(0, -k), max(0, k), 0),))
    rows, columns = _rows_and_columns(n, n)
    mask = compare.eq(binary.add(rows, _offset(k)), columns)
    return where(mask, expand_dims(column, (1,)), zero)


@partial(jit_when_traced, static_argnames=("offset", "axis1", "axis2"))
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Returns the diagonals of the matrices formed by two axes, as the last axis.

    Args:
      a: an array of rank 2 or more.
      offset: the offset of the diagonal: positive above the main diagonal, negative below.
      axis1: the axis of the rows.
      axis2: the axis of the columns.

    Returns: an array with the remaining axes of `a`, followed by the axis of the diagonal.

    Example:
      >>> jnp.diagonal(jnp.array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    x = promotion.ensure_arraylike("diagonal", a)
    if x.ndim < 2:
        raise ValueError(
            f"jnp.diagonal: `a` must have two or more axes, but it has shape {x.shape}"
        )
    offset = operator.index(offset)

    def gathered(a: Array) -> Array:
        return _diagonal_by_index(a, offset, axis1, axis2)

    is_square = x.ndim == 2 and x.shape[0] == x.shape[1]
    if offset or not is_square or x.dtype == np.bool_ or state.trace is state.eval_trace:
        return gathered(x)
    # As in JAX, the program differs for one platform; the compiler removes the branches for other
    # platforms.
    rows, columns = _rows_and_columns(*x.shape)
    unit = convert(compare.eq(binary.add(rows, _offset(0)), columns), x.dtype)

    def by_products(unit: Array, a: Array) -> Array:
        return reduce_sum(binary.mul(unit, a), (0,))

    def by_gather(unit: Array, a: Array) -> Array:
        return gathered(a)

    return chosen_by_platform((unit, x), {("mosaic",): by_products}, by_gather)


def _diagonal_by_index(a: Array, offset: int, axis1: int, axis2: int) -> Array:
    from jitney.numpy.indexing import get

    first, second = canonical_axes((axis1, axis2), a.ndim)
    batch_axes = [k for k in range(a.ndim) if k not in (first, second)]
    a = transpose(a, (*batch_axes, first, second))
    rows, columns = a.shape[-2:]
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    low = iota(_INT32, size)
    high = iota(_INT32, size)
    if offset:
        high = binary.add(scalar_operand(abs(offset), _INT32, False), high)
    return get(a, (..., low, high) if offset >= 0 else (..., high, low))


@partial(jit_when_traced, static_argnames=("axis1", "axis2", "dtype"))
def trace(
    a: ArrayLike,
    offset: ArrayLike = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """Computes the sums of the diagonals of the matrices formed by two axes.

    Args:
      a: an array of rank 2 or more.
      offset: the offset of the diagonal: positive above the main diagonal, negative below; it can
        be traced.
      axis1: the axis of the rows.
      axis2: the axis of the columns.
      dtype: the dtype of the result; by default, narrower integers are summed as the default
        integer.
      out: must be None.

    Example:
      >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    promotion.check_no_out("trace", out)
    x = promotion.ensure_arraylike("trace", a)
    rows_axis, columns_axis = canonical_axis(axis1, x.ndim), canonical_axis(axis2, x.ndim)
    if rows_axis == columns_axis:
        raise ValueError(
            "jnp.trace: `axis1` and `axis2` must be two different axes, but for an array of "
            f"shape {x.shape} they are {axis1} and {axis2}"
        )
    others = [k for k in range(x.ndim) if k not in (rows_axis, columns_axis)]
    x = transpose(x, (*others, rows_axis, columns_axis))
    rows, columns = _rows_and_columns(*x.shape[-2:])
    on_diagonal = compare.eq(binary.add(rows, _offset(offset)), columns)
    masked = where(on_diagonal, x, _zeros_like(x))
    return sum_of(masked, axis=(x.ndim - 2, x.ndim - 1), dtype=dtype)


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Returns the square matrix with the elements of `v` on a diagonal.

    Args:
      v: an array; flattened.
      k: the offset of the diagonal; positive offsets are above the main diagonal.

    Example:
      >>> below = jnp.ones((2, 1))
      >>> jnp.diagflat(below, k=-1)
      Array([[0., 0., 0.],
             [1., 0., 0.],
             [0., 1., 0.]], dtype=float32)
    """
    from jitney.numpy.creation import zeros

    v = promotion.ensure_arraylike("diagflat", v)
    flat, k = reshape(v, (v.size,)), _known_offset(k)
    n = flat.shape[0] + abs(k)
    nothing = zeros((n * n,), v.dtype)
    count = iota(_INT32, flat.shape[0])
    column = binary.add(count, scalar_operand(max(0, k), _INT32, False))
    row = binary.add(count, scalar_operand(-k, _INT32, False)) if k < 0 else count
    positions = binary.add(column, binary.mul(row, scalar_operand(n, _INT32, False)))
    return reshape(nothing.at[positions].set(flat), (n, n))


# --- grids ----------------------------------------------------------------------------------------


def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """Returns the coordinates of the points of a grid, given the coordinates along its axes.

    Args:
      *xi: the coordinates along each axis, arrays of rank 1.
      copy: must be True.
      sparse: whether to return arrays that have size 1 along all axes but one.
      indexing: "ij" if argument k is along axis k of the results, or "xy" if the first two axes are
        exchanged.

    Returns: a tuple of arrays, one for each of `xi`.

    Example:
      >>> jnp.meshgrid(jnp.array([1, 2, 3]), jnp.array([10, 20]))
      (Array([[1, 2, 3],
             [1, 2, 3]], dtype=int32), Array([[10, 10, 10],
             [20, 20, 20]], dtype=int32))
    """
    promotion.check_arraylike("meshgrid", *xi)
    args = [as_value(x) for x in xi]
    if not copy:
        raise ValueError("jax.numpy.meshgrid: `copy` must be True, as arrays have no views")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"jax.numpy.meshgrid: `indexing` must be 'xy' or 'ij', not {indexing!r}")
    if any(a.ndim > 1 for a in args):
        raise ValueError(
            "jax.numpy.meshgrid: coordinates must be vectors or scalars, but their shapes are "
            f"{[a.shape for a in args]}"
        )
    args = [reshape(a, (1,)) if a.ndim == 0 else a for a in args]
    order = list(range(len(args)))
    if indexing == "xy" and len(args) >= 2:
        order[:2] = [1, 0]
    shape = [args[k].shape[0] for k in order]
    out: dict[int, Any] = {}
    for axis, k in enumerate(order):
        extents = [1] * len(args) if sparse else list(shape)
        extents[axis] = shape[axis]
        out[k] = broadcast_in_dim(args[k], tuple(extents), (axis,))
    return tuple([out[k] for k in range(len(args))])


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: Literal[False] = False
) -> Array: ...


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, *, sparse: Literal[True]
) -> tuple[Array, ...]: ...


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False
) -> Array | tuple[Array, ...]: ...


def indices(
    dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False
) -> Array | tuple[Array, ...]:
    """Returns the indices of all elements of an array of shape `dimensions`.

    Args:
      dimensions: the shape of the array.
      dtype: the dtype of the result; the default integer dtype if None.
      sparse: whether to return arrays that have size 1 along all axes but one.

    Returns: an array whose slices along the first axis are the indices along each axis; with
      `sparse`, a tuple of arrays that broadcast to them.

    Example:
      >>> rows, columns = jnp.indices((2, 2))
      >>> columns
      Array([[0, 1],
             [0, 1]], dtype=int32)
    """
    dimensions = canonical_shape(dimensions)
    dtype = user_dtype(dtypes.canonicalize_dtype(int) if dtype is None else dtype, "indices")
    rank = len(dimensions)
    out: list[Any] = []
    for axis, n in enumerate(dimensions):
        shape = (1,) * axis + (n,) + (1,) * (rank - axis - 1) if sparse else dimensions
        out.append(broadcast_in_dim(iota(dtype, n), shape, (axis,)))
    if sparse:
        return tuple(out)
    if not out:
        from jitney.numpy.creation import zeros

        return zeros((0,), dtype)
    return stack(out)


def fromfunction(
    function: Callable[..., R], shape: ShapeLike, *, dtype: DTypeLike = float, **kwargs: Any
) -> R:
    """Calls `function` with the indices of each element of an array of shape `shape`.

    Args:
      function: a function of the indices as scalars, one argument per axis; it is mapped by `vmap`.
      shape: the sizes of the result's leading axes.
      dtype: the dtype of the indices.
      **kwargs: keyword arguments of `function`.

    Example:
      >>> jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
      Array([[ 0,  1,  2],
             [10, 11, 12]], dtype=int32)
    """
    shape = canonical_shape(shape)
    if not shape:
        return function(**kwargs)
    from jitney.api.batching.vmap import vmap

    def call(*args: ArrayLike) -> R:
        return function(*args, **kwargs)

    for axis in reversed(range(len(shape))):
        in_axes = tuple(0 if k == axis else None for k in range(len(shape)))
        call = vmap(call, in_axes)
    dtype = (
        dtypes.canonicalize_dtype(np.float64)
        if dtype is float
        else user_dtype(dtype, "fromfunction")
    )
    return call(*[iota(dtype, n) for n in shape])


for _function in (
    diag,
    diagflat,
    eye,
    fromfunction,
    identity,
    indices,
    meshgrid,
    tri,
    tril,
    triu,
    diagonal,
    trace,
):
    _function.__module__ = "jax.numpy"
