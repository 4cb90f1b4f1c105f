"""Slices with computed start indices: `dynamic_slice` and `dynamic_update_slice`.

Start indices are clamped to keep the slice within the operand; negative ones count from the end.
If `vmap` batches start indices, a slice becomes a gather and an update a scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.reference import indexing
from jitney.core.messages import messages
from jitney.core.program.key_reuse import uses_keys
from jitney.core.sharding_in_types import sums
from jitney.core.symbolic.expressions import index
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_axis, canonical_shape
from jitney.primitives.array.concatenation import unstack
from jitney.primitives.array.shape import shape_of, squeeze
from jitney.primitives.elementwise import binary, compare, convert, families, select
from jitney.primitives.elementwise.families import Shape
from jitney.primitives.indexing.gather import (
    GatherDimensionNumbers,
    GatherScatterMode,
    batch_gather,
)
from jitney.primitives.indexing.scatter import ScatterDimensionNumbers, batch_scatter, scatter_p
from jitney.primitives.indexing.slice import bind_values
from jitney.transforms import jet
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, ShapeLike
    from jitney.primitives.rule_types import (
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )


dynamic_slice_p = declare("dynamic_slice")
dynamic_slice_p.linearity = sums.LOOKUP
dynamic_slice_p.sharding(sharding_rules.cut)


def _check_index_types(name: str, starts: Sequence[ShapedArray]) -> None:
    kinds = {s.dtype for s in starts}
    if len(kinds) > 1 or any(not dtypes.issubdtype(d, np.integer) for d in kinds):
        listed = ", ".join(dtypes.long_name(s.dtype) for s in starts)
        raise TypeError(
            f"{name}: start indices must be integers of the same dtype, but are {listed}"
        )
    if any(s.shape for s in starts):
        listed = ", ".join(s.str_short() for s in starts)
        raise TypeError(f"{name}: each start index must be a scalar, but they are {listed}")


@dynamic_slice_p.abstract
def _dynamic_slice_abstract(
    x: ShapedArray, *starts: ShapedArray, slice_sizes: Shape
) -> ShapedArray:
    if len(starts) != x.ndim or len(slice_sizes) != x.ndim:
        raise TypeError(
            "dynamic_slice needs one start index and one size per axis of the operand, got "
            f"{messages.counted(len(starts), 'start index')} and slice_sizes {slice_sizes} for "
            f"operand shape {x.shape}."
        )
    if any(size > n for size, n in zip(slice_sizes, x.shape, strict=True)):
        raise TypeError(
            f"dynamic_slice: `slice_sizes` {slice_sizes} must not exceed the sizes of the operand, "
            f"of shape {x.shape}"
        )
    if any(size < 0 for size in slice_sizes):
        raise TypeError(f"dynamic_slice: `slice_sizes` must not be negative, but is {slice_sizes}")
    _check_index_types("dynamic_slice", starts)
    return x.update(shape=tuple(slice_sizes))


@dynamic_slice_p.eager
def _dynamic_slice_eager(x: np.ndarray, *starts: np.ndarray, slice_sizes: Shape) -> np.ndarray:
    return indexing.dynamic_slice(x, starts, slice_sizes)


@dynamic_slice_p.lower
def _dynamic_slice_lower(b: Builder, x: Node, *starts: Node, slice_sizes: Shape) -> Node:
    return b.dynamic_slice(x, starts, tuple(map(int, slice_sizes)))


def start_operands(
    function: str,
    operand: Value,
    start_indices: ArrayLike | Sequence[ArrayLike],
    wraps: bool | Sequence[bool] = True,
) -> list[Value]:
    """Converts start indices to operands; negative indices count from the end.

    Args:
      function: the name of the public function, for messages.
      operand: the array to be sliced.
      start_indices: a sequence of scalars or an array of rank 1, with one index per axis.
      wraps: whether negative indices count from the end: one flag, or one for each axis.

    Raises:
      ValueError: if there is not one index per axis, or if a static index is negative and `wraps`
        is False.
      TypeError: if `start_indices` is an array whose rank is not 1.
    """
    shape = shape_of(operand)
    starts: list[Value]
    if isinstance(start_indices, list | tuple):
        starts = list(start_indices)
    else:
        rows = shape_of(start_indices)
        if len(rows) != 1:
            raise TypeError(
                f"{function}: `start_indices` must be a sequence or a vector, but has shape {rows}"
            )
        vector: Any = start_indices  # an array, since its rank is 1
        starts = [*(vector if isinstance(vector, np.ndarray) else unstack(vector))]
    if len(starts) != len(shape):
        raise ValueError(
            f"{function}: there must be one start index for each axis of the operand, of shape "
            f"{shape}, but {messages.there_are(len(starts))}"
        )
    given: Any = wraps
    wrap: Sequence[bool] = given if isinstance(wraps, list | tuple) else [given] * len(starts)
    if len(wrap) != len(starts):
        raise ValueError(
            f"{function}: `allow_negative_indices` must have one entry for each of the {len(starts)} "
            f"start indices, but has {len(wrap)}"
        )
    return [_start(function, s, n, w) for s, n, w in zip(starts, shape, wrap, strict=True)]


def _start(function: str, start: Value, n: int, wraps: bool) -> Value:
    """Converts a start index along an axis of size `n`; Python integers get the default dtype."""
    if isinstance(start, int | np.integer) and not isinstance(start, bool):
        value = int(start)
        if value < 0 and not wraps:
            raise ValueError(
                f"{function}: with allow_negative_indices=False, a start index must not be negative, "
                f"but is {value} for an axis of size {n}"
            )
        dtype: Any = get_aval(start).dtype if isinstance(start, np.integer) else np.int64
        if value < 0:
            value += n
        return np.asarray(value).astype(dtypes.canonicalize_dtype(dtype))[()]
    aval: Any = get_aval(start)
    if not wraps or not dtypes.issubdtype(aval.dtype, np.signedinteger):
        return start
    negative = compare.lt(start, convert.scalar_operand(0, aval.dtype, aval.weak_type))
    whole = convert.convert(start, aval.dtype, False)
    moved = binary.add(whole, convert.scalar_operand(n, aval.dtype, False))
    return select.select(negative, moved, start)


def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: ShapeLike,
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Returns a slice of static sizes that starts at `start_indices`.

    Args:
      operand: any array.
      start_indices: one integer per axis, which may be traced. They are clamped to keep the slice
        in bounds.
      slice_sizes: the sizes of the slice, which are static.
      allow_negative_indices: whether negative indices count from the end: one flag, or one for each
        axis.

    Returns: array with the shape `slice_sizes` and the operand's dtype.

    Raises:
      ValueError: if there is not one start index per axis.
      TypeError: if start indices are not integer scalars of the same dtype, or if a slice size
        exceeds the size of the operand.

    Example:
      >>> x = jnp.arange(12).reshape(3, 4)
      >>> lax.dynamic_slice(x, (1, 1), (2, 2))
      Array([[ 5,  6],
             [ 9, 10]], dtype=int32)
      >>> lax.dynamic_slice(x, (2, 1), (2, 2))  # moved inside
      Array([[ 5,  6],
             [ 9, 10]], dtype=int32)
    """
    starts = start_operands("dynamic_slice", operand, start_indices, allow_negative_indices)
    return bind_values(dynamic_slice_p, operand, *starts, slice_sizes=canonical_shape(slice_sizes))


