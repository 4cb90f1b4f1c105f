"""Detection of PRNG keys that are used twice in eager mode, with `jax_debug_key_reuse`.

Key arrays are tracked by identity, for as long as they live.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.program.key_reuse import KeyUse, Mask, is_key, reused, use_of, use_of_program
from jitney.core.settings import config
from jitney.core.source import source_info
from jitney.core.tracing.trace import intercept_evaluation
from jitney.core.types.avals import get_aval
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.execution import call_interceptors
from jitney.runtime.execution.call_interceptors import ProgramCall
from jitney.runtime.execution.eager import EvalTrace

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.tracing.primitive import Primitive
    from jitney.core.typing import Value


_Entry = tuple["weakref.ref[ArrayImpl]", Mask, source_info.SourceInfo]


class _State(threading.local):
    inside = False  # whether an operation is being checked; its parts are not checked separately


_state = _State()
_consumed: dict[int, _Entry] = {}  # id of an array -> (the array, mask of consumed keys, source)


def is_on() -> bool:
    """Returns whether operations of the current thread are checked."""
    return not _state.inside and config.debug_key_reuse.value


def _mask(x: object) -> Mask:
    entry = _consumed.get(id(x))
    return False if entry is None or entry[0]() is not x else entry[1]


def _set_mask(x: ArrayImpl, mask: Mask) -> None:
    place = id(x)
    if not np.any(mask):
        _consumed.pop(place, None)
        return

    def forget(dead: weakref.ref[ArrayImpl]) -> None:
        entry = _consumed.get(place)
        if entry is not None and entry[0] is dead:
            del _consumed[place]

    _consumed[place] = (weakref.ref(x, forget), mask, source_info.current())


def _is_key_array(x: object) -> bool:
    return isinstance(x, ArrayImpl) and is_key(x.aval)


def _watched(what: str, use: KeyUse, operands: Sequence[Any], run: Callable[[], Any]) -> list[Any]:
    for i, mask in use.consumed:
        if _is_key_array(operands[i]) and np.any(np.logical_and(_mask(operands[i]), mask)):
            raise reused(f"argument {i} of {what}", _consumed[id(operands[i])][2], None)
    _state.inside = True
    try:
        results = run()
    finally:
        _state.inside = False
    for i, mask in use.consumed:
        if _is_key_array(operands[i]):
            _set_mask(operands[i], np.logical_or(_mask(operands[i]), mask))
    sources = {result: operand for operand, result in use.forwarded}
    for i, x in enumerate(results):
        if _is_key_array(x):
            old = _mask(operands[sources[i]]) if i in sources else i not in use.new
            # Masks are not propagated to arrays of another shape.
            _set_mask(
                x, old if np.ndim(old) == 0 or np.shape(old) == x.shape else bool(np.all(old))
            )
    return results


def watch_operation(
    primitive: Primitive,
    args: Sequence[Any],
    params: Mapping[str, Any],
    run: Callable[[], Any],
) -> object:
    """Returns the result of `run()`, which computes an operation, unless it reuses a key.

    Raises:
      KeyReuseError: if the operation uses a key that was used before.
    """
    use = use_of(primitive, [get_aval(x) for x in args], params)

    def run_all() -> Sequence[Value]:
        out = run()
        return out if primitive.multiple_results else [out]

    results = _watched(str(primitive), use, args, run_all)
    return results if primitive.multiple_results else results[0]


def watch_program(
    closed: ClosedJaxpr, leaves: Sequence[Any], name: str, run: Callable[[], list[ArrayImpl]]
) -> list[ArrayImpl]:
    """Returns the results of `run()`, which calls a program, unless it reuses a key.

    Raises:
      KeyReuseError: if the program uses a key that was used before.
    """
    use = use_of_program(closed.jaxpr)
    return _watched(f"jit({name})", use, [*leaves, *closed.consts], run)


class KeyReuseChecks(EvalTrace):
    """A trace that records which keys operations use (`jax_debug_key_reuse`)."""

    __slots__ = ()

    def process_primitive(
        self,
        primitive: Primitive,
        args: Sequence[Value],
        params: dict[str, Any],
        built_in: bool = False,
    ) -> object:
        evaluate = partial(super().process_primitive, primitive, args, params, built_in)
        if not is_on():
            return evaluate()
        return watch_operation(primitive, args, params, evaluate)


class KeyReuseInCalls:
    """An interceptor that records which keys programs use (`jax_debug_key_reuse`)."""

    def is_on(self) -> bool:
        """See `CallInterceptor`."""
        return config.debug_key_reuse.value

    def intercept(
        self, call: ProgramCall, proceed: Callable[[], list[ArrayImpl]]
    ) -> list[ArrayImpl]:
        """See `CallInterceptor`."""
        if not is_on():  # a part of an operation that is checked as a whole
            return proceed()
        return watch_program(call.closed, call.leaves, call.name, proceed)


_IN_CALLS = KeyReuseInCalls()


def _start() -> None:
    intercept_evaluation(KeyReuseChecks)
    call_interceptors.features.install(_IN_CALLS)


def install() -> None:
    """Registers the checks, which start when the option is first set."""
    config.key_reuse_checks.installs(_start)
