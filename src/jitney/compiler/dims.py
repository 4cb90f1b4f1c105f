"""Axis roles of gathers and scatters: shared by the tensor IR and by the reference implementations."""

from __future__ import annotations

from typing import Literal, TypeAlias

from jitney.core.record import record

Axes: TypeAlias = tuple[int, ...]
IndexMode: TypeAlias = Literal["clip", "fill", "promise_in_bounds"]


@record(frozen=True)
class GatherDims:
    """Axis roles of a gather, named as in StableHLO; the index vector is the last axis of indices.

    Result axes `offset_dims` run over the slice (its axes without `collapsed_slice_dims` and
    `operand_batching_dims`), the others over `indices` without its last axis. Entry k of an index
    vector moves operand axis `start_index_map[k]`. Batching axes pair off operand and indices.
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


@record(frozen=True)
class ScatterDims:
    """Axis roles of a scatter: the mirror image of `GatherDims`."""

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()