def _one_axis(
    operand: Value, start_index: Value, axis: int, allow_negative_indices: bool
) -> tuple[list[Value], list[bool], int]:
    rank = len(shape_of(operand))
    axis = canonical_axis(axis, rank)
    # All start indices must have the dtype of the given index.
    zero = 0 if isinstance(start_index, int) else np.zeros((), get_aval(start_index).dtype)[()]
    starts: list[Value] = [zero] * rank
    starts[axis] = start_index
    wraps = [False] * rank
    wraps[axis] = allow_negative_indices
    return starts, wraps, axis


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Returns `slice_size` elements along `axis`, starting at `start_index`.

    Args:
      operand: any array.
      start_index: an integer scalar, which may be traced. It is clamped to keep the slice in
        bounds.
      slice_size: the number of elements, which is static.
      axis: the axis to slice.
      allow_negative_indices: whether a negative index counts from the end.

    Example:
      >>> lax.dynamic_slice_in_dim(jnp.arange(6), 2, 3)
      Array([2, 3, 4], dtype=int32)
    """
    starts, wraps, axis = _one_axis(operand, start_index, axis, allow_negative_indices)
    sizes = list(shape_of(operand))
    sizes[axis] = index(slice_size)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=wraps)


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Returns the element at `index` along `axis`.

    Args:
      operand: any array.
      index: an integer scalar, which may be traced. It is clamped to the range of valid indices.
      axis: the axis to index.
      keepdims: whether the result keeps `axis`, with size 1.
      allow_negative_indices: whether a negative index counts from the end.

    Example:
      >>> lax.dynamic_index_in_dim(jnp.array([5, 6, 7]), 1)
      Array([6], dtype=int32)
      >>> lax.dynamic_index_in_dim(jnp.array([5, 6, 7]), -1, keepdims=False)
      Array(7, dtype=int32)
    """
    result = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return result if keepdims else squeeze(result, (axis,))


