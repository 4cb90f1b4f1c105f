"""Slices with static bounds. For computed bounds, see `dynamic_slice`."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from jitney.core.program.key_reuse import KeyUse
from jitney.core.symbolic.expressions import index
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.types.avals import ShapedArray
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.array.canonical import canonical_axis, canonical_shape
from jitney.primitives.array.shape import shape_of, squeeze
from jitney.primitives.elementwise import families
from jitney.primitives.elementwise.families import Shape

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import (
        Builder,
        Node,
        Operand,
        Primals,
        Value,
    )

_slice = slice

slice_p = declare("slice", linear=True)
slice_p.sharding(sharding_rules.cut)


@slice_p.abstract
def _slice_abstract(
    x: ShapedArray, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> ShapedArray:
    if not len(start_indices) == len(limit_indices) == x.ndim:
        raise TypeError(
            "slice: `start_indices` and `limit_indices` must have one entry for each axis of the "
            f"operand, of shape {x.shape}, but are {start_indices} and {limit_indices}"
        )
    sizes = tuple(hi - lo for lo, hi in zip(start_indices, limit_indices, strict=True))
    if any(lo < 0 for lo in start_indices):
        raise TypeError(f"slice: `start_indices` must not be negative, but is {start_indices}")
    if any(hi > n for hi, n in zip(limit_indices, x.shape, strict=True)):
        raise TypeError(
            f"slice: `limit_indices` {limit_indices} must not exceed the sizes of the operand, of "
            f"shape {x.shape}"
        )
    if any(n < 0 for n in sizes):
        raise TypeError(
            f"slice: `limit_indices` {limit_indices} must not be less than `start_indices` "
            f"{start_indices}"
        )
    steps = strides or (1,) * x.ndim
    if len(steps) != x.ndim:
        raise TypeError(
            "slice: `strides` must have one entry for each axis of the operand, of shape "
            f"{x.shape}, but is {strides}"
        )
    if any(s <= 0 for s in steps):
        raise TypeError(f"slice: `strides` must be positive, but is {strides}")
    # Parameters may be NumPy integers, as they are in some of JAX's printed programs.
    return x.update(shape=tuple([index(-(-n // s)) for n, s in zip(sizes, steps, strict=True)]))


@slice_p.eager
def _slice_eager(
    x: np.ndarray, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> np.ndarray:
    return x[tuple(map(_slice, start_indices, limit_indices, strides or (1,) * x.ndim))]


@slice_p.lower
def _slice_lower(
    b: Builder, x: Node, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> Node:
    starts, limits = tuple(map(int, start_indices)), tuple(map(int, limit_indices))
    return b.slice(x, starts, limits, tuple(map(int, strides)) if strides else (1,) * len(starts))


def bind_values(prim: Primitive, *operands: Value, **params: object) -> Array:
    """Binds `prim`; if an operand is not an array, the error names it."""
    try:
        return prim.bind(*operands, **params)
    except TypeError:
        families.check_operands(prim.name, *operands)
        raise


def slice(  # noqa: A001
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Returns the elements at start, start + stride, ..., up to limit (exclusive) along each axis.

    Args:
      operand: any array.
      start_indices: the first index of each axis.
      limit_indices: the end (exclusive) of the slice along each axis, at most the size of the axis.
      strides: a positive step for each axis; 1 by default.

    Raises:
      TypeError: if there is not one bound per axis, or if an index is out of bounds. Unlike in
        `x[start:limit]`, indices are not clamped, and negative indices do not count from the end.

    Example:
      >>> lax.slice(jnp.arange(12).reshape(3, 4), (1, 0), (3, 4), (1, 2))
      Array([[ 4,  6],
             [ 8, 10]], dtype=int32)
    """
    return bind_values(
        slice_p,
        operand,
        start_indices=canonical_shape(start_indices),
        limit_indices=canonical_shape(limit_indices),
        strides=None if strides is None else canonical_shape(strides),
    )


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """Returns a slice along one axis.

    Args:
      operand: any array.
      start_index: the first index; None and negative indices are interpreted as in Python.
      limit_index: the end (exclusive) of the slice, interpreted in the same way.
      stride: a positive step.
      axis: the axis to slice.

    Example:
      >>> lax.slice_in_dim(jnp.arange(6), 1, -1, stride=2)
      Array([1, 3], dtype=int32)
    """
    shape = shape_of(operand)
    axis = canonical_axis(axis, len(shape))
    n = shape[axis]

    def bound(index: SupportsIndex | None, default: int) -> int:
        if index is None:
            return default
        index = operator.index(index)
        return index + n if index < 0 else index

    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], limits[axis] = bound(start_index, 0), bound(limit_index, n)
    strides[axis] = operator.index(stride)
    return slice(operand, starts, limits, strides)


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Returns the element at `index` along one axis.

    Args:
      operand: any array.
      index: a static integer; negative ones count from the end.
      axis: the axis to index.
      keepdims: whether the result keeps `axis`, with size 1.

    Raises:
      IndexError: if the index is out of bounds.

    Example:
      >>> lax.index_in_dim(jnp.array([[1, 2], [3, 4]]), 1, axis=1, keepdims=False)
      Array([2, 4], dtype=int32)
    """
    index, axis = operator.index(index), canonical_axis(axis, len(shape_of(operand)))
    n = shape_of(operand)[axis]
    wrapped = index + n if index < 0 else index
    if not 0 <= wrapped < n:
        raise IndexError(
            f"index_in_dim: index {index} is out of bounds for axis {axis} with size {n}"
        )
    result = slice_in_dim(operand, wrapped, wrapped + 1, 1, axis)
    return result if keepdims else squeeze(result, (axis,))


# --- derivatives and batching -------------------------------------------------------------------


def _pad_back(
    ct: Value, x: Operand, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None
) -> Value:
    """Pads `ct` with zeros to the shape of `x`, at the position of the slice."""
    if rules.shape_of(ct) == rules.shape_of(x):
        return ct
    spread = strides is not None and any(s != 1 for s in strides)
    steps: Any = [np.int64(s) for s in strides or ()] if spread else [1] * len(start_indices)
    config: list[tuple[Any, Any, Any]] = []
    for n, low, step, length in zip(
        rules.shape_of(x), start_indices, steps, rules.shape_of(ct), strict=True
    ):
        end = low + (length - 1) * step + 1 if length else low
        config.append((low, np.int64(n - end), step - 1))
    zero = rules.typed(np.zeros((), rules.aval_of(ct).dtype))
    return calculus.pad(ct, zero, padding_config=tuple(config))


rules.deflinear(slice_p, _pad_back)


@slice_p.batch
def _slice_batch(
    args: Primals,
    dims: Sequence[int],
    *,
    start_indices: Shape,
    limit_indices: Shape,
    strides: Shape | None,
) -> tuple[Value, int]:
    (x,), (d,) = args, dims

    def with_axis(values: Shape, value: int) -> Shape:
        return (*values[:d], value, *values[d:])

    out = slice_p.bind(
        x,
        start_indices=with_axis(start_indices, 0),
        limit_indices=with_axis(limit_indices, shape_of(x)[d]),
        strides=None if strides is None else with_axis(strides, 1),
    )
    return out, d


assert not slice_p.missing()


@slice_p.key_use
def _slice_key_use(
    avals: Sequence[ShapedArray],
    *,
    start_indices: Shape,
    limit_indices: Shape,
    strides: Shape | None,
) -> KeyUse:
    (aval,) = avals
    steps = strides or (1,) * aval.ndim
    consumed = np.zeros(aval.shape, bool)
    consumed[tuple(map(builtins.slice, start_indices, limit_indices, steps))] = True
    # A mask that is constant is replaced by a bool.
    mask = bool(consumed.any()) if consumed.all() or not consumed.any() else consumed
    return KeyUse(((0, mask),), new=(0,))
