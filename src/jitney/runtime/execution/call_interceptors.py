"""Hooks of features into calls of compiled programs, installed at the first use of a feature.

Interceptors of evaluated operations are traces (`core.tracing.trace.intercept_evaluation`); these
are their counterparts for programs. While none is installed, a call does not look for any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jitney.core.util.first_use import Features

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.runtime.arrays.array import ArrayImpl
    from jitney.runtime.execution.assignment import Assignment


class ProgramCall(NamedTuple):
    """A call of a program.

    Attributes:
      closed: the program.
      leaves: its flat operands.
      assignment: its devices and shardings, and which operands are donated.
      name: the name of the function.
    """

    closed: ClosedJaxpr
    leaves: Sequence[Any]
    assignment: Assignment
    name: str


class CallInterceptor(Protocol):
    """A feature that observes calls. The order of interceptors does not matter."""

    def is_on(self) -> bool:
        """Returns whether the feature observes calls of the current thread."""
        ...

    def intercept(
        self, call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]
    ) -> list[ArrayImpl]:
        """Returns the results of `call`, which `proceed()` performs."""
        ...


features: Features[CallInterceptor] = Features()


def any_on() -> bool:
    """Returns whether any feature observes calls of the current thread."""
    return any([interceptor.is_on() for interceptor in features.installed])


def intercepted(call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]) -> list[ArrayImpl]:
    """Returns the results of `call`, performed by `proceed()` within all features that are on."""
    for interceptor in features.installed:
        if interceptor.is_on():
            proceed = _around(interceptor, call, proceed)
    return proceed()


def _around(
    interceptor: CallInterceptor, call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]
) -> Callable[[], list[ArrayImpl]]:
    return lambda: interceptor.intercept(call, proceed)
