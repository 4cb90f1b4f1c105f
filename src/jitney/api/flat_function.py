"""Functions of pytrees as functions of flat values, for transformations that differentiate them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.jit_call import fun_name
from jitney.core import source_info
from jitney.core.avals import is_valid_operand
from jitney.core.jaxpr import DebugInfo
from jitney.core.pytree import pytrees
from jitney.core.trace import Tracer, state
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms.jvp import JVPTrace

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.typing import ArrayLike, PyTree


class FlatFunction:
    """A function of pytrees as one of flat values; remembers the structure of its result.

    Attributes:
      out_tree: structure of the result of the last call.
      aux: what the function returned besides, with `has_aux`.
    """

    def __init__(self, fun: Callable[..., Any], in_tree: PyTreeDef, has_aux: bool = False) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.has_aux = has_aux
        self.out_tree: Any = None
        self.aux: Any = None

    def __call__(self, *leaves: ArrayLike) -> list[Any]:
        out = self.fun(*pytrees.tree_unflatten(self.in_tree, leaves))
        if self.has_aux:
            if not isinstance(out, list | tuple) or len(out) != 2:
                raise TypeError(
                    "expected function with aux output to return a two-element tuple, but got type "
                    f"{type(out)} with value {out!r}"
                )
            out, aux = out
            self.aux = pytrees.tree_map(_value_below, aux)
        leaves_out, self.out_tree = pytrees.tree_flatten(out)
        for x in leaves_out:
            if not is_valid_operand(x):
                raise TypeError(
                    f"function {fun_name(self.fun)} returned a value of type {type(x)}, which is not "
                    "a valid JAX type and cannot be differentiated"
                )
        return leaves_out


def debug_info(fun: Callable[..., Any], traced_for: str) -> DebugInfo:
    """Where `fun` comes from, for messages."""
    return DebugInfo(traced_for, source_info.fun_sourceinfo(fun))


def check_callable(fun: object) -> None:
    """Raises TypeError unless `fun` can be called."""
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")


def _value_below(x: PyTree) -> Any:
    """A value that is returned aside, without its derivative: what the current trace's parent knows."""
    trace = state.trace
    return trace.to_pair(x)[0] if isinstance(x, Tracer) and isinstance(trace, JVPTrace) else x


def array_values(leaves: Sequence[Any]) -> list[Any]:
    """`leaves`, those of NumPy as arrays."""
    return [x if not isinstance(x, np.ndarray | np.generic) else as_value(x) for x in leaves]
