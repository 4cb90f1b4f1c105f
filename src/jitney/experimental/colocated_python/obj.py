"""Classes whose objects live on the hosts of their arguments."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney.core.util.lazy import listing, refusing
from jitney.experimental.colocated_python.func import colocated_python

__all__ = ["wrap_class"]

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


def colocated_python_class(cls: type[object]) -> type[object]:
    """Returns a version of `cls` whose methods run on the hosts of their arguments.

    Args:
      cls: a class. Its methods must satisfy the requirements of `colocated_python`.

    Returns: a class with the same methods. The first call of a method creates an object of `cls`;
      its attributes are accessible only through methods.

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


def wrap_class(cls: type[object], cls_sourceinfo: str | None) -> type[object]:
    """Returns a version of `cls` whose methods run on the hosts of their arguments.

    Args:
      cls: as in `colocated_python_class`.
      cls_sourceinfo: accepted for compatibility.
    """
    return colocated_python_class(cls)


class _Remote:
    """A proxy of an object that is created by the first call of a method."""

    _make: Callable[[], Any]
    _instance: Any
    _lock: threading.Lock

    def _object(self) -> object:
        with self._lock:
            if self._instance is None:
                self._instance = self._make()
            return self._instance


def _method(cls: type[object], name: str) -> property:
    """Returns a property that binds the method on access, so that it has a method `specialize`."""
    function = getattr(cls, name)

    def bound(self: _Remote) -> Callable[..., object]:
        def call(*args: Any, **kwargs: Any) -> object:
            return getattr(self._object(), name)(*args, **kwargs)

        call.__name__, call.__doc__ = name, function.__doc__
        return colocated_python(call)

    return property(bound)
