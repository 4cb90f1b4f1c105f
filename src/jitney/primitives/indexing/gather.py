"""Gather: slices of an array at computed positions.

`GatherDimensionNumbers` define the roles of the axes; the last axis of the indices contains the
index vectors. The mode determines how index vectors that are out of range are treated. Scatter, the
reverse of gather, shares the checks of dimension numbers.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jitney.compiler.dims import GatherDims, IndexMode
from jitney.compiler.reference import indexing, scalar
from jitney.core.messages import messages
from jitney.core.program.key_reuse import uses_keys
from jitney.core.sharding_in_types import sums
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.primitives import rules, sharding_rules
from jitney.primitives.array import concatenation
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_shape
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import binary, compare, convert, families, select
from jitney.primitives.elementwise.families import Shape

if TYPE_CHECKING:
    from jitney.core.types.dtypes import DType
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import Builder, Dims, Node, Primals, Value

Axes = tuple[int, ...]
FillValue = bool | int | float | complex | np.uint32 | None


class GatherDimensionNumbers(NamedTuple):
    """The roles of the axes in a gather.

    Attributes:
      offset_dims: the axes of the result that correspond to axes of a slice; the others correspond
        to axes of the indices.
      collapsed_slice_dims: the axes of the operand that are removed from the result; their slice
        size is 1.
      start_index_map: for each entry of an index vector, the operand axis that the entry indexes.
      operand_batching_dims: the batch axes of the operand, which are paired with axes of the
        indices.
      start_indices_batching_dims: the paired axes of the indices, in the same order.
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


