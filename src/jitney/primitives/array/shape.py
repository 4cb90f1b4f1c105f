"""Changes of shape that move no value to another row-major position group: views, mostly.

Broadcasting, reshaping, transposing, squeezing, reversing. Static shapes are tuples of ints.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core import dtypes, explicit, text
from jitney.core.array import Array
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.jaxpr import JaxprEqn
from jitney.core.key_reuse import uses_keys
from jitney.core.primitive import declare
from jitney.primitives import rules, sharding_rules
from jitney.primitives.array.canonical import canonical_axes, canonical_shape
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.elementwise.families import Shape
from jitney.primitives.rules import shape_of as shape_of

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import ArrayLike, ShapeLike
    from jitney.primitives.rule_types import Builder, Node, Primals, Value

# --- broadcast_in_dim -------------------------------------------------------------------------

broadcast_in_dim_p = declare("broadcast_in_dim", linear=True)
broadcast_in_dim_p.sharding(sharding_rules.broadcast_in_dim)


@broadcast_in_dim_p.abstract
def _(
    x: ShapedArray, *, shape: Shape, broadcast_dimensions: tuple[int, ...], sharding: object
) -> ShapedArray:
    dims = broadcast_dimensions
    name = "broadcast_in_dim broadcast_dimensions must"
    if len(dims) != x.ndim:
        raise TypeError(
            f"{name} have length equal to operand ndim; got broadcast_dimensions {dims} for "
            f"operand ndim {x.ndim}."
        )
    if any(n < 0 for n in shape):
        raise TypeError(
            f"broadcast_in_dim shape must have every element be nonnegative, got {shape}."
        )
    if not all(0 <= d < len(shape) for d in dims):
        raise TypeError(
            f"{name} be a subset of output dimensions, got {dims} for operand ndim {x.ndim} and "
            f"shape {shape}."
        )
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name} not name a dimension twice, got {dims}.")
    if any(n not in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True)):
        raise TypeError(
            "broadcast_in_dim operand dimension sizes must either be 1, or be equal to their "
            "corresponding dimensions in the target broadcast shape; got operand of shape "
            f"{x.shape}, target broadcast shape {shape}, broadcast_dimensions {dims} "
        )
    return x.update(shape=shape)


@broadcast_in_dim_p.eager
def _(
    x: np.ndarray, *, shape: Shape, broadcast_dimensions: tuple[int, ...], sharding: object
) -> np.ndarray:
    order = np.argsort(broadcast_dimensions)
    inner = [1] * len(shape)
    for extent, dim in zip(x.shape, broadcast_dimensions, strict=True):
        inner[dim] = extent
    return np.broadcast_to(x.transpose(order).reshape(inner), shape)


@broadcast_in_dim_p.lower
def _(
    b: Builder, x: Node, *, shape: Shape, broadcast_dimensions: tuple[int, ...], sharding: object
) -> Any:
    dims = tuple(int(d) for d in broadcast_dimensions)
    if list(dims) != sorted(dims):  # the tensor IR wants them increasing
        order = tuple(int(k) for k in np.argsort(dims))
        x, dims = b.transpose(x, order), tuple(sorted(dims))
    return b.broadcast(x, tuple(shape), dims)


def broadcast_in_dim(
    operand: ArrayLike,
    shape: ShapeLike,
    broadcast_dimensions: Sequence[int],
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """`operand` repeated to `shape`; its axis k becomes axis `broadcast_dimensions[k]`.

    Args:
      operand: array or scalar.
      shape: extents of the result.
      broadcast_dimensions: for each axis of `operand`, the axis of the result, ascending. Extents are
        equal there, or the operand's is 1.
      out_sharding: how the result lies on the mesh in force.

    Raises:
      TypeError, ValueError: if extents or dimensions do not fit.

    Example:
      >>> lax.broadcast_in_dim(jnp.array([1, 2]), shape=(2, 3), broadcast_dimensions=(0,))
      Array([[1, 1, 1],
             [2, 2, 2]], dtype=int32)
    """
    shape = canonical_shape(shape)
    dims = tuple(broadcast_dimensions)
    if (
        isinstance(operand, Array)
        and operand.shape == shape
        and dims == tuple(range(len(shape)))
        and out_sharding is None
    ):
        return operand
    return broadcast_in_dim_p.bind(
        operand, shape=shape, broadcast_dimensions=dims, sharding=out_sharding
    )


def broadcast(
    operand: ArrayLike, sizes: Sequence[int], *, out_sharding: ShardingLike | None = None
) -> Array:
    """`operand` with new leading axes of extents `sizes`.

    Args:
      operand: array or scalar.
      sizes: extents of the new axes.
      out_sharding: how the result lies on the mesh in force.

    Returns: array of shape [*sizes, *operand.shape].

    Example:
      >>> lax.broadcast(jnp.array([1, 2]), (3,))
      Array([[1, 2],
             [1, 2],
             [1, 2]], dtype=int32)
    """
    sizes = canonical_shape(sizes)
    shape = shape_of(operand)
    if not sizes:
        return operand if isinstance(operand, Array) else as_value(operand)
    dims = tuple(range(len(sizes), len(sizes) + len(shape)))
    return broadcast_in_dim(operand, (*sizes, *shape), dims, out_sharding=out_sharding)


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """`x` with leading axes of extent 1, up to `rank` axes.

    Args:
      x: array; it keeps its dtype.
      rank: number of axes of the result; an `x` of more axes stays as it is.

    Example:
      >>> lax.broadcast_to_rank(jnp.ones((2, 3)), 4).shape
      (1, 1, 2, 3)
    """
    shape = shape_of(x)
    if len(shape) >= rank:
        return as_value(x)
    new = rank - len(shape)
    return broadcast_in_dim(x, (1,) * new + shape, tuple(range(new, rank)))


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """`arr` broadcast to the shape of `like_arr`, as NumPy does.

    Args:
      arr: array; it keeps its dtype.
      like_arr: array of at least as many axes, whose shape the result has; on a mesh with Explicit axes
        the result lies as it does.

    Raises:
      ValueError: if the shapes do not go together, or `arr` is divided along other axes of a mesh.

    Example:
      >>> lax.broadcast_like(jnp.ones(3), jnp.zeros((2, 3))).shape
      (2, 3)
    """
    shape, place = shape_of(like_arr), explicit.sharding_of(rules.aval_of(like_arr))
    if place is None:
        return broadcast_to(arr, shape)
    sharding_rules.check_broadcast(rules.aval_of(arr), rules.aval_of(like_arr), place)
    return broadcast_to(arr, shape, out_sharding=place)


def broadcast_to(x: Value, shape: Shape, *, out_sharding: ShardingLike | None = None) -> Any:
    """`x` broadcast to `shape` as NumPy does; `x` itself if it has that shape, and is not moved."""
    old = shape_of(x)
    if old == shape and out_sharding is None:
        return as_value(x)
    new = len(shape) - len(old)
    fits = new >= 0 and all(n in (1, m) for n, m in zip(old, shape[new:], strict=True))
    if not fits:
        aval = get_aval(x)
        asked = aval.update(shape=shape)
        raise ValueError(
            f"Incompatible types for broadcasting: input type={aval.str_short()} and requested "
            f"type={asked.str_short()}"
        )
    return broadcast_in_dim(x, shape, tuple(range(new, len(shape))), out_sharding=out_sharding)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape that operands of `shapes` are broadcast to together.

    Raises:
      ValueError: if they do not go together.

    Example:
      >>> lax.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    if len(shapes) == 1:
        return canonical_shape(shapes[0])
    rank = max((len(s) for s in shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for k, n in enumerate(shape, start=rank - len(shape)):
            if n != 1:
                if out[k] not in (1, n):
                    raise ValueError(
                        f"Incompatible shapes for broadcasting: shapes={[tuple(s) for s in shapes]}"
                    )
                out[k] = n
    return tuple(out)


# --- reshape ----------------------------------------------------------------------------------

reshape_p = declare("reshape", linear=True)
reshape_p.sharding(sharding_rules.reshape)
reshape_p.checks_place(sharding_rules.reshaped_sum)


@reshape_p.abstract
def _(
    x: ShapedArray, *, new_sizes: Shape, dimensions: tuple[int, ...] | None, sharding: object
) -> ShapedArray:
    if any(n < 0 for n in new_sizes):
        raise TypeError(f"reshape new_sizes must all be positive, got {new_sizes}.")
    if math.prod(new_sizes) != x.size:
        raise TypeError(
            f"cannot reshape array of shape {x.shape} (size {x.size}) into shape {new_sizes} "
            f"(size {math.prod(new_sizes)})"
        )
    if dimensions is not None and sorted(dimensions) != list(range(x.ndim)):
        raise TypeError(
            f"reshape dimensions must be a permutation of operand dimensions, got dimensions "
            f"{dimensions} for operand of shape {x.shape}."
        )
    return x.update(shape=tuple(new_sizes))


@reshape_p.eager
def _(
    x: np.ndarray, *, new_sizes: Shape, dimensions: tuple[int, ...] | None, sharding: object
) -> np.ndarray:
    return (x if dimensions is None else x.transpose(dimensions)).reshape(new_sizes)


@reshape_p.lower
def _(
    b: Builder, x: Node, *, new_sizes: Shape, dimensions: tuple[int, ...] | None, sharding: object
) -> Any:
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
    """The elements of `operand` in shape `new_sizes`, row-major order.

    Args:
      operand: any array.
      new_sizes: extents; their product is the operand's size.
      dimensions: order in which the operand's axes are read, if not their own.
      out_sharding: how the result lies on the mesh in force.

    Raises:
      TypeError: if sizes differ. An extent of -1 is not inferred, unlike in `jnp.reshape`.

    Example:
      >>> lax.reshape(jnp.arange(6), (2, 3))
      Array([[0, 1, 2],
             [3, 4, 5]], dtype=int32)
    """
    new_sizes = canonical_shape(new_sizes)
    dims = None if dimensions is None else tuple(dimensions)
    if dims == tuple(range(len(shape_of(operand)))):
        dims = None
    # A scalar is recorded even so, as JAX does.
    stays = dims is None and new_sizes and out_sharding is None
    if stays and isinstance(operand, Array) and operand.shape == new_sizes:
        return operand
    return reshape_p.bind(operand, new_sizes=new_sizes, dimensions=dims, sharding=out_sharding)


def collapse(operand: Array, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Axes `start_dimension` up to `stop_dimension` joined into one.

    Args:
      operand: any array.
      start_dimension: the first axis to join; negative ones count from the end.
      stop_dimension: the axis after the last one to join; the end by default.

    Example:
      >>> lax.collapse(jnp.zeros((2, 3, 4)), 1).shape
      (2, 12)
    """
    shape = shape_of(operand)
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if stop < start:
        raise ValueError(
            f"Invalid dimension range passed to collapse: {shape}[{start_dimension}:{stop_dimension}]"
        )
    return reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


