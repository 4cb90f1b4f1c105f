"""Transformations of jaxprs for `jax.interpreters.partial_eval`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.core.program.closed_programs import constants_as_operands
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr
from jitney.core.pytree import pytrees
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.types.avals import AbstractValue, FlatValues
from jitney.transforms import lojax, partial


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Returns the program unchanged, if it has no constants or its constants have values."""
    return ClosedJaxpr(jaxpr, ()) if jaxpr.constvars and jaxpr.is_open else jaxpr


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Returns the program with its constants as additional leading arguments."""
    return constants_as_operands(jaxpr)


def lower_jaxpr(
    hi_jaxpr: ClosedJaxpr, lo_avals: Sequence[AbstractValue] | FlatValues
) -> tuple[ClosedJaxpr, tuple[FlatValues, ...]]:
    """Lowers a program on values of high-level types to a program on arrays.

    Args:
      hi_jaxpr: the program.
      lo_avals: types of the arrays to which the arguments are lowered.

    Returns: (program on arrays; for each result of `hi_jaxpr`, the types of the arrays to which it
      is lowered).

    Raises:
      TypeError: if `lo_avals` are not the types to which the arguments are lowered.
    """
    given = list(lo_avals.vals if isinstance(lo_avals, FlatValues) else lo_avals)
    wanted = lojax.lowered_types(hi_jaxpr.in_avals)
    if given != wanted:
        raise TypeError(
            f"lower_jaxpr: the arguments are lowered to arrays of types {wanted}, but `lo_avals` is "
            f"{given}"
        )
    results: list[FlatValues] = []
    for aval in hi_jaxpr.out_avals:
        leaves, tree = pytrees.tree_flatten(list(aval.lo_ty()))
        results.append(FlatValues(tuple(leaves), tree))
    return lojax.lowered(hi_jaxpr), tuple(results)


def abstract_eval_fun(
    fun: Callable[..., Sequence[Any]],
    *avals: AbstractValue,
    debug_info: DebugInfo,
    **params: object,
) -> list[AbstractValue]:
    """Returns the types of the results of `fun(*values, **params)` for values of types `avals`."""
    _, types, _ = trace_to_jaxpr(lambda *xs: list(fun(*xs, **params)), avals, debug_info)
    return list(types)


def move_binders_to_back(closed_jaxpr: ClosedJaxpr, to_move: Sequence[bool]) -> ClosedJaxpr:
    """Moves the arguments that are flagged in `to_move` after all others.

    Raises:
      ValueError: if the number of flags differs from the number of arguments.
    """
    jaxpr = closed_jaxpr.jaxpr
    pairs = list(zip(jaxpr.invars, to_move, strict=True))
    invars = [v for v, moved in pairs if not moved] + [v for v, moved in pairs if moved]
    info = jaxpr.debug_info._replace(arg_names=None)
    return ClosedJaxpr(jaxpr.replace(invars=invars, debug_info=info), closed_jaxpr.consts)


def prune_closed_jaxpr_outputs(jaxpr: ClosedJaxpr, used_outputs: Sequence[bool]) -> ClosedJaxpr:
    """Removes results that are not flagged in `used_outputs`; keeps all equations.

    Raises:
      ValueError: if the number of flags differs from the number of results.
    """
    inner = jaxpr.jaxpr
    outvars = [v for v, used in zip(inner.outvars, used_outputs, strict=True) if used]
    info = inner.debug_info._replace(result_paths=None)
    return ClosedJaxpr(inner.replace(outvars=outvars, debug_info=info), jaxpr.consts)


def partial_eval_jaxpr_nounits(
    jaxpr: ClosedJaxpr, unknowns: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool], list[AbstractValue]]:
    """Splits a program into two, of which the first depends only on known arguments.

    Args:
      jaxpr: the program.
      unknowns: whether each argument is unknown.
      instantiate: whether the second program returns each result even if it is known.

    Returns: (program that maps known arguments to known results and residuals; program that maps
      residuals and unknown arguments to unknown results; whether each result is unknown; types of
      the residuals).
    """
    known, unknown, out_unknown, n = partial.trace_partially(jaxpr, unknowns, instantiate)
    return known, unknown, list(out_unknown), unknown.in_avals[:n]