class GatherScatterMode(enum.Enum):
    """How gather and scatter treat indices that are out of range.

    CLIP: indices are clamped to keep the slice in bounds.
    FILL_OR_DROP: gather returns a fill value, scatter drops the update.
    PROMISE_IN_BOUNDS: the caller promises that there are no such indices; if there are, the result
      is unspecified.
    ONE_HOT: gather returns 0, scatter drops the update.
    """

    CLIP = enum.auto()
    FILL_OR_DROP = enum.auto()
    PROMISE_IN_BOUNDS = enum.auto()
    ONE_HOT = enum.auto()

    @staticmethod
    def from_any(mode: object) -> GatherScatterMode:
        """Returns the mode with the given name; None means FILL_OR_DROP.

        Raises:
          ValueError: if there is no such mode.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        member = _MODE_NAMES.get(mode) if mode is None or isinstance(mode, str) else None
        if member is None:
            names = ", ".join(repr(name) for name in _MODE_NAMES)
            raise ValueError(f"gather and scatter: `mode` must be one of {names}, but is {mode!r}")
        return member


_MODE_NAMES: dict[str | None, GatherScatterMode] = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "one_hot": GatherScatterMode.ONE_HOT,
}

MODES: dict[GatherScatterMode, IndexMode] = {
    GatherScatterMode.CLIP: "clip",
    GatherScatterMode.FILL_OR_DROP: "fill",
    GatherScatterMode.ONE_HOT: "fill",
    GatherScatterMode.PROMISE_IN_BOUNDS: "promise_in_bounds",
}
"""Names of the modes in the tensor IR."""

# --- checks shared with scatter -------------------------------------------------------------------


def check_axes(op: str, name: str, axes: Axes, rank: int, *, ordered: bool = True) -> None:
    """Raises TypeError unless `axes` are distinct, less than `rank`, and ascending if `ordered`."""
    if ordered and list(axes) != sorted(axes):
        raise TypeError(f"{op}: `{name}` must be in ascending order, but is {axes}")
    for axis in axes:
        if not 0 <= axis < rank:
            raise TypeError(
                f"{op}: `{name}` must name axes of an array of rank {rank}, which has "
                f"{messages.axes_of_rank(rank)}, but names {axis}"
            )
    if len(set(axes)) != len(axes):
        raise TypeError(f"{op}: `{name}` must name each axis at most once, but is {axes}")


def check_disjoint(op: str, first: tuple[str, Axes], second: tuple[str, Axes]) -> None:
    """Raises TypeError if two (name, axes) pairs have an axis in common."""
    if set(first[1]) & set(second[1]):
        raise TypeError(
            f"{op}: `{first[0]}` and `{second[0]}` must have no axis in common, but are {first[1]} and "
            f"{second[1]}"
        )


def check_index_map(
    op: str, name: str, index_map: Axes, operand: ShapedArray, indices: ShapedArray
) -> None:
    """Raises TypeError unless `index_map` has one operand axis for each entry of index vectors.

    The axes must be distinct.
    """
    leaf = indices.ndim - 1
    if len(index_map) != indices.shape[leaf]:
        raise TypeError(
            f"{op}: the last axis of the indices, of shape {indices.shape}, contains index vectors, "
            f"which must have one entry for each axis in `{name}`, {index_map}, but have "
            f"{indices.shape[leaf]}"
        )
    for k, axis in enumerate(index_map):
        if not 0 <= axis < operand.ndim:
            raise TypeError(
                f"{op}: `{name}` must name axes of the operand, which has "
                f"{messages.axes_of_rank(operand.ndim)}, but names {axis} at position {k}"
            )
    if len(set(index_map)) != len(index_map):
        raise TypeError(f"{op}: `{name}` must name each axis at most once, but is {index_map}")


def check_batching(
    op: str,
    operand: ShapedArray,
    indices: ShapedArray,
    operand_axes: Axes,
    index_axes: Axes,
    index_axes_name: str,
) -> None:
    """Raises TypeError unless the batching axes of operand and indices match."""
    check_axes(op, "operand_batching_dims", operand_axes, operand.ndim)
    check_axes(op, index_axes_name, index_axes, indices.ndim, ordered=False)
    if indices.ndim - 1 in index_axes:
        raise TypeError(
            f"{op}: {index_axes_name} {index_axes} must not name the last axis of the indices, "
            "which contains the index vectors"
        )
    if len(operand_axes) != len(index_axes):
        raise TypeError(
            f"{op}: operand_batching_dims and {index_axes_name} must have the same length, but are "
            f"{operand_axes} and {index_axes}"
        )
    extents = tuple([operand.shape[k] for k in operand_axes])
    index_extents = tuple([indices.shape[k] for k in index_axes])
    if extents != index_extents:
        raise TypeError(
            f"{op}: the operand's axes operand_batching_dims and the indices' axes "
            f"{index_axes_name} must have the same sizes, but have {extents} and {index_extents}"
        )


def check_indices(op: str, indices: ShapedArray) -> None:
    """Raises ValueError unless the indices are integers, and TypeError if their rank is 0."""
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"{op}: the indices must be integers, but are of {indices.dtype}")
    if not indices.ndim:
        raise TypeError(f"{op}: the indices must have an axis of index vectors, but are a scalar")


# --- gather -----------------------------------------------------------------------------------

gather_p = declare("gather")
gather_p.linearity = sums.LOOKUP
gather_p.sharding(sharding_rules.gather)


@gather_p.abstract
def _gather_abstract(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    **_: object,
) -> ShapedArray:
    check_indices("gather", indices)
    offset, collapsed, index_map, batching, index_batching = dimension_numbers
    out_rank = len(offset) + indices.ndim - 1
    if list(offset) != sorted(offset):
        raise TypeError(f"gather: `offset_dims` must be in ascending order, but is {offset}")
    if len(set(offset)) != len(offset):
        raise TypeError(f"gather: `offset_dims` must name each axis at most once, but is {offset}")
    for k, axis in enumerate(offset):
        if not 0 <= axis < out_rank:
            raise TypeError(
                "gather: `offset_dims` must name axes of the result, which has "
                f"{messages.axes_of_rank(out_rank)}, but names {axis} at position {k}"
            )
    check_index_map("gather", "start_index_map", index_map, x, indices)
    check_axes("gather", "collapsed_slice_dims", collapsed, x.ndim)
    named = ("operand_batching_dims", batching)
    check_disjoint("gather", ("collapsed_slice_dims", collapsed), named)
    check_disjoint("gather", ("start_index_map", index_map), named)
    check_batching("gather", x, indices, batching, index_batching, "start_indices_batching_dims")
    # If there are no index vectors, there are no slices, so any slice size is accepted.
    _check_slice_sizes(x, slice_sizes, offset, collapsed, batching, 0 not in indices.shape[:-1])
    dropped = {*collapsed, *batching}
    window = iter([n for k, n in enumerate(slice_sizes) if k not in dropped])
    batch = iter(indices.shape[:-1])
    return x.update(
        shape=tuple([next(window) if k in offset else next(batch) for k in range(out_rank)])
    )


def _check_slice_sizes(
    x: ShapedArray, sizes: Shape, offset: Axes, collapsed: Axes, batching: Axes, bounded: bool
) -> None:
    if len(sizes) != x.ndim:
        raise TypeError(
            f"gather: `slice_sizes` must have one size for each axis of the operand, of shape "
            f"{x.shape}, "
            f"but has {len(sizes)}"
        )
    if len(sizes) != len(offset) + len(collapsed) + len(batching):
        raise TypeError(
            f"gather: each of the {len(sizes)} axes of a slice must either be an axis of the result, "
            f"in offset_dims={offset}, or be dropped, in collapsed_slice_dims={collapsed} or "
            f"operand_batching_dims={batching}"
        )
    for k, (size, extent) in enumerate(zip(sizes, x.shape, strict=True)):
        if not 0 <= size <= (extent if bounded else size):
            bounds = f"between 0 and {extent}, the operand's size along that axis"
            raise TypeError(
                f"gather: slice_sizes[{k}] must be {bounds if bounded else 'at least 0'}, but is {size}"
            )
    for i, k in enumerate(collapsed):
        if sizes[k] != 1:
            raise TypeError(
                "gather: an axis in collapsed_slice_dims must have a slice size of 1, but axis "
                f"{k}, at position {i}, has {sizes[k]}"
            )
    for i, k in enumerate(batching):
        if sizes[k] not in (0, 1):
            raise TypeError(
                "gather: an axis in operand_batching_dims must have a slice size of 0 or 1, but axis "
                f"{k}, at position {i}, has {sizes[k]}"
            )


def _dims(numbers: GatherDimensionNumbers) -> GatherDims:
    return GatherDims(*[tuple(map(int, axes)) for axes in numbers])


def _fill(dtype: np.dtype, fill_value: FillValue) -> np.ndarray:
    """Returns the fill value in the storage dtype of the array, or 0 if there is no fill value."""
    if fill_value is None:
        return np.zeros((), dtype)
    # A key: both words have this value.
    if type(fill_value) is np.uint32 and dtype == np.uint64:
        return np.asarray([fill_value, fill_value]).view(np.uint64).reshape(())
    return scalar.convert(np.asarray(fill_value), dtype)


@gather_p.eager
def _gather_eager(
    x: np.ndarray,
    indices: np.ndarray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    mode: GatherScatterMode,
    fill_value: FillValue,
    **_: object,
) -> np.ndarray:
    return indexing.gather(
        x, indices, _dims(dimension_numbers), slice_sizes, MODES[mode],
        _fill(x.dtype, fill_value),
    )  # fmt: skip


@gather_p.lower
def _gather_lower(
    b: Builder,
    x: Node,
    indices: Node,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    mode: GatherScatterMode,
    fill_value: FillValue,
    **_: object,
) -> Node:
    return b.gather(
        x, indices, _dims(dimension_numbers), tuple(map(int, slice_sizes)), MODES[mode],
        _fill(x.dtype, fill_value),
    )  # fmt: skip


def default_fill_value(dtype: DType) -> bool | int | float | np.uint32:
    """Returns the default fill value: NaN, least signed or greatest unsigned integer, or True."""
    if dtypes.is_extended(dtype):
        return np.uint32(0xFFFFFFFF)
    if dtypes.issubdtype(dtype, np.inexact):
        return float("nan")
    if dtypes.issubdtype(dtype, np.signedinteger):
        return int(dtypes.iinfo(dtype).min)
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return int(dtypes.iinfo(dtype).max)
    return True


def _checked_fill_value(fill_value: ArrayLike | None, dtype: DType) -> FillValue:
    """Returns the fill value as a Python scalar, or the default."""
    if fill_value is None:
        return default_fill_value(dtype)
    if isinstance(fill_value, Tracer) or shape_of(fill_value):
        raise TypeError(f"gather: `fill_value` must be a concrete scalar, got {fill_value}")
    convert.refuse_complex_scalar(fill_value, dtype, "gather")
    if isinstance(fill_value, bool | int | float | complex):
        return fill_value
    value = np.asarray(getattr(fill_value, "_value", fill_value))
    if dtypes.is_extended(dtype):
        return np.uint32(value)
    get_aval(value[()])  # raises an error unless it is a number
    return value.item()


def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Gathers slices of `operand` of shape `slice_sizes` at the index vectors in `start_indices`.

    Args:
      operand: any array.
      start_indices: integer array, whose last axis contains the index vectors.
      dimension_numbers: the roles of the axes.
      slice_sizes: the size of a slice along each axis of `operand`.
      unique_indices: a promise that no two slices overlap.
      indices_are_sorted: a promise that index vectors are in ascending order.
      mode: how indices that are out of range are treated, see `GatherScatterMode`;
        "promise_in_bounds" by default.
      fill_value: a scalar, the value of slices that are out of range in mode "fill". The default is
        NaN, the least signed or greatest unsigned integer, or True, depending on the dtype.

    Raises:
      TypeError: if shapes and dimension numbers are incompatible.
      ValueError: if indices are not integers, or if the mode does not exist.

    Example:
      >>> numbers = lax.GatherDimensionNumbers(
      ...     start_index_map=(0,), collapsed_slice_dims=(0,), offset_dims=(1,)
      ... )
      >>> lax.gather(jnp.arange(6).reshape(3, 2), jnp.array([[2], [0]]), numbers, slice_sizes=(1, 2))
      Array([[4, 5],
             [0, 1]], dtype=int32)
    """
    parsed = (
        GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    )
    fill: Any = None
    try:
        if parsed is GatherScatterMode.FILL_OR_DROP:
            dtype = get_aval(operand).dtype
            fill = _checked_fill_value(fill_value, dtype)
        return gather_p.bind(
            operand,
            start_indices,
            dimension_numbers=GatherDimensionNumbers(*map(tuple, dimension_numbers)),
            slice_sizes=canonical_shape(slice_sizes),
            indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices),
            mode=parsed,
            fill_value=fill,
        )
    except TypeError:
        families.check_operands("gather", operand, start_indices)
        raise


