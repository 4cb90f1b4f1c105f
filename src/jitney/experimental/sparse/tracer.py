"""Tracers of sparse values: `sparsify` without a program in between.

While a `SparseTrace` is current, an operation on a sparse value is computed at once, by its rule for
sparse operands (`spvalues.apply`), with the operations of the trace that was current before.
"""

# A trace identifies its own tracers by their `_trace`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core import linear_util
from jitney.core.trace import CustomCall, Trace, Tracer, TraceTag, set_current_trace, state
from jitney.experimental.sparse.spvalues import (
    SparsifyEnv,
    SparsifyValue,
    apply,
    arrays_to_spvalues,
    spvalues_to_arrays,
    spvalues_to_avals,
)

if TYPE_CHECKING:
    from jitney.core.avals import AbstractValue
    from jitney.core.primitive import Primitive
    from jitney.core.typing import Array, Params, Value
    from jitney.experimental.sparse.spvalues import ArrayOrSparse


class SparseTracer(Tracer):
    """A value that may be sparse, seen by the function as the whole array."""

    __module__ = (
        "jax.experimental.sparse.transform"  # which libraries ask for the package of an array
    )
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

    def to_concrete_value(self) -> Any:
        if self._spvalue.is_sparse():
            return None
        data = self.spenv.data(self._spvalue)
        return data.to_concrete_value() if isinstance(data, Tracer) else data


class SparseTrace(Trace):
    """Computes operations on sparse values as they come.

    Attributes:
      parent_trace: the trace that was current before, which rules compute with.
      tag: identity of this use of `sparsify`.
      spenv: where the arrays of values are.
    """

    __slots__ = ("parent_trace", "spenv", "tag")

    def __init__(self, parent_trace: Trace, tag: TraceTag, spenv: SparsifyEnv) -> None:
        super().__init__()
        self.parent_trace = parent_trace
        self.tag = tag
        self.spenv = spenv

    def to_sparse_tracer(self, val: Value) -> SparseTracer:
        """Returns `val` as a tracer of this trace; what is not a tracer of it is an array."""
        if isinstance(val, SparseTracer) and val._trace.tag is self.tag:
            return val
        with set_current_trace(self.parent_trace):
            return SparseTracer(self, spvalue=self.spenv.dense(val))

    def pure(self, x: Value) -> SparseTracer:
        return self.to_sparse_tracer(x)

    lift = pure

    def stage_value(self, val: Value) -> Value:
        """Returns `val` itself: this trace records no program."""
        return val

    def process_primitive(self, primitive: Primitive, args: Sequence[Value], params: Params) -> Any:
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
    ) -> Sequence[Any]:
        """Evaluates a call of a function operation by operation."""
        del call_primitive, params
        return f.call_wrapped(*tracers)

    def process_custom_jvp_call(self, call: CustomCall, leaves: Sequence[Any]) -> Sequence[Any]:
        """Evaluates the function operation by operation."""
        return call.inline(leaves)

    process_custom_vjp_call = process_custom_jvp_call

    def aside(self, x: Tracer) -> Any:
        """Returns the value, sparse or not."""
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
    """Returns the results' arrays; which value each belongs to is stored aside."""
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
    """Returns the results of a function of flat values, called with arrays that may be sparse.

    Args:
      wrapped_fun: takes arrays and returns a sequence of arrays.
      args: BCOO, BCSR and other arrays.

    Raises:
      NotImplementedError: naming an operation that has no rule for sparse operands.
    """
    spenv = SparsifyEnv()
    values = arrays_to_spvalues(spenv, list(args))
    traced, out_values = sparsify_subtrace(wrapped_fun, TraceTag(), values)
    arrays = traced.call_wrapped(*spenv.buffers)
    return spvalues_to_arrays(SparsifyEnv(arrays), out_values())
