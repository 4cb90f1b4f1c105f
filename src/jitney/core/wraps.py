"""`wraps`: functions that stand for users' callables, under their names and with their attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

UNNAMED = "<unnamed function>"


def name_of(fun: Callable[..., Any]) -> str:
    """Returns the name of a callable; that of what is called for partials, `UNNAMED` without one."""
    name = getattr(fun, "__name__", None)
    if isinstance(name, str):
        return name
    return name_of(fun.func) if isinstance(fun, functools.partial) else UNNAMED


def wraps(fun: Callable[..., Any]) -> Callable[[F], F]:
    """`functools.wraps` for any callable.

    A callable object may have anything as its name or its annotations, if its attributes are made as
    they are asked for: what a function cannot have is replaced. Partials and objects without a name
    get one. Attributes that users have set on `fun` are those of the wrapper, too.
    """

    def decorate(wrapper: F) -> F:
        name = name_of(fun)
        qualified = getattr(fun, "__qualname__", None)
        annotations = getattr(fun, "__annotations__", None)
        wrapper.__name__ = name
        wrapper.__qualname__ = qualified if isinstance(qualified, str) else name
        wrapper.__annotations__ = annotations if isinstance(annotations, dict) else {}
        for attribute in ("__module__", "__doc__"):
            if hasattr(fun, attribute):
                setattr(wrapper, attribute, getattr(fun, attribute))
        parameters = getattr(fun, "__type_params__", None)
        if isinstance(parameters, tuple):
            setattr(wrapper, "__type_params__", parameters)  # noqa: B010  # since Python 3.12
        noted = getattr(fun, "__dict__", None)
        if noted:
            for attribute, value in noted.items():
                if attribute[:2] != "__" or attribute == "__signature__":
                    wrapper.__dict__[attribute] = value
        setattr(wrapper, "__wrapped__", fun)  # noqa: B010  # which functions do not declare
        return wrapper

    return decorate
