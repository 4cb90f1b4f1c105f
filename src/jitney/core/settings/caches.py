"""The registry of all caches of a process, with their keys, their sizes, and how to empty them.

A cache registers itself where it is created; `jax.clear_caches()` empties all of them, and
`docs/caches.md` lists them. Objects that are created once and kept, such as the loaded LLVM,
are not caches.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

from jitney.core.util.record import record

Params = ParamSpec("Params")
Result = TypeVar("Result")


@record(frozen=True, eq=False)
class Cache:
    """A registered cache.

    Attributes:
      name: describes the entries; caches of the same kind may share a name.
      key: describes the keys of the entries.
      where: the module that holds the cache.
      entries: returns the number of entries.
      clear: removes all entries.
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
    """Registers a cache; the arguments are the attributes of `Cache`."""
    registry.append(Cache(name, key, where, entries, clear))


def clear_all() -> None:
    """Empties all caches."""
    for cache in registry:
        cache.clear()


def memoized(
    name: str, key: str, maxsize: int
) -> Callable[[Callable[Params, Result]], Callable[Params, Result]]:
    """Returns a decorator that memoizes a function of hashable arguments in an LRU cache.

    Args:
      name: describes the results.
      key: describes the arguments.
      maxsize: the number of results to keep; the least recently used are evicted first.
    """

    def decorate(function: Callable[Params, Result]) -> Callable[Params, Result]:
        cached = functools.lru_cache(maxsize)(function)
        register(
            name, key, function.__module__,
            entries=lambda: cached.cache_info().currsize, clear=cached.cache_clear,
        )  # fmt: skip
        return cast("Callable[Params, Result]", cached)

    return decorate
