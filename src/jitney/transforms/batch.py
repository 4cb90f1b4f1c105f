"""Batching: each value may have a batch dimension, at any position.

`BatchTrace` passes the values and the positions of their batch dimensions to the primitive's
`batch` rule, whose operations are interpreted by the parent trace. Operations on values without a
batch dimension are passed to the parent trace unchanged.
"""

# A trace recognizes its tracers by the private attribute `_trace`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.program.memo import memoize_by_identity
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.settings import config
from jitney.core.sharding_in_types import varying
from jitney.core.source import source_info
from jitney.core.tracing import leaks
from jitney.core.tracing.primitive import Primitive, declare_slot
from jitney.core.tracing.trace import (
    Trace,
    Tracer,
    TraceTag,
    extend_axis_env,
    plain_types,
    revealed,
    set_current_trace,
    state,
)
from jitney.core.types.avals import AbstractValue, ShapedArray, get_aval
from jitney.core.util.record import record
from jitney.transforms.algebra import algebra

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.sharding.named import NamedSharding
    from jitney.core.typing import Params, Value

V = TypeVar("V")

BATCH = declare_slot("batch", required=True)  # (args, dims, **params) -> (out, dim)
# For operations that depend on the axis itself, (axis_data, args, dims, **params), and for those
# that call users' functions, (trace, args, dims, **params).
BATCH_WITH_AXIS = declare_slot("batch_with_axis", instead_of="batch")
BATCH_WITH_TRACE = declare_slot("batch_with_trace", instead_of="batch")
# For operations that each device of a mesh performs separately, however `vmap` batches them:
# (axis_data, args, dims, **params), where the axis represents devices.
OVER_DEVICES = declare_slot("over_devices")


@record(frozen=True)
class AxisData:
    """The axis that a `vmap` adds.

    Attributes:
      name: the name of the axis for collectives, or None.
      size: the size of the axis.
      spmd_name: the names of the mesh axes along which the axis is sharded.
      along: the sharding of the axis in the types of arrays, given as the sharding of a
        one-dimensional array; None if types have no sharding.
      of_devices: whether the axis represents the devices along a mesh axis.
    """

    name: Any
    size: int
    spmd_name: Any = None
    along: NamedSharding | None = None
    of_devices: bool = False


not_mapped = None


class BatchTracer(Tracer):
    """A value with a batch dimension at position `batch_dim`."""

    __module__ = "jax._src.interpreters.batching"  # libraries read an array's package here
    __slots__ = ("batch_dim", "origin", "val")

    def __init__(self, trace: Trace, val: Value, batch_dim: int) -> None:
        self._trace = trace
        self.val = val
        self.batch_dim = batch_dim
        self.origin = source_info.current()  # the line of user code that created the tracer

    @property
    def aval(self) -> AbstractValue:
        whole: Any = get_aval(self.val)
        d = self.batch_dim
        trace: Any = self._trace
        return whole.dec_rank(trace.axis_data.size, d)

    def _origin_msg(self) -> str:
        line = source_info.summarize(self.origin)
        own = f"\nThe value mapped by vmap was made on line:\n  {line}" if line else ""
        return own + (self.val._origin_msg() if isinstance(self.val, Tracer) else "")

    def __repr__(self) -> str:
        whole = get_aval(self.val)
        return f"VmapTracer(aval={self.aval.str_short()}, batched={whole.str_short()})"


class BatchTrace(Trace):
    """A trace that batches operations."""

    is_batching = True

    __slots__ = ("axis_data", "parent_trace", "tag")

    def __init__(self, parent: Trace, axis_data: AxisData, tag: TraceTag) -> None:
        super().__init__()
        self.parent_trace = parent
        self.axis_data = axis_data
        self.tag = tag

    def to_batch_info(self, x: Value) -> tuple[Value, int | None]:
        """Returns (value, position of its batch dimension or None)."""
        if isinstance(x, BatchTracer) and x._trace.tag is self.tag:
            return x.val, x.batch_dim
        plain = x if type(x) in plain_types else revealed(x)
        return (x, None) if plain is x else self.to_batch_info(plain)

    def pure(self, x: Value) -> Value:
        with set_current_trace(self.parent_trace):
            return self.parent_trace.pure(x)

    lift = pure

    def wrap(self, val: Value, dim: int | None) -> Value:
        """Returns a tracer, or the value itself if it has no batch dimension."""
        return val if dim is None else BatchTracer(self, val, dim)

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Value], params: Params
    ) -> object:
        infos = [self.to_batch_info(x) for x in args]
        # Tuples, as in JAX: rules in libraries compare them.
        vals = tuple([v for v, _ in infos])
        dims = tuple([d for _, d in infos])
        parent = self.parent_trace
        with_axis = primitive.rules.get("batch_with_axis")
        with set_current_trace(parent):
            if self.axis_data.of_devices and OVER_DEVICES.name in primitive.rules:
                rule = primitive.rules[OVER_DEVICES.name]
                out, dim = rule(self.axis_data, vals, dims, **params)
            elif with_axis is not None:
                out, dim = with_axis(self.axis_data, vals, dims, **params)
            elif "batch_with_trace" in primitive.rules:
                out, dim = primitive.rules["batch_with_trace"](self, vals, dims, **params)
            elif all([d is None for d in dims]):
                return parent.process_primitive(primitive, vals, params)
            else:
                rule = primitive.rules.get("batch")
                if rule is None:
                    raise NotImplementedError(_missing_rule(primitive))
                out, dim = rule(vals, dims, **params)
        if primitive.multiple_results:
            dim = [dim] * len(out) if dim is None or isinstance(dim, int) else dim
            return [self.wrap(v, d) for v, d in zip(out, dim, strict=True)]
        return self.wrap(out, dim)

    def __repr__(self) -> str:
        return "BatchTrace"

    __str__ = __repr__


