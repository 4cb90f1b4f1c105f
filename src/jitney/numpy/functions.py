"""Types and public names of the functions of `jax.numpy` that are generated from tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

from jitney.core.array import Array
from jitney.core.typing import ArrayLike

F = TypeVar("F", bound=Callable[..., Any])


class UnaryFunction(Protocol):
    """A function of one operand, elementwise."""

    def __call__(self, x: ArrayLike, /) -> Array: ...


BinaryFunction: TypeAlias = "Callable[[ArrayLike, ArrayLike], Array]"
"""A function of two operands, elementwise."""


def public(function: F, name: str, doc: str) -> F:
    """`function` with the name and place that users see."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "jax.numpy"
    return function


def last_sections(example: str, printed: str, error: str = "") -> str:
    """Write the sections on accuracy and with an example, with which a docstring ends.

    Args:
      example: a call, as Python code.
      printed: what Python shows as its result.
      error: the error bound of the results; "" for exact or correctly rounded ones.
    """
    accuracy = f"\n    Accuracy: within {error}.\n" if error else ""
    return f"{accuracy}\n    Example:\n      >>> {example}\n      {printed}\n    "


def one_operation(function: F) -> F:
    """`function`, marked as one that makes one array at most: its calls are never worth compiling."""
    function.__dict__["is_one_operation"] = True
    return function
