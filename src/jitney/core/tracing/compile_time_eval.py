"""Evaluation while a function is traced: `ensure_compile_time_eval`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.contexts import Within
from jitney.core.tracing.trace import CustomCall, Trace, Tracer, set_current_trace, state

if TYPE_CHECKING:
    from jitney.core.typing import Value


class _CompileTimeTrace(Trace):
    """A trace that evaluates operations on concrete values and passes others to its parent.

    Attributes:
      parent_trace: the enclosing trace, which processes operations on tracers.
    """

    __slots__ = ("parent_trace",)

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent_trace = parent

    def _trace_for(self, operands: Sequence[Any]) -> Trace:
        known = not any(isinstance(x, Tracer) for x in operands)
        return state.eval_trace if known else self.parent_trace

    def process_primitive(
        self, primitive: Any, args: Sequence[Value], params: dict[str, Any]
    ) -> object:
        trace = self._trace_for(args)
        with set_current_trace(trace):
            return trace.process_primitive(primitive, args, params)

    def process_custom_jvp_call(self, call: CustomCall, leaves: Sequence[Any]) -> Sequence[Value]:
        trace = self._trace_for(leaves)
        with set_current_trace(trace):
            if trace is state.eval_trace:  # the function sees concrete values
                return call.inline(leaves)
            return trace.process_custom_jvp_call(call, leaves)

    def process_custom_vjp_call(self, call: CustomCall, leaves: Sequence[Any]) -> Sequence[Value]:
        trace = self._trace_for(leaves)
        with set_current_trace(trace):
            if trace is state.eval_trace:
                return call.inline(leaves)
            return trace.process_custom_vjp_call(call, leaves)

    def aside(self, x: Tracer) -> Value:
        return self.parent_trace.aside(x)


class _CompileTimeEvaluation(Within):
    def __init__(self) -> None:
        super().__init__(state, ("trace", "folds"))

    def find(self) -> tuple[tuple[Trace, bool], None]:
        outer = state.trace
        return (outer if outer is state.eval_trace else _CompileTimeTrace(outer), True), None


def ensure_compile_time_eval() -> Within:
    """Returns a context in which operations on concrete values are evaluated during tracing.

    Operations on tracers are traced as usual. The context also applies to functions that are traced
    within it: jitted functions, loop bodies and branches.

    Example:
      >>> @jax.jit
      ... def mean(values):
      ...   with jax.ensure_compile_time_eval():
      ...     weights = jnp.array([1.0, 0.0, 1.0])
      ...     n = int(jnp.count_nonzero(weights))
      ...   return weights @ values / n
      >>> mean(jnp.array([2.0, 3.0, 4.0]))
      Array(3., dtype=float32)
    """
    return _CompileTimeEvaluation()


def of_program(trace: Trace) -> Trace:
    """Returns the trace to make current while `trace` records a function."""
    return _CompileTimeTrace(trace) if state.folds else trace
