"""`wraps`: makes wrapper functions take over names and attributes of the callables they wrap."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

UNNAMED = "<unnamed function>"


def name_of(fun: Callable[..., Any]) -> str:
    """Returns the name of a callable, or of a partial's function; `UNNAMED` if there is no name."""
    name = getattr(fun, "__name__", None)
    if isinstance(name, str):
        return name
    return name_of(fun.func) if isinstance(fun, functools.partial) else UNNAMED


def wraps(fun: Callable[..., Any], transformation: str = "") -> Callable[[F], F]:
    """Returns a decorator like `functools.wraps`, for any callable.

    The name and annotations of a callable object can be any objects, for example if it computes its
    attributes on access; values that a function cannot have are replaced. Partials and objects
    without a name get one. Attributes that users have set on `fun` are copied to the wrapper.

    Args:
      fun: the callable that the decorated function wraps.
      transformation: the relation of the decorated function to `fun`, such as "gradient", for
        `transformations_of`.
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
        if transformation:
            wrapper.__dict__["__transformation__"] = _Mark(transformation, wrapper)
        return wrapper

    return decorate


class _Mark:
    """A record of the transformation that made a function, and of that function.

    The function is stored because its wrappers copy its attributes. A weak reference is used
    instead of the function's id, which could be reused once the function is freed.
    """

    __slots__ = ("function", "transformation")

    def __init__(self, transformation: str, function: Callable[..., Any]) -> None:
        self.transformation = transformation
        self.function = weakref.ref(function)

    def __reduce__(self) -> tuple[object, ...]:
        return str, (self.transformation,)  # cloudpickle pickles function attributes


def transformations_of(fun: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the transformations recorded by `wraps` that made a function, in order."""
    transformations: list[str] = []
    current: Any = fun
    while current is not None:
        noted = getattr(current, "__dict__", {}).get("__transformation__")
        if type(noted) is _Mark and noted.function() is current:
            transformations.append(noted.transformation)
        is_partial = isinstance(current, functools.partial)
        current = current.func if is_partial else getattr(current, "__wrapped__", None)
    return tuple(reversed(transformations))
