"""Sorting: `sort`, which sorts one or more operands by keys, and `top_k`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from jitney.compiler.reference import order
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import families
from jitney.primitives.indexing.gather import GatherDimensionNumbers, gather
from jitney.transforms import jet
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import Builder, Dims, Node, Primals, Tangent, Tangents, Value

sort_p = declare("sort", multiple_results=True)
sort_p.sharding(sharding_rules.replicated_along("dimension", "complete sorted axes"))


@sort_p.abstract
def _sort_abstract(
    *avals: ShapedArray, dimension: int, is_stable: bool, num_keys: int
) -> list[ShapedArray]:
    if any(a.shape != avals[0].shape for a in avals):
        shapes = " ".join(str(a.shape) for a in avals)
        raise TypeError(f"lax.sort: all operands must have the same shape, but have {shapes}")
    for i, a in enumerate(avals[:num_keys]):
        if not families.is_accepted(a.dtype, families.NOT_KEYS):
            raise TypeError(
                f"lax.sort: operand {i} determines the order, so it must be numeric or boolean, "
                f"but is {dtypes.long_name(a.dtype)}. Instead: sort jax.random.key_data(x)"
            )
    return [shaped_array(a.shape, a.dtype, a.weak_type) for a in avals]


@sort_p.eager
def _sort_eager(
    *xs: np.ndarray, dimension: int, is_stable: bool, num_keys: int
) -> list[np.ndarray]:
    return order.sort(xs, dimension, num_keys, is_stable)


@sort_p.lower
def _sort_lower(
    b: Builder, *xs: Node, dimension: int, is_stable: bool, num_keys: int
) -> list[Node]:
    return b.sort(xs, dimension, num_keys, is_stable)


@overload
def sort(
    operand: ArrayLike, dimension: int = ..., is_stable: bool = ..., num_keys: int = ...
) -> Array: ...
@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = ..., is_stable: bool = ..., num_keys: int = ...
) -> tuple[Array, ...]: ...
def sort(
    operand: ArrayLike | Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Array | tuple[Array, ...]:
    """Sorts along `dimension` in ascending order.

    Args:
      operand: an array, or a sequence of equally shaped arrays that are sorted together.
      dimension: the axis along which to sort.
      is_stable: whether equal elements keep their relative order.
      num_keys: the number of leading operands that are compared, in lexicographic order.

    Returns: an array, or a tuple of arrays if a sequence was given.

    NaN is sorted last, -0.0 and 0.0 are equal, and complex numbers are ordered by real part, then
    by imaginary part.

    Raises:
      TypeError: if the shapes differ, or if the sequence is empty.
      ValueError: if `num_keys` is out of range.

    Example:
      >>> lax.sort(jnp.array([3, 1, 2]))
      Array([1, 2, 3], dtype=int32)
      >>> lax.sort((jnp.array([1, 0, 1]), jnp.array([5, 7, 4])), num_keys=2)
      (Array([0, 1, 1], dtype=int32), Array([7, 4, 5], dtype=int32))
    """
    if isinstance(operand, Sequence):
        if len(operand) == 0:
            raise TypeError("lax.sort: `operand` must contain at least one array, but is empty")
        if not 1 <= num_keys <= len(operand):
            raise ValueError(
                f"lax.sort: `num_keys` must be from 1 to {len(operand)}, the number of arrays, but is "
                f"{num_keys}"
            )
        families.check_operands("sort", *operand)
        axis = canonical_axis(dimension, len(shape_of(operand[0])))
        return tuple(sort_p.bind(*operand, dimension=axis, is_stable=is_stable, num_keys=num_keys))
    if num_keys != 1:
        raise ValueError(f"lax.sort: `num_keys` of one array must be 1, but is {num_keys}")
    families.check_operands("sort", operand)
    axis = canonical_axis(dimension, len(shape_of(operand)))
    return sort_p.bind(operand, dimension=axis, is_stable=is_stable, num_keys=1)[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sorts `keys` along `dimension`, and permutes `values` in the same way.

    Args:
      keys: the array to sort.
      values: an array of the same shape.
      dimension: the axis along which to sort.
      is_stable: whether values of equal keys keep their relative order.

    Example:
      >>> lax.sort_key_val(jnp.array([3, 1, 2]), jnp.array([30.0, 10.0, 20.0]))
      (Array([1, 2, 3], dtype=int32), Array([10., 20., 30.], dtype=float32))
    """
    families.check_operands("sort", keys, values)
    axis = canonical_axis(dimension, len(shape_of(keys)))
    k, v = sort_p.bind(keys, values, dimension=axis, is_stable=is_stable, num_keys=1)
    return k, v


top_k_p = declare("top_k", multiple_results=True)
top_k_p.sharding(sharding_rules.replicated_along("axis", "a complete axis"))


@top_k_p.abstract
def _top_k_abstract(x: ShapedArray, *, k: int, axis: int, is_stable: bool) -> list[ShapedArray]:
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError(
            f"top_k: complex elements, as in {x.str_short()}, have no order; apply jnp.abs or "
            "jnp.real first"
        )
    families.check_dtype("top_k", x.dtype, families.ORDERED)
    if k > x.shape[axis]:
        raise ValueError(
            f"top_k: {k=} exceeds the number of elements along {axis=} of an operand with "
            f"shape={list(x.shape)}"
        )
    if x.shape[axis] - 1 > np.iinfo(np.int32).max:
        raise ValueError(
            f"top_k returns int32 indices, which cannot count the elements of shape={list(x.shape)} "
            f"along {axis=}. They will overflow."
        )
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return [shaped_array(shape, dtype, x.weak_type) for dtype in (x.dtype, np.dtype(np.int32))]


