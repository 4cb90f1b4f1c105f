"""Changes of shape that keep all elements: reshape, transpose, squeeze, reverse.

Most of their results are views. Shapes are tuples of ints.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.array import Array
from jitney.core.program.key_reuse import uses_keys
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.array.canonical import canonical_axes, canonical_shape
from jitney.primitives.array.out_places import out_place
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.elementwise.families import Shape
from jitney.primitives.rules import shape_of as shape_of

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import ArrayLike, ShapeLike
    from jitney.primitives.rule_types import BatchDim, Builder, Node, Operand, Primals, Value


# --- reshape ----------------------------------------------------------------------------------

reshape_p = declare("reshape", linear=True)
reshape_p.sharding(sharding_rules.reshape)
reshape_p.checks_place(sharding_rules.reshaped_sum)


@reshape_p.abstract
def _reshape_abstract(
    x: ShapedArray, *, new_sizes: Shape, dimensions: tuple[int, ...] | None, sharding: object
) -> ShapedArray:
    if any(n < 0 for n in new_sizes):
        raise TypeError(f"reshape: sizes must not be negative, but `new_sizes` is {new_sizes}")
    if math.prod(new_sizes) != x.size:
        raise TypeError(
            f"reshape: the number of elements must not change, but shape {x.shape} has {x.size} "
            f"elements, and {new_sizes} has {math.prod(new_sizes)}"
        )
    if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
        raise TypeError(
            f"reshape: `dimensions` must name each axis of the operand, of shape {x.shape}, once, but "
            f"is {dimensions}"
        )
    return x.update(shape=tuple(new_sizes))


@reshape_p.eager
def _reshape_eager(
    x: np.ndarray, *, new_sizes: Shape, dimensions: tuple[int, ...] | None, sharding: object
) -> np.ndarray:
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


@reshape_p.lower
def _reshape_lower(
    b: Builder, x: Node, *, new_sizes: Shape, dimensions: tuple[int, ...] | None, sharding: object
) -> Node:
    if dimensions is not None:
        x = b.transpose(x, tuple(dimensions))
    return b.reshape(x, tuple(new_sizes))


def reshape(
    operand: ArrayLike,
    new_sizes: ShapeLike,
    dimensions: Sequence[int] | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Changes the shape of `operand` to `new_sizes`, keeping the row-major order of its elements.

    Args:
      operand: any array.
      new_sizes: the new shape, which must have as many elements as `operand`.
      dimensions: a permutation of the axes of `operand`, which is transposed accordingly before it
        is reshaped. By default, it is not transposed.
      out_sharding: sharding of the result on the context mesh.

    Raises:
      TypeError: if the numbers of elements differ. A size of -1 is not allowed, unlike in
        `jnp.reshape`.

    Example:
      >>> lax.reshape(jnp.arange(6), (2, 3))
      Array([[0, 1, 2],
             [3, 4, 5]], dtype=int32)
    """
    new_sizes = canonical_shape(new_sizes)
    dims = None if dimensions is None else tuple(dimensions)
    if dims == tuple(range(len(shape_of(operand)))):
        dims = None
    # A reshape of a scalar is recorded even if the shape stays the same, as in JAX.
    stays = dims is None and new_sizes and out_sharding is None
    if stays and isinstance(operand, Array) and operand.shape == new_sizes:
        return operand
    place = out_place(out_sharding, "reshape")
    return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dims, sharding=place)


