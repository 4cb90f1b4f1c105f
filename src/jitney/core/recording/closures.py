"""Caching of programs traced from functions that close over tracers, within one trace.

Such a program cannot outlive the trace to which the tracers belong. Within that trace, calls of one
function with arguments of the same types share one program, as long as the closure holds the same
objects and all captured tracers are among these. (A tracer that the function reads from elsewhere,
such as a global object, may be different at the next call.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitney.core.recording.jaxpr_trace import JaxprTrace
from jitney.core.tracing.trace import Tracer, state
from jitney.core.types.avals import get_aval
from jitney.core.types.refs import any_refs


def held_by(fun: Callable[..., Any]) -> list[object] | None:
    """Returns the objects in the closure of `fun`; None if there is none or it has empty cells."""
    cells = getattr(fun, "__closure__", None)
    if not cells:
        return None
    try:
        return [cell.cell_contents for cell in cells]
    except ValueError:
        return None


def known(fun: Callable[..., Any], key: object) -> Any:
    """Returns the program stored by `keep` in the current trace; None if it is missing or stale."""
    trace = state.trace
    if not isinstance(trace, JaxprTrace) or not trace.nested:
        return None
    entry = trace.nested.get((id(fun), key))
    if entry is None:
        return None
    program, then, _ = entry
    now = held_by(fun)
    if now is None or any([a is not b for a, b in zip(now, then, strict=True)]):
        return None
    return program


def keep(fun: Callable[..., Any], key: object, program: object, outer: Sequence[Any]) -> None:
    """Stores `program` for other calls of `fun` in the current trace, if they can share it.

    Args:
      fun: the function.
      key: what the program depends on besides the function.
      program: the traced program.
      outer: the values that the function closes over.
    """
    trace, held = state.trace, held_by(fun)
    if not isinstance(trace, JaxprTrace) or held is None:
        return
    if any_refs(map(get_aval, outer)):
        return
    own = set(map(id, held))
    if all([isinstance(x, Tracer) and id(x) in own for x in outer]):
        trace.nested[id(fun), key] = program, held, fun
