"""`jax._src.interpreters.batching`: what `vmap` makes of types that take themselves apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney.api import vmappables

if TYPE_CHECKING:
    from jitney.transforms.batch import BatchTrace


def to_elt(trace: BatchTrace, get_idx: Callable[[], Any], x: Any, spec: Any) -> Any:
    """Returns what a function is given for `x`, one element along the axis that `spec` names."""
    return vmappables.element(trace, x, spec)


def from_elt(
    trace: BatchTrace, axis_size: Any, mesh_axis: Any, sum_match: bool, i: int, x: Any, spec: Any
) -> tuple[Any, Any]:
    """Returns the value of which `x` is one element, and the axis along which it is."""
    return vmappables.whole(trace, axis_size, x, spec), spec
