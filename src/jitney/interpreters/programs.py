"""Transformations of jaxprs for `jax.interpreters.partial_eval`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.core.avals import AbstractValue
from jitney.core.closed_programs import constants_as_operands
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr
from jitney.core.jaxpr_trace import trace_to_jaxpr
from jitney.transforms import partial


def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """Returns a program without constants, closed."""
    return ClosedJaxpr(jaxpr, ())


def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """Returns the program that takes its constants as arguments, before the others."""
    return constants_as_operands(jaxpr)


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
    """Returns the program with the marked arguments after the others.

    Raises:
      ValueError: if there are more or fewer marks than arguments.
    """
    jaxpr = closed_jaxpr.jaxpr
    pairs = list(zip(jaxpr.invars, to_move, strict=True))
    invars = [v for v, moved in pairs if not moved] + [v for v, moved in pairs if moved]
    info = jaxpr.debug_info._replace(arg_names=None)
    return ClosedJaxpr(jaxpr.replace(invars=invars, debug_info=info), closed_jaxpr.consts)


def prune_closed_jaxpr_outputs(jaxpr: ClosedJaxpr, used_outputs: Sequence[bool]) -> ClosedJaxpr:
    """Returns the program with the marked results alone; all of its operations stay.

    Raises:
      ValueError: if there are more or fewer marks than results.
    """
    inner = jaxpr.jaxpr
    outvars = [v for v, used in zip(inner.outvars, used_outputs, strict=True) if used]
    info = inner.debug_info._replace(result_paths=None)
    return ClosedJaxpr(inner.replace(outvars=outvars, debug_info=info), jaxpr.consts)


def partial_eval_jaxpr_nounits(
    jaxpr: ClosedJaxpr, unknowns: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool], list[AbstractValue]]:
    """Returns a program as two: what the known arguments determine, and the rest.

    Args:
      jaxpr: the program.
      unknowns: which arguments are unknown.
      instantiate: which results are the rest's even if they are known.

    Returns: (known arguments -> known results and residuals; residuals and unknown arguments ->
      unknown results; which results are unknown; types of the residuals).
    """
    known, unknown, out_unknown, n = partial.trace_partially(jaxpr, unknowns, instantiate)
    return known, unknown, list(out_unknown), unknown.in_avals[:n]
