"""`jax._src.interpreters.batching`: how `vmap` maps values of registered types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney.api.batching import vmappables

if TYPE_CHECKING:
    from jitney.transforms.batch import BatchTrace


def to_elt(trace: BatchTrace, get_idx: Callable[[], Any], x: Any, spec: Any) -> object:
    """Returns the element of `x` that the mapped function receives, for the axis `spec`."""
    return vmappables.element(trace, x, spec)


def from_elt(
    trace: BatchTrace, axis_size: Any, mesh_axis: Any, sum_match: bool, i: int, x: Any, spec: Any
) -> tuple[object, object]:
    """Returns (the result of `vmap` for the element `x`, its axis)."""
    return vmappables.whole(trace, axis_size, x, spec), spec
