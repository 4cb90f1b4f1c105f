"""Interceptors: features that change how equations are recorded, once they are first used.

For example, a context mesh checks and types operations, and user annotations are attached to
equations. Interceptors of evaluated operations are traces
(`core.tracing.trace.intercept_evaluation`). As there are many recording traces, interceptors are
part of all of them. If none is installed, they cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.util.first_use import Features

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import JaxprEqnContext
    from jitney.core.sharding_in_types.varying import Operation
    from jitney.core.types.avals import AbstractValue, ResultTypes


class RecordingInterceptor:
    """The base class of interceptors, which does nothing. Their order does not matter."""

    def check(self, primitive: Operation, avals: Sequence[AbstractValue]) -> None:
        """Raises an error if an operation on operands of types `avals` must not be recorded."""

    def result_types(self, primitive: Operation, out: Any) -> ResultTypes:
        """Returns the result type or types of an operation, by default `out`."""
        return out

    def check_equation(
        self,
        primitive: Operation,
        avals: Sequence[AbstractValue],
        params: dict[str, Any],
        outs: Sequence[AbstractValue],
    ) -> None:
        """Raises an error if an operation with these result types must not be recorded."""

    def context(self, context: JaxprEqnContext) -> JaxprEqnContext:
        """Returns the context of an equation, by default `context`."""
        return context


features: Features[RecordingInterceptor] = Features()


def recorded_types(
    interceptors: Sequence[RecordingInterceptor],
    primitive: Operation,
    avals: Sequence[AbstractValue],
    params: dict[str, Any],
    out: Any,
) -> Any:
    """Returns the result types of an operation as changed and checked by `interceptors`."""
    for interceptor in interceptors:
        out = interceptor.result_types(primitive, out)
        outs = out if primitive.multiple_results else [out]
        interceptor.check_equation(primitive, avals, params, outs)
    return out
