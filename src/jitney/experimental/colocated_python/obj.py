"""Classes whose objects live where arrays are."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney.core.lazy import listing, refusing
from jitney.experimental.colocated_python.func import colocated_python

__all__: list[str] = []  # the package passes the class on

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


def colocated_python_class(cls: type[object]) -> type[object]:
    """Returns `cls`, whose objects are made and whose methods run where their arguments are.

    Args:
      cls: a class. Its methods take and return pytrees of arrays, like `colocated_python`'s functions.

    Returns: a class with the same methods. An object of `cls` is made by the first call of a method of
    it; there is no way to its attributes but by methods.

    Example:
      >>> @colocated_python_class
      ... class Counter:
      ...     def __init__(self, start):
      ...         self.n = start
      ...     def add(self, x):
      ...         self.n += int(x)
      ...         return jnp.asarray(self.n)
      >>> Counter(10).add(jnp.asarray(3))
      Array(13, dtype=int32)
    """
    methods = {
        name: _method(cls, name)
        for name, member in inspect.getmembers(cls, inspect.isroutine)
        if inspect.isfunction(member) and not (name.startswith("__") and name.endswith("__"))
    }

    def __init__(self: _Remote, *args: Any, **kwargs: Any) -> None:
        self._make = lambda: cls(*args, **kwargs)
        self._instance = None
        self._lock = threading.Lock()

    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (_Remote,), {**methods, **names, "__init__": __init__})


class _Remote:
    """A proxy of an object that the first call of a method creates."""

    _make: Callable[[], Any]
    _instance: Any
    _lock: threading.Lock

    def _object(self) -> Any:
        with self._lock:
            if self._instance is None:
                self._instance = self._make()
            return self._instance


def _method(cls: type[object], name: str) -> property:
    """A method, bound to the object when it is called, so that `x.method.specialize` is there."""
    function = getattr(cls, name)

    def bound(self: _Remote) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(self._object(), name)(*args, **kwargs)

        call.__name__, call.__doc__ = name, function.__doc__
        return colocated_python(call)

    return property(bound)
