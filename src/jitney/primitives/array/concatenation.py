"""Joining and splitting: concatenate, stack, split, unstack, tile, pad."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.reference import indexing
from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.program.key_reuse import KeyUse
from jitney.core.symbolic.expressions import index, max_dim
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import families
from jitney.transforms import jet
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import ArrayLike
    from jitney.primitives.rule_types import (
        BatchDim,
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

# --- concatenate ------------------------------------------------------------------------------

concatenate_p = declare("concatenate", linear=True)
concatenate_p.sharding(sharding_rules.concatenate)


def _shapes(avals: Sequence[ShapedArray]) -> str:
    return ", ".join(str(a.shape) for a in avals)


def _all_weak(avals: Sequence[ShapedArray]) -> bool:
    return all(a.weak_type for a in avals)


@concatenate_p.abstract
def _concatenate_abstract(*avals: ShapedArray, dimension: int) -> ShapedArray:
    if not avals:
        raise TypeError("concatenate: at least one operand is needed")
    first = avals[0]
    if len({a.ndim for a in avals}) > 1:
        raise TypeError(
            f"concatenate: all operands must have the same rank, but their shapes are {_shapes(avals)}"
        )
    if not 0 <= dimension < first.ndim:
        raise TypeError(
            "concatenate: `dimension` must name an axis of the operands, which have "
            f"{messages.axes_of_rank(first.ndim)}, but is {dimension}; the operands' shapes are "
            f"{_shapes(avals)}"
        )
    other_extents = [a.shape[:dimension] + a.shape[dimension + 1 :] for a in avals]
    if any(r != other_extents[0] for r in other_extents):
        raise TypeError(
            f"concatenate: along all axes except {dimension}, the concatenated one, the sizes must "
            f"be equal, but the operands' shapes are {_shapes(avals)}"
        )
    families.check_same_dtypes("concatenate", avals)
    extent = sum(a.shape[dimension] for a in avals)
    shape = (*first.shape[:dimension], extent, *first.shape[dimension + 1 :])
    return shaped_array(shape, first.dtype, _all_weak(avals))


@concatenate_p.eager
def _concatenate_eager(*xs: np.ndarray, dimension: int) -> np.ndarray:
    return np.concatenate(xs, axis=dimension)


@concatenate_p.lower
def _concatenate_lower(b: Builder, *xs: Node, dimension: int) -> Node:
    return b.concatenate(xs, dimension)


def concatenate(operands: Sequence[ArrayLike] | Array | np.ndarray, dimension: int) -> Array:
    """Joins `operands` along an existing axis.

    Args:
      operands: at least one array. All arrays have the same dtype and rank, and the same sizes
        along all axes except `dimension`.
      dimension: the axis along which to join; it must not be negative.

    Raises:
      TypeError: if dtypes or shapes are incompatible. (`jnp.concatenate` promotes dtypes.)
      ValueError: if there are no operands.

    Example:
      >>> lax.concatenate([jnp.array([1, 2]), jnp.array([3])], 0)
      Array([1, 2, 3], dtype=int32)
    """
    operands = list(operands)
    if not operands:
        raise ValueError(
            "lax.concatenate: `operands` must contain at least one array, but is empty"
        )
    if len(operands) == 1 and isinstance(operands[0], Array):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=operator.index(dimension))


# --- stack, unstack -----------------------------------------------------------------------------

stack_p = declare("stack", linear=True)
stack_p.sharding(sharding_rules.stack)


@stack_p.abstract
def _stack_abstract(*avals: ShapedArray, axis: int) -> ShapedArray:
    first = avals[0]
    if len({a.ndim for a in avals}) > 1:
        raise ValueError(
            f"stack: all operands must have the same rank, but their shapes are {_shapes(avals)}"
        )
    if any(a.shape != first.shape for a in avals):
        raise ValueError(f"Cannot stack arrays with different shapes: got {_shapes(avals)}.")
    families.check_same_dtypes("stack", avals)
    shape = (*first.shape[:axis], len(avals), *first.shape[axis:])
    return shaped_array(shape, first.dtype, _all_weak(avals))


@stack_p.eager
def _stack_eager(*xs: np.ndarray, axis: int) -> np.ndarray:
    return np.stack(xs, axis)


@stack_p.lower
def _stack_lower(b: Builder, *xs: Node, axis: int) -> Node:
    shape = xs[0].shape
    row = (*shape[:axis], 1, *shape[axis:])
    return b.concatenate([b.reshape(x, row) for x in xs], axis)


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Joins `operands` along a new axis.

    Args:
      operands: at least one array. All arrays have the same shape and dtype.
      axis: position of the new axis in the result; negative ones count from the end.

    Raises:
      ValueError: if shapes differ, or the result has no such axis.
      TypeError: if dtypes differ.
      IndexError: if there are no operands.

    Example:
      >>> lax.stack([jnp.array([1, 2]), jnp.array([3, 4])], axis=1)
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    operands = list(operands)
    if not operands:
        raise IndexError("lax.stack: `operands` must not be empty")
    axis = canonical_axis(axis, len(shape_of(operands[0])) + 1)
    return stack_p.bind(*operands, axis=axis)


unstack_p = declare("unstack", multiple_results=True, linear=True)
unstack_p.sharding(sharding_rules.unstack)


@unstack_p.abstract
def _unstack_abstract(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    part = x.update(shape=x.shape[:axis] + x.shape[axis + 1 :])
    return [part] * x.shape[axis]


@unstack_p.eager
def _unstack_eager(x: np.ndarray, *, axis: int) -> list[np.ndarray]:
    return list(np.moveaxis(x, axis, 0))


@unstack_p.lower
def _unstack_lower(b: Builder, x: Node, *, axis: int) -> list[Node]:
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    parts = _split_nodes(b, x, (1,) * x.shape[axis], axis)
    return [b.reshape(part, shape) for part in parts]


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """Splits `x` into its slices along `axis`, and removes this axis from each slice.

    Args:
      x: array with at least one axis.
      axis: the axis to remove; negative ones count from the end.

    Raises:
      ValueError: if `x` has no such axis.

    Example:
      >>> lax.unstack(jnp.array([[1, 2], [3, 4]]))
      (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, get_aval(x).ndim)))


