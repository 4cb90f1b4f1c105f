"""Detection of tracers that outlive their trace, for `checking_leaks`.

A check visits all objects of the process, so it runs only on request.
"""

# A trace recognizes its own tracers by their `_trace`.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import gc
import types
from typing import TYPE_CHECKING

from jitney.core.tracing.trace import Trace, Tracer

if TYPE_CHECKING:
    from typing_extensions import TypeIs


def check(trace: Trace, known: set[int]) -> None:
    """Raises an Exception if a tracer of `trace` is still referenced.

    Args:
      trace: a trace whose function has returned.
      known: the identities of tracers that the trace itself holds.
    """
    gc.collect()
    leaked = [
        x
        for x in gc.get_objects()
        if isinstance(x, Tracer) and x._trace is trace and id(x) not in known
    ]
    if not leaked:
        return
    lines = [f"Leaked trace {trace}. Leaked tracer(s):"]
    for tracer in leaked:
        lines += [f"\n{tracer!r}{tracer._origin_msg()}", *_holders(tracer, {id(leaked)})]
    raise Exception("\n".join(lines))


def _holders(tracer: Tracer, seen: set[int]) -> list[str]:
    """Returns the chain of references to `tracer`, one line for each link."""
    lines: list[str] = []
    x: object = tracer
    for _ in range(_MAX_STEPS):
        seen.add(id(x))
        holder, what = _holder_of(x, seen)
        if what:
            lines.append(f"<{type(x).__name__} {id(x)}> is referred to by {what}")
        if holder is None:
            break
        x = holder
    return lines


_MAX_STEPS = 10


def _holder_of(x: object, seen: set[int]) -> tuple[object, str]:
    """Returns (object that refers to `x`, description); (None, description) ends a chain."""
    for holder in gc.get_referrers(x):
        if id(holder) in seen or isinstance(holder, types.FrameType):
            continue
        if isinstance(holder, types.CellType):
            closure = _function_over(holder)
            if closure is not None:
                function, variable = closure
                seen.add(id(holder))
                name = function.__qualname__.rpartition(".")[2]
                label = f"<function {id(function)}> ({name}) closed-over variable {variable}"
                return function, label
            continue
        label = f"<{type(holder).__name__} {id(holder)}>"
        if _is_sequence(holder):
            place = next((i for i, item in enumerate(holder) if item is x), None)
            return holder, f"{label}[{place}]"
        if _is_dict(holder):
            key = next((k for k, item in holder.items() if item is x), None)
            if "__name__" in holder and "__builtins__" in holder:
                return None, f"the global variable {key} of module {holder['__name__']}"
            return holder, f"{label}[{key!r}]"
        names = [k for k, item in getattr(holder, "__dict__", {}).items() if item is x]
        return holder, f"{label}.{names[0]}" if names else label
    return None, ""


def _function_over(cell: types.CellType) -> tuple[types.FunctionType, str] | None:
    """Returns (function, variable) of a function that closes over `cell`; None if there is none."""
    for closure in gc.get_referrers(cell):
        if not _is_sequence(closure):
            continue
        for function in gc.get_referrers(closure):
            if isinstance(function, types.FunctionType) and function.__closure__ is closure:
                cells = function.__closure__ or ()
                index = next(i for i, item in enumerate(cells) if item is cell)
                return function, function.__code__.co_freevars[index]
    return None


def _is_sequence(x: object) -> TypeIs[list[object] | tuple[object, ...]]:
    return isinstance(x, list | tuple)


def _is_dict(x: object) -> TypeIs[dict[object, object]]:
    return isinstance(x, dict)


__all__ = ["check"]