def index_take(src: ArrayLike, idxs: Sequence[ArrayLike], axes: Sequence[int]) -> Array:
    """Takes slices of `src` at positions along `axes`; positions that are out of range wrap around.

    Args:
      src: any array.
      idxs: a vector of n positions for each axis in `axes`.
      axes: distinct axes of `src`.

    Returns: an array of shape [n, *other axes of `src`].

    Raises:
      ValueError: if `src` does not have all of `axes`.

    Example:
      >>> lax.index_take(jnp.arange(6).reshape(3, 2), (jnp.array([2, -3]),), axes=(0,))
      Array([[4, 5],
             [0, 1]], dtype=int32)
    """
    axes = tuple(axes)
    shape = shape_of(src)
    if any(not -len(shape) <= k < len(shape) for k in axes):
        raise ValueError(f"index_take: `src` of shape {shape} does not have all of the axes {axes}")
    vectors = concatenation.concatenate([expand_dims(i, (1,)) for i in idxs], 1)
    extents = np.asarray([shape[k] for k in axes], np.int32)
    if vectors.dtype.itemsize < 4 or vectors.dtype.kind == "u":
        vectors = convert.convert(vectors, np.dtype(np.int32))
    sizes = convert.convert(extents.reshape(1, -1), vectors.dtype)
    remainders = binary.rem(vectors, sizes)
    zero = convert.scalar_operand(0, vectors.dtype, False)
    wrapped = select.select(compare.lt(remainders, zero), binary.add(remainders, sizes), remainders)
    return gather(
        src,
        wrapped,
        GatherDimensionNumbers(
            tuple(range(1, len(shape) - len(axes) + 1)), tuple(sorted(axes)), axes
        ),
        tuple([1 if k in axes else n for k, n in enumerate(shape)]),
    )