# --- split ------------------------------------------------------------------------------------

split_p = declare("split", multiple_results=True, linear=True)
split_p.sharding(sharding_rules.split)


@split_p.abstract
def _split_abstract(x: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    if any(n < 0 for n in sizes):
        raise ValueError(f"lax.split: `sizes` must not be negative, but are {list(sizes)}")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(
            f"lax.split: `sizes` must add up to {x.shape[axis]}, the size of axis {axis} of shape "
            f"{x.shape}, but {list(sizes)} add up to {sum(sizes)}"
        )
    head, tail = x.shape[:axis], x.shape[axis + 1 :]
    return [x.update(shape=(*head, index(n), *tail)) for n in sizes]


@split_p.eager
def _split_eager(x: np.ndarray, *, sizes: tuple[int, ...], axis: int) -> list[np.ndarray]:
    return np.split(x, np.cumsum(sizes[:-1]), axis) if sizes else []


def _split_nodes(b: Builder, x: Node, sizes: Sequence[int], axis: int) -> list[Node]:
    parts: list[Any] = []
    start = 0
    for n in sizes:
        low, high = [0] * len(x.shape), list(x.shape)
        low[axis], high[axis] = start, start + int(n)
        parts.append(b.slice(x, tuple(low), tuple(high), (1,) * len(x.shape)))
        start += int(n)
    return parts


@split_p.lower
def _split_lower(b: Builder, x: Node, *, sizes: tuple[int, ...], axis: int) -> list[Node]:
    return _split_nodes(b, x, sizes, axis)


def split(operand: ArrayLike, sizes: Sequence[int | np.integer], axis: int = 0) -> list[Array]:
    """Splits `operand` along `axis` into consecutive parts.

    Args:
      operand: any array.
      sizes: the size of each part along `axis`. The sum must be the size of that axis. (`jnp.split`
        takes positions instead.)
      axis: the axis to split; a negative one counts from the end.

    Raises:
      ValueError: if `operand` has no such axis, or `sizes` does not add up to its size.

    Example:
      >>> [part.tolist() for part in lax.split(jnp.arange(5), [2, 3])]
      [[0, 1], [2, 3, 4]]
    """
    axis = canonical_axis(axis, get_aval(operand).ndim)
    return split_p.bind(operand, sizes=tuple(sizes), axis=axis)


# --- tile -------------------------------------------------------------------------------------

tile_p = declare("tile", linear=True)
tile_p.sharding(sharding_rules.tile)


@tile_p.abstract
def _tile_abstract(x: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if len(reps) != x.ndim:
        raise TypeError(
            f"lax.tile: `reps` must have one entry for each axis, but has len(reps)={len(reps)} for an "
            f"operand of shape {x.shape}"
        )
    if any(r < 0 for r in reps):
        raise TypeError(f"lax.tile: all of `reps` must be nonnegative, got {reps}")
    return x.update(shape=tuple([n * r for n, r in zip(x.shape, reps, strict=True)]))


@tile_p.eager
def _tile_eager(x: np.ndarray, *, reps: tuple[int, ...]) -> np.ndarray:
    return np.tile(x, reps)


@tile_p.lower
def _tile_lower(b: Builder, x: Node, *, reps: tuple[int, ...]) -> Node:
    wide = tuple(k for n, r in zip(x.shape, reps, strict=True) for k in (r, n))
    spread = b.broadcast(x, wide, tuple(range(1, len(wide), 2)))
    return b.reshape(spread, tuple(n * r for n, r in zip(x.shape, reps, strict=True)))


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeats `operand` `reps[k]` times along each axis k.

    Args:
      operand: any array.
      reps: the number of repetitions for each axis.

    Example:
      >>> lax.tile(jnp.array([[1, 2]]), (2, 2))
      Array([[1, 2, 1, 2],
             [1, 2, 1, 2]], dtype=int32)
    """
    return tile_p.bind(operand, reps=tuple([index(r) for r in reps]))


# --- pad --------------------------------------------------------------------------------------

pad_p = declare("pad", linear=True)
pad_p.sharding(sharding_rules.cut)


PaddingConfig = tuple[tuple[int, int, int], ...]
"""The padding of each axis: (low, high, interior)."""


@pad_p.abstract
def _pad_abstract(
    x: ShapedArray, value: ShapedArray, *, padding_config: PaddingConfig
) -> ShapedArray:
    if value.shape:
        raise ValueError(f"lax.pad: `padding_value` must have rank 0, but has shape {value.shape}")
    if x.dtype != value.dtype:
        raise TypeError(
            f"lax.pad: `padding_value` must have the operand's dtype, {dtypes.long_name(x.dtype)}, but "
            f"has {dtypes.long_name(value.dtype)}; convert one with astype"
        )
    if len(padding_config) != x.ndim:
        raise ValueError(
            "lax.pad: `padding_config` must have a triple (low, high, interior) for each axis, but is "
            f"{padding_config} for an operand of shape {x.shape}"
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(
            "lax.pad: interior padding, the third number of each triple of `padding_config`, "
            f"must not be negative, but got {padding_config}"
        )
    shape = tuple(
        index(low + high + n + (max_dim(n - 1, 0) * interior if interior else 0))
        for n, (low, high, interior) in zip(x.shape, padding_config, strict=True)
    )
    if any(n < 0 for n in shape):
        raise ValueError(
            f"lax.pad: `padding_config` {padding_config} removes more elements from an operand of "
            f"shape {x.shape} than it has: the result would have shape {shape}"
        )
    return shaped_array(shape, x.dtype, x.weak_type and value.weak_type)


def _columns(
    padding_config: PaddingConfig,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Splits a padding configuration into (low, high, interior), each with one entry per axis."""
    low, high, interior = zip(*padding_config, strict=True) if padding_config else ((), (), ())
    return tuple(map(int, low)), tuple(map(int, high)), tuple(map(int, interior))


@pad_p.eager
def _pad_eager(x: np.ndarray, value: np.ndarray, *, padding_config: PaddingConfig) -> np.ndarray:
    return indexing.pad(x, value, *_columns(padding_config))


@pad_p.lower
def _pad_lower(b: Builder, x: Node, value: Node, *, padding_config: PaddingConfig) -> Node:
    return b.pad(x, value, *_columns(padding_config))


def pad(
    operand: ArrayLike,
    padding_value: ArrayLike,
    padding_config: Sequence[tuple[int, int, int]],
) -> Array:
    """Pads `operand` with `padding_value` at the edges and between elements.

    Args:
      operand: any array.
      padding_value: a scalar of the operand's dtype.
      padding_config: for each axis, a triple (low, high, interior) with the number of padding
        elements before the first element, after the last one, and between neighbors. Negative
        values of low and high remove elements.

    Example:
      >>> lax.pad(jnp.array([1, 2, 3]), 0, [(2, 0, 1)])
      Array([0, 0, 1, 0, 2, 0, 3], dtype=int32)
    """
    config = tuple([(low, high, interior) for low, high, interior in padding_config])
    return pad_p.bind(operand, padding_value, padding_config=config)


# --- derivatives and batching ---------------------------------------------------------------------


rules.def_jointly_linear_jvp(concatenate_p)


@concatenate_p.transpose
def _concatenate_transpose(ct: Cotangent, *xs: Operand, dimension: int) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [None] * len(xs)
    sizes = tuple([rules.shape_of(x)[dimension] for x in xs])
    parts = split_p.bind(ct, sizes=sizes, axis=dimension)
    return [p if rules.is_linear(x) else None for p, x in zip(parts, xs, strict=True)]


def _all_in_front(args: Primals, dims: Dims) -> list[Value]:
    """Moves the batch axis of each operand to the front; broadcasts unbatched operands."""
    size = rules.batch_size(args, dims)
    return [rules.to_front(x, d, size) for x, d in zip(args, dims, strict=True)]


@concatenate_p.batch
def _concatenate_batch(args: Primals, dims: Dims, *, dimension: int) -> tuple[Value, BatchDim]:
    return concatenate_p.bind(*_all_in_front(args, dims), dimension=dimension + 1), 0


rules.def_jointly_linear_jvp(stack_p)


@stack_p.transpose
def _stack_transpose(ct: Cotangent, *xs: Operand, axis: int) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [None] * len(xs)
    parts = unstack_p.bind(ct, axis=axis)
    return [p if rules.is_linear(x) else None for p, x in zip(parts, xs, strict=True)]


@stack_p.batch
def _stack_batch(args: Primals, dims: Dims, *, axis: int) -> tuple[Value, BatchDim]:
    d = dims[0]
    if d is None or any(other != d for other in dims):
        args, d = _all_in_front(args, dims), 0
    # The new axis goes next to the batch axis, before or after it.
    return stack_p.bind(*args, axis=axis + (axis > d)), d + (axis <= d)


def _linear_in_one(prim: Primitive) -> None:
    """Sets the JVP rule of a linear primitive with one operand and several results."""

    @prim.jvp
    def jvp_rule(
        primals: Primals, tangents: Tangents, **params: object
    ) -> tuple[list[Value], list[Tangent]]:
        return prim.bind(*primals, **params), prim.bind(*map(instantiate, tangents), **params)

    prim.jet(jet.linear(prim))


_linear_in_one(unstack_p)
_linear_in_one(split_p)


@unstack_p.transpose
def _unstack_transpose(
    cts: Sequence[Cotangent], x: Operand, *, axis: int
) -> list[Cotangent | None]:
    return [stack_p.bind(*map(instantiate, cts), axis=axis)]


@unstack_p.batch
def _unstack_batch(
    args: Primals, dims: Sequence[int], *, axis: int
) -> tuple[list[Value], list[int]]:
    x = rules.move_axis(args[0], dims[0], 0)
    out = unstack_p.bind(x, axis=axis + 1)
    return out, [0] * len(out)


@split_p.transpose
def _split_transpose(
    cts: Sequence[Cotangent], x: Operand, *, sizes: tuple[int, ...], axis: int
) -> list[Cotangent | None]:
    return [concatenate_p.bind(*map(instantiate, cts), dimension=axis)]


@split_p.batch
def _split_batch(
    args: Primals, dims: Sequence[int], *, sizes: tuple[int, ...], axis: int
) -> tuple[list[Value], list[int]]:
    (x,), (d,) = args, dims
    out = split_p.bind(x, sizes=sizes, axis=axis + (axis >= d))
    return out, [d] * len(out)


def _tile_transpose(ct: Value, x: Operand, *, reps: tuple[int, ...]) -> Value:
    shape = rules.shape_of(x)
    wide = tuple(k for n, r in zip(shape, reps, strict=True) for k in (r, n))
    apart = calculus.reshape(ct, new_sizes=wide)
    return calculus.reduce_sum(apart, axes=tuple(range(0, len(wide), 2)))


rules.deflinear(tile_p, _tile_transpose)


@tile_p.batch
def _tile_batch(
    args: Primals, dims: Sequence[int], *, reps: tuple[int, ...]
) -> tuple[Value, BatchDim]:
    x = rules.move_axis(args[0], dims[0], 0)
    return tile_p.bind(x, reps=(1, *reps)), 0


rules.def_jointly_linear_jvp(pad_p)


@pad_p.transpose
def _pad_transpose(
    ct: Cotangent, x: Operand, value: Operand, *, padding_config: PaddingConfig
) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [None, None]
    low, high, interior = (tuple(map(np.int64, c)) for c in _columns(padding_config))
    ct_x: Any = None
    if rules.is_linear(x) or rules.is_linear(value):
        nothing = np.int64(0)
        undo = tuple((-lo, -hi, nothing) for lo, hi in zip(low, high, strict=True))
        zero = rules.typed(np.zeros((), rules.aval_of(ct).dtype))
        ct_x = pad_p.bind(ct, zero, padding_config=undo)
        ct_x = calculus.slice(
            ct_x,
            start_indices=(nothing,) * len(interior),
            limit_indices=rules.shape_of(ct_x),
            strides=tuple(n + 1 for n in interior),
        )
    ct_value: Any = None
    if rules.is_linear(value):
        total, kept = (calculus.reduce_sum(c, axes=tuple(range(len(low)))) for c in (ct, ct_x))
        ct_value = calculus.sub(total, kept)
    return [ct_x if rules.is_linear(x) else None, ct_value]


@pad_p.batch
def _pad_batch(
    args: Primals, dims: Dims, *, padding_config: PaddingConfig
) -> tuple[Value, BatchDim]:
    (x, value), (d, e) = args, dims
    if e is None:
        config = list(padding_config)
        assert d is not None
        config.insert(d, (0, 0, 0))
        return pad_p.bind(x, value, padding_config=tuple(config)), d
    # The padding value is batched: pad with zeros, then select the values where a padded mask is
    # set.
    size = rules.batch_size(args, dims)
    x = rules.to_front(x, d, size)
    value = rules.move_axis(value, e, 0)
    config = ((0, 0, 0), *padding_config)
    zero = rules.const(x, 0)
    padded = pad_p.bind(x, zero, padding_config=config)
    inside = calculus.broadcast_in_dim(
        np.bool_(True), shape=rules.shape_of(x), broadcast_dimensions=()
    )
    mask = pad_p.bind(inside, np.bool_(False), padding_config=config)
    spread = calculus.broadcast_in_dim(
        value, shape=rules.shape_of(padded), broadcast_dimensions=(0,)
    )
    return calculus.select_n(mask, spread, padded), 0


def _joins_keys(prim: Primitive) -> None:
    @prim.key_use
    def key_use_rule(avals: Sequence[ShapedArray], **_: object) -> KeyUse:
        if len(avals) == 1:
            return KeyUse(forwarded=((0, 0),))
        return KeyUse(tuple([(i, True) for i in range(len(avals))]), new=(0,))


def _parts_keys(prim: Primitive) -> None:
    @prim.key_use
    def key_use_rule(avals: Sequence[ShapedArray], **params: object) -> KeyUse:
        n = len(prim.result_type(tuple(avals), params)[0])
        return KeyUse(((0, True),), new=tuple(range(n)))


for _prim in (concatenate_p, stack_p):
    _joins_keys(_prim)
for _prim in (unstack_p, split_p):
    _parts_keys(_prim)
