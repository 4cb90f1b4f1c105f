"""Helpers for transformations that differentiate: flat functions, checks, pulling back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.jit.jit_call import fun_name
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.source import source_info
from jitney.core.tracing.hi_types import is_high_value
from jitney.core.types import dtypes
from jitney.primitives.elementwise.convert import as_value
from jitney.transforms.transpose import UndefinedPrimal, logged_backward_pass
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import PyTree, Value
    from jitney.primitives.rule_types import Cotangent
    from jitney.transforms.accumulators import GradAccum
    from jitney.transforms.linearize import Linear
    from jitney.transforms.logs import Log


def flat_function(
    fun: Callable[..., Any], in_tree: PyTreeDef, has_aux: bool = False
) -> FlatFunction:
    """Returns `fun`, the function to differentiate, as a function of flat values."""

    def refusal(x: object, path: str) -> str:
        return (
            f"{fun_name(fun)} must return arrays or scalars to be differentiated, but "
            f"{f'output {path}' if path else 'its output'} is of type {type(x)}"
        )

    return FlatFunction(fun, in_tree, refusal, has_aux=has_aux)


def debug_info(fun: Callable[..., Any], traced_for: str) -> DebugInfo:
    """Returns the name and source location of `fun`, for messages."""
    return DebugInfo(traced_for, source_info.fun_sourceinfo(fun))


def check_callable(fun: object) -> None:
    """Raises TypeError unless `fun` can be called."""
    if not callable(fun):
        raise TypeError(f"expected a function, but got {fun} of type {type(fun).__name__}")


def array_values(leaves: Sequence[Value], with_numbers: bool = False) -> list[Value]:
    """Converts NumPy arrays in `leaves` to arrays, and Python scalars, too, if `with_numbers`.

    In eager mode, Python scalars are converted once here instead of in each operation; in traced
    programs they stay Python scalars.
    """
    kinds = _NUMBERS if with_numbers else _NUMPY
    return [as_value(x) if isinstance(x, kinds) else x for x in leaves]


_NUMPY = (np.ndarray, np.generic)
_NUMBERS = (*_NUMPY, float, int, complex)


def instantiated(t: PyTree) -> Value:
    """Returns the tangent `t` as an array, in which a symbolic zero becomes zeros."""
    t = instantiate(t)
    if is_high_value(t):
        return t
    return t if dtypes.dtype(t) == dtypes.float0 else as_value(t)


def pull_back(
    linear: Linear,
    consts: Sequence[Any],
    cts: Sequence[Any],
    wanted: Sequence[bool] | None = None,
    accums: Sequence[GradAccum | None] | None = None,
) -> tuple[Sequence[Cotangent | None], Log]:
    """Returns (cotangents of the arguments, log) for flat cotangents of the results.

    The cotangent of an argument on which the result does not depend is `Zero` or None.

    Args:
      linear: the linearized function.
      consts: its residuals.
      cts: cotangents of the results.
      wanted: whether to compute the cotangent of each argument; by default, all are computed.
      accums: the accumulators that users' backward rules receive for arguments of the function;
        None stands for a `ValAccum`.
    """
    nonzero_cts = [*itertools.compress(cts, linear.nonzero_out)]
    operands = [UndefinedPrimal(v.aval) for v in linear.jaxpr.invars]
    if accums is not None:
        for x, accum in zip(operands, itertools.compress(accums, linear.nonzero_in), strict=True):
            x.accum = accum
    if wanted is not None:
        wanted = [*itertools.compress(wanted, linear.nonzero_in)]
    with source_info.transform_name_stack("transpose"):
        operand_cts, log = logged_backward_pass(linear.jaxpr, consts, operands, nonzero_cts, wanted)
    if all(linear.nonzero_in):
        return operand_cts, log
    remaining = iter(operand_cts)
    return [next(remaining) if nz else None for nz in linear.nonzero_in], log


def cotangent(ct: PyTree, aval: AbstractValue) -> Value | None:
    """Returns the cotangent `ct` of a value of type `aval` as an array.

    A missing cotangent becomes zeros of the cotangent type. The result is None if the value is a
    reference.
    """
    if aval.is_ref:  # the content of a reference is not differentiated
        return None
    if ct is None or isinstance(ct, Zero):
        return instantiated(Zero(aval.to_cotangent_aval()))
    return as_value(ct)
