"""Collectives along named axes that change shapes: `all_gather`, `psum_scatter`.

Like the reductions in `collectives`, they become operations on positional axes when the named axis
is batched. A named axis that remains in a program has size 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.core.pytree import pytrees
from jitney.core.sharding_in_types import varying
from jitney.core.tracing import communication
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.primitives import calculus, rules
from jitney.primitives.array import shape as shapes
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.parallel.collectives import (
    axis_by_axis,
    axis_extent,
    axis_index,
    checked_groups,
    checked_names,
    has_name,
    in_groups,
    is_unreduced,
    lower_collective,
    names_of,
    varying_along,
)
from jitney.transforms.batch import AxisData

if TYPE_CHECKING:
    from collections.abc import Callable

    from jitney.core.typing import Array, AxisName
    from jitney.primitives.parallel.collectives import Groups
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Operand, Param, Value

T = TypeVar("T")

Shape = tuple[int, ...]


def _reshape(x: Value, new_sizes: Sequence[int]) -> Array:
    return shapes.reshape(x, tuple(new_sizes))


def split_axis(x: Value, axis: int, parts: int) -> Array:
    """Splits `axis` of `x` in two; the first has size `parts`."""
    s = rules.shape_of(x)
    return _reshape(x, (*s[:axis], parts, s[axis] // parts, *s[axis + 1 :]))


def merge_axis(x: Value, axis: int) -> Array:
    """Merges `axis` of `x` with the following axis."""
    s = rules.shape_of(x)
    return _reshape(x, (*s[:axis], s[axis] * s[axis + 1], *s[axis + 2 :]))


def _of_extent_one(prim: Primitive, meaning: Callable[..., Shape], name: str) -> None:
    """Sets the eager rule for a named axis of size 1: a change of shape.

    Args:
      prim: the primitive.
      meaning: (shape, **parameters) -> shape of the result.
      name: name of the public function.
    """

    @prim.eager
    def eager_rule(x: np.ndarray, **params: Param) -> np.ndarray:
        _only_one(params["axis_size"], name)
        return x.reshape(meaning(x.shape, **params))


def _only_one(size: int, name: str) -> None:
    if size != 1:
        raise NameError(
            f"{name} over an axis of size {size} that is not in scope: call it within the vmap that "
            "names the axis"
        )


# --- all_gather -----------------------------------------------------------------------------------

all_gather_p = declare("all_gather", linear=True)
all_gather_p.communication(communication.of_collective)


def _gathered(
    shape: Shape, *, all_gather_dimension: int, axis_size: int, tiled: bool, **_: Any
) -> Shape:
    k = all_gather_dimension
    if tiled:
        return (*shape[:k], shape[k] * axis_size, *shape[k + 1 :])
    return (*shape[:k], axis_size, *shape[k:])


@all_gather_p.abstract
def _all_gather_abstract(x: ShapedArray, **params: Param) -> ShapedArray:
    return x.update(shape=_gathered(x.shape, **params))


_of_extent_one(all_gather_p, _gathered, "all_gather")


@all_gather_p.lower
def _all_gather_lower(
    b: Builder, x: Node, *, all_gather_dimension: int, axis_name: tuple[AxisName, ...],
    axis_index_groups: Groups, axis_size: int, tiled: bool,
) -> Node:  # fmt: skip
    k = all_gather_dimension
    if not tiled:
        x = b.reshape(x, (*x.shape[:k], 1, *x.shape[k:]))
    out = lower_collective(b, "all_gather", axis_name, [x], axis_index_groups, dim=k)
    if out.shape[k] != x.shape[k] * axis_size:
        _only_one(axis_size, "all_gather")
    return out


def gather_rows(
    prim: Primitive, x: Value, d: int | None, *, all_gather_dimension: int, tiled: bool,
    **params: object,
) -> tuple[Value, BatchDim]:  # fmt: skip
    """Batches a gather along named axes other than the batched axis.

    Args:
      prim: the primitive of the gather.
      x: the operand.
      d: the batch dimension of `x`, or None.
      all_gather_dimension, tiled, **params: parameters of `prim`.
    """
    k = all_gather_dimension
    moved = k + 1 if d is not None and d <= k else k
    out = prim.bind(x, all_gather_dimension=moved, tiled=tiled, **params)
    return out, None if d is None else d + (not tiled and moved <= d)


@all_gather_p.batch_with_axis
def _all_gather_batch_with_axis(
    axis_data: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    all_gather_dimension: int,
    axis_name: AxisName,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> tuple[Value, BatchDim]:
    (x,), (d,) = args, dims
    k = all_gather_dimension
    if not has_name(axis_data, axis_name):
        return gather_rows(
            all_gather_p, x, d, all_gather_dimension=k, tiled=tiled, axis_name=axis_name,
            axis_size=axis_size, axis_index_groups=axis_index_groups,
        )  # fmt: skip
    if axis_index_groups is not None:
        return in_groups(
            all_gather_p, axis_data, args, dims, all_gather_dimension=k, axis_name=axis_name,
            axis_index_groups=axis_index_groups, axis_size=axis_size, tiled=tiled,
        )  # fmt: skip
    if len(axis_name) > 1:
        return axis_by_axis(lambda part: _gather_each(part, axis_name, k, tiled), axis_data, x, d)
    if d is None:
        s = rules.shape_of(x)
        kept = tuple(i + (i >= k) for i in range(len(s)))
        out = calculus.broadcast_in_dim(
            x, shape=(*s[:k], axis_size, *s[k:]), broadcast_dimensions=kept
        )
    else:
        out = rules.move_axis(x, d, k)
    return merge_axis(out, k) if tiled else out, None


def _all_gather_transpose(
    ct: Value, x: Operand, *, all_gather_dimension: int, **params: object
) -> Value:
    return reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)


rules.deflinear(all_gather_p, _all_gather_transpose)

# Its result is equal on all devices. So is the cotangent, from which each device takes its part.
all_gather_invariant_p = declare("all_gather_invariant", linear=True)
all_gather_invariant_p.communication(communication.of_collective)
all_gather_invariant_p.absent(
    "eager", "lower", why="`shard_map` batches it over its devices, and turns it into `all_gather`"
)


@all_gather_invariant_p.abstract
def _all_gather_invariant_abstract(x: ShapedArray, **params: Param) -> ShapedArray:
    return x.update(shape=_gathered(x.shape, **params))


@all_gather_invariant_p.varying
def _all_gather_invariant_varying(
    avals: Sequence[ShapedArray], params: Mapping[str, Any], result: ShapedArray
) -> AbstractValue:
    return varying.along(result, avals[0].vma.difference(params["axis_name"]))


@all_gather_invariant_p.batch_with_axis
def _all_gather_invariant_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: tuple[AxisName, ...],
    **params: Any,
) -> tuple[Value, BatchDim]:  # fmt: skip
    if not has_name(axis_data, axis_name):
        return gather_rows(all_gather_invariant_p, args[0], dims[0], axis_name=axis_name, **params)
    return all_gather_p.rules["batch_with_axis"](
        axis_data, args, dims, axis_name=axis_name, axis_index_groups=None, **params
    )


def _all_gather_invariant_transpose(
    ct: Array, x: Operand, *, all_gather_dimension: int, axis_name: tuple[AxisName, ...],
    axis_size: int, tiled: bool,
) -> Array:  # fmt: skip
    from jitney.primitives.indexing.dynamic_slice import dynamic_slice_in_dim

    k = all_gather_dimension
    size = rules.shape_of(ct)[k] // axis_size
    own = dynamic_slice_in_dim(varying_along(ct, axis_name), axis_index(axis_name) * size, size, k)
    return own if tiled else shapes.squeeze(own, (k,))


rules.deflinear(all_gather_invariant_p, _all_gather_invariant_transpose)


def all_gather(
    x: T,
    axis_name: AxisName,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> T:
    """Gathers the values of all instances along a named axis into a new positional axis.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      axis_index_groups: groups of indices that gather among themselves; not supported for axes of
        `vmap`.
      axis: the position of the new axis.
      tiled: whether to concatenate the values along the existing `axis` instead.
      to: the type of the result along the axis, "varying" by default. Within
        `shard_map(..., check_vma=True)` it can also be "invarying", equal on all devices, or
        "reduced", equal on all devices with an unreduced cotangent, whose sum is scattered to the
        devices.

    Raises:
      NameError: if a name is not in scope.
      ValueError: if `to` is not one of these; if it is "reduced" outside of such a `shard_map`, or
        for a value whose type does not vary along the axis; or if `axis_index_groups` are not a
        partition of the axis, or are combined with another `to` than "varying".

    Example:
      >>> jax.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(jnp.array([1, 2]))
      Array([[1, 2],
             [1, 2]], dtype=int32)
    """
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(
            f"all_gather: `to` must be 'varying', 'invarying' or 'reduced', got {to!r}"
        )
    names = names_of(axis_name, "all_gather")
    is_checked = bool(checked_names(names))
    if to == "reduced" and not is_checked:
        raise ValueError(
            f"all_gather along {names}: to='reduced' needs a shard_map with check_vma=True, because "
            "types are not tracked otherwise"
        )
    is_same = to != "varying" and is_checked
    if is_same and axis_index_groups is not None:
        raise ValueError(
            "all_gather: with axis_index_groups, results vary between groups, so `to` must be "
            f"'varying', but is {to!r}"
        )
    size = math.prod([axis_extent(name, "all_gather") for name in names])
    groups = checked_groups(axis_index_groups, size)

    def one(leaf: Value) -> Array:
        value = as_value(leaf)
        rank = len(value.shape) + (not tiled)
        k = axis % rank if -rank <= axis < rank else axis
        if is_same:
            known = value if to == "reduced" else varying_along(value, names)
            gather = calculus.all_gather_reduced if to == "reduced" else all_gather_invariant_p.bind
            return gather(
                known, all_gather_dimension=k, axis_name=names, axis_size=size, tiled=tiled
            )
        return all_gather_p.bind(
            varying_along(value, names), all_gather_dimension=k, axis_name=names,
            axis_size=size if groups is None else len(groups[0]),
            axis_index_groups=groups, tiled=tiled,
        )  # fmt: skip

    return pytrees.tree_map(one, x)


def _gather_each(x: Value, names: Sequence[AxisName], k: int, tiled: bool) -> Value:
    """Gathers along several axes, one after another; the first axis is the major one."""
    for i, name in enumerate(reversed(names)):
        x = all_gather_p.bind(
            x, all_gather_dimension=k, axis_name=(name,), axis_size=axis_extent(name, "all_gather"),
            axis_index_groups=None, tiled=tiled,
        )  # fmt: skip
        if i and not tiled:
            x = merge_axis(x, k)
    return x


# --- psum_scatter ---------------------------------------------------------------------------------

reduce_scatter_p = declare("reduce_scatter", linear=True)
reduce_scatter_p.communication(communication.of_collective)


def _scattered(
    shape: Shape, *, scatter_dimension: int, axis_size: int, tiled: bool,
    function: str = "psum_scatter", **_: Any,
) -> Shape:  # fmt: skip
    k = scatter_dimension
    n = shape[k]
    if tiled:
        if n % axis_size:
            raise ValueError(
                f"{function}: with tiled=True, the number of participants, {axis_size}, must divide "
                f"the size of axis {k} of an operand of shape {shape}"
            )
        return (*shape[:k], n // axis_size, *shape[k + 1 :])
    if n != axis_size:
        raise ValueError(
            f"{function}: the size of axis {k} of an operand of shape {shape} must be the number of "
            f"participants, {axis_size}; with tiled=True, it can be a multiple of that number"
        )
    return (*shape[:k], *shape[k + 1 :])


@reduce_scatter_p.abstract
def _reduce_scatter_abstract(x: ShapedArray, **params: Param) -> ShapedArray:
    return x.update(shape=_scattered(x.shape, **params))


_of_extent_one(reduce_scatter_p, _scattered, "psum_scatter")


@reduce_scatter_p.lower
def _reduce_scatter_lower(
    b: Builder, x: Node, *, scatter_dimension: int, axis_name: tuple[AxisName, ...],
    axis_index_groups: Groups, axis_size: int, tiled: bool,
) -> Node:  # fmt: skip
    k = scatter_dimension
    out = lower_collective(b, "reduce_scatter", axis_name, [x], axis_index_groups, fn="add", dim=k)
    if out.shape[k] * axis_size != x.shape[k]:
        _only_one(axis_size, "psum_scatter")
    return out if tiled else b.reshape(out, (*out.shape[:k], *out.shape[k + 1 :]))


def scatter_rows(
    prim: Primitive, x: Value, d: int | None, *, scatter_dimension: int, tiled: bool,
    **params: object,
) -> tuple[Value, BatchDim]:  # fmt: skip
    """Batches a scatter along named axes other than the batched axis.

    Args:
      prim: the primitive of the scatter.
      x: the operand.
      d: the batch dimension of `x`, or None.
      scatter_dimension, tiled, **params: parameters of `prim`.
    """
    k = scatter_dimension + (d is not None and d <= scatter_dimension)
    out = prim.bind(x, scatter_dimension=k, tiled=tiled, **params)
    return out, None if d is None else d - (not tiled and k < d)


@reduce_scatter_p.batch_with_axis
def _reduce_scatter_batch_with_axis(
    axis_data: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    scatter_dimension: int,
    axis_name: AxisName,
    axis_index_groups: Groups,
    axis_size: int,
    tiled: bool,
) -> tuple[Value, BatchDim]:
    (x,), (d,) = args, dims
    k = scatter_dimension
    if not has_name(axis_data, axis_name):
        return scatter_rows(
            reduce_scatter_p, x, d, scatter_dimension=k, tiled=tiled, axis_name=axis_name,
            axis_size=axis_size, axis_index_groups=axis_index_groups,
        )  # fmt: skip
    if axis_index_groups is not None:
        return in_groups(
            reduce_scatter_p, axis_data, args, dims, scatter_dimension=k, axis_name=axis_name,
            axis_index_groups=axis_index_groups, axis_size=axis_size, tiled=tiled,
        )  # fmt: skip
    if len(axis_name) > 1:
        return axis_by_axis(lambda part: _scatter_each(part, axis_name, k, tiled), axis_data, x, d)
    if d is None:
        out = calculus.mul(x, rules.const(x, axis_size))
    else:
        out = calculus.reduce_sum(x, axes=(d,))
    return split_axis(out, k, axis_size) if tiled else out, k


def _reduce_scatter_transpose(
    ct: Value, x: Operand, *, scatter_dimension: int, **params: object
) -> Value:
    return all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)


rules.deflinear(reduce_scatter_p, _reduce_scatter_transpose)


def psum_scatter(
    x: T,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> T:
    """Computes the sum over a named axis, and scatters it: each instance receives one part.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      scatter_dimension: the positional axis to scatter; unless `tiled`, its size must be that of
        the named axis.
      axis_index_groups: groups of indices that sum and scatter among themselves; not supported for
        axes of `vmap`.
      tiled: whether to keep the positional axis, with its size divided by that of the named axis.

    Raises:
      NameError: if a name is not in scope.
      ValueError: if sizes are incompatible.
    """
    return scattered_by(
        "psum_scatter", reduce_scatter_p, x, axis_name, scatter_dimension, axis_index_groups, tiled
    )


def scattered_by(
    function: str, prim: Primitive, x: T, axis_name: AxisName, scatter_dimension: int,
    axis_index_groups: Sequence[Sequence[int]] | None, tiled: bool,
) -> T:  # fmt: skip
    """Binds `prim` to the arrays in `x`, with the parameters of `psum_scatter`.

    Args:
      function: the name of the public function, for messages.
      prim: `reduce_scatter_p`, or a primitive with its parameters.
      x, axis_name, scatter_dimension, axis_index_groups, tiled: as in `psum_scatter`.
    """
    names = names_of(axis_name, function)
    size = math.prod([axis_extent(name, function) for name in names])
    groups = checked_groups(axis_index_groups, size)
    if groups is not None:
        size = len(groups[0])

    def one(leaf: Value) -> Array:
        value = as_value(leaf)
        k = canonical_axis(scatter_dimension, len(value.shape))
        _scattered(value.shape, scatter_dimension=k, axis_size=size, tiled=tiled, function=function)
        if is_unreduced(value, names, function):
            if prim is not reduce_scatter_p:
                raise NotImplementedError(
                    f"{function} does not support unreduced arrays; use psum_scatter"
                )
            return calculus.unreduced_reduce_scatter(
                value, scatter_dimension=k, axis_name=names, axis_size=size, tiled=tiled
            )
        return prim.bind(
            varying_along(value, names), scatter_dimension=k, axis_name=names, axis_size=size,
            axis_index_groups=groups, tiled=tiled,
        )  # fmt: skip

    return pytrees.tree_map(one, x)


def _scatter_each(x: Value, names: Sequence[AxisName], k: int, tiled: bool) -> Value:
    """Scatters along several axes one after another; the first axis is the major one."""
    for i, name in enumerate(names):
        size = axis_extent(name, "psum_scatter")
        if i < len(names) - 1 and not tiled:
            x = split_axis(x, k, size)
        x = reduce_scatter_p.bind(
            x, scatter_dimension=k, axis_name=(name,), axis_size=size, axis_index_groups=None,
            tiled=tiled,
        )  # fmt: skip
    return x
