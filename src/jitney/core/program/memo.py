"""Memoization of functions of programs: results live as long as the program they depend on."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from jitney.core.settings import caches, config
from jitney.core.tracing.trace import state

Result = TypeVar("Result")

# Replaces a result that is the first argument itself: an entry that held its key would never be
# dropped.
_ITSELF = object()


def memoize_by_identity(function: Callable[..., Result]) -> Callable[..., Result]:
    """Memoizes `function` by the identity of its first argument and the values of the others.

    The first argument must allow weak references; configuration and named axes are part of the key.
    """
    memo: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
    caches.register(
        "transformed programs", "the program, the operands that take part, settings",
        function.__module__, entries=lambda: sum(map(len, memo.values())), clear=memo.clear,
    )  # fmt: skip

    @functools.wraps(function)
    def wrapper(first: Any, *args: Hashable) -> Result:
        known = memo.get(first)
        if known is None:
            known = memo[first] = {}
        key = (args, config.trace_epoch(), state.axis_env, state.checked_axes, state.folds)
        result = known.get(key)
        if result is None:
            result = function(first, *args)
            known[key] = _ITSELF if result is first else result
        return first if result is _ITSELF else result

    return wrapper
