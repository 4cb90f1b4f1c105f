"""`all_to_all`, which exchanges a named axis for a positional one, and `pswapaxes`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.core.pytree import pytrees
from jitney.core.tracing import communication
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray
from jitney.primitives import rules
from jitney.primitives.array import broadcasting, shape as shapes
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.parallel.all_gather import merge_axis, split_axis as split_along
from jitney.primitives.parallel.collectives import (
    axis_by_axis,
    axis_extent,
    checked_groups,
    has_name,
    in_groups,
    lower_collective,
    names_of,
    varying_along,
)
from jitney.transforms.batch import AxisData

if TYPE_CHECKING:
    from jitney.core.typing import Array, AxisName
    from jitney.primitives.parallel.collectives import Groups
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Operand, Param, Value

T = TypeVar("T")

all_to_all_p = declare("all_to_all", linear=True)
all_to_all_p.communication(communication.of_collective)


def _names(axis_name: AxisName) -> tuple[AxisName, ...]:
    """Returns one or more axis names as a tuple."""
    several: Any = axis_name
    return (*several,) if isinstance(axis_name, tuple) else (axis_name,)


@all_to_all_p.abstract
def _all_to_all_abstract(
    x: ShapedArray, *, split_axis: int, concat_axis: int, axis_name: AxisName,
    axis_index_groups: Groups = None, **_: object,
) -> ShapedArray:  # fmt: skip
    names = _names(axis_name)
    n = math.prod([axis_extent(name, "all_to_all") for name in names])
    if axis_index_groups is not None:
        n = len(axis_index_groups[0])
    extents = list(x.shape)
    if extents[split_axis] % n:
        raise ValueError(
            f"all_to_all: the size of {split_axis=} must be a multiple of {n}, because each of the "
            f"{n} participants along {axis_name!r} receives a part, but is {extents[split_axis]}"
        )
    extents[split_axis] //= n
    extents[concat_axis] *= n
    return x.update(shape=tuple(extents))


# Its type depends on the size of the axis in scope, so it is not cached.
all_to_all_p.is_memoized = False


@all_to_all_p.eager
def _all_to_all_eager(x: np.ndarray, **_: object) -> np.ndarray:
    return x


@all_to_all_p.lower
def _all_to_all_lower(
    b: Builder, x: Node, *, split_axis: int, concat_axis: int, axis_name: AxisName,
    axis_index_groups: Groups, **_: Any,
) -> Node:  # fmt: skip
    names = _names(axis_name)
    return lower_collective(
        b, "all_to_all", names, [x], axis_index_groups,
        split_dim=split_axis, concat_dim=concat_axis,
    )  # fmt: skip


@all_to_all_p.batch_with_axis
def _all_to_all_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, split_axis: int, concat_axis: int,
    axis_name: AxisName, **params: Param,
) -> tuple[Value, BatchDim]:  # fmt: skip
    (x,), (d,) = args, dims
    s, c = split_axis, concat_axis
    names = _names(axis_name)
    if not has_name(axis_data, names):
        if d is not None:
            s, c = s + (d <= s), c + (d <= c)
        out = all_to_all_p.bind(x, split_axis=s, concat_axis=c, axis_name=axis_name, **params)
        return out, d
    if params["axis_index_groups"] is not None:
        return in_groups(
            all_to_all_p, axis_data, args, dims, split_axis=s, concat_axis=c, axis_name=axis_name,
            **params,
        )  # fmt: skip
    if isinstance(axis_name, tuple):
        return axis_by_axis(lambda part: _tiled_over_several(part, names, s, c), axis_data, x, d)
    n = axis_data.size
    if d is None:
        x, d = rules.to_front(x, None, n), 0
    if s == c:
        out = split_along(rules.move_axis(x, d, 0), s + 1, n)
        order = list(range(len(rules.shape_of(out))))
        order[0], order[s + 1] = s + 1, 0
        return merge_axis(shapes.transpose(out, tuple(order)), s + 1), 0
    out = merge_axis(rules.move_axis(x, d, c), c)
    return split_along(out, s, n), s


def _all_to_all_transpose(
    ct: Value, x: Operand, *, split_axis: int, concat_axis: int, **params: object
) -> Value:
    return all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)


rules.deflinear(all_to_all_p, _all_to_all_transpose)


def all_to_all(
    x: T,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
    tiled: bool = False,
) -> T:
    """Exchanges a named axis for a positional one.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      split_axis: the positional axis to scatter over the instances.
      concat_axis: the positional axis along which the parts from all instances are arranged.
      axis_index_groups: groups of indices that exchange parts among themselves; not supported for
        axes of `vmap`.
      tiled: whether to keep both positional axes; the named axis then divides the size of the first
        and multiplies the size of the second. Otherwise, `split_axis` must have the size of the
        named axis and is removed, and a new axis is inserted at `concat_axis`.

    Raises:
      NameError: if the name is not in scope.
      ValueError: if sizes are incompatible.
    """
    names = names_of(axis_name, "all_to_all")
    name = names[0] if len(names) == 1 else names
    size = math.prod([axis_extent(own, "all_to_all") for own in names])
    groups = checked_groups(axis_index_groups, size)
    if groups is not None:
        size = len(groups[0])

    def one(leaf: Value) -> Array:
        value = varying_along(as_value(leaf), names)
        s = canonical_axis(split_axis, len(value.shape))
        c = canonical_axis(concat_axis, len(value.shape))
        drop = None
        if not tiled:
            if value.shape[s] != size:
                raise ValueError(
                    f"all_to_all: axis {s} of an operand of shape {value.shape} is split among "
                    f"the {size} participants, so its size must be {size}, or a multiple of it with "
                    "tiled=True"
                )
            if s < c:
                c += 1
                value, drop = broadcasting.expand_dims(value, (c,)), s
            elif s > c:
                s += 1
                value, drop = broadcasting.expand_dims(value, (c,)), s
        elif value.shape[s] % size:
            raise ValueError(
                f"all_to_all: axis {s} of an operand of shape {value.shape} is split among the {size} "
                f"participants, so its size must be a multiple of {size}"
            )
        out = all_to_all_p.bind(
            value, split_axis=s, concat_axis=c, axis_name=name, axis_index_groups=groups,
            tiled=tiled,
        )  # fmt: skip
        return out if drop is None else shapes.squeeze(out, (drop,))

    return pytrees.tree_map(one, x)


def _tiled_over_several(
    x: Array, names: Sequence[AxisName], split_axis: int, concat_axis: int
) -> Array:
    """Exchanges tiles along several axes, axis by axis; the first axis is the major one."""
    s = canonical_axis(split_axis, len(x.shape))
    c = canonical_axis(concat_axis, len(x.shape))
    sizes = [axis_extent(name, "all_to_all") for name in names]
    tile = x.shape[s] // max(math.prod(sizes), 1)
    out = shapes.reshape(x, (*x.shape[:s], *sizes, tile, *x.shape[s + 1 :]))
    for i, name in enumerate(names):
        out = all_to_all(out, name, s + i, s + i)
    for _ in names[1:]:
        out = merge_axis(out, s)  # merges the axes of the sources into one, at `s`
    return merge_axis(rules.move_axis(out, s, c), c)


def pswapaxes(
    x: T,
    axis_name: AxisName,
    axis: int,
    *,
    axis_index_groups: Sequence[Sequence[int]] | None = None,
) -> T:
    """Swaps a named axis with the positional `axis` of the same size; see `all_to_all`."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)
