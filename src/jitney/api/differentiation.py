"""What functions that differentiate share: functions of flat values, checks, values of arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.jit_call import fun_name
from jitney.core import source_info
from jitney.core.flat_function import FlatFunction
from jitney.core.jaxpr import DebugInfo
from jitney.primitives.elementwise.convert import as_value

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef


def flat_function(
    fun: Callable[..., Any], in_tree: PyTreeDef, has_aux: bool = False
) -> FlatFunction:
    """`fun`, which is to be differentiated, as a function of flat values."""

    def refusal(x: object, path: str) -> str:
        return (
            f"function {fun_name(fun)} returned a value of type {type(x)}, which is not a valid JAX "
            "type and cannot be differentiated"
        )

    return FlatFunction(fun, in_tree, refusal, has_aux=has_aux)


def debug_info(fun: Callable[..., Any], traced_for: str) -> DebugInfo:
    """Where `fun` comes from, for messages."""
    return DebugInfo(traced_for, source_info.fun_sourceinfo(fun))


def check_callable(fun: object) -> None:
    """Raises TypeError unless `fun` can be called."""
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")


def array_values(leaves: Sequence[Any], with_numbers: bool = False) -> list[Any]:
    """`leaves` with arrays for what NumPy has made, and for Python's numbers if these are wanted, too.

    Numbers that are evaluated become arrays once, not in each operation; in programs they stay numbers.
    """
    kinds = _NUMBERS if with_numbers else _NUMPY
    return [as_value(x) if isinstance(x, kinds) else x for x in leaves]


_NUMPY = (np.ndarray, np.generic)
_NUMBERS = (*_NUMPY, float, int, complex)