def _missing_rule(primitive: Primitive) -> str:
    why = primitive.absences.get("batch")
    reason = f": {why}" if why else ""
    return (
        f"'{primitive}' has no batching rule, so vmap is not implemented for it{reason}. For a "
        "primitive of your own, set one in jax.interpreters.batching.primitive_batchers"
    )


def move_to(
    x: V, dim: int | None, destination: int, size: int, along: NamedSharding | None = None
) -> V | Array:
    """Returns `x` with its batch dimension at `destination`.

    If `x` has no batch dimension, it is broadcast along a new axis, which is sharded like the only
    axis of an array with sharding `along`.
    """
    if dim is None:
        return algebra.insert_axis(x, destination, size, along)
    return x if dim == destination else algebra.move_axis(x, dim, destination)


def batch_flat(
    fun: Callable[..., Sequence[Any]],
    axis_data: AxisData,
    vals: Sequence[Any],
    dims: Sequence[int | None],
    tag: TraceTag | None = None,
) -> tuple[list[Value], list[int | None]]:
    """Returns the results of `fun`, a function of flat values, and their batch dimensions.

    Args:
      fun: the function.
      axis_data: the batch axis.
      vals: the arguments.
      dims: the batch dimension of each argument, or None.
      tag: the tag of the new trace; by default, it is unique. If `fun` closes over tracers of an
        earlier trace, it must be the tag of that trace.
    """
    parent = state.trace
    trace = BatchTrace(parent, axis_data, tag or TraceTag())
    args = [trace.wrap(v, d) for v, d in zip(vals, dims, strict=True)]
    axes = () if axis_data.name is None else ((axis_data.name, axis_data.size),)
    try:
        with set_current_trace(trace), extend_axis_env(*axes):
            outs = fun(*args)
        infos = [trace.to_batch_info(x) for x in outs]
        if config.check_tracer_leaks.value:
            del args, outs
            leaks.check(trace, set())
    finally:
        trace.invalidate()
    return [v for v, _ in infos], [d for _, d in infos]


def whole_aval(aval: AbstractValue, axis_data: AxisData, d: int | None) -> AbstractValue:
    """Returns the type of a batch of `aval`s with batch dimension `d`, which may be None."""
    if axis_data.of_devices:  # the batch has the values of all devices, so it does not vary
        aval = varying.typed(aval, varying.type_of(aval).without({axis_data.name}))
    if d is None:
        return aval
    array: Any = aval
    if axis_data.along is None or not isinstance(aval, ShapedArray):
        return array.inc_rank(axis_data.size, d)
    return aval.inc_rank(axis_data.size, d, axis_data.along)


@memoize_by_identity
def batch_jaxpr(
    closed: ClosedJaxpr,
    axis_data: AxisData,
    batched: tuple[bool, ...],
    instantiated: bool | tuple[bool, ...],
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """Returns `closed`, batched over a leading axis of the operands marked in `batched`.

    Args:
      closed: a program.
      axis_data: the batch axis.
      batched: which operands have a batch dimension.
      instantiated: which results must have a batch dimension in any case.

    Returns: a pair (batched program, flags of the results that have a leading batch dimension).
    """
    wanted = (
        (instantiated,) * len(closed.out_avals) if isinstance(instantiated, bool) else instantiated
    )
    mapped_of_traces: list[tuple[bool, ...]] = []

    def fun(*args: Value) -> list[Value]:
        outs, dims = batch_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs),
            axis_data,
            args,
            [0 if b else None for b in batched],
        )
        mapped = tuple(d is not None or w for d, w in zip(dims, wanted, strict=True))
        mapped_of_traces.append(mapped)
        return [
            move_to(x, d, 0, axis_data.size, axis_data.along) if m else x
            for x, d, m in zip(outs, dims, mapped, strict=True)
        ]

    avals = [
        whole_aval(a, axis_data, 0 if b else None)
        for a, b in zip(closed.in_avals, batched, strict=True)
    ]
    info = closed.jaxpr.debug_info
    info = info.then("vmap", info.arg_names)
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts), mapped_of_traces[0]


@memoize_by_identity
def batch_jaxpr_at(
    closed: ClosedJaxpr, axis_data: AxisData, dims: tuple[int | None, ...]
) -> tuple[ClosedJaxpr, tuple[int | None, ...]]:
    """Returns `closed`, batched over axes at any positions, without moving axes.

    Args:
      closed: a program.
      axis_data: the batch axis.
      dims: the batch dimension of each operand, or None.

    Returns: a pair (batched program, batch dimensions of the results).
    """
    dims_of_traces: list[tuple[int | None, ...]] = []

    def fun(*args: Value) -> list[Value]:
        outs, out_dims = batch_flat(
            lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), axis_data, args, dims
        )
        dims_of_traces.append(tuple(out_dims))
        return outs

    avals = [whole_aval(a, axis_data, d) for a, d in zip(closed.in_avals, dims, strict=True)]
    info = closed.jaxpr.debug_info
    info = info.then("vmap", info.arg_names)
    jaxpr, _, consts = trace_to_jaxpr(fun, avals, info)
    return ClosedJaxpr(jaxpr, consts), dims_of_traces[0]
