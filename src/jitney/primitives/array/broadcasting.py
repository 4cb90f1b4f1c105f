"""Broadcasting: repeating elements along axes and inserting axes of size 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.program import text
from jitney.core.program.jaxpr import JaxprEqn
from jitney.core.program.key_reuse import uses_keys
from jitney.core.program.shape_dtype import ShapeDtypeStruct, abstractify
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.array.canonical import canonical_axes, canonical_shape
from jitney.primitives.array.out_places import out_place
from jitney.primitives.array.shape import reshape_p, transpose_p
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.elementwise.families import Shape
from jitney.primitives.rules import shape_of

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import ArrayLike, ShapeLike
    from jitney.primitives.rule_types import BatchDim, Builder, Node, Operand, Primals, Value

broadcast_in_dim_p = declare("broadcast_in_dim", linear=True)
broadcast_in_dim_p.sharding(sharding_rules.broadcast_in_dim)


@broadcast_in_dim_p.abstract
def _broadcast_in_dim_abstract(
    x: ShapedArray, *, shape: Shape, broadcast_dimensions: tuple[int, ...], sharding: object
) -> ShapedArray:
    dims = broadcast_dimensions
    name = "broadcast_in_dim: broadcast_dimensions"
    if len(dims) != x.ndim:
        raise TypeError(
            f"{name} must have one entry for each of the {x.ndim} axes of the operand, "
            f"of shape {x.shape}, but are {dims}"
        )
    if any(n < 0 for n in shape):
        raise TypeError(
            f"broadcast_in_dim: the sizes in `shape` must not be negative, but it is {tuple(shape)}"
        )
    if not all(0 <= d < len(shape) for d in dims):
        raise TypeError(
            f"{name} must name axes of the result of shape {shape}, which has "
            f"{messages.axes_of_rank(len(shape))}, but are {dims}"
        )
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name} must not name an axis twice, but are {dims}")
    if any(n not in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True)):
        raise TypeError(
            "broadcast_in_dim: each axis of the operand must have size 1 or the size of the "
            f"corresponding axis of the result, but the shapes are {x.shape} and {shape}, with "
            f"broadcast_dimensions {dims}"
        )
    return x.update(shape=shape)


@broadcast_in_dim_p.eager
def _broadcast_in_dim_eager(
    x: np.ndarray, *, shape: Shape, broadcast_dimensions: tuple[int, ...], sharding: object
) -> np.ndarray:
    order = np.argsort(broadcast_dimensions)
    inner = [1] * len(shape)
    for extent, dim in zip(x.shape, broadcast_dimensions, strict=True):
        inner[dim] = extent
    return np.broadcast_to(x.transpose(order).reshape(inner), shape)


@broadcast_in_dim_p.lower
def _broadcast_in_dim_lower(
    b: Builder, x: Node, *, shape: Shape, broadcast_dimensions: tuple[int, ...], sharding: object
) -> Node:
    dims = tuple(int(d) for d in broadcast_dimensions)
    if list(dims) != sorted(dims):  # the tensor IR requires ascending dimensions
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
    """Broadcasts `operand` to `shape`, where axis k becomes axis `broadcast_dimensions[k]`.

    Args:
      operand: array or scalar.
      shape: shape of the result.
      broadcast_dimensions: for each axis of `operand`, the corresponding axis of the result, in
        ascending order. The sizes of both axes must be equal, unless the axis of `operand` has size
        1.
      out_sharding: sharding of the result on the context mesh.

    Raises:
      TypeError, ValueError: if the shapes or the dimensions are incompatible.

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
        operand,
        shape=shape,
        broadcast_dimensions=dims,
        sharding=out_place(out_sharding, "broadcast_in_dim"),
    )


