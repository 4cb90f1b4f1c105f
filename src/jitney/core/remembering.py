"""Contexts of `jax.extend`, which have attributes: what they put in force, and `prev`, what was before.

What this package uses itself (`core.trace`, `core.source_info`) has none, and is quicker to make.
"""

from __future__ import annotations

from typing import Any

from jitney.core import source_info
from jitney.core.contexts import Within
from jitney.core.name_stack import NameStack
from jitney.core.source_info import Place, SourceInfo
from jitney.core.trace import Trace, state


class set_current_trace(Within):  # JAX's name, as the others
    """A context in which operations go to a trace.

    Attributes:
      trace: it; None for none.
      check_leaks: kept, and not read.
      prev: the current trace before, once the context has been entered.
    """

    __slots__ = ("check_leaks", "prev", "trace")

    def __init__(self, trace: Trace | None, check_leaks: bool = False) -> None:
        super().__init__(state, ("trace",))
        self.trace = trace
        self.check_leaks = check_leaks

    def find(self) -> tuple[tuple[Any, ...], None]:
        self.prev = state.trace
        return (self.trace,), None

    def again(self) -> set_current_trace:
        return set_current_trace(self.trace, self.check_leaks)


class take_current_trace(Within[Trace]):
    """A context that gives the current trace, and in which operations are evaluated.

    Attributes:
      prev: the current trace before, once the context has been entered.
    """

    __slots__ = ("prev",)

    def __init__(self) -> None:
        super().__init__(state, ("trace",))

    def find(self) -> tuple[tuple[Any, ...], Trace]:
        self.prev = state.trace
        return (state.eval_trace,), self.prev

    def again(self) -> take_current_trace:
        return take_current_trace()


def _here() -> SourceInfo:
    """The scopes, and the place that operations come from, if it is one of a recorded program."""
    scopes = source_info.scopes
    place = None if scopes.origin is None else scopes.origin.traceback
    return source_info.source_info(place, scopes.stack)


class extend_name_stack(Within[NameStack]):
    """A context within one more scope; gives all of them.

    Attributes:
      name: of the scope.
      prev: the source information in force before, once the context has been entered.
    """

    __slots__ = ("name", "prev")

    def __init__(self, name: str) -> None:
        super().__init__(source_info.scopes, ("stack",))
        self.name = name

    def find(self) -> tuple[tuple[Any, ...], NameStack]:
        self.prev = _here()
        stack = source_info.scopes.stack.extend(self.name)
        return (stack,), stack

    def again(self) -> extend_name_stack:
        return extend_name_stack(self.name)


class set_name_stack(Within):
    """A context in which operations are recorded in these scopes and no others.

    Attributes:
      name_stack: the scopes.
      prev: the source information in force before, once the context has been entered.
    """

    __slots__ = ("name_stack", "prev")

    def __init__(self, name_stack: NameStack) -> None:
        super().__init__(source_info.scopes, ("stack",))
        self.name_stack = name_stack

    def find(self) -> tuple[tuple[Any, ...], None]:
        self.prev = _here()
        return (self.name_stack,), None

    def again(self) -> set_name_stack:
        return set_name_stack(self.name_stack)


class transform_name_stack(Within[NameStack]):
    """A context in which the scopes that follow are those of something transformed; gives them.

    Attributes:
      name: of the transformation.
      prev: the source information in force before, once the context has been entered.
    """

    __slots__ = ("name", "prev")

    def __init__(self, name: str) -> None:
        super().__init__(source_info.scopes, ("stack",))
        self.name = name

    def find(self) -> tuple[tuple[Any, ...], NameStack]:
        self.prev = _here()
        stack = source_info.scopes.stack.transform(self.name)
        return (stack,), stack

    def again(self) -> transform_name_stack:
        return transform_name_stack(self.name)


class user_context(Within):
    """A context in which operations come from a place and scopes: for code that runs a jaxpr.

    Attributes:
      traceback: `eqn.source_info.traceback`; None leaves the place where the operations are bound.
      name_stack: the scopes; None for those in force.
      prev: the source information in force before, once the context has been entered.
    """

    __slots__ = ("name_stack", "prev", "traceback")

    def __init__(self, traceback: Place | None, *, name_stack: NameStack | None = None) -> None:
        super().__init__(source_info.scopes, ("stack", "origin", "around"))
        self.traceback = traceback
        self.name_stack = name_stack

    def find(self) -> tuple[tuple[Any, ...], None]:
        self.prev = _here()
        stack = source_info.scopes.stack if self.name_stack is None else self.name_stack
        place = self.traceback
        origin = None if place is None else source_info.source_info(place, stack)
        return (stack, origin, NameStack()), None

    def again(self) -> user_context:
        return user_context(self.traceback, name_stack=self.name_stack)