dynamic_update_slice_p = declare("dynamic_update_slice")
dynamic_update_slice_p.sharding(sharding_rules.dynamic_update_slice)


@dynamic_update_slice_p.abstract
def _dynamic_update_slice_abstract(
    x: ShapedArray, update: ShapedArray, *starts: ShapedArray
) -> ShapedArray:
    if x.ndim != update.ndim:
        raise TypeError(
            f"dynamic_update_slice: `update` must have the rank of the operand, but their shapes are "
            f"{update.shape} and {x.shape}"
        )
    if len(starts) != x.ndim:
        raise TypeError(
            f"dynamic_update_slice: an operand of shape {x.shape} requires {x.ndim} start indices, but "
            f"there are {len(starts)}"
        )
    if any(size > n for size, n in zip(update.shape, x.shape, strict=True)):
        raise TypeError(
            f"dynamic_update_slice: `update` must not be larger than the operand along any axis, but "
            f"their shapes are {update.shape} and {x.shape}"
        )
    families.check_same_dtypes("dynamic_update_slice", (x, update))
    _check_index_types("dynamic_update_slice", starts)
    return shaped_array(x.shape, x.dtype, False)


@dynamic_update_slice_p.eager
def _dynamic_update_slice_eager(
    x: np.ndarray, update: np.ndarray, *starts: np.ndarray
) -> np.ndarray:
    return indexing.dynamic_update_slice(x, update, starts)


@dynamic_update_slice_p.lower
def _dynamic_update_slice_lower(b: Builder, x: Node, update: Node, *starts: Node) -> Node:
    return b.dynamic_update_slice(x, update, starts)


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Returns a copy of `operand` in which `update` replaces the slice at `start_indices`.

    Args:
      operand: any array.
      update: array with the operand's dtype and rank, which is not larger than the operand along
        any axis.
      start_indices: one integer per axis; they may be traced. They are clamped to keep the slice in
        bounds.
      allow_negative_indices: whether negative indices count from the end: one flag, or one for each
        axis.

    Returns: array with the operand's shape and dtype.

    Raises:
      ValueError: if there is not one start index per axis.
      TypeError: if dtypes, ranks or sizes are incompatible.

    Example:
      >>> lax.dynamic_update_slice(jnp.arange(5), jnp.array([7, 8]), (3,)).tolist()
      [0, 1, 2, 7, 8]
    """
    starts = start_operands("dynamic_update_slice", operand, start_indices, allow_negative_indices)
    return bind_values(dynamic_update_slice_p, operand, update, *starts)


def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Returns a copy of `operand` in which `update` replaces a slice along `axis`.

    Args:
      operand: any array.
      update: array with the operand's dtype and rank.
      start_index: an integer scalar, which may be traced. It is clamped to keep the slice in
        bounds.
      axis: the axis along which the slice starts at `start_index`.
      allow_negative_indices: whether a negative index counts from the end.

    Example:
      >>> lax.dynamic_update_slice_in_dim(jnp.arange(5), jnp.array([8, 9]), 1, axis=0)
      Array([0, 8, 9, 3, 4], dtype=int32)
    """
    starts, wraps, _ = _one_axis(operand, start_index, axis, allow_negative_indices)
    return dynamic_update_slice(operand, update, starts, allow_negative_indices=wraps)


