"""Tables of what modules declare when they are executed, by name.

A name is declared once. But an interrupt may end the execution of a module, which then is executed
again by the next import of it, on new objects: what a module has declared before it may declare again.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

V = TypeVar("V")


def execution() -> ModuleSpec | None:
    """What identifies the innermost execution of a module under way; None if it is of no import."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return frame.f_globals.get("__spec__")  # a new one for each import, and reload
        frame = frame.f_back
    return None


def is_repeated(before: ModuleSpec | None, now: ModuleSpec | None) -> bool:
    """Returns whether two executions are of one module."""
    return before is not now and before is not None and now is not None and before.name == now.name


class Table(dict[str, V]):
    """Declared values by name, in order of declaration.

    Args:
      what: they are, for error messages.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self._executions: dict[str, ModuleSpec | None] = {}

    def is_taken(self, name: str) -> bool:
        """Whether the name is declared, and not by an earlier execution of the module under way."""
        return name in self and not is_repeated(self._executions.get(name), execution())

    def declare(self, name: str, value: V) -> V:
        """Enters a value; returns it.

        Raises:
          ValueError: if there is one of that name, unless an earlier execution of the module under
            way has declared it.
        """
        if self.is_taken(name):
            raise ValueError(
                f"{self._what} {name!r} is declared already; choose another name, or change the "
                "declaration that there is"
            )
        self._executions[name] = execution()
        self[name] = value
        return value
