"""Queries about values and traces that libraries make through `jax.core`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.array import Array
from jitney.core.program.jaxpr import Jaxpr, Var
from jitney.core.tracing.primitive import Primitive
from jitney.core.tracing.trace import Trace, state
from jitney.core.types import dtypes
from jitney.core.types.avals import (
    AbstractValue,
    abstract_token,
    get_aval,
    is_valid_operand,
    pytype_aval_mappings,
)

if TYPE_CHECKING:
    from jitney.core.recording.linear_util import WrappedFun
    from jitney.core.typing import Value

array_types: set[type] = {Array, np.ndarray, *dtypes.numpy_scalar_types}


class CallPrimitive(Primitive):
    """A primitive that calls its first operand, a function."""

    multiple_results = True
    call_primitive = True


class Token:
    """A value that orders effects and holds no data."""

    aval: AbstractValue = abstract_token

    def __init__(self, buf: object = None) -> None:
        self._buf = buf

    def block_until_ready(self) -> None:
        """Returns at once, as a token has no data to wait for."""

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        """Returns the array that represents a token in compiled programs."""
        return np.zeros(0, np.bool_)


def valid_jaxtype(x: object) -> bool:
    """Returns whether `x` is a valid operand: an array, tracer or scalar."""
    if not is_valid_operand(x):
        return False
    try:
        get_aval(x)
    except TypeError:  # a NumPy array with an unsupported dtype
        return False
    except OverflowError:  # an integer that the default dtype cannot represent
        return True
    return True


def is_constant_dim(d: object) -> bool:
    """Returns whether a size is constant, rather than symbolic."""
    return isinstance(d, int | np.integer)


def is_constant_shape(shape: Iterable[object]) -> bool:
    """Returns whether all sizes are constant, rather than symbolic."""
    return all(is_constant_dim(d) for d in shape)


def primal_dtype_to_tangent_dtype(primal_dtype: dtypes.DType) -> dtypes.DType:
    """Returns the dtype of tangents of values of `primal_dtype`."""
    return dtypes.tangent_dtype(primal_dtype)


def gensym(suffix: str = "") -> Callable[[AbstractValue], Var]:
    """Returns a function that creates a new variable of a given type."""
    return Var


def call_impl(f: WrappedFun, *args: Value, **params: object) -> object:
    """Calls a wrapped function."""
    return f.call_wrapped(*args)


def traces() -> Iterator[Trace]:
    """Yields the current trace and those around it, innermost first, without the eager trace."""
    trace = state.trace
    while trace is not None and trace is not state.eval_trace:
        yield trace
        trace = getattr(trace, "parent_trace", None)


def unsafe_am_i_under_a_jit_DO_NOT_USE() -> bool:  # the name is JAX's
    """Returns whether a function is being traced to a jaxpr."""
    return any(trace.is_staging for trace in traces())


def unsafe_am_i_under_a_vmap_DO_NOT_USE() -> bool:
    """Returns whether a function is being batched."""
    return any(trace.is_batching for trace in traces())


def unsafe_get_axis_names_DO_NOT_USE() -> list[Hashable]:
    """Returns the names of the axes in scope, outermost first."""
    return [name for name, _ in state.axis_env]


def nonempty_axis_env_DO_NOT_USE() -> bool:
    """Returns whether any named axes are in scope."""
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
