"""Name stacks: the scopes and transformations within which an operation was recorded.

A name stack is immutable and compares by its elements. In its text, scopes are joined by slashes,
and a transformation encloses what follows it: "outer/jvp(vmap(inner))/innermost".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsIndex

from jitney.core.util.record import record


@record(frozen=True)
class Scope:
    """A scope named by the user.

    Attributes:
      name: any text.
    """

    name: str

    def wrap(self, stack: list[str]) -> None:
        """Prepends the scope to the names that follow it."""
        stack.append(self.name)

    def __repr__(self) -> str:
        return f"Scope(name={self.name!r})"


@record(frozen=True)
class Transform:
    """A transformation of everything that follows it.

    Attributes:
      name: the name of the transformation, such as "jvp".
    """

    name: str

    def wrap(self, stack: list[str]) -> None:
        """Encloses the name that follows, if there is one, in the transformation."""
        inner = stack.pop() if stack else ""
        stack.append(f"{self.name}({inner})")

    def __repr__(self) -> str:
        return f"Transform(name={self.name!r})"


class NameStack(tuple[Scope | Transform, ...]):
    """A tuple of scopes and transformations, outermost first."""

    # A tuple: every recorded operation has one, and tests whether it is empty.
    __slots__ = ()

    if TYPE_CHECKING:

        def __new__(cls, stack: Iterable[Scope | Transform] = ()) -> NameStack: ...

    @property
    def stack(self) -> tuple[Scope | Transform, ...]:
        """The scopes and transformations."""
        return tuple(self)

    def extend(self, name: str) -> NameStack:
        """Returns the stack with one more innermost scope."""
        return NameStack((*self, Scope(name)))

    def transform(self, name: str) -> NameStack:
        """Returns the stack with a transformation of what follows."""
        return NameStack((*self, Transform(name)))

    def __add__(self, other: object) -> NameStack:
        assert isinstance(other, NameStack), other
        return NameStack((*self, *other))

    if not TYPE_CHECKING:

        def __getitem__(self, index: SupportsIndex | slice) -> object:
            item = tuple.__getitem__(self, index)
            return NameStack(item) if isinstance(index, slice) else item

    def __str__(self) -> str:
        names: list[str] = []
        for element in reversed(self):
            element.wrap(names)
        return "/".join(reversed(names))

    def __repr__(self) -> str:
        return f"NameStack(stack={self.stack!r})"


def new_name_stack(name: str = "") -> NameStack:
    """Returns a name stack that is empty or has one scope."""
    return NameStack().extend(name) if name else NameStack()
