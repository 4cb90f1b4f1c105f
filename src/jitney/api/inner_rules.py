"""Functions with several rules of their own: `custom_vjp` of a `custom_vmap`, and so on.

The outer one takes the rules of the inner one, too, so that the order of decorators does not
matter.
"""

from __future__ import annotations

from typing import Any

_SETTERS = frozenset(("defjvp", "defjvps", "defvjp", "def_vmap"))


def inner_rule(owner: object, name: str) -> Any:
    """Returns the method `name`, which sets a rule, of the function that `owner` is made of.

    Raises:
      AttributeError: if that has no such method.
    """
    inner = owner.__dict__.get("fun")
    if name in _SETTERS and hasattr(inner, name):
        return getattr(inner, name)
    raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
