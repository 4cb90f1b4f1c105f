"""Joining and dividing: concatenate, stack, split, unstack, tile, pad."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitney.compiler import numerics
from jitney.core import dtypes
from jitney.core.array import Array
from jitney.core.avals import ShapedArray, shaped_array
from jitney.core.primitive import declare
from jitney.ops import kit
from jitney.ops.shape import canonical_axis, shape_of

# --- concatenate ------------------------------------------------------------------------------

concatenate_p = declare("concatenate", linear=True)


def _shapes(avals: Sequence[ShapedArray]) -> str:
    return ", ".join(str(a.shape) for a in avals)


def _all_weak(avals: Sequence[ShapedArray]) -> bool:
    return all(a.weak_type for a in avals)


@concatenate_p.abstract
def _(*avals: ShapedArray, dimension: int) -> ShapedArray:
    if not avals:
        raise TypeError("concatenate expects at least one operand, got 0.")
    first = avals[0]
    if len({a.ndim for a in avals}) > 1:
        raise TypeError(
            f"Cannot concatenate arrays with different numbers of dimensions: got {_shapes(avals)}."
        )
    if not 0 <= dimension < first.ndim:
        raise TypeError(
            f"concatenate dimension out of bounds: dimension {dimension} for shapes "
            f"{_shapes(avals)}."
        )
    rest = [a.shape[:dimension] + a.shape[dimension + 1 :] for a in avals]
    if any(r != rest[0] for r in rest):
        raise TypeError(
            "Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: concatenating along dimension {dimension} for shapes "
            f"{_shapes(avals)}."
        )
    kit.check_same_dtypes("concatenate", avals)
    extent = sum(a.shape[dimension] for a in avals)
    shape = (*first.shape[:dimension], extent, *first.shape[dimension + 1 :])
    return shaped_array(shape, first.dtype, _all_weak(avals))


@concatenate_p.eager
def _(*xs: np.ndarray, dimension: int) -> np.ndarray:
    return np.concatenate(xs, axis=dimension)


@concatenate_p.lower
def _(b: Any, *xs: Any, dimension: int) -> Any:
    return b.concatenate(xs, dimension)


def concatenate(operands: Any, dimension: int) -> Any:
    """`operands` one after another along `dimension`; other extents are equal."""
    operands = list(operands)
    if not operands:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    if len(operands) == 1 and isinstance(operands[0], Array):
        return operands[0]
    return concatenate_p.bind(*operands, dimension=operator.index(dimension))


# --- stack, unstack -----------------------------------------------------------------------------

stack_p = declare("stack", linear=True)


@stack_p.abstract
def _(*avals: ShapedArray, axis: int) -> ShapedArray:
    first = avals[0]
    if len({a.ndim for a in avals}) > 1:
        raise ValueError(
            f"Cannot stack arrays with different numbers of dimensions: got {_shapes(avals)}."
        )
    if any(a.shape != first.shape for a in avals):
        raise ValueError(f"Cannot stack arrays with different shapes: got {_shapes(avals)}.")
    kit.check_same_dtypes("stack", avals)
    shape = (*first.shape[:axis], len(avals), *first.shape[axis:])
    return shaped_array(shape, first.dtype, _all_weak(avals))


@stack_p.eager
def _(*xs: np.ndarray, axis: int) -> np.ndarray:
    return np.stack(xs, axis)


@stack_p.lower
def _(b: Any, *xs: Any, axis: int) -> Any:
    shape = xs[0].shape
    row = (*shape[:axis], 1, *shape[axis:])
    return b.concatenate([b.reshape(x, row) for x in xs], axis)


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """`operands`, of one shape, along a new axis."""
    operands = list(operands)
    if not operands:
        raise IndexError("stack requires at least one operand")
    axis = canonical_axis(axis, len(shape_of(operands[0])) + 1)
    return stack_p.bind(*operands, axis=axis)


unstack_p = declare("unstack", multiple_results=True, linear=True)


@unstack_p.abstract
def _(x: ShapedArray, *, axis: int) -> list[ShapedArray]:
    part = x.update(shape=x.shape[:axis] + x.shape[axis + 1 :])
    return [part] * x.shape[axis]


@unstack_p.eager
def _(x: np.ndarray, *, axis: int) -> list[np.ndarray]:
    return list(np.moveaxis(x, axis, 0))


@unstack_p.lower
def _(b: Any, x: Any, *, axis: int) -> list[Any]:
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    parts = _split_nodes(b, x, (1,) * x.shape[axis], axis)
    return [b.reshape(part, shape) for part in parts]


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of `x` along `axis`, without that axis."""
    return tuple(unstack_p.bind(x, axis=canonical_axis(axis, len(shape_of(x)))))


# --- split ------------------------------------------------------------------------------------

split_p = declare("split", multiple_results=True, linear=True)