def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Returns a copy of `operand` in which `update` replaces the element at `index` along `axis`.

    Args:
      operand: any array.
      update: array with the operand's dtype, in which `axis` is missing or has size 1.
      index: an integer scalar, which may be traced. It is clamped to the range of valid indices.
      axis: the axis to index.
      allow_negative_indices: whether a negative index counts from the end.

    Example:
      >>> lax.dynamic_update_index_in_dim(jnp.array([5, 6, 7]), 9, 1, axis=0)
      Array([5, 9, 7], dtype=int32)
    """
    rank = len(shape_of(operand))
    axis = canonical_axis(axis, rank)
    if len(shape_of(update)) != rank:
        update = expand_dims(update, (axis,))
    return dynamic_update_slice_in_dim(
        operand, update, index, axis, allow_negative_indices=allow_negative_indices
    )


@dynamic_slice_p.jvp
def _dynamic_slice_jvp(
    primals: Primals, tangents: Tangents, *, slice_sizes: Shape
) -> tuple[Value, Tangent]:
    t = tangents[0]
    if isinstance(t, Zero):
        out = dynamic_slice_p.bind(*primals, slice_sizes=slice_sizes)
        return out, rules.zero_tangent(out)
    tangent = dynamic_slice_p.bind(t, *primals[1:], slice_sizes=slice_sizes)  # first, as in JAX
    return dynamic_slice_p.bind(*primals, slice_sizes=slice_sizes), tangent


@dynamic_slice_p.transpose
def _dynamic_slice_transpose(
    ct: Cotangent, x: Operand, *starts: Value, slice_sizes: Shape
) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [Zero(rules.aval_of(x)), *[None] * len(starts)]
    moved = dynamic_update_slice_p.bind(rules.zeros_for(ct, x), ct, *starts)
    return [moved] + [None] * len(starts)


def _index_vectors(starts: Primals, dims: Dims) -> tuple[Array, int | None]:
    """Joins start indices to index vectors; returns these and their batch dimension."""
    if all(d is None for d in dims):
        parts = [calculus.broadcast_in_dim(s, shape=(1,), broadcast_dimensions=()) for s in starts]
        return (parts[0] if len(parts) == 1 else calculus.concatenate(*parts, dimension=0)), None
    size = rules.batch_size(starts, dims)
    parts = [
        calculus.broadcast_in_dim(
            s, shape=(size, 1), broadcast_dimensions=() if d is None else (0,)
        )
        for s, d in zip(starts, dims, strict=True)
    ]
    return (parts[0] if len(parts) == 1 else calculus.concatenate(*parts, dimension=1)), 0


@dynamic_slice_p.batch
def _dynamic_slice_batch(args: Primals, dims: Dims, *, slice_sizes: Shape) -> tuple[Value, int]:
    x, *starts = args
    if not starts:
        return x, 0
    vectors, vectors_dim = _index_vectors(starts, dims[1:])
    axes = tuple(range(len(slice_sizes)))
    return batch_gather(
        (x, vectors),
        (dims[0], vectors_dim),
        dimension_numbers=GatherDimensionNumbers(axes, (), axes),
        slice_sizes=slice_sizes,
        unique_indices=True,
        indices_are_sorted=True,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


@dynamic_update_slice_p.jvp
def _dynamic_update_slice_jvp(primals: Primals, tangents: Tangents) -> tuple[Value, Tangent]:
    starts = primals[2:]
    out = dynamic_update_slice_p.bind(*primals)
    if type(tangents[0]) is Zero and type(tangents[1]) is Zero:
        return out, rules.zero_tangent(out)
    t, u = map(instantiate, tangents[:2])
    return out, dynamic_update_slice_p.bind(t, u, *starts)


@dynamic_update_slice_p.transpose
def _dynamic_update_slice_transpose(
    ct: Cotangent, x: Operand, update: Operand, *starts: Value
) -> list[Cotangent | None]:
    of_starts = [None] * len(starts)
    if isinstance(ct, Zero):
        return [
            *(Zero(rules.aval_of(v)) if rules.is_linear(v) else None for v in (x, update)),
            *of_starts,
        ]
    of_x = of_update = None
    if rules.is_linear(x):
        of_x = dynamic_update_slice_p.bind(ct, rules.zeros_for(ct, update), *starts)
    if rules.is_linear(update):
        of_update = dynamic_slice_p.bind(ct, *starts, slice_sizes=rules.shape_of(update))
    return [of_x, of_update, *of_starts]


@dynamic_update_slice_p.batch
def _dynamic_update_slice_batch(args: Primals, dims: Dims) -> tuple[Value, int]:
    x, update, *starts = args
    if not starts:
        return rules.to_front(update, dims[1], rules.batch_size(args, dims)), 0
    vectors, vectors_dim = _index_vectors(starts, dims[2:])
    axes = tuple(range(len(starts)))
    return batch_scatter(
        scatter_p,
        (x, vectors, update),
        (dims[0], vectors_dim, dims[1]),
        dimension_numbers=ScatterDimensionNumbers(axes, (), axes),
        update_jaxpr=None,
        update_consts=(),
        unique_indices=True,
        indices_are_sorted=True,
        mode=GatherScatterMode.CLIP,
    )


dynamic_slice_p.jet(jet.piecewise_linear(dynamic_slice_p))
dynamic_update_slice_p.jet(jet.piecewise_linear(dynamic_update_slice_p))

for _prim in (dynamic_slice_p, dynamic_update_slice_p):
    assert not _prim.missing(), _prim

uses_keys(dynamic_slice_p, forwards=True)
uses_keys(dynamic_update_slice_p, consumes=(1,), forwards=True)
