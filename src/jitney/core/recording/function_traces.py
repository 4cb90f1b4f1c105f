"""A cache of programs traced from functions for control flow: bodies, branches, combiners.

A loop that runs eagerly a second time, with the same function and operands of the same types, finds
its program here, along with everything derived from it: derivatives, batched forms, machine code.
As in JAX, functions are compared by identity, and global variables are read only when a function is
traced. The contents of closures are compared. An entry is dropped together with its function.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from jitney.core.recording import closures
from jitney.core.settings import caches, config
from jitney.core.tracing.hi_types import is_mutable
from jitney.core.tracing.trace import Tracer, state
from jitney.core.types.avals import get_aval
from jitney.core.types.refs import any_refs
from jitney.core.util.thresholds import threshold

Result = TypeVar("Result")

_LIMIT = threshold(4096, small=16)  # functions
_LIMIT_OF_ONE = threshold(256, small=8)  # entries of one function

# Identity of a function -> (weak reference to it, {key: (objects in its closure, result)}).
_traces: dict[int, tuple[weakref.ref[Any], dict[Any, tuple[list[Any] | None, Any]]]] = {}
caches.register(
    "traces of functions passed to control flow", "the function, structure, types, settings", __name__,
    entries=lambda: sum([len(known) for _, known in _traces.values()]), clear=_traces.clear,
)  # fmt: skip


def traced_once(
    fun: Callable[..., Any],
    key: Hashable,
    trace: Callable[[], Result],
    constants: Callable[[Result], Sequence[Any]],
) -> Result:
    """Returns `trace()`, or its earlier result for `fun` and `key` from the cache.

    Args:
      fun: the user's function that is traced.
      key: what the result depends on besides the function: the purpose of the trace, structures,
        types.
      trace: traces the function.
      constants: returns the values that a result closes over. If one of them belongs to a trace in
        progress, the result is kept no longer than that trace.
    """
    if type(fun) is types.MethodType or config.check_tracer_leaks.value:
        return trace()  # a method, created anew at each access
    full = (key, config.trace_epoch(), state.axis_env, state.checked_axes, state.folds)
    held = closures.held_by(fun)
    entry = _traces.get(id(fun))
    known = None
    if entry is not None and entry[0]() is fun:
        known = entry[1]
        try:
            cached = known.get(full)
        except (TypeError, ValueError):  # static data that cannot be hashed or compared
            return trace()
        if cached is not None and _are_same(cached[0], held):
            return cached[1]
    try:
        within = closures.known(fun, full)
    except (TypeError, ValueError):
        return trace()
    if within is not None:
        return within
    result = trace()
    values = constants(result)
    if values and (any_refs(map(get_aval, values)) or any(map(is_mutable, values))):
        return result
    try:
        if any([isinstance(x, Tracer) for x in values]):
            closures.keep(fun, full, result, values)
            return result
        if known is None:
            known = _new_entry(fun)
        if len(known) >= _LIMIT_OF_ONE:
            known.clear()
        known[full] = held, result
    except TypeError:
        pass  # static data that cannot be hashed, or a function without weak references
    return result


def _new_entry(fun: Callable[..., Any]) -> dict[object, object]:
    number = id(fun)

    def forget(_: object, traces: Any = _traces) -> None:
        traces.pop(number, None)

    if len(_traces) >= _LIMIT:
        _traces.clear()
    known: dict[Any, Any] = {}
    _traces[number] = weakref.ref(fun, forget), known
    return known


def _are_same(then: list[Any] | None, now: list[Any] | None) -> bool:
    if then is None or now is None:
        return then is now
    return all([a is b for a, b in zip(then, now, strict=True)])