def broadcast(
    operand: ArrayLike, sizes: Sequence[int], *, out_sharding: ShardingLike | None = None
) -> Array:
    """Repeats `operand` along new leading axes of the given sizes.

    Args:
      operand: array or scalar.
      sizes: sizes of the new axes.
      out_sharding: sharding of the result on the context mesh.

    Returns: an array of shape [*sizes, *operand.shape].

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
    """Adds leading axes of size 1 to `x` until it has `rank` axes.

    Args:
      x: array; its dtype is preserved.
      rank: the number of axes of the result. If `x` has more axes, it is returned unchanged.

    Example:
      >>> lax.broadcast_to_rank(jnp.ones((2, 3)), 4).shape
      (1, 1, 2, 3)
    """
    shape = shape_of(x)
    if len(shape) >= rank:
        return as_value(x)
    new = rank - len(shape)
    return broadcast_in_dim(x, (1,) * new + shape, tuple(range(new, rank)))


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike | ShapeDtypeStruct) -> Array:
    """Broadcasts `arr` to the shape of `like_arr`, following NumPy's broadcasting rules.

    Args:
      arr: array; its dtype is preserved.
      like_arr: an array with at least as many axes as `arr`, or the type of such an array. The
        result has the shape of `like_arr` and, on a mesh with Explicit axes, its sharding.

    Raises:
      ValueError: if the shapes are incompatible, or if `arr` is sharded along other mesh axes than
        `like_arr`.

    Example:
      >>> lax.broadcast_like(jnp.ones(3), jnp.zeros((2, 3))).shape
      (2, 3)
    """
    is_type = isinstance(like_arr, ShapeDtypeStruct)
    like = abstractify(like_arr) if is_type else rules.aval_of(like_arr)
    place = explicit.sharding_of(like)
    if place is None:
        return broadcast_to(arr, like.shape)
    sharding_rules.check_broadcast(rules.aval_of(arr), like, place)
    return broadcast_to(arr, like.shape, out_sharding=place)


def broadcast_to(x: Value, shape: Shape, *, out_sharding: ShardingLike | None = None) -> Array:
    """Broadcasts `x` to `shape` according to NumPy's rules.

    Returns `x` itself if it has that shape and `out_sharding` is None.
    """
    old = shape_of(x)
    if old == shape and out_sharding is None:
        return as_value(x)
    new = len(shape) - len(old)
    fits = new >= 0 and all(n in (1, m) for n, m in zip(old, shape[new:], strict=True))
    if not fits:
        aval = get_aval(x)
        target = aval.update(shape=shape)
        raise ValueError(
            f"{aval.str_short()} does not broadcast to {target.str_short()}: "
            + _why_not(old, tuple(shape))
        )
    return broadcast_in_dim(x, shape, tuple(range(new, len(shape))), out_sharding=out_sharding)


def _why_not(old: Shape, new: Shape) -> str:
    if len(old) > len(new):
        return f"its rank, {len(old)}, is greater than {len(new)}"
    met = next(
        (n, m) for n, m in zip(reversed(old), reversed(new), strict=False) if n not in (1, m)
    )
    return f"axes are aligned at the last one, and {met[0]} meets {met[1]}"


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Returns the common shape to which operands of `shapes` broadcast.

    Raises:
      TypeError: if a size is negative.
      ValueError: if the shapes are incompatible.

    Example:
      >>> lax.broadcast_shapes((2, 1), (3,))
      (2, 3)
    """
    if len(shapes) == 1:
        return _of_sizes(canonical_shape(shapes[0]))
    rank = max((len(s) for s in shapes), default=0)
    out = [1] * rank
    for shape in shapes:
        for k, n in enumerate(shape, start=rank - len(shape)):
            if n != 1:
                if out[k] not in (1, n):
                    raise ValueError(
                        f"the shapes {', '.join(str(tuple(s)) for s in shapes)} do not broadcast: "
                        f"axes are aligned at the last one, and {out[k]} meets {n}"
                    )
                out[k] = n
    return _of_sizes(tuple(out))


def _of_sizes(shape: Shape) -> Shape:
    if shape and min(shape) < 0:
        raise TypeError(f"broadcast_shapes: sizes must not be negative, but got the shape {shape}")
    return shape


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Inserts axes of size 1 into the shape of `array`.

    Args:
      array: any array.
      dimensions: positions of the new axes in the result; negative ones count from the end.

    Raises:
      ValueError: if a position is out of bounds or occurs twice.

    Example:
      >>> lax.expand_dims(jnp.zeros((3, 4)), (0, 2)).shape
      (1, 3, 1, 4)
    """
    shape = shape_of(array)
    rank = len(shape) + len(dimensions)
    dims = canonical_axes(tuple(dimensions), rank)
    if len(set(dims)) != len(dims):
        raise ValueError(f"expand_dims: repeated axis in `dimensions`: {dimensions}")
    if not dims and isinstance(array, Array):
        return array
    kept = tuple(k for k in range(rank) if k not in dims)
    new_shape = [1] * rank
    for n, k in zip(shape, kept, strict=True):
        new_shape[k] = n
    return broadcast_in_dim(array, tuple(new_shape), kept)


def _print_broadcast(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    # The shape and the sharding are part of the result's type, which is printed anyway.
    dims = eqn.params["broadcast_dimensions"]
    shown: list[tuple[str, Any]] = [("broadcast_dimensions", dims)] if dims else []
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["broadcast_in_dim"] = _print_broadcast


def _broadcast_transpose(
    ct: Value, x: Operand, *, shape: Shape, broadcast_dimensions: tuple[int, ...], sharding: object
) -> Value:
    dims = tuple(int(d) for d in broadcast_dimensions)
    old = rules.shape_of(x)
    repeated = {d for n, d in zip(old, dims, strict=True) if n == 1 != shape[d]}
    axes = tuple(k for k in range(len(shape)) if k not in dims or k in repeated)
    out = calculus.reduce_sum(ct, axes=axes) if axes else ct
    order = tuple(int(k) for k in np.argsort(np.argsort([d for d in dims if d not in repeated])))
    if order != tuple(range(len(order))):
        out = transpose_p.bind(out, permutation=order)
    if repeated:
        out = reshape_p.bind(out, new_sizes=old, dimensions=None, sharding=None)
    return out


rules.deflinear(broadcast_in_dim_p, _broadcast_transpose)


@broadcast_in_dim_p.batch
def _broadcast_in_dim_batch(
    args: Primals,
    dims: Sequence[int],
    *,
    shape: Shape,
    broadcast_dimensions: tuple[int, ...],
    sharding: object,
) -> tuple[Value, BatchDim]:
    x = rules.move_axis(args[0], dims[0], 0)
    names = explicit.names_along(rules.aval_of(x), 0)
    out = broadcast_in_dim_p.bind(
        x,
        shape=(shape_of(x)[0], *shape),
        broadcast_dimensions=(0, *(np.int64(d + 1) for d in broadcast_dimensions)),
        sharding=explicit.batched(sharding, 0, names),
    )
    return out, 0


uses_keys(broadcast_in_dim_p, forwards=True)
