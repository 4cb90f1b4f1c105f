"""From traced programs to results: finds or makes the executable of a program and runs it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from jitney.compiler import lower as lowering
from jitney.core import pytrees
from jitney.core.errors import api_boundary
from jitney.core.jaxpr import ClosedJaxpr
from jitney.runtime import sharding
from jitney.runtime.array import ArrayImpl
from jitney.runtime.executable import Executable, Lowering

# Traced program -> its executable, for as long as the program is in use.
_executables: weakref.WeakKeyDictionary[ClosedJaxpr, Executable] = weakref.WeakKeyDictionary()


def executable_of(closed: ClosedJaxpr, name: str) -> Executable:
    """The executable of `closed`, compiled at the first request."""
    found = _executables.get(closed)
    if found is None:
        found = _executables[closed] = lower(closed, name).compile()
    return found


def run(
    closed: ClosedJaxpr,
    leaves: Sequence[Any],
    *,
    donated: Sequence[bool] = (),
    name: str = "main",
) -> list[ArrayImpl]:
    """Results of `closed` on flat operands."""
    return executable_of(closed, name).run(leaves, donated)


def lower(closed: ClosedJaxpr, name: str = "main") -> Lowering:
    """`closed` in the tensor IR."""
    module = lowering.lower(closed, name)
    return Lowering(module, closed.in_avals, closed.out_avals)  # type: ignore[arg-type]


def clear_caches() -> None:
    """Forgets all executables."""
    _executables.clear()


def shardings_of(tree: pytrees.PyTreeDef) -> Any:
    """The placement of each leaf of `tree`."""
    return pytrees.tree_unflatten(tree, [sharding.default] * tree.num_leaves)


class PjitFunction:
    """A jitted function. The name is the one that libraries look for in JAX."""

    def __init__(self, call: Any, fun: Callable[..., Any]) -> None:
        self.call = call
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
            if hasattr(fun, name):
                setattr(self, name, getattr(fun, name))
        self.__wrapped__ = fun

    @api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call.call(args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        import types

        return types.MethodType(self, instance)

    def clear_fast_path(self) -> None:
        """Forgets the signatures of earlier calls."""

    def __repr__(self) -> str:
        return f"<PjitFunction of {self.__wrapped__!r}>"


__all__ = ["PjitFunction", "clear_caches", "executable_of", "lower", "run", "shardings_of"]