@split_p.abstract
def _(x: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> list[ShapedArray]:
    if any(n < 0 for n in sizes):
        raise ValueError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    if sum(sizes) != x.shape[axis]:
        raise ValueError(
            f"Sum of sizes {sum(sizes)} must be equal to dimension {axis} of the operand shape "
            f"{list(x.shape)}"
        )
    head, tail = x.shape[:axis], x.shape[axis + 1 :]
    return [x.update(shape=(*head, int(n), *tail)) for n in sizes]


@split_p.eager
def _(x: np.ndarray, *, sizes: tuple[int, ...], axis: int) -> list[np.ndarray]:
    return np.split(x, np.cumsum(sizes[:-1]), axis) if sizes else []


def _split_nodes(b: Any, x: Any, sizes: Sequence[int], axis: int) -> list[Any]:
    parts: list[Any] = []
    start = 0
    for n in sizes:
        low, high = [0] * len(x.shape), list(x.shape)
        low[axis], high[axis] = start, start + int(n)
        parts.append(b.slice(x, tuple(low), tuple(high), (1,) * len(x.shape)))
        start += int(n)
    return parts


@split_p.lower
def _(b: Any, x: Any, *, sizes: tuple[int, ...], axis: int) -> list[Any]:
    return _split_nodes(b, x, sizes, axis)


def split(operand: Any, sizes: Sequence[int], axis: int = 0) -> list[Any]:
    """`operand` cut along `axis` into consecutive parts of extents `sizes`."""
    axis = canonical_axis(axis, len(shape_of(operand)))
    return split_p.bind(operand, sizes=tuple(sizes), axis=axis)


# --- tile -------------------------------------------------------------------------------------

tile_p = declare("tile", linear=True)


@tile_p.abstract
def _(x: ShapedArray, *, reps: tuple[int, ...]) -> ShapedArray:
    if len(reps) != x.ndim:
        raise TypeError(
            "reps length must be equal to the ndim of x, got "
            f"len(reps)={len(reps)} and x.ndim={x.ndim}."
        )
    if any(r < 0 for r in reps):
        raise TypeError(f"tile reps must all be nonnegative, got {reps}.")
    return x.update(shape=tuple([n * r for n, r in zip(x.shape, reps, strict=True)]))


@tile_p.eager
def _(x: np.ndarray, *, reps: tuple[int, ...]) -> np.ndarray:
    return np.tile(x, reps)


@tile_p.lower
def _(b: Any, x: Any, *, reps: tuple[int, ...]) -> Any:
    wide = tuple(k for n, r in zip(x.shape, reps, strict=True) for k in (r, n))
    spread = b.broadcast(x, wide, tuple(range(1, len(wide), 2)))
    return b.reshape(spread, tuple(n * r for n, r in zip(x.shape, reps, strict=True)))


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """`operand` repeated `reps[k]` times along each axis k."""
    return tile_p.bind(operand, reps=tuple([operator.index(r) for r in reps]))


# --- pad --------------------------------------------------------------------------------------

pad_p = declare("pad", linear=True)


@pad_p.abstract
def _(x: ShapedArray, value: ShapedArray, *, padding_config: Any) -> ShapedArray:
    if value.shape:
        raise ValueError(
            f"padding_value must be a scalar; got np.shape(padding_value)={value.shape}"
        )
    if x.dtype != value.dtype:
        raise TypeError(
            "pad operand and padding_value must be same dtype: got "
            f"{dtypes.long_name(x.dtype)} and {dtypes.long_name(value.dtype)}."
        )
    if len(padding_config) != x.ndim:
        raise ValueError(
            "length of padding_config must equal the number of axes of operand, got "
            f"padding_config {padding_config} for operand shape {x.shape}"
        )
    if any(interior < 0 for _, _, interior in padding_config):
        raise ValueError(
            "interior padding in padding_config must be nonnegative, got padding_config "
            f"{padding_config}"
        )
    shape = tuple(
        int(low + high + n + max(n - 1, 0) * interior)
        for n, (low, high, interior) in zip(x.shape, padding_config, strict=True)
    )
    if any(n < 0 for n in shape):
        raise ValueError(
            f"Dimension size after padding is not at least 0, got result shape {shape}, for "
            f"padding_config {padding_config} and operand shape {x.shape}"
        )
    return shaped_array(shape, x.dtype, x.weak_type and value.weak_type)


def _columns(padding_config: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """(low, high, interior), each with an entry per axis."""
    low, high, interior = zip(*padding_config, strict=True) if padding_config else ((), (), ())
    return tuple(map(int, low)), tuple(map(int, high)), tuple(map(int, interior))


@pad_p.eager
def _(x: np.ndarray, value: np.ndarray, *, padding_config: Any) -> np.ndarray:
    return numerics.pad(x, value, *_columns(padding_config))


@pad_p.lower
def _(b: Any, x: Any, value: Any, *, padding_config: Any) -> Any:
    return b.pad(x, value, *_columns(padding_config))


def pad(operand: Any, padding_value: Any, padding_config: Any) -> Any:
    """`operand` with `padding_value` around and between its elements.

    Args:
      operand: any array.
      padding_value: a scalar of the operand's dtype.
      padding_config: for each axis (low, high, interior): how many to put before, after, and
        between neighbours; negative low and high take elements away.
    """
    config = tuple([(low, high, interior) for low, high, interior in padding_config])
    return pad_p.bind(operand, padding_value, padding_config=config)


kit.later(concatenate_p, stack_p, unstack_p, split_p, tile_p, pad_p)

