"""What features do around calls of compiled programs, from their first use on.

Interceptors of evaluated operations are traces (`core.trace.intercept_evaluation`); these are their
counterparts for programs. Without any installed, a call asks for none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from jitney.core.first_use import Features

if TYPE_CHECKING:
    from jitney.core.jaxpr import ClosedJaxpr
    from jitney.runtime.array import ArrayImpl
    from jitney.runtime.assignment import Assignment


class ProgramCall(NamedTuple):
    """A call of a program.

    Attributes:
      closed: the program.
      leaves: its flat operands.
      assignment: where it runs, and what is donated.
      name: of the function.
    """

    closed: ClosedJaxpr
    leaves: Sequence[Any]
    assignment: Assignment
    name: str


class CallInterceptor(Protocol):
    """A feature that looks at calls. Interceptors do not depend on their order."""

    def is_on(self) -> bool:
        """Returns whether it looks at calls of this thread now."""
        ...

    def intercept(
        self, call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]
    ) -> list[ArrayImpl]:
        """Returns the results of `call`, which `proceed()` makes."""
        ...


features: Features[CallInterceptor] = Features()


def any_on() -> bool:
    """Returns whether a feature looks at calls of this thread now."""
    return any([interceptor.is_on() for interceptor in features.installed])


def intercepted(call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]) -> list[ArrayImpl]:
    """Returns the results of `call`, which `proceed()` makes, by way of all features that are on."""
    for interceptor in features.installed:
        if interceptor.is_on():
            proceed = _around(interceptor, call, proceed)
    return proceed()


def _around(
    interceptor: CallInterceptor, call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]
) -> Callable[[], list[ArrayImpl]]:
    return lambda: interceptor.intercept(call, proceed)
