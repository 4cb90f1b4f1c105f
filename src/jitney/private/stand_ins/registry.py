"""`jax._src.tree_util`: the registered pytree node types, as a mapping."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from jitney.core.pytree.registry import KINDS


class RegistryEntry(NamedTuple):
    """The functions that flatten and unflatten containers of a type.

    Attributes:
      to_iter: function container -> (children, data).
      from_iter: function (data, children) -> container.
    """

    to_iter: Callable[[Any], tuple[Iterable[Any], Any]]
    from_iter: Callable[[Any, Iterable[Any]], Any]


class _Registry(Mapping[type, RegistryEntry]):
    """A live view of the registered types."""

    def __getitem__(self, key: type) -> RegistryEntry:
        kind = KINDS[key]
        return RegistryEntry(kind.flatten, lambda data, xs: kind.unflatten(data, tuple(xs)))

    def __contains__(self, key: object) -> bool:
        return key in KINDS

    def __iter__(self) -> Iterator[type]:
        return iter(KINDS)

    def __len__(self) -> int:
        return len(KINDS)


registry = _Registry()
