"""What features do to equations as they are recorded, from their first use on.

A mesh in force checks and types operations, notes of users are kept on equations. Interceptors of
evaluated operations are traces (`core.trace.intercept_evaluation`). There are many recording traces, so
here they are parts of all. Without any installed, an operation costs nothing for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.first_use import Features

if TYPE_CHECKING:
    from jitney.core.avals import AbstractValue
    from jitney.core.jaxpr import JaxprEqnContext
    from jitney.core.varying import Operation


class RecordingInterceptor:
    """A feature; this one does nothing. Interceptors do not depend on their order."""

    def check(self, primitive: Operation, avals: Sequence[AbstractValue]) -> None:
        """Raises an error if an operation on operands of the types `avals` must not be recorded."""

    def result_types(self, primitive: Operation, out: Any) -> Any:
        """Returns the types of an operation's results, a sequence or one, which are `out` otherwise."""
        return out

    def check_equation(
        self,
        primitive: Operation,
        avals: Sequence[AbstractValue],
        params: dict[str, Any],
        outs: Sequence[AbstractValue],
    ) -> None:
        """Raises an error if an operation with these types of results must not be recorded."""

    def context(self, context: JaxprEqnContext) -> JaxprEqnContext:
        """Returns the context of an equation, which is `context` otherwise."""
        return context


features: Features[RecordingInterceptor] = Features()


def recorded_types(
    interceptors: Sequence[RecordingInterceptor],
    primitive: Operation,
    avals: Sequence[AbstractValue],
    params: dict[str, Any],
    out: Any,
) -> Any:
    """The types of an operation's results, which are `out` otherwise, once `interceptors` check it."""
    for interceptor in interceptors:
        out = interceptor.result_types(primitive, out)
        outs = out if primitive.multiple_results else [out]
        interceptor.check_equation(primitive, avals, params, outs)
    return out
