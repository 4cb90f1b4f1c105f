"""`jax.interpreters.batching`: batching rules of users' primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.api.vmappables import (
    register_vmappable as register_vmappable,
    unregister_vmappable as unregister_vmappable,
)
from jitney.core.evaluate import jaxpr_as_fun
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.jaxpr_trace import trace_to_jaxpr
from jitney.core.lazy import listing
from jitney.core.primitive import Primitive
from jitney.interpreters.tables import RuleTable, clear
from jitney.primitives import rules
from jitney.transforms.batch import (
    AxisData,
    BatchTrace as BatchTrace,
    BatchTracer as BatchTracer,
    batch_flat,
    move_to,
    not_mapped as not_mapped,
    whole_aval,
)

if TYPE_CHECKING:
    from jitney.core.typing import Value

__all__ = [
    "BatchTrace", "BatchTracer", "axis_primitive_batchers", "batch_jaxpr_axes", "bdim_at_front",
    "broadcast", "defbroadcasting", "defreducer", "defvectorized", "fancy_primitive_batchers",
    "not_mapped", "primitive_batchers", "register_vmappable", "unregister_vmappable", "zero_if_mapped",
]  # fmt: skip

__dir__ = listing(__name__)


class ZeroIfMapped:
    """The type of `zero_if_mapped`."""

    def __repr__(self) -> str:
        return "zero_if_mapped"


zero_if_mapped = ZeroIfMapped()
"""The place of a result's axis for `batch_jaxpr_axes`: in front, if the result is mapped at all."""


def batch_jaxpr_axes(
    closed_jaxpr: ClosedJaxpr,
    axis_data: AxisData,
    in_axes: Sequence[int | None],
    out_axes_dest: Sequence[int | ZeroIfMapped | None],
) -> tuple[ClosedJaxpr, list[bool]]:
    """Returns the program mapped over an axis of its arguments.

    Args:
      closed_jaxpr: a program.
      axis_data: the axis.
      in_axes: where each argument has it; None without.
      out_axes_dest: the axis of each result, mapped or not; or `zero_if_mapped`.

    Returns: (the program; which results have the axis).

    Raises:
      ValueError: if a mapped result is to have no axis.
    """
    mapped: list[bool] = []

    def placed(x: Value, dim: int | None, dest: int | ZeroIfMapped | None) -> Any:
        place = (None if dim is None else 0) if isinstance(dest, ZeroIfMapped) else dest
        mapped.append(place is not None)
        if place is None and dim is not None:
            raise ValueError("batch_jaxpr_axes: a result is mapped that is to have no such axis")
        return x if place is None else move_to(x, dim, place, axis_data.size, axis_data.along)

    def fun(*args: Value) -> list[Any]:
        outs, dims = batch_flat(jaxpr_as_fun(closed_jaxpr), axis_data, args, in_axes)
        return [placed(*out) for out in zip(outs, dims, out_axes_dest, strict=True)]

    pairs = zip(closed_jaxpr.in_avals, in_axes, strict=True)
    avals = [whole_aval(aval, axis_data, dim) for aval, dim in pairs]
    info = DebugInfo("vmap", closed_jaxpr.jaxpr.debug_info.func_src_info)
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts), mapped


primitive_batchers = RuleTable("batch", replaces=("batch_with_axis",))
"""primitive -> rule(operands, dims, **params), which returns (result, its dim).

A dim is the position of the axis that is mapped over, or `not_mapped`; primitives with multiple
results return a sequence of each.
"""

fancy_primitive_batchers = RuleTable("batch_with_axis", replaces=("batch",))
"""primitive -> rule(axis_data, operands, dims, **params), called even if no operand is mapped."""


def _adapted(rule: Callable[..., Any]) -> Callable[..., Any]:
    def with_axis(
        axis_data: AxisData, args: Sequence[Value], dims: Sequence[int | None], **params: object
    ) -> Any:
        return rule(axis_data.size, axis_data.name, None, args, dims, **params)

    return with_axis


axis_primitive_batchers = RuleTable("batch_with_axis", replaces=("batch",), adapt=_adapted)
"""primitive -> rule(axis_size, axis_name, None, operands, dims, **params): see the one above."""


def defvectorized(prim: Primitive) -> None:
    """Sets the rule of an elementwise operation on one operand."""
    clear(prim, "batch", "batch_with_axis")
    rules.vectorized(prim)


def defbroadcasting(prim: Primitive) -> None:
    """Sets the rule of an elementwise operation on operands of one rank, scalars aside."""
    clear(prim, "batch", "batch_with_axis")
    rules.broadcasting(prim)


def defreducer(prim: Primitive) -> None:
    """Sets the rule of a reduction over the parameter `axes`."""
    clear(prim, "batch", "batch_with_axis")
    rules.reducer(prim)


def bdim_at_front(x: Value, bdim: int | None, size: int, mesh_axis: object = None) -> Any:
    """Returns `x` with its mapped axis in front; repeated `size` times if it has none."""
    return move_to(x, bdim, 0, size)


def broadcast(x: Value, sz: int, axis: int, mesh_axis: object) -> Any:
    """Returns `x` repeated `sz` times along a new axis at `axis`."""
    return move_to(x, None, axis, sz)


def moveaxis(x: Value, src: int | None, dst: int) -> Any:
    """Returns `x` with its axis `src` at `dst`."""
    return x if src is None else rules.move_axis(x, src, dst)
