"""Name stacks: in which scopes, and under which transformations, an operation was recorded.

A name stack is immutable and is compared by its elements. As text, scopes are joined by slashes, and a
transformation stands around what follows it: "outer/jvp(vmap(inner))/innermost".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsIndex

from jitney.core.record import record


@record(frozen=True)
class Scope:
    """A scope that the user named.

    Attributes:
      name: any text.
    """

    name: str

    def wrap(self, stack: list[str]) -> None:
        """Puts the scope before the names that follow it."""
        stack.append(self.name)

    def __repr__(self) -> str:
        return f"Scope(name={self.name!r})"


@record(frozen=True)
class Transform:
    """A transformation of everything that follows.

    Attributes:
      name: of the transformation, such as "jvp".
    """

    name: str

    def wrap(self, stack: list[str]) -> None:
        """Writes the transformation around the name that follows it, of which there may be none."""
        inner = stack.pop() if stack else ""
        stack.append(f"{self.name}({inner})")

    def __repr__(self) -> str:
        return f"Transform(name={self.name!r})"


class NameStack(tuple[Scope | Transform, ...]):
    """Scopes and transformations, the outermost first."""

    # A tuple: each recorded operation has one, and tests whether it is empty.
    __slots__ = ()

    if TYPE_CHECKING:

        def __new__(cls, stack: Iterable[Scope | Transform] = ()) -> NameStack: ...

    @property
    def stack(self) -> tuple[Scope | Transform, ...]:
        """The elements."""
        return tuple(self)

    def extend(self, name: str) -> NameStack:
        """With one more scope, the innermost."""
        return NameStack((*self, Scope(name)))

    def transform(self, name: str) -> NameStack:
        """With a transformation of what follows."""
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
    """Returns a name stack: empty, or of one scope."""
    return NameStack().extend(name) if name else NameStack()
