"""Performance warnings: jitted functions that are slower than necessary, and how to fix them.

Functions that are traced too often are recognized by their code. A trace that is not within another
trace is counted in two cases: if the function was traced before; or if it was created from the same
code as a function that no longer exists and performs the same operations, as in a loop that defines
and jits a function in each iteration.
"""

from __future__ import annotations

import functools
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jitney.core.settings import config, performance
from jitney.core.source import source_info

if TYPE_CHECKING:
    from types import CodeType

    from jitney.api.jit.cache_misses import Key
    from jitney.core.program.jaxpr import Jaxpr
    from jitney.core.tracing.primitive import Primitive

_Reference = weakref.ref[Callable[..., Any]]
_Why = tuple[list[str], str]  # the differences, and the fix

MANY_TRACES = 20  # traces of one function, or of functions with the same code
LARGE_ARRAY = 1_000_000  # bytes above which a copy at each call is worth a warning
MANY_COPIES = 3  # copies before a warning, since a program may well convert an array once


class _History:
    """A record of how often functions with the same code object have been traced.

    Attributes:
      code: the code object.
      latest: the function that was traced last.
      traces: how often it has been traced.
      functions: a dict from the operations of a function to the number of functions that have them,
        each created after the previous one was garbage-collected.
    """

    __slots__ = ("code", "functions", "latest", "traces")

    def __init__(self, code: CodeType, latest: _Reference) -> None:
        self.code = weakref.ref(code)
        self.latest = latest
        self.traces = 1
        self.functions: Counter[tuple[Primitive, ...]] | None = None


_histories: dict[int, _History] = {}  # by the id of the code object
_most_histories = 1000  # size at which entries of collected code are dropped


def _enter(code: CodeType, latest: _Reference) -> None:
    """Starts a history for the functions with a code object."""
    global _most_histories
    _histories[id(code)] = _History(code, latest)
    if len(_histories) > _most_histories:
        for key, history in list(_histories.items()):  # a copy: other threads may add entries
            if history.code() is None:
                _histories.pop(key, None)
        _most_histories = 2 * len(_histories) + 1000


def watch_trace(fun: Callable[..., Any], jaxpr: Jaxpr, why: Callable[[], _Why | None]) -> None:
    """Warns if `fun`, or functions with its code, are traced too often.

    Args:
      fun: a function that has been traced.
      jaxpr: the result of tracing it.
      why: returns the `reasons` for the trace.
    """
    code = _code_of(fun)
    if code is None or source_info.is_internal(code):
        return
    try:
        this = weakref.ref(fun)
    except TypeError:  # not weakly referenceable
        return
    history = _histories.get(id(code))
    if history is None or history.code() is not code:  # ids are reused after code is collected
        _enter(code, this)
        return
    latest = history.latest()
    if latest is fun:
        history.traces += 1
        if history.traces == MANY_TRACES:
            _warn_of_traces(fun, why())
        return
    history.latest = this
    history.traces = 1
    if latest is None:
        # The code of a wrapper is shared by functions that perform different operations.
        operations = tuple([eqn.primitive for eqn in jaxpr.eqns])
        functions = history.functions = history.functions or Counter()
        functions[operations] += 1
        if functions[operations] == MANY_TRACES - 1:  # in addition to the first one
            _warn_of_functions(fun)


_PARTIALS: tuple[type[Any], ...] = (functools.partial,)


def _code_of(fun: Any) -> CodeType | None:
    """Returns the code object that `fun` runs, looking through wrappers, `partial`s and methods."""
    while True:
        inner = getattr(fun, "__wrapped__", None)
        if inner is None and isinstance(fun, _PARTIALS):
            inner = fun.func
        if inner is None:
            return getattr(fun, "__code__", None)
        fun = inner


def reasons(
    key: Key, known: Sequence[Key], names: Sequence[str], static_name: Callable[[int | str], str]
) -> _Why | None:
    """Returns the differences between a call and the most similar earlier one, and advice.

    The result is None if fewer than `MANY_TRACES` - 1 traces are in the cache: some were dropped,
    so equal calls may be traced again.

    Args:
      key: the key of the call.
      known: the keys of existing traces, oldest first.
      names: names of the flat arguments.
      static_name: returns the name of a static argument from its position or keyword in the key.
    """
    if len(known) < MANY_TRACES - 1:
        return None
    from jitney.api.jit import cache_misses  # needed by few programs

    other = cache_misses.nearest(key, known)
    return list(cache_misses.reasons(key, other, names, static_name)), _cure(key, other)


def _cure(key: Key, other: Key) -> str:
    """Returns advice on how to avoid the first difference between two keys."""
    static, tree, avals, epoch, _ = key
    if static != other[0]:
        return (
            "pass a value that changes often as a non-static argument; if shapes depend on it, "
            "round it up to one of a few sizes"
        )
    if tree != other[1]:
        return "give the arguments the same structure in all calls"
    if [a.shape for a in avals] != [a.shape for a in other[2]]:
        return (
            "pad arrays to one of a few sizes, such as powers of two, and mask the padding; or "
            "split them into blocks of equal size"
        )
    if avals != other[2]:
        return "give the arguments the same dtypes in all calls, for example with jnp.asarray(x, dtype)"
    if epoch != other[3]:
        return "set options once, before the first call"
    return "make all calls alike in this respect"


def _warn_of_traces(fun: Callable[..., Any], why: _Why | None) -> None:
    if why is None:
        return
    differences, cure = why
    performance.warn(
        "\n".join(
            [
                f"jit({source_info.fun_sourceinfo(fun)}) is traced and compiled for the "
                f"{MANY_TRACES}th time, which takes far longer than running it. The cause this time:",
                *[f"  {line}" for line in differences],
                f"Instead: {cure}.",
            ]
        )
    )


def _warn_of_functions(fun: Callable[..., Any]) -> None:
    performance.warn(
        f"jit({source_info.fun_sourceinfo(fun)}): a function defined on these lines is traced and "
        f"lowered for the {MANY_TRACES}th time, as a new function object each time. Traces are "
        "cached per function object; only the machine code of equal programs is reused. Instead: "
        "define and jit it once, outside the loop, and pass the values that change as "
        "arguments."
    )


class _Counting(Protocol):
    name: str
    narrowing_calls: int


def narrows(call: _Counting, leaves: Sequence[Any]) -> bool:
    """Returns whether to keep checking calls for NumPy arrays that are converted to float32.

    Warns after `MANY_COPIES` conversions.

    Args:
      call: the jitted function, in which the conversions are counted.
      leaves: its flat operands.
    """
    array = None
    for x in leaves:
        if type(x) is np.ndarray and x.nbytes >= LARGE_ARRAY and x.dtype == np.float64:
            array = x
    if array is None or call.narrowing_calls >= MANY_COPIES or not performance.warns():
        return False
    if config.x64_enabled():
        return False
    call.narrowing_calls += 1
    if call.narrowing_calls < MANY_COPIES:
        return True
    performance.warn(
        f"jit({call.name}) is called repeatedly with the same NumPy array, "
        f"float64{list(array.shape)}, of {array.nbytes / 1e6:.3g} MB, which each call converts to "
        "float32. Instead: convert it once, x = jnp.asarray(x), or enable jax_enable_x64 to "
        "compute in float64."
    )
    return False
