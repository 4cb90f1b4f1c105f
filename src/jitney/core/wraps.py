"""`wraps`: functions that stand for users' callables, under their names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

# What Python takes as attributes of a function.
_KINDS = {"__name__": str, "__qualname__": str, "__annotations__": dict, "__type_params__": tuple}


def wraps(fun: Callable[..., Any]) -> Callable[[F], F]:
    """`functools.wraps` for any callable.

    A callable object may have anything as its name or its annotations, if its attributes are made as
    they are asked for. What a function cannot have is left out, and so are attributes of the user's.
    """
    assigned = [
        name
        for name in functools.WRAPPER_ASSIGNMENTS
        if name not in _KINDS or isinstance(getattr(fun, name, None), _KINDS[name])
    ]

    def decorate(wrapper: F) -> F:
        functools.update_wrapper(wrapper, fun, assigned=assigned, updated=())
        return wrapper

    return decorate