# --- batching -------------------------------------------------------------------------------------


def after_batch_axis(axes: Axes) -> Axes:
    """Shifts axis numbers by one, for an array with an additional leading batch axis."""
    shifted: list[Any] = [np.int64(axis + 1) for axis in axes]
    return tuple(shifted)


def batch_gather(
    args: Primals,
    dims: Dims,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    indices_are_sorted: bool,
    unique_indices: bool,
    **params: object,
) -> tuple[Value, int]:
    """Batches a gather into a single gather; batch axes of both operands become batching axes."""
    (x, indices), (x_dim, indices_dim) = args, dims
    offset, collapsed, index_map, batching, index_batching = dimension_numbers
    shifted = after_batch_axis
    if x_dim is not None:
        x = rules.move_axis(x, x_dim, 0)
        collapsed, index_map, batching = shifted(collapsed), shifted(index_map), shifted(batching)
    if indices_dim is not None:
        indices = rules.move_axis(indices, indices_dim, 0)
        index_batching = shifted(index_batching)
    size = shape_of(x if x_dim is not None else indices)[0]
    if x_dim is None:
        offset = tuple([axis + 1 for axis in offset])
        indices_are_sorted = unique_indices = False
    elif indices_dim is None:
        offset = (0, *shifted(offset))
        slice_sizes = (size, *slice_sizes)
    else:
        offset = shifted(offset)
        batching, index_batching = (0, *batching), (0, *index_batching)
        slice_sizes = (min(size, 1), *slice_sizes)
    out = gather_p.bind(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers(
            offset, collapsed, index_map, batching, index_batching
        ),
        slice_sizes=slice_sizes,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        **params,
    )
    return out, 0


gather_p.batch(batch_gather)

uses_keys(gather_p, forwards=True)
