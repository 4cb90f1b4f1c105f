"""Contexts of `jax.extend` with attributes: the new setting, and `prev`, the previous one.

The contexts that this package uses itself (`core.tracing.trace`, `core.source.source_info`) have no
attributes, and are faster to create.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Self, TypeVar

from jitney.core.contexts import Within
from jitney.core.source import source_info
from jitney.core.source.name_stack import NameStack
from jitney.core.source.source_info import Place, SourceInfo
from jitney.core.tracing.trace import Trace, state

T = TypeVar("T", covariant=True)


class _Remembering(Within[T]):
    """A context that stores the previous setting as `prev` when it is entered.

    Args:
      owner, names: the object whose attributes the context changes, and their names.
      before: owner -> the previous setting.
      **arguments: the arguments of the subclass, which become attributes.
    """

    __slots__ = ("_arguments", "_before", "prev")

    prev: Any

    def __init__(
        self,
        owner: object,
        names: tuple[str, ...],
        before: Callable[[Any], Any],
        **arguments: object,
    ) -> None:
        super().__init__(owner, names)
        self._before = before
        self._arguments = tuple(arguments)
        for name, value in arguments.items():
            setattr(self, name, value)

    def inside(self) -> tuple[tuple[object, ...], T]:
        """Returns the values in the context, and the value of `with ... as`."""
        raise NotImplementedError

    def find(self) -> tuple[tuple[object, ...], T]:
        self.prev = self._before(self.owner)
        return self.inside()

    def again(self) -> Self:
        return type(self)(**{name: getattr(self, name) for name in self._arguments})


_trace_of = attrgetter("trace")


def _source_of(_: object) -> SourceInfo:
    """Returns the current scopes and, if a recorded program is running, its operations' origin."""
    scopes = source_info.scopes
    place = None if scopes.origin is None else scopes.origin.traceback
    return source_info.source_info(place, scopes.stack)


class set_current_trace(_Remembering[None]):  # the name is JAX's, like the others
    """A context that makes a trace current.

    Attributes:
      trace: the trace; None if there is none.
      check_leaks: stored, but not used.
      prev: the previous trace, once the context has been entered.
    """

    __slots__ = ("check_leaks", "trace")

    trace: Trace | None
    check_leaks: bool

    def __init__(self, trace: Trace | None, check_leaks: bool = False) -> None:
        super().__init__(state, ("trace",), _trace_of, trace=trace, check_leaks=check_leaks)

    def inside(self) -> tuple[tuple[object, ...], None]:
        return (self.trace,), None


class take_current_trace(_Remembering[Trace]):
    """A context that yields the current trace, and in which operations are evaluated eagerly.

    Attributes:
      prev: the previous trace, once the context has been entered.
    """

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(state, ("trace",), _trace_of)

    def inside(self) -> tuple[tuple[object, ...], Trace]:
        return (state.eval_trace,), self.prev


class extend_name_stack(_Remembering[NameStack]):
    """A context with one more scope; it yields the name stack.

    Attributes:
      name: the name of the scope.
      prev: the previous source information, once the context has been entered.
    """

    __slots__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        super().__init__(source_info.scopes, ("stack",), _source_of, name=name)

    def inside(self) -> tuple[tuple[object, ...], NameStack]:
        stack = source_info.scopes.stack.extend(self.name)
        return (stack,), stack


class set_name_stack(_Remembering[None]):
    """A context that replaces the scopes in which operations are recorded.

    Attributes:
      name_stack: the scopes.
      prev: the previous source information, once the context has been entered.
    """

    __slots__ = ("name_stack",)

    name_stack: NameStack

    def __init__(self, name_stack: NameStack) -> None:
        super().__init__(source_info.scopes, ("stack",), _source_of, name_stack=name_stack)

    def inside(self) -> tuple[tuple[object, ...], None]:
        return (self.name_stack,), None


class transform_name_stack(_Remembering[NameStack]):
    """A context that marks the scopes within it as transformed; it yields the name stack.

    Attributes:
      name: the name of the transformation.
      prev: the previous source information, once the context has been entered.
    """

    __slots__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        super().__init__(source_info.scopes, ("stack",), _source_of, name=name)

    def inside(self) -> tuple[tuple[object, ...], NameStack]:
        stack = source_info.scopes.stack.transform(self.name)
        return (stack,), stack


class user_context(_Remembering[None]):
    """A context that sets the origin and scopes of operations, for code that runs a jaxpr.

    Attributes:
      traceback: `eqn.source_info.traceback`; None for the line where the operations are bound.
      name_stack: the scopes; None for the current ones.
      prev: the previous source information, once the context has been entered.
    """

    __slots__ = ("name_stack", "traceback")

    traceback: Place | None
    name_stack: NameStack | None

    def __init__(self, traceback: Place | None, *, name_stack: NameStack | None = None) -> None:
        super().__init__(
            source_info.scopes, ("stack", "origin", "around"), _source_of,
            traceback=traceback, name_stack=name_stack,
        )  # fmt: skip

    def inside(self) -> tuple[tuple[object, ...], None]:
        stack = source_info.scopes.stack if self.name_stack is None else self.name_stack
        place = self.traceback
        origin = None if place is None else source_info.source_info(place, stack)
        return (stack, origin, NameStack()), None