def collapse(operand: Array, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Merges the axes from `start_dimension` to `stop_dimension` (exclusive) into one axis.

    Args:
      operand: any array.
      start_dimension: the first axis to merge; negative ones count from the end.
      stop_dimension: the axis after the last one to merge; by default, the rank of `operand`.

    Raises:
      ValueError: if `start_dimension` is after `stop_dimension`.

    Example:
      >>> lax.collapse(jnp.zeros((2, 3, 4)), 1).shape
      (2, 12)
    """
    shape = shape_of(operand)
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(
            "lax.collapse: `start_dimension` must not be after `stop_dimension`, but they are "
            f"{start_dimension} and {stop_dimension} for shape {shape}"
        )
    return reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


# --- transpose --------------------------------------------------------------------------------

transpose_p = declare("transpose", linear=True)
transpose_p.sharding(sharding_rules.transpose)


@transpose_p.abstract
def _transpose_abstract(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            f"transpose: `permutation` must name each axis of the operand, of shape {x.shape}, once, "
            f"but is {permutation}"
        )
    return x.update(shape=tuple([x.shape[k] for k in permutation]))


@transpose_p.eager
def _transpose_eager(x: np.ndarray, *, permutation: tuple[int, ...]) -> np.ndarray:
    return x.transpose(permutation)


@transpose_p.lower
def _transpose_lower(b: Builder, x: Node, *, permutation: tuple[int, ...]) -> Node:
    return b.transpose(x, tuple(permutation))


def transpose(operand: ArrayLike, permutation: Sequence[int] | np.ndarray) -> Array:
    """Permutes the axes of `operand`: axis k of the result is axis `permutation[k]` of `operand`.

    Args:
      operand: any array.
      permutation: a permutation of the axes of `operand`.

    Raises:
      TypeError: if `permutation` is not a permutation of the axes.

    Example:
      >>> lax.transpose(jnp.array([[1, 2, 3], [4, 5, 6]]), (1, 0))
      Array([[1, 4],
             [2, 5],
             [3, 6]], dtype=int32)
    """
    permutation = tuple([operator.index(k) for k in permutation])
    if isinstance(operand, Array) and permutation == tuple(range(operand.ndim)):
        return operand
    return transpose_p.bind(operand, permutation=permutation)


# --- squeeze --------------------------------------------------------------------------------------

squeeze_p = declare("squeeze", linear=True)
squeeze_p.sharding(sharding_rules.squeeze)


@squeeze_p.abstract
def _squeeze_abstract(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    dims = canonical_axes(dimensions, x.ndim)
    if len(set(dims)) != len(dims):
        raise ValueError(
            f"squeeze: `dimensions` must be different axes of shape {x.shape}, but are {dimensions}"
        )
    if any(x.shape[d] != 1 for d in dims):
        raise ValueError(
            f"squeeze: only axes of size 1 can be removed, but the axes {dimensions} of shape "
            f"{x.shape} have the sizes {tuple([x.shape[d] for d in dims])}"
        )
    return x.update(shape=tuple([n for k, n in enumerate(x.shape) if k not in dims]))


@squeeze_p.eager
def _squeeze_eager(x: np.ndarray, *, dimensions: tuple[int, ...]) -> np.ndarray:
    return x.squeeze(dimensions)


@squeeze_p.lower
def _squeeze_lower(b: Builder, x: Node, *, dimensions: tuple[int, ...]) -> Node:
    dims = canonical_axes(dimensions, len(x.shape))
    return b.reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in dims))


def squeeze(array: ArrayLike, dimensions: int | Sequence[int]) -> Array:
    """Removes axes of size 1 from `array`.

    Args:
      array: any array.
      dimensions: the axes to remove; negative ones count from the end.

    Raises:
      ValueError: if one of the axes is out of bounds or its size is not 1.

    Example:
      >>> lax.squeeze(jnp.zeros((1, 3, 1)), (0,)).shape
      (3, 1)
    """
    dims = canonical_axes(dimensions, len(shape_of(array)))
    if not dims and isinstance(array, Array):
        return array
    return squeeze_p.bind(array, dimensions=dims)


# --- rev --------------------------------------------------------------------------------------

rev_p = declare("rev", linear=True)


@rev_p.abstract
def _rev_abstract(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev: `dimensions` must be different axes, but is {dimensions}")
    if any(d < 0 for d in dimensions):
        raise TypeError(f"rev: `dimensions` must not be negative, but is {dimensions}")
    if any(d >= x.ndim for d in dimensions):
        raise TypeError(
            f"rev: `dimensions` must be axes of the operand, of shape {x.shape}, but is {dimensions}"
        )
    return x


@rev_p.eager
def _rev_eager(x: np.ndarray, *, dimensions: tuple[int, ...]) -> np.ndarray:
    return np.flip(x, dimensions)


@rev_p.lower
def _rev_lower(b: Builder, x: Node, *, dimensions: tuple[int, ...]) -> Node:
    return b.reverse(x, tuple(dimensions))


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverses the order of elements along `dimensions`.

    Args:
      operand: any array.
      dimensions: the axes to reverse, each at most once; they must not be negative.

    Example:
      >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (1,))
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    return rev_p.bind(operand, dimensions=tuple(dimensions))


def shape_as_value(shape: Sequence[ArrayLike]) -> Array:
    """Returns a shape as an array of integers.

    Example:
      >>> lax.shape_as_value((2, 3))
      Array([2, 3], dtype=int32)
    """
    return as_value(np.asarray(canonical_shape(shape), dtypes.canonicalize_dtype(np.int64)))


# --- derivatives and batching ---------------------------------------------------------------------


def _reshape_transpose(
    ct: Value, x: Operand, *, new_sizes: Shape, dimensions: tuple[int, ...] | None, sharding: object
) -> Value:
    if dimensions is None:
        place = explicit.sharding_of(rules.aval_of(x).to_cotangent_aval())
        return reshape(ct, rules.shape_of(x), out_sharding=place)
    old = rules.shape_of(x)
    moved = reshape(ct, tuple(old[k] for k in dimensions))
    return transpose(moved, tuple(int(k) for k in np.argsort(dimensions)))


rules.deflinear(reshape_p, _reshape_transpose)


@reshape_p.batch
def _reshape_batch(
    args: Primals,
    dims: Sequence[int],
    *,
    new_sizes: Shape,
    dimensions: tuple[int, ...] | None,
    sharding: object,
) -> tuple[Value, BatchDim]:
    x = rules.move_axis(args[0], dims[0], 0)
    if dimensions is not None:
        dimensions = (0, *(d + 1 for d in dimensions))
    sizes = (shape_of(x)[0], *new_sizes)
    sharding = explicit.batched(sharding, 0, explicit.names_along(rules.aval_of(x), 0))
    return reshape_p.bind(x, new_sizes=sizes, dimensions=dimensions, sharding=sharding), 0


def _transpose_transpose(ct: Value, x: Operand, *, permutation: tuple[int, ...]) -> Value:
    return transpose_p.bind(ct, permutation=tuple(int(k) for k in np.argsort(permutation)))


rules.deflinear(transpose_p, _transpose_transpose)


@transpose_p.batch
def _transpose_batch(
    args: Primals, dims: Sequence[int], *, permutation: tuple[int, ...]
) -> tuple[Value, BatchDim]:
    (x,), (d,) = args, dims
    moved = (d, *(k + (k >= d) for k in permutation))
    return transpose_p.bind(x, permutation=moved), 0


def _squeeze_transpose(ct: Value, x: Operand, *, dimensions: tuple[int, ...]) -> Value:
    shape = rules.shape_of(x)
    kept = tuple(k for k in range(len(shape)) if k not in dimensions)
    return calculus.broadcast_in_dim(ct, shape=shape, broadcast_dimensions=kept)


rules.deflinear(squeeze_p, _squeeze_transpose)


@squeeze_p.batch
def _squeeze_batch(
    args: Primals, dims: Sequence[int], *, dimensions: tuple[int, ...]
) -> tuple[Value, BatchDim]:
    x = rules.move_axis(args[0], dims[0], 0)
    return squeeze_p.bind(x, dimensions=tuple(k + 1 for k in dimensions)), 0


rules.deflinear(rev_p, lambda ct, x, **params: rev_p.bind(ct, **params))


@rev_p.batch
def _rev_batch(
    args: Primals, dims: Sequence[int], *, dimensions: tuple[int, ...]
) -> tuple[Value, BatchDim]:
    (x,), (d,) = args, dims
    return rev_p.bind(x, dimensions=tuple(map(int, rules.shifted_axes(dimensions, d)))), d


for _prim in (reshape_p, squeeze_p):
    uses_keys(_prim, forwards=True)
