"""`gather`: slices of an array at computed positions."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitney.compiler.hlo import ir
from jitney.compiler.numerics import indexing
from jitney.core import dtypes
from jitney.core.avals import ShapedArray, get_aval
from jitney.core.primitive import declare
from jitney.ops import kit
from jitney.ops.kit import Shape
from jitney.ops.shape import canonical_shape

Axes = tuple[int, ...]


@dataclass(frozen=True)
class GatherDimensionNumbers:
    """Axis roles of a gather, named as in StableHLO; index vectors are the last axis of indices.

    Attributes:
      offset_dims: axes of the result that run over the slices.
      collapsed_slice_dims: axes of the operand, with slices of extent 1, that the result lacks.
      start_index_map: axes of the operand that the entries of an index vector are positions along.
      operand_batching_dims: axes of the operand that are paired with axes of the indices.
      start_indices_batching_dims: those axes of the indices.
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


class GatherScatterMode(enum.Enum):
    """What is done with positions out of bounds."""

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3
    ONE_HOT = 4

    @staticmethod
    def from_any(mode: Any) -> GatherScatterMode:
        """The mode called `mode`: a name, a member, or None for the default of gathers.

        Raises:
          ValueError: if there is none.
        """
        if isinstance(mode, GatherScatterMode):
            return mode
        if mode is None or mode in ("fill", "drop"):
            return GatherScatterMode.FILL_OR_DROP
        if mode == "clip":
            return GatherScatterMode.CLIP
        if mode == "promise_in_bounds":
            return GatherScatterMode.PROMISE_IN_BOUNDS
        raise ValueError(f"Unknown gather mode: {mode!r}; use 'fill', 'drop', 'clip' or 'promise_in_bounds'")

    def __str__(self) -> str:
        return f"GatherScatterMode.{self.name}"


MODES: dict[GatherScatterMode, ir.IndexMode] = {
    GatherScatterMode.CLIP: "clip",
    GatherScatterMode.FILL_OR_DROP: "fill",
    GatherScatterMode.PROMISE_IN_BOUNDS: "promise_in_bounds",
    GatherScatterMode.ONE_HOT: "fill",
}

gather_p = declare("gather")


def default_fill(dtype: Any) -> Any:
    """What stands for elements out of bounds: NaN, the least signed or the largest unsigned integer."""
    if dtypes.is_extended(dtype):
        return np.uint64(2**64 - 1)
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.signedinteger):
        return dtypes.iinfo(dtype).min
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        return dtypes.iinfo(dtype).max
    return True


def _fill_array(dtype: Any, fill_value: Any) -> np.ndarray:
    value = default_fill(dtype) if fill_value is None else fill_value
    return np.asarray(value).astype(dtypes.physical_dtype(dtype))


def _check_sorted(name: str, axes: Axes, limit: int) -> None:
    if list(axes) != sorted(set(axes)):
        raise TypeError(f"{name} in gather op must be sorted and without repeats; got {axes}")
    if axes and not (0 <= axes[0] and axes[-1] < limit):
        raise TypeError(f"{name} in gather op is out of bounds: got {axes} for {limit} axes")


@gather_p.abstract
def _(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> ShapedArray:
    d = dimension_numbers
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError(
            f"Gather indices must have integer dtype, got {dtypes.long_name(indices.dtype)}"
        )
    if not indices.shape:
        raise TypeError("Gather indices must have at least one axis, that of index vectors")
    if len(slice_sizes) != x.ndim:
        raise TypeError(
            "Gather op must have one slice size for every input dimension; got: "
            f"len(slice_sizes)={len(slice_sizes)}, input_shape.rank={x.ndim}"
        )
    if len(d.start_index_map) != indices.shape[-1]:
        raise TypeError(
            f"Gather op has {len(d.start_index_map)} elements in start_index_map and the bound of "
            f"the index vector dimension is {indices.shape[-1]}. These two numbers must be equal."
        )
    rank = len(d.offset_dims) + indices.ndim - 1
    _check_sorted("offset_dims", d.offset_dims, rank)
    _check_sorted("collapsed_slice_dims", d.collapsed_slice_dims, x.ndim)
    if len(d.offset_dims) + len(d.collapsed_slice_dims) + len(d.operand_batching_dims) != x.ndim:
        raise TypeError(
            f"All components of the offset index in a gather op must either be a offset dimension "
            f"or collapsed; got dimension numbers {d} for operand shape {x.shape}"
        )
    if any(not 0 <= s <= n for s, n in zip(slice_sizes, x.shape, strict=True)):
        raise TypeError(
            f"Slice sizes in gather op must be within the operand: got {slice_sizes} for operand "
            f"shape {x.shape}"
        )
    dropped = (*d.collapsed_slice_dims, *d.operand_batching_dims)
    if any(slice_sizes[k] > 1 for k in dropped):
        raise TypeError(
            "Gather op can only collapse slice dims with bound 1, got "
            f"slice_sizes={slice_sizes} for {d}"
        )
    window = iter([n for k, n in enumerate(slice_sizes) if k not in dropped])
    batch = iter(indices.shape[:-1])
    shape = tuple([next(window) if k in d.offset_dims else next(batch) for k in range(rank)])
    return x.update(shape=shape)


def _dims(d: GatherDimensionNumbers) -> ir.GatherDims:
    return ir.GatherDims(
        tuple(map(int, d.offset_dims)),
        tuple(map(int, d.collapsed_slice_dims)),
        tuple(map(int, d.start_index_map)),
        tuple(map(int, d.operand_batching_dims)),
        tuple(map(int, d.start_indices_batching_dims)),
    )


@gather_p.eager
def _(
    x: np.ndarray,
    indices: np.ndarray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> np.ndarray:
    kind = MODES[mode]
    fill = _fill_array(x.dtype, fill_value) if kind == "fill" else None
    return indexing.gather(x, indices, _dims(dimension_numbers), slice_sizes, kind, fill)


@gather_p.lower
def _(
    b: Any,
    x: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Shape,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> Any:
    kind = MODES[mode]
    fill = _fill_array(x.dtype, fill_value) if kind == "fill" else None
    sizes = tuple(map(int, slice_sizes))
    return b.gather(x, indices, _dims(dimension_numbers), sizes, kind, fill)


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Any = None,
    fill_value: Any = None,
) -> Any:
    """Slices of `operand` of shape `slice_sizes` at the positions in `start_indices`.

    Args:
      operand: any array.
      start_indices: integers; the last axis holds index vectors.
      dimension_numbers: roles of axes.
      slice_sizes: extents of the slices, one per axis of the operand.
      unique_indices: promises that no two slices overlap.
      indices_are_sorted: promises that indices ascend.
      mode: "fill" (out of bounds gives `fill_value`), "clip", or "promise_in_bounds".
      fill_value: NaN, the least integer or True by default.
    """
    parsed = GatherScatterMode.from_any(mode)
    fill: Any = None
    if parsed is GatherScatterMode.FILL_OR_DROP:
        dtype: Any = get_aval(operand).dtype  # type: ignore[attr-defined]
        fill = _python_scalar(default_fill(dtype) if fill_value is None else fill_value)
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=canonical_shape(slice_sizes),
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=parsed,
        fill_value=fill,
    )


def _python_scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic | np.ndarray) else value


kit.later(gather_p)
