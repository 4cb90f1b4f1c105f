"""Permutations along named axes: `ppermute`, `pshuffle`, `pbroadcast`; see also `all_gather`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from jitney.core.pytree import pytrees
from jitney.core.tracing import communication
from jitney.core.tracing.primitive import declare
from jitney.primitives import calculus, rules
from jitney.primitives.array import broadcasting
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.elementwise.select import select
from jitney.primitives.indexing.gather import index_take
from jitney.primitives.indexing.slice import index_in_dim
from jitney.primitives.parallel.all_gather import all_gather
from jitney.primitives.parallel.collectives import (
    axis_by_axis,
    axis_extent,
    axis_index_p,
    has_name,
    lower_collective,
    names_of,
    varying_along,
)
from jitney.transforms.batch import AxisData

if TYPE_CHECKING:
    from jitney.core.types.avals import ShapedArray
    from jitney.core.typing import Array, AxisName
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Operand, Value

T = TypeVar("T")

# --- ppermute -------------------------------------------------------------------------------------

ppermute_p = declare("ppermute", linear=True)
ppermute_p.communication(communication.of_collective)


@ppermute_p.abstract
def _ppermute_abstract(x: ShapedArray, **_: object) -> ShapedArray:
    return x


@ppermute_p.eager
def _ppermute_eager(
    x: np.ndarray, *, axis_name: AxisName, perm: Sequence[tuple[int, int]]
) -> np.ndarray:
    return x if perm else np.zeros_like(x)  # a single instance, which may receive nothing


@ppermute_p.lower
def _ppermute_lower(
    b: Builder, x: Node, *, axis_name: tuple[AxisName, ...], perm: Sequence[tuple[int, int]]
) -> Node:
    return lower_collective(b, "permute", axis_name, [x], pairs=tuple(perm))


@ppermute_p.batch_with_axis
def _ppermute_batch_with_axis(
    axis_data: AxisData,
    args: Sequence[Value],
    dims: Dims,
    *,
    axis_name: AxisName,
    perm: Sequence[tuple[int, int]],
) -> tuple[Value, BatchDim]:
    (x,), (d,) = args, dims
    if not has_name(axis_data, axis_name):
        return ppermute_p.bind(x, axis_name=axis_name, perm=perm), d
    if len(axis_name) > 1:
        return axis_by_axis(lambda part: _permute_several(part, axis_name, perm), axis_data, x, d)
    size = axis_data.size
    source = np.zeros(size, np.int32)
    reached = np.zeros(size, bool)
    for src, dst in perm:
        source[dst], reached[dst] = src, True
    if d is None:
        if reached.all():
            return x, None
        x = rules.to_front(x, None, size)
    else:
        x = index_take(rules.move_axis(x, d, 0), (source,), (0,))
    if not reached.all():  # instances that receive nothing return zeros
        shape = rules.shape_of(x)
        mask = broadcasting.broadcast_in_dim(as_value(reached), shape, (0,))
        x = select(mask, x, rules.zeros_like(x))
    return x, 0


def _ppermute_transpose(
    ct: Value, x: Operand, *, axis_name: AxisName, perm: Sequence[tuple[int, int]]
) -> Value:
    return ppermute_p.bind(ct, axis_name=axis_name, perm=tuple((dst, src) for src, dst in perm))


rules.deflinear(ppermute_p, _ppermute_transpose)


def checked_pairs(
    perm: Sequence[tuple[int, int]], names: Sequence[AxisName], api_name: str
) -> tuple[tuple[int, int], ...]:
    """Returns `perm` as tuples of ints.

    Raises:
      ValueError: if a source or a destination occurs twice, or is out of range of the axes `names`.
    """
    pairs = tuple([(int(a), int(b)) for a, b in perm])
    size = math.prod([axis_extent(name, api_name) for name in names])
    for side in ([a for a, _ in pairs], [b for _, b in pairs]):
        if len(set(side)) != len(side) or not all([0 <= i < size for i in side]):
            raise ValueError(
                f"{api_name}: sources and destinations must be unique and within the axis of size "
                f"{size}, but the pairs are {pairs}"
            )
    return pairs


def ppermute(x: T, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> T:
    """Sends values from instances to other instances; instances that receive none return zeros.

    Args:
      x: a pytree of arrays.
      axis_name: the name of the axis, or a tuple of names.
      perm: pairs (source, destination) of indices; all sources, and all destinations, are distinct.

    Raises:
      NameError: if the name is not in scope.
      ValueError: if a source or a destination occurs twice or is out of range.

    Example:
      >>> shift = lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])
      >>> jax.vmap(shift, axis_name="i")(jnp.array([5, 6, 7]))
      Array([7, 5, 6], dtype=int32)
    """
    names = names_of(axis_name, "ppermute")
    pairs = checked_pairs(perm, names, "ppermute")

    def one(leaf: Value) -> Array:
        return ppermute_p.bind(varying_along(as_value(leaf), names), axis_name=names, perm=pairs)

    return pytrees.tree_map(one, x)


def _permute_several(
    leaf: Array, names: Sequence[AxisName], pairs: Sequence[tuple[int, int]]
) -> Array:
    """Permutes along several axes as one: gathers all values, and selects the source."""
    from jitney.primitives.indexing.dynamic_slice import dynamic_index_in_dim
    from jitney.primitives.parallel.collectives import axis_index

    size = math.prod([axis_extent(name, "ppermute") for name in names])
    source = np.full(size, size, np.int32)
    for src, dst in pairs:
        source[dst] = src
    gathered = all_gather(leaf, names)
    nothing = broadcasting.broadcast_in_dim(
        rules.zeros_like(index_in_dim(gathered, 0, 0, False)),
        (1, *gathered.shape[1:]),
        tuple(range(1, len(gathered.shape))),
    )
    everything = calculus.concatenate(gathered, nothing, dimension=0)
    own = dynamic_index_in_dim(as_value(source), axis_index(names), 0, False)
    return dynamic_index_in_dim(everything, own, 0, False)


def pshuffle(x: T, axis_name: AxisName, perm: Sequence[int]) -> T:
    """Permutes values along a named axis: instance i gets the value of instance perm[i].

    Raises:
      ValueError: if `perm` is not a permutation.
      NameError: if the name is not in scope.
    """
    if set(perm) != set(range(len(perm))):
        raise ValueError(
            f"pshuffle: `perm` must be a permutation of 0 to {len(perm) - 1}, but is {perm}"
        )
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)), strict=True)))


# --- pbroadcast -----------------------------------------------------------------------------------

pbroadcast_p = declare("pbroadcast", linear=True)
pbroadcast_p.communication(communication.of_collective)


@pbroadcast_p.abstract
def _pbroadcast_abstract(x: ShapedArray, **_: object) -> ShapedArray:
    return x


@pbroadcast_p.eager
def _pbroadcast_eager(x: np.ndarray, **_: object) -> np.ndarray:
    return x


@pbroadcast_p.lower
def _pbroadcast_lower(b: Builder, x: Node, *, axis_name: AxisName, source: int) -> Node:
    return lower_collective(b, "broadcast", [axis_name], [x], source=source)


@pbroadcast_p.batch_with_axis
def _pbroadcast_batch_with_axis(
    axis_data: AxisData, args: Sequence[Value], dims: Dims, *, axis_name: AxisName, source: int
) -> tuple[Value, BatchDim]:
    (x,), (d,) = args, dims
    if axis_data.name is None or axis_name != axis_data.name:
        return pbroadcast_p.bind(x, axis_name=axis_name, source=source), d
    if d is None:
        return x, None
    return index_in_dim(x, source, d, False), None


def _pbroadcast_transpose(ct: Value, x: Operand, *, axis_name: AxisName, source: int) -> Array:
    total = calculus.psum(ct, axes=(axis_name,))
    is_source = calculus.eq(axis_index_p.bind(axis_name=axis_name), np.int32(source))
    return select(is_source, total, rules.zeros_like(total))


rules.deflinear(pbroadcast_p, _pbroadcast_transpose)


def pbroadcast(x: T, axis_name: AxisName, source: int) -> T:
    """Returns the value of the instance with index `source` on all instances.

    Raises:
      NameError: if the name is not in scope.
      ValueError: if `source` is out of range.
    """
    (name,) = names_of(axis_name, "pbroadcast")
    size = axis_extent(name, "pbroadcast")
    if not 0 <= source < size:
        raise ValueError(f"pbroadcast: source {source} is out of bounds for an axis of size {size}")

    def one(leaf: Value) -> Array:
        value = varying_along(as_value(leaf), [name])
        return pbroadcast_p.bind(value, axis_name=name, source=source)

    return pytrees.tree_map(one, x)
