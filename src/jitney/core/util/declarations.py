"""Tables of values that modules declare by name when they are executed.

A name may be declared only once, with one exception: if an interrupt ends the execution of a
module, the next import executes it again and declares the same names with new objects.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

V = TypeVar("V")


def execution() -> ModuleSpec | None:
    """Returns the spec of the module being executed, the innermost one; None outside of imports."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return frame.f_globals.get("__spec__")  # each import and reload has a new one
        frame = frame.f_back
    return None


def is_repeated(before: ModuleSpec | None, now: ModuleSpec | None) -> bool:
    """Returns whether two different executions are of the same module."""
    return before is not now and before is not None and now is not None and before.name == now.name


class Table(dict[str, V]):
    """Declared values by name, in order of declaration.

    Args:
      what: a noun for the values, for error messages.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self._executions: dict[str, ModuleSpec | None] = {}

    def is_taken(self, name: str) -> bool:
        """Returns whether the name is declared.

        A declaration by an earlier execution of the module being executed does not count.
        """
        return name in self and not is_repeated(self._executions.get(name), execution())

    def declare(self, name: str, value: V) -> V:
        """Declares a value and returns it.

        Raises:
          ValueError: if the name is declared, unless by an earlier execution of the same module.
        """
        if self.is_taken(name):
            raise ValueError(
                f"{self._what} {name!r} is already declared; choose another name, or change the "
                "existing declaration"
            )
        self._executions[name] = execution()
        self[name] = value
        return value
