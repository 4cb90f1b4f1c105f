"""All caches of a process: what each is keyed by, how much is in it, and how it is emptied.

A cache registers itself where it is made; `jax.clear_caches()` walks the registry, and
`docs/architecture.md` shows it. What is made once for good (the loaded LLVM) is not a cache.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from jitney.core.record import record

Params = ParamSpec("Params")
Result = TypeVar("Result")


@record(frozen=True, eq=False)
class Cache:
    """One cache.

    Attributes:
      name: what it holds; several caches of one kind share a name.
      key: what an entry is found by.
      where: the module that keeps it.
      entries: how many there are.
      clear: forgets them.
    """

    name: str
    key: str
    where: str
    entries: Callable[[], int]
    clear: Callable[[], Any]


registry: list[Cache] = []


def register(
    name: str, key: str, where: str, *, entries: Callable[[], int], clear: Callable[[], Any]
) -> None:
    """Enters a cache; the arguments are the attributes of `Cache`."""
    registry.append(Cache(name, key, where, entries, clear))


def clear_all() -> None:
    """Empties all caches."""
    for cache in registry:
        cache.clear()


def memoized(
    name: str, key: str, maxsize: int
) -> Callable[[Callable[Params, Result]], Callable[Params, Result]]:
    """Memoises a function of hashable arguments; of `maxsize` results the least recently used goes.

    Args:
      name: what the results are.
      key: what the arguments are.
      maxsize: how many results are kept.
    """

    def decorate(function: Callable[Params, Result]) -> Callable[Params, Result]:
        cached = functools.lru_cache(maxsize)(function)
        register(
            name, key, function.__module__,
            entries=lambda: cached.cache_info().currsize, clear=cached.cache_clear,
        )  # fmt: skip
        return cast("Callable[Params, Result]", cached)

    return decorate
