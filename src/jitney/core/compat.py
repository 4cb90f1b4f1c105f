"""Small questions about values and traces that libraries ask through `jax.core`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core import dtypes
from jitney.core.array import Array
from jitney.core.avals import (
    AbstractValue,
    abstract_token,
    get_aval,
    is_valid_operand,
    pytype_aval_mappings,
)
from jitney.core.jaxpr import Jaxpr, Var
from jitney.core.primitive import Primitive
from jitney.core.trace import Trace, state

if TYPE_CHECKING:
    from jitney.core.linear_util import WrappedFun
    from jitney.core.typing import Value

array_types: set[type] = {Array, np.ndarray, *dtypes.numpy_scalar_types}


class CallPrimitive(Primitive):
    """A primitive whose first operand is a function, which it calls."""

    multiple_results = True
    call_primitive = True


class Token:
    """Orders effects; holds no data."""

    aval: AbstractValue = abstract_token

    def __init__(self, buf: object = None) -> None:
        self._buf = buf

    def block_until_ready(self) -> None:
        """There is nothing to wait for."""

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        """Returns what compiled programs are given for a token."""
        return np.zeros(0, np.bool_)


def valid_jaxtype(x: object) -> bool:
    """Returns whether `x` may be an operand: an array, a tracer, a scalar."""
    if not is_valid_operand(x):
        return False
    try:
        get_aval(x)
    except TypeError:  # an array of NumPy's of a dtype that arrays cannot have
        return False
    except OverflowError:  # an integer, too large for the default dtype
        return True
    return True


def is_constant_dim(d: object) -> bool:
    """Returns whether a size is a number."""
    return isinstance(d, int | np.integer)


def is_constant_shape(shape: Iterable[object]) -> bool:
    """Returns whether all sizes are numbers."""
    return all(is_constant_dim(d) for d in shape)


def primal_dtype_to_tangent_dtype(primal_dtype: dtypes.DType) -> Any:
    """Returns the dtype of tangents of values of `primal_dtype`."""
    return dtypes.tangent_dtype(primal_dtype)


def gensym(suffix: str = "") -> Callable[[AbstractValue], Var]:
    """Returns a function that makes a new variable of a type."""
    return Var


def call_impl(f: WrappedFun, *args: Value, **params: object) -> Any:
    """Calls a wrapped function."""
    return f.call_wrapped(*args)


def traces() -> Iterator[Trace]:
    """Yields the current trace and those around it, innermost first; without the evaluating one."""
    trace = state.trace
    while trace is not None and trace is not state.eval_trace:
        yield trace
        trace = getattr(trace, "parent_trace", None)


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:  # the API's name
    """Returns whether a function is being traced to a program."""
    return any(trace.is_staging for trace in traces())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Returns whether a function is being batched."""
    return any(trace.is_batching for trace in traces())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Any]:
    """Returns the axes in scope, outermost first."""
    return [name for name, _ in state.axis_env]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Returns whether there are axes in scope."""
    return bool(state.axis_env)


__all__ = [
    "CallPrimitive",
    "Jaxpr",
    "Token",
    "array_types",
    "call_impl",
    "gensym",
    "is_constant_dim",
    "is_constant_shape",
    "nonempty_axis_env_DO_NOT_USE",
    "primal_dtype_to_tangent_dtype",
    "pytype_aval_mappings",
    "unsafe_am_i_under_a_jit_DO_NOT_USE",
    "unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "unsafe_get_axis_names_DO_NOT_USE",
    "valid_jaxtype",
]