# --- transpose --------------------------------------------------------------------------------

transpose_p = declare("transpose", linear=True)
transpose_p.sharding(sharding_rules.transpose)


@transpose_p.abstract
def _(x: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    if sorted(permutation) != list(range(x.ndim)):
        raise TypeError(
            "transpose permutation isn't a permutation of operand dimensions, got permutation "
            f"{permutation} for operand shape {x.shape}."
        )
    return x.update(shape=tuple([x.shape[k] for k in permutation]))


@transpose_p.eager
def _(x: np.ndarray, *, permutation: tuple[int, ...]) -> np.ndarray:
    return x.transpose(permutation)


@transpose_p.lower
def _(b: Builder, x: Node, *, permutation: tuple[int, ...]) -> Any:
    return b.transpose(x, tuple(permutation))


def transpose(operand: ArrayLike, permutation: Sequence[int] | np.ndarray) -> Array:
    """Axis k of the result is axis `permutation[k]` of `operand`.

    Args:
      operand: any array.
      permutation: the axes of `operand`, each once.

    Raises:
      TypeError: if it is no permutation of the axes.

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


# --- squeeze, expand_dims -----------------------------------------------------------------------

squeeze_p = declare("squeeze", linear=True)
squeeze_p.sharding(sharding_rules.squeeze)


@squeeze_p.abstract
def _(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    dims = canonical_axes(dimensions, x.ndim)
    if len(set(dims)) != len(dims):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    if any(x.shape[d] != 1 for d in dims):
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={x.shape} and dimensions={dimensions}"
        )
    return x.update(shape=tuple([n for k, n in enumerate(x.shape) if k not in dims]))


@squeeze_p.eager
def _(x: np.ndarray, *, dimensions: tuple[int, ...]) -> np.ndarray:
    return x.squeeze(dimensions)


@squeeze_p.lower
def _(b: Builder, x: Node, *, dimensions: tuple[int, ...]) -> Any:
    dims = canonical_axes(dimensions, len(x.shape))
    return b.reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in dims))


def squeeze(array: ArrayLike, dimensions: int | Sequence[int]) -> Array:
    """`array` without the axes `dimensions`, which have extent 1.

    Args:
      array: any array.
      dimensions: axes; negative ones count from the end.

    Raises:
      ValueError: if an extent is not 1, or an axis is out of bounds.

    Example:
      >>> lax.squeeze(jnp.zeros((1, 3, 1)), (0,)).shape
      (3, 1)
    """
    dims = canonical_axes(dimensions, len(shape_of(array)))
    if not dims and isinstance(array, Array):
        return array
    return squeeze_p.bind(array, dimensions=dims)


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """`array` with axes of extent 1 put in.

    Args:
      array: any array.
      dimensions: positions of the new axes in the result; negative ones count from its end.

    Example:
      >>> lax.expand_dims(jnp.zeros((3, 4)), (0, 2)).shape
      (1, 3, 1, 4)
    """
    shape = shape_of(array)
    rank = len(shape) + len(dimensions)
    dims = canonical_axes(tuple(dimensions), rank)
    if len(set(dims)) != len(dims):
        raise ValueError(f"repeated axis in expand_dims: {dimensions}")
    if not dims and isinstance(array, Array):
        return array
    kept = tuple(k for k in range(rank) if k not in dims)
    new_shape = [1] * rank
    for n, k in zip(shape, kept, strict=True):
        new_shape[k] = n
    return broadcast_in_dim(array, tuple(new_shape), kept)


# --- rev --------------------------------------------------------------------------------------

rev_p = declare("rev", linear=True)


@rev_p.abstract
def _(x: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    if len(set(dimensions)) != len(dimensions):
        raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
    if any(d < 0 for d in dimensions):
        raise TypeError(f"rev dimensions must have every element be nonnegative, got {dimensions}.")
    if any(d >= x.ndim for d in dimensions):
        raise TypeError(
            f"rev dimensions must all be less than operand ndim, got dimensions {dimensions} for "
            f"operand ndim {x.ndim}."
        )
    return x


@rev_p.eager
def _(x: np.ndarray, *, dimensions: tuple[int, ...]) -> np.ndarray:
    return np.flip(x, dimensions)


@rev_p.lower
def _(b: Builder, x: Node, *, dimensions: tuple[int, ...]) -> Any:
    return b.reverse(x, tuple(dimensions))


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """`operand` with the order of elements reversed along `dimensions`.

    Args:
      operand: any array.
      dimensions: axes, each at most once.

    Example:
      >>> lax.rev(jnp.array([[1, 2], [3, 4]]), (1,))
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    return rev_p.bind(operand, dimensions=tuple(dimensions))


def shape_as_value(shape: Sequence[ArrayLike]) -> Array:
    """A shape as an array of integers.

    Example:
      >>> lax.shape_as_value((2, 3))
      Array([2, 3], dtype=int32)
    """
    return as_value(np.asarray(canonical_shape(shape), dtypes.canonicalize_dtype(np.int64)))


def _print_broadcast(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    # The shape is that of the result, which is printed anyway.
    params = eqn.params
    shown: list[tuple[str, Any]] = []
    if params["broadcast_dimensions"]:
        shown.append(("broadcast_dimensions", params["broadcast_dimensions"]))
    if params["sharding"] is not None:
        shown.append(("sharding", params["sharding"]))
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["broadcast_in_dim"] = _print_broadcast

# --- derivatives and batching ---------------------------------------------------------------------


def _broadcast_transpose(
    ct: Value, x: Value, *, shape: Shape, broadcast_dimensions: tuple[int, ...], sharding: object
) -> Any:
    dims = tuple(int(d) for d in broadcast_dimensions)
    old = rules.shape_of(x)
    repeated = {d for n, d in zip(old, dims, strict=True) if n == 1 != shape[d]}
    axes = tuple(k for k in range(len(shape)) if k not in dims or k in repeated)
    out = rules.op("reduce_sum")(ct, axes=axes, out_sharding=None) if axes else ct
    order = tuple(int(k) for k in np.argsort(np.argsort([d for d in dims if d not in repeated])))
    if order != tuple(range(len(order))):
        out = transpose_p.bind(out, permutation=order)
    if repeated:
        out = reshape_p.bind(out, new_sizes=old, dimensions=None, sharding=None)
    return out


rules.deflinear(broadcast_in_dim_p, _broadcast_transpose)


@broadcast_in_dim_p.batch
def _(
    args: Primals,
    dims: Sequence[int],
    *,
    shape: Shape,
    broadcast_dimensions: tuple[int, ...],
    sharding: object,
) -> Any:
    x = rules.move_axis(args[0], dims[0], 0)
    names = explicit.names_along(rules.aval_of(x), 0)
    out = broadcast_in_dim_p.bind(
        x,
        shape=(x.shape[0], *shape),
        broadcast_dimensions=(0, *(np.int64(d + 1) for d in broadcast_dimensions)),
        sharding=explicit.batched(sharding, 0, names),
    )
    return out, 0


def _reshape_transpose(
    ct: Value, x: Value, *, new_sizes: Shape, dimensions: tuple[int, ...] | None, sharding: object
) -> Any:
    if dimensions is None:
        place = explicit.sharding_of(rules.aval_of(x).to_cotangent_aval())
        return reshape(ct, rules.shape_of(x), out_sharding=place)
    old = rules.shape_of(x)
    moved = reshape(ct, tuple(old[k] for k in dimensions))
    return transpose(moved, tuple(int(k) for k in np.argsort(dimensions)))


rules.deflinear(reshape_p, _reshape_transpose)


@reshape_p.batch
def _(
    args: Primals,
    dims: Sequence[int],
    *,
    new_sizes: Shape,
    dimensions: tuple[int, ...] | None,
    sharding: object,
) -> Any:
    x = rules.move_axis(args[0], dims[0], 0)
    if dimensions is not None:
        dimensions = (0, *(d + 1 for d in dimensions))
    sizes = (x.shape[0], *new_sizes)
    sharding = explicit.batched(sharding, 0, explicit.names_along(rules.aval_of(x), 0))
    return reshape_p.bind(x, new_sizes=sizes, dimensions=dimensions, sharding=sharding), 0


rules.deflinear(
    transpose_p,
    lambda ct, x, *, permutation: transpose_p.bind(
        ct, permutation=tuple(int(k) for k in np.argsort(permutation))
    ),
)


@transpose_p.batch
def _(args: Primals, dims: Sequence[int], *, permutation: tuple[int, ...]) -> Any:
    (x,), (d,) = args, dims
    moved = (d, *(k + (k >= d) for k in permutation))
    return transpose_p.bind(x, permutation=moved), 0


def _squeeze_transpose(ct: Value, x: Value, *, dimensions: tuple[int, ...]) -> Any:
    shape = rules.shape_of(x)
    kept = tuple(k for k in range(len(shape)) if k not in dimensions)
    return broadcast_in_dim_p.bind(ct, shape=shape, broadcast_dimensions=kept, sharding=None)


rules.deflinear(squeeze_p, _squeeze_transpose)


@squeeze_p.batch
def _(args: Primals, dims: Sequence[int], *, dimensions: tuple[int, ...]) -> Any:
    x = rules.move_axis(args[0], dims[0], 0)
    return squeeze_p.bind(x, dimensions=tuple(k + 1 for k in dimensions)), 0


rules.deflinear(rev_p, lambda ct, x, *, dimensions: rev_p.bind(ct, dimensions=dimensions))


@rev_p.batch
def _(args: Primals, dims: Sequence[int], *, dimensions: tuple[int, ...]) -> Any:
    (x,), (d,) = args, dims
    return rev_p.bind(x, dimensions=tuple(map(int, rules.shifted_axes(dimensions, d)))), d


for _prim in (broadcast_in_dim_p, reshape_p, squeeze_p):
    uses_keys(_prim, forwards=True)
