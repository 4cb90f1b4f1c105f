"""Tracers of sparse values: `sparsify` without an intermediate jaxpr.

While a `SparseTrace` is current, each operation on a sparse value is evaluated immediately by its
rule for sparse operands (`spvalues.apply`). The operations in the rule are processed by the parent
trace.
"""

# A trace identifies its tracers by their `_trace`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.recording import linear_util
from jitney.core.tracing.trace import CustomCall, Trace, Tracer, TraceTag, set_current_trace, state
from jitney.experimental.sparse.spvalues import (
    SparsifyEnv,
    SparsifyValue,
    apply,
    arrays_to_spvalues,
    spvalues_to_arrays,
    spvalues_to_avals,
)

if TYPE_CHECKING:
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import Array, Params, Value
    from jitney.experimental.sparse.spvalues import ArrayOrSparse


class SparseTracer(Tracer):
    """A tracer of a dense or sparse value; its type is that of the dense array."""

    __module__ = "jax.experimental.sparse.transform"  # libraries look up the package of an array
    __slots__ = ("_spvalue",)

    def __init__(self, trace: SparseTrace, *, spvalue: SparsifyValue) -> None:
        super().__init__(trace)
        self._spvalue = spvalue

    @property
    def spenv(self) -> SparsifyEnv:
        """The environment that holds the arrays of the value."""
        assert isinstance(self._trace, SparseTrace)
        return self._trace.spenv

    @property
    def aval(self) -> AbstractValue:  # pyright: ignore[reportIncompatibleMethodOverride]  # as in Tracer
        return spvalues_to_avals(self.spenv, self._spvalue)

    def to_concrete_value(self) -> Value | None:
        if self._spvalue.is_sparse():
            return None
        data = self.spenv.data(self._spvalue)
        return data.to_concrete_value() if isinstance(data, Tracer) else data


class SparseTrace(Trace):
    """A trace that evaluates operations on sparse values immediately.

    Attributes:
      parent_trace: the trace that was current before; rules are evaluated in it.
      tag: identifier of this call of `sparsify`.
      spenv: the environment that holds the arrays of values.
    """

    __slots__ = ("parent_trace", "spenv", "tag")

    def __init__(self, parent_trace: Trace, tag: TraceTag, spenv: SparsifyEnv) -> None:
        super().__init__()
        self.parent_trace = parent_trace
        self.tag = tag
        self.spenv = spenv

    def to_sparse_tracer(self, val: Value) -> SparseTracer:
        """Returns `val` as a tracer of this trace.

        Values that are not tracers of this trace are regarded as dense arrays.
        """
        if isinstance(val, SparseTracer) and val._trace.tag is self.tag:
            return val
        with set_current_trace(self.parent_trace):
            return SparseTracer(self, spvalue=self.spenv.dense(val))

    def pure(self, x: Value) -> SparseTracer:
        return self.to_sparse_tracer(x)

    lift = pure

    def stage_value(self, val: Value) -> Value:
        """Returns `val` itself, since this trace does not record a program."""
        return val

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Value], params: Params
    ) -> SparseTracer | list[SparseTracer]:
        values = [self.to_sparse_tracer(x)._spvalue for x in args]
        with set_current_trace(self.parent_trace):
            outs = apply(self.spenv, primitive, values, params)
        out_tracers = [SparseTracer(self, spvalue=v) for v in outs]
        return out_tracers if primitive.multiple_results else out_tracers[0]

    def process_call(
        self,
        call_primitive: Primitive,
        f: linear_util.WrappedFun,
        tracers: Sequence[Value],
        params: Params,
    ) -> Sequence[Value]:
        """Evaluates the operations of a called function one by one."""
        del call_primitive, params
        return f.call_wrapped(*tracers)

    def process_custom_jvp_call(self, call: CustomCall, leaves: Sequence[Any]) -> Sequence[Value]:
        """Evaluates the operations of the function one by one."""
        return call.inline(leaves)

    process_custom_vjp_call = process_custom_jvp_call

    def aside(self, x: Tracer) -> Any:
        """Returns the dense or sparse value of a tracer."""
        value = self.to_sparse_tracer(x)._spvalue
        with set_current_trace(self.parent_trace):
            return spvalues_to_arrays(self.spenv, value)


def _subtrace(
    f: Callable[..., Sequence[Value]],
    store: linear_util.Store,
    tag: TraceTag,
    spvalues: Sequence[SparsifyValue],
    *bufs: Array,
) -> list[Array]:
    """Calls `f` with sparse values whose arrays are `bufs`.

    Returns all arrays that exist after the call, including `bufs`. The values of the results, which
    refer to these arrays, are stored in `store`.
    """
    inner = SparsifyEnv(bufs)
    trace = SparseTrace(state.trace, tag, inner)
    try:
        with set_current_trace(trace):
            outs = f(*[SparseTracer(trace, spvalue=v) for v in spvalues])
        store.store([trace.to_sparse_tracer(x)._spvalue for x in outs])
    finally:
        trace.invalidate()
    return inner.buffers


sparsify_subtrace = linear_util.transformation_with_aux2(_subtrace)


def sparsify_fun(
    wrapped_fun: linear_util.WrappedFun, args: Sequence[ArrayOrSparse]
) -> list[ArrayOrSparse]:
    """Calls a function of flat values with dense and sparse arrays.

    Args:
      wrapped_fun: a function of arrays that returns a sequence of arrays.
      args: dense, BCOO and BCSR arrays.

    Raises:
      NotImplementedError: if an operation has no rule for sparse operands; the message names it.
    """
    spenv = SparsifyEnv()
    values = arrays_to_spvalues(spenv, list(args))
    traced, out_values = sparsify_subtrace(wrapped_fun, TraceTag(), values)
    arrays = traced.call_wrapped(*spenv.buffers)
    return spvalues_to_arrays(SparsifyEnv(arrays), out_values())
