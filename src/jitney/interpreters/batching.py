"""`jax.interpreters.batching`: batching rules of user-defined primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.api.batching.vmappables import (
    register_vmappable as register_vmappable,
    unregister_vmappable as unregister_vmappable,
)
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.recording.linear_util import Store, transformation_with_aux2
from jitney.core.tracing.primitive import Primitive
from jitney.core.tracing.trace import TraceTag
from jitney.core.util.lazy import listing
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
    from jitney.core.recording.linear_util import WrappedFun
    from jitney.core.typing import Value

__all__ = [
    "BatchTrace", "BatchTracer", "axis_primitive_batchers", "batch_jaxpr_axes", "batch_subtrace",
    "bdim_at_front", "broadcast", "defbroadcasting", "defreducer", "defvectorized",
    "fancy_primitive_batchers", "not_mapped", "primitive_batchers", "register_vmappable",
    "unregister_vmappable", "zero_if_mapped",
]  # fmt: skip

__dir__ = listing(__name__)


class ZeroIfMapped:
    """The type of `zero_if_mapped`."""

    def __repr__(self) -> str:
        return "zero_if_mapped"


zero_if_mapped = ZeroIfMapped()
"""Requests from `batch_jaxpr_axes` batch dimension 0 for a result that is mapped, else none."""


def batch_jaxpr_axes(
    closed_jaxpr: ClosedJaxpr,
    axis_data: AxisData,
    in_axes: Sequence[int | None],
    out_axes_dest: Sequence[int | ZeroIfMapped | None],
) -> tuple[ClosedJaxpr, list[bool]]:
    """Returns `closed_jaxpr` batched along an axis of its arguments.

    Args:
      closed_jaxpr: a program.
      axis_data: size and name of the mapped axis.
      in_axes: batch dimension of each argument; None if it is not mapped.
      out_axes_dest: requested batch dimension of each result, or `zero_if_mapped`. Results that are
        not mapped are broadcast.

    Returns: (batched program; whether each result has a batch dimension).

    Raises:
      ValueError: if None is requested for a mapped result.
    """
    mapped: list[bool] = []

    def placed(x: Value, dim: int | None, dest: int | ZeroIfMapped | None) -> Value:
        place = (None if dim is None else 0) if isinstance(dest, ZeroIfMapped) else dest
        mapped.append(place is not None)
        if place is None and dim is not None:
            raise ValueError(
                "batch_jaxpr_axes: a result is mapped, but its entry in out_axes_dest is None"
            )
        return x if place is None else move_to(x, dim, place, axis_data.size, axis_data.along)

    def fun(*args: Value) -> list[Value]:
        outs, dims = batch_flat(jaxpr_as_fun(closed_jaxpr), axis_data, args, in_axes)
        return [placed(*out) for out in zip(outs, dims, out_axes_dest, strict=True)]

    pairs = zip(closed_jaxpr.in_avals, in_axes, strict=True)
    avals = [whole_aval(aval, axis_data, dim) for aval, dim in pairs]
    info = DebugInfo("vmap", closed_jaxpr.jaxpr.debug_info.func_src_info)
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts), mapped


def _batched(
    fun: Callable[..., Sequence[Any]],
    store: Store,
    tag: TraceTag,
    axis_data: AxisData,
    in_dims: Sequence[int | None] | Callable[[], Sequence[int | None]],
    *vals: Value,
) -> tuple[Any, ...]:
    dims = in_dims() if callable(in_dims) else in_dims
    outs, out_dims = batch_flat(fun, axis_data, vals, dims, tag)
    store.store(tuple(out_dims))
    return tuple(outs)


def batch_subtrace(fun: WrappedFun, *static: Any) -> Any:
    """Batches a wrapped function of flat values.

    Args:
      fun: the function, wrapped by `linear_util.wrap_init`.
      *static: leading items of (tag of the transformation; size and name of the mapped axis, an
        `AxisData`; batch dimensions of the arguments, or a function that returns them). Items that
        are omitted become the first arguments of the batched function.

    Returns: (batched function; function that returns the batch dimensions of the results of the
      last call).
    """
    return transformation_with_aux2(_batched, fun, *static)


primitive_batchers = RuleTable("batch", replaces=("batch_with_axis",))
"""Maps a primitive to rule(operands, dims, **params) -> (result, its batch dimension).

A batch dimension is the position of the mapped axis, or `not_mapped`. The rule of a primitive with
multiple results returns a sequence of results and a sequence of dimensions.
"""

fancy_primitive_batchers = RuleTable("batch_with_axis", replaces=("batch",))
"""Like `primitive_batchers`, but for rules with an additional first parameter, `axis_data`.

These rules are called even if no operand is mapped.
"""


def _adapted(rule: Callable[..., Any]) -> Callable[..., object]:
    def with_axis(
        axis_data: AxisData, args: Sequence[Value], dims: Sequence[int | None], **params: object
    ) -> object:
        return rule(axis_data.size, axis_data.name, None, args, dims, **params)

    return with_axis


axis_primitive_batchers = RuleTable("batch_with_axis", replaces=("batch",), adapt=_adapted)
"""Maps a primitive to rule(axis_size, axis_name, None, operands, dims, **params).

Like the rules in `fancy_primitive_batchers`, these are called even if no operand is mapped.
"""


def defvectorized(prim: Primitive) -> None:
    """Sets the batching rule of a unary elementwise operation."""
    clear(prim, "batch", "batch_with_axis")
    rules.vectorized(prim)


def defbroadcasting(prim: Primitive) -> None:
    """Sets the batching rule of an elementwise operation on operands of equal rank and scalars."""
    clear(prim, "batch", "batch_with_axis")
    rules.broadcasting(prim)


def defreducer(prim: Primitive) -> None:
    """Sets the batching rule of a reduction over the axes given by the parameter `axes`."""
    clear(prim, "batch", "batch_with_axis")
    rules.reducer(prim)


def bdim_at_front(x: Value, bdim: int | None, size: int, mesh_axis: object = None) -> Value:
    """Returns `x` with batch dimension 0, broadcast to `size` if it is not mapped."""
    return move_to(x, bdim, 0, size)


def broadcast(x: Value, sz: int, axis: int, mesh_axis: object) -> Value:
    """Returns `x` broadcast to size `sz` along a new axis at position `axis`."""
    return move_to(x, None, axis, sz)


def moveaxis(x: Value, src: int | None, dst: int) -> Value:
    """Returns `x` with axis `src` moved to position `dst`; `x` itself if `src` is None."""
    return x if src is None else rules.move_axis(x, src, dst)