@top_k_p.eager
def _top_k_eager(x: np.ndarray, *, k: int, axis: int, is_stable: bool) -> list[np.ndarray]:
    return list(order.top_k(x, k, axis))


@top_k_p.lower
def _top_k_lower(b: Builder, x: Node, *, k: int, axis: int, is_stable: bool) -> list[Node]:
    return b.top_k(x, k, axis)


def top_k(operand: ArrayLike, k: int, *, axis: int = -1, is_stable: bool = True) -> list[Array]:
    """Returns [the k largest elements along `axis`, descending; their int32 indices].

    Args:
      operand: array with a real dtype.
      k: the number of elements, which is static and at most the size of the axis.
      axis: the axis along which to search.
      is_stable: whether equal elements must keep their relative order, which they always do.

    Returns: two arrays with the operand's shape, except for size k along `axis`. Equal elements are
      in the order of their indices.

    Raises:
      ValueError: if k is negative or exceeds the size of the axis, or if the operand is complex.

    Example:
      >>> lax.top_k(jnp.array([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
      [Array([5., 4.], dtype=float32), Array([4, 2], dtype=int32)]
    """
    families.check_operands("top_k", operand)
    k = operator.index(k)
    if k < 0:
        raise ValueError(f"top_k: `k` must not be negative, but is {k}")
    axis = canonical_axis(axis, len(shape_of(operand)))
    return top_k_p.bind(operand, k=k, axis=axis, is_stable=bool(is_stable))


# --- derivatives and batching -------------------------------------------------------------------


def _chosen(x: Value, indices: Value, axis: int, others: tuple[Any, ...]) -> Value:
    """Gathers elements of `x` along `axis` at `indices`, whose last axis has size 1."""
    numbers = GatherDimensionNumbers((), (axis,), (axis,), others, others)
    return gather(x, indices, numbers, (1,) * len(shape_of(x)))


@sort_p.jvp
def _sort_jvp(
    primals: Primals, tangents: Tangents, *, dimension: int, is_stable: bool, num_keys: int
) -> tuple[list[Value], list[Tangent]]:
    # Tangents are permuted like the elements: positions are sorted as an additional operand.
    params = {"dimension": dimension, "is_stable": is_stable, "num_keys": num_keys}
    shape = shape_of(primals[0])
    # Gathers from empty arrays are not defined.
    if 0 in shape or all(type(t) is Zero for t in tangents):
        outs = sort_p.bind(*primals, **params)
        return outs, [rules.zero_tangent(x) for x in outs]
    position_dtype = np.dtype(np.uint32 if shape[dimension] < 1 << 32 else np.uint64)
    positions = calculus.iota(dtype=position_dtype, shape=shape, dimension=dimension)
    *outs, order_ = sort_p.bind(*primals, positions, **params)
    rank = len(shape)
    indices = calculus.broadcast_in_dim(
        order_, shape=(*shape, 1), broadcast_dimensions=tuple(range(rank))
    )
    others = tuple([np.int64(k) for k in range(rank) if k != dimension])
    moved = [
        rules.zero_tangent(out) if isinstance(t, Zero) else _chosen(t, indices, dimension, others)
        for out, t in zip(outs, tangents, strict=True)
    ]
    return outs, moved


@sort_p.batch
def _sort_batch(
    args: Primals, dims: Dims, *, dimension: int, **params: object
) -> tuple[list[Value], list[int]]:
    size = rules.batch_size(args, dims)
    place = next(d for d in dims if d is not None)
    xs: list[Value] = []
    for x, d in zip(args, dims, strict=True):
        if d is None:
            shape = shape_of(x)
            kept = tuple([k for k in range(len(shape) + 1) if k != place])
            x = calculus.broadcast_in_dim(
                x, shape=(*shape[:place], size, *shape[place:]), broadcast_dimensions=kept,
            )  # fmt: skip
        xs.append(x if d is None else rules.move_axis(x, d, place))
    outs = sort_p.bind(*xs, dimension=dimension + (place <= dimension), **params)
    return outs, [place] * len(outs)


def chosen_elements(x: Value, indices: Value, axis: int) -> Value:
    """Gathers elements of `x` along `axis` at `indices`; the other axes are batch axes."""
    shape = shape_of(indices)
    vectors = calculus.reshape(indices, new_sizes=(*shape, 1))
    return _chosen(x, vectors, axis, tuple([i for i in range(len(shape)) if i != axis]))


@top_k_p.jvp
def _top_k_jvp(
    primals: Primals, tangents: Tangents, *, axis: int, **params: object
) -> tuple[list[Value], list[Tangent]]:
    (x,), (t,) = primals, tangents
    values, indices = top_k_p.bind(x, axis=axis, **params)
    no_tangent = rules.zero_tangent(indices)
    if isinstance(t, Zero) or 0 in shape_of(x):
        return [values, indices], [rules.zero_tangent(values), no_tangent]
    return [values, indices], [chosen_elements(t, indices, axis), no_tangent]


@top_k_p.batch
def _top_k_batch(
    args: Primals, dims: Sequence[int], *, axis: int, **params: object
) -> tuple[list[Value], list[int]]:
    (x,), (d,) = args, dims
    return top_k_p.bind(x, axis=axis + (d <= axis), **params), [d, d]


sort_p.jet(jet.piecewise_linear(sort_p))
top_k_p.jet(jet.piecewise_linear(top_k_p))
sort_p.absent("transpose", why="not linear")
top_k_p.absent("transpose", why="not linear")
