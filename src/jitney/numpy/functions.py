"""Types and names of the functions of `jax.numpy` that are generated from tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from jitney.core.array import Array
from jitney.core.typing import ArrayLike

F = TypeVar("F", bound=Callable[..., Any])


class UnaryFunction(Protocol):
    """An elementwise function of one operand."""

    def __call__(self, x: ArrayLike, /) -> Array: ...


BinaryFunction: TypeAlias = "Callable[[ArrayLike, ArrayLike], Array]"
"""An elementwise function of two operands."""


def public(function: F, name: str, doc: str) -> F:
    """Sets the name, docstring and module of `function` that users see, and returns it."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "jax.numpy"
    return function


def last_sections(example: str, printed: str, error: str = "") -> str:
    """Returns the last sections of a docstring: accuracy, if `error` is not empty, and example.

    Args:
      example: a call, as Python code.
      printed: the result of `example` as Python prints it.
      error: the error bound of the results; "" if they are exact or correctly rounded.
    """
    accuracy = f"\n    Accuracy: within {error}.\n" if error else ""
    return f"{accuracy}\n    Example:\n      >>> {example}\n      {printed}\n    "


def one_operation(function: F) -> F:
    """Marks `function` as computing at most one array: compiling its calls is never worthwhile."""
    function.__dict__["is_one_operation"] = True
    return function
