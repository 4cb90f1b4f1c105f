"""Functions with several custom rules, such as a `custom_vjp` of a `custom_vmap`.

The outer object also accepts rules of the inner one, so that the order of the decorators does not
matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_SETTERS = frozenset(("defjvp", "defjvps", "defvjp", "def_vmap"))


def inner_rule(owner: object, name: str) -> Callable[..., object]:
    """Returns the rule setter `name` of the function that `owner` wraps.

    Raises:
      AttributeError: if that function has no such method.
    """
    inner = owner.__dict__.get("fun")
    if name in _SETTERS and hasattr(inner, name):
        return getattr(inner, name)
    raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
