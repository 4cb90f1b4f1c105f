"""Types of the traversals of pytrees; `_walks.pyx` documents them."""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeVar

from jitney.core.pytree.registry import Kind
from jitney.core.pytree.treedef import PyTreeDef

S = TypeVar("S", bound=Structure)

class Structure:
    kind: Kind | None
    data: Any
    subtrees: tuple[PyTreeDef, ...]
    num_leaves: int
    flat: bool
    interned: bool

    def unflatten(self, leaves: Iterable[Any]) -> Any: ...
    def flatten_up_to(self, tree: Any) -> list[Any]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

def start(
    treedef: type[S],
    kinds: dict[type, Kind],
    leaf_types: set[type],
    find_kind: Callable[[type], Kind | None],
    refusals: ModuleType,
) -> S: ...
def make_node(kind: Kind, data: Any, subtrees: tuple[PyTreeDef, ...]) -> PyTreeDef: ...
def flatten(tree: Any) -> tuple[list[Any], PyTreeDef]: ...
def flatten_until(tree: Any, is_leaf: Callable[[Any], bool]) -> tuple[list[Any], PyTreeDef]: ...
def checked_pair(out: object) -> tuple[tuple[Any, ...], Any]: ...
