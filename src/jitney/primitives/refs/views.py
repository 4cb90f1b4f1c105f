"""Views of a referenced array with another shape, order of axes, dtype or memory space.

Like an `NDIndexer`, a view is a step from a reference to elements; steps can be chained. A step
defines the type of its result (`result_type`), how the result is read from an array
(`elements.read`), and how an array changes if the result is replaced (`elements.write`). Views have
no operands; as pytrees, they have no leaves.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.pytree.registry import register_pytree_node_class
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding_in_types import explicit
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.core.util.record import record
from jitney.primitives import sharding_rules
from jitney.primitives.array.shape import reshape, shape_of, transpose
from jitney.primitives.elementwise.convert import bitcast_convert_type
from jitney.primitives.refs.indexer import NDIndexer

if TYPE_CHECKING:
    from jitney.core.types.avals import Shape, ShapedArray
    from jitney.core.typing import Array, DTypeLike, Value


class View:
    """The base class of views."""

    __slots__ = ()

    def tree_flatten(self) -> tuple[tuple[()], View]:
        """Returns (no leaves, the view), for pytrees."""
        return (), self

    @classmethod
    def tree_unflatten(cls, data: View, children: tuple[()]) -> View:
        """Inverts `tree_flatten`."""
        return data

    def result_type(self, inner: ShapedArray) -> ShapedArray:
        """Returns the type of the view of an array of type `inner`."""
        raise NotImplementedError

    def read(self, x: Value) -> Array:
        """Returns the view of an array."""
        raise NotImplementedError

    def write(self, x: Value, elements: Value) -> Array:
        """Returns the array with the shape and dtype of `x` whose view is `elements`."""
        raise NotImplementedError


@register_pytree_node_class
@record(frozen=True)
class ReshapeTransform(View):
    """A view of the elements, in the same order, with another shape.

    Attributes:
      shape: shape of the view.
    """

    shape: Shape

    def result_type(self, inner: ShapedArray) -> ShapedArray:
        return inner.update(shape=self.shape)

    def read(self, x: Value) -> Array:
        return reshape(x, self.shape)

    def write(self, x: Value, elements: Value) -> Array:
        return reshape(elements, shape_of(x))

    def __str__(self) -> str:
        return f"reshape({list(self.shape)})"


@register_pytree_node_class
@record(frozen=True)
class TransposeTransform(View):
    """A view with permuted axes.

    Attributes:
      permutation: axis k of the view is axis `permutation[k]` of the array.
    """

    permutation: tuple[int, ...]

    def result_type(self, inner: ShapedArray) -> ShapedArray:
        return inner.update(shape=tuple([inner.shape[k] for k in self.permutation]))

    def read(self, x: Value) -> Array:
        return transpose(x, self.permutation)

    def write(self, x: Value, elements: Value) -> Array:
        return transpose(elements, [int(k) for k in np.argsort(self.permutation)])

    def __str__(self) -> str:
        return f"transpose({list(self.permutation)})"


@register_pytree_node_class
@record(frozen=True)
class BitcastTransform(View):
    """A view of the bits as another dtype, whose width scales the second-to-last axis.

    Attributes:
      dtype: dtype of the view.
    """

    dtype: np.dtype

    def result_type(self, inner: ShapedArray) -> ShapedArray:
        old, new = dtypes.itemsize_bits(inner.dtype), dtypes.itemsize_bits(self.dtype)
        shape = inner.shape
        if old != new:
            shape = (*shape[:-2], shape[-2] * old // new, shape[-1])
        return inner.update(shape=shape, dtype=self.dtype, weak_type=False)

    def read(self, x: Value) -> Array:
        return _bits(x, self.dtype)

    def write(self, x: Value, elements: Value) -> Array:
        return _bits(elements, get_aval(x).dtype)

    def __str__(self) -> str:
        return f"bitcast({self.dtype})"


@register_pytree_node_class
@record(frozen=True)
class MemorySpaceCastTransform(View):
    """A view of the elements as if they were in another memory.

    Attributes:
      memory_space: the memory space of the view, as given by the user.
    """

    memory_space: Any

    def result_type(self, inner: ShapedArray) -> ShapedArray:
        return inner

    def read(self, x: Any) -> Array:
        return x

    def write(self, x: Value, elements: Any) -> Array:
        return elements

    def __str__(self) -> str:
        return f"memory_space_cast({self.memory_space})"


def _bits(x: Value, dtype: np.dtype) -> Array:
    """Reinterprets bits as another dtype; the second-to-last axis has the parts of elements."""
    old, new = dtypes.itemsize_bits(get_aval(x).dtype), dtypes.itemsize_bits(dtype)
    if old == new:
        return bitcast_convert_type(x, dtype)
    *outer, rows, columns = shape_of(x)
    n = len(outer)
    swapped = (*range(n + 1), n + 2, n + 1)
    if old > new:
        parts = transpose(bitcast_convert_type(x, dtype), swapped)
        return reshape(parts, (*outer, rows * old // new, columns))
    joined = reshape(x, (*outer, rows * old // new, new // old, columns))
    return bitcast_convert_type(transpose(joined, swapped), dtype)


Step = NDIndexer | View


def type_through(inner: ShapedArray, steps: Sequence[Any]) -> ShapedArray:
    """Returns the type of the result of a sequence of steps."""
    for step in steps:
        if isinstance(step, NDIndexer) and step.is_whole:
            continue  # the type stays the same, even if `inner` is a shard within `shard_map`
        place = explicit.sharding_of(inner)
        if place is not None:
            inner = _type_along_axes(inner, place, step)
        else:
            inner = _type_of_step(inner, step)
    return inner


def _type_of_step(inner: ShapedArray, step: Step) -> ShapedArray:
    if isinstance(step, View):
        return step.result_type(inner)
    return inner.update(shape=step.get_indexer_shape())


def _type_along_axes(inner: ShapedArray, place: NamedSharding, step: Step) -> ShapedArray:
    """Returns the result type of a step from an array with the sharding `place`.

    Raises:
      ShardingTypeError: if the sharding of the result is not determined.
    """
    own = explicit.entries_of(place, inner.ndim)
    plain = _type_of_step(explicit.typed(inner, None), step)
    mesh = place.mesh.abstract_mesh
    reading = explicit.Operation("get", mesh, [inner], [own], {}, [])
    entries: explicit.Entries = ((),) * plain.ndim
    if isinstance(step, MemorySpaceCastTransform):
        entries = own
    elif isinstance(step, TransposeTransform):
        entries = tuple([own[k] for k in step.permutation])
    elif isinstance(step, NDIndexer) and step.is_block:
        reading.shapes.append(step.block_shape)
        (of_block,) = sharding_rules.cut(reading)
        entries = tuple([of_block[k] for k in step.slice_axes])
    elif any(own):
        reading.refuse(
            "a reference to a sharded array can only be read completely, in blocks, or with its "
            "axes permuted; read ref[...], and index the result"
        )
    spec = place.spec.update(partitions=entries)
    return plain.update(sharding=NamedSharding(mesh, spec))


# --- views from users' arguments------------------------------------------------------------------


def reshaped(inner: ShapedArray, shape: Sequence[Any]) -> ReshapeTransform:
    """Returns the view in `shape`, in which one size may be -1.

    Raises:
      ValueError: if the numbers of elements differ.
    """
    given: Any = shape
    if len(shape) == 1 and isinstance(shape[0], Sequence):
        given = given[0]
    sizes = tuple([operator.index(n) for n in given])
    if sizes.count(-1) == 1:
        known_size = -math.prod(sizes)
        if known_size > 0 and inner.size % known_size == 0:
            sizes = tuple([inner.size // known_size if n == -1 else n for n in sizes])
    if any(n < 0 for n in sizes) or math.prod(sizes) != inner.size:
        raise ValueError(f"reshape of a Ref: cannot reshape shape {inner.shape} into shape {sizes}")
    return ReshapeTransform(sizes)


def transposed(inner: ShapedArray, permutation: Sequence[int] | None) -> TransposeTransform:
    """Returns the view with permuted axes, which are reversed if `permutation` is None.

    Raises:
      ValueError: if `permutation` is not a permutation of the axes.
    """
    n = inner.ndim
    axes = range(n)[::-1] if permutation is None else [operator.index(k) for k in permutation]
    order = tuple([k + n if -n <= k < 0 else k for k in axes])
    if sorted(order) != list(range(n)):
        raise ValueError(
            f"transpose of a Ref: the permutation must name each of the {n} axes of "
            f"{inner.str_short()} once, but is {tuple(axes)}"
        )
    return TransposeTransform(order)


def bitcast(inner: ShapedArray, dtype: DTypeLike) -> BitcastTransform:
    """Returns the view of the bits as `dtype`.

    Raises:
      NotImplementedError: if the width differs and there are fewer than two axes.
      ValueError: if the number of bits along the second-to-last axis is not a multiple of the new
        width.
    """
    new_dtype: np.dtype = dtypes.canonicalize_dtype(dtype)
    old, new = dtypes.itemsize_bits(inner.dtype), dtypes.itemsize_bits(new_dtype)
    if old != new and inner.ndim < 2:
        raise NotImplementedError(
            "bitcast of a Ref: conversion to another width requires at least two axes, but got "
            f"{inner.str_short()} for {new_dtype}"
        )
    if old != new and inner.shape[-2] * old % new:
        raise ValueError(
            f"bitcast of a Ref: the second-to-last axis of {inner.str_short()} has {inner.shape[-2]} "
            f"elements of {old} bits, not a multiple of the {new} bits of {new_dtype}"
        )
    return BitcastTransform(new_dtype)
