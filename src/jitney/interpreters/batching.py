"""`jax.interpreters.batching`: what `vmap` does with users' primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.api.vmappables import (
    register_vmappable as register_vmappable,
    unregister_vmappable as unregister_vmappable,
)
from jitney.core.lazy import listing
from jitney.core.primitive import Primitive
from jitney.interpreters.tables import RuleTable, clear
from jitney.primitives import rules
from jitney.transforms.batch import (
    AxisData,
    BatchTrace as BatchTrace,
    BatchTracer as BatchTracer,
    move_to,
    not_mapped as not_mapped,
)

if TYPE_CHECKING:
    from jitney.core.typing import Value

__all__ = [
    "BatchTrace", "BatchTracer", "axis_primitive_batchers", "bdim_at_front", "broadcast",
    "defbroadcasting", "defreducer", "defvectorized", "fancy_primitive_batchers", "not_mapped",
    "primitive_batchers", "register_vmappable", "unregister_vmappable",
]  # fmt: skip

__dir__ = listing(__name__)

primitive_batchers = RuleTable("batch", replaces=("batch_with_axis",))
"""primitive -> rule(operands, dims, **params), which returns (result, its dim).

A dim is the position of the axis that is mapped over, or `not_mapped`; primitives with multiple
results return a sequence of each.
"""

fancy_primitive_batchers = RuleTable("batch_with_axis", replaces=("batch",))
"""primitive -> rule(axis_data, operands, dims, **params), asked whether or not an operand is mapped."""


def _adapted(rule: Callable[..., Any]) -> Callable[..., Any]:
    def with_axis(
        axis_data: AxisData, args: Sequence[Value], dims: Sequence[int | None], **params: object
    ) -> Any:
        return rule(axis_data.size, axis_data.name, None, args, dims, **params)

    return with_axis


axis_primitive_batchers = RuleTable("batch_with_axis", replaces=("batch",), adapt=_adapted)
"""primitive -> rule(axis_size, axis_name, None, operands, dims, **params): see the one above."""


def defvectorized(prim: Primitive) -> None:
    """One operand, and the same done to each of its elements."""
    clear(prim, "batch", "batch_with_axis")
    rules.vectorized(prim)


def defbroadcasting(prim: Primitive) -> None:
    """Elementwise on several operands of one rank, scalars aside."""
    clear(prim, "batch", "batch_with_axis")
    rules.broadcasting(prim)


def defreducer(prim: Primitive) -> None:
    """A reduction over the parameter `axes`."""
    clear(prim, "batch", "batch_with_axis")
    rules.reducer(prim)


def bdim_at_front(x: Value, bdim: int | None, size: int, mesh_axis: object = None) -> Any:
    """`x` with its mapped axis in front; repeated `size` times if it has none."""
    return move_to(x, bdim, 0, size)


def broadcast(x: Value, sz: int, axis: int, mesh_axis: object) -> Any:
    """`x` repeated `sz` times along a new axis at `axis`."""
    return move_to(x, None, axis, sz)


def moveaxis(x: Value, src: int | None, dst: int) -> Any:
    """`x` with its axis `src` at `dst`."""
    return x if src is None else rules.move_axis(x, src, dst)
