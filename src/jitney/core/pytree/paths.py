"""Paths to the leaves of pytrees: flattening with them, and writing them.

A path is a tuple of keys, one for each container on the way (`registry`). Paths are for messages
and for treating leaves by name; nothing on the way of a compiled call makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jitney.core.pytree.registry import (
    KeyPath,
    Kind,
    find_kind,
    flatten_one_level_with_keys,
)
from jitney.core.pytree.treedef import LEAF, PyTreeDef, make_node

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

PathIsLeaf = Callable[..., bool]


def tree_flatten_with_path(
    tree: PyTree, is_leaf: PathIsLeaf | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """((path, leaf) pairs, structure).

    Args:
      tree: the tree.
      is_leaf: says what, besides leaves, is not to be looked into.
      is_leaf_takes_path: whether it is called with (path, value) instead of (value).
    """
    out: list[tuple[KeyPath, Any]] = []

    def visit(x: object, path: KeyPath) -> PyTreeDef:
        if _stops(x, path):
            out.append((path, x))
            return LEAF
        kind = find_kind(type(x))
        if kind is None:
            out.append((path, x))
            return LEAF
        pairs, _ = flatten_one_level_with_keys(x)
        subtrees = [visit(child, (*path, key)) for key, child in pairs]
        return make_node(kind, _data(kind, x), tuple(subtrees))

    def _stops(x: object, path: KeyPath) -> bool:
        if is_leaf is None:
            return False
        verdict = is_leaf(path, x) if is_leaf_takes_path else is_leaf(x)
        if verdict is not True and verdict is not False:
            raise ValueError(
                f"is_leaf predicate returned a non-boolean value {verdict!r}; expected a boolean"
            )
        return verdict

    return out, visit(tree, ())


def _data(kind: Kind, x: object) -> Any:
    # From the ordinary rule, so that the structure equals that of plain flattening.
    return kind.flatten(x)[1]


def tree_leaves_with_path(
    tree: PyTree, is_leaf: PathIsLeaf | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """(path, leaf) pairs; see `tree_flatten_with_path`."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def generate_key_paths(tree: PyTree) -> list[tuple[KeyPath, Any]]:
    """(path, leaf) pairs."""
    return tree_flatten_with_path(tree)[0]


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """A path as text: `['a'][0].x`.

    Args:
      keys: the path.
      simple: names only, without brackets and quotes; for `a/0/x` set the separator as well.
      separator: what stands between the keys.
    """
    return separator.join([_simple(key) if simple else str(key) for key in keys])


def _simple(key: object) -> str:
    for name in ("key", "idx", "name"):
        if name in getattr(type(key), "__match_args__", ()):
            return str(getattr(key, name))
    return str(key)
