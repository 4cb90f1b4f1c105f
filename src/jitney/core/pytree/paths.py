"""Paths to the leaves of pytrees: flattening with paths, and formatting them.

A path is a tuple of keys, one for each container that it passes through (`registry`). Paths are
used in messages and to treat leaves by name; calls of compiled functions do not compute them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from jitney.core.pytree._walks import flatten, flatten_until
from jitney.core.pytree.registry import KeyPath, find_kind, flatten_one_level_with_keys
from jitney.core.pytree.treedef import LEAF, PyTreeDef, make_node
from jitney.core.settings import caches

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

PathIsLeaf = Callable[..., bool]


def tree_flatten_with_path(
    tree: PyTree, is_leaf: PathIsLeaf | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, object]], PyTreeDef]:
    """Returns ((path, leaf) pairs, structure).

    Args:
      tree: the tree.
      is_leaf: a predicate for nodes to be treated as leaves.
      is_leaf_takes_path: whether `is_leaf` is called with (path, value) instead of (value).
    """
    if not is_leaf_takes_path:
        leaves, structure = flatten(tree) if is_leaf is None else flatten_until(tree, is_leaf)
        paths = _paths(structure)
        if paths is not None:
            return list(zip(paths, leaves, strict=True)), structure
    return _walk(tree, is_leaf, is_leaf_takes_path)


def _paths(structure: PyTreeDef) -> list[KeyPath] | None:
    """Returns the paths to the leaves; None if the structure alone does not determine them."""
    # There are few interned structures, and none equals a structure with keys of other types.
    return _known_paths(structure) if structure.interned else _paths_of(structure)


@caches.memoized("paths to the leaves of pytrees", "the structure", 512)
def _known_paths(structure: PyTreeDef) -> list[KeyPath] | None:
    return _paths_of(structure)


def _paths_of(structure: PyTreeDef) -> list[KeyPath] | None:
    kind = structure.kind
    if kind is None:
        return [()]
    if kind.flatten_with_keys is not None:
        return None
    subtrees = structure.subtrees
    out: list[KeyPath] = []
    for key, t in zip(kind.keys(structure.data, len(subtrees)), subtrees, strict=True):
        inner = _paths_of(t)
        if inner is None:
            return None
        out += [(key, *path) for path in inner]
    return out


def _walk(
    tree: PyTree, is_leaf: PathIsLeaf | None, is_leaf_takes_path: bool
) -> tuple[list[tuple[KeyPath, object]], PyTreeDef]:
    """Returns the result of `tree_flatten_with_path`, by a walk over the tree."""
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
        # The static data are taken from plain flattening, so that the structures are equal.
        return make_node(kind, kind.flatten(x)[1], tuple(subtrees))

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


def tree_leaves_with_path(
    tree: PyTree, is_leaf: PathIsLeaf | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, object]]:
    """Returns (path, leaf) pairs; see `tree_flatten_with_path`."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def generate_key_paths(tree: PyTree) -> list[tuple[KeyPath, object]]:
    """Returns (path, leaf) pairs."""
    return tree_flatten_with_path(tree)[0]


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Formats a path as text: `['a'][0].x`.

    Args:
      keys: the path.
      simple: whether to omit brackets and quotes; for `a/0/x` set the separator as well.
      separator: the text between the keys.
    """
    return separator.join([_simple(key) if simple else str(key) for key in keys])


def _simple(key: object) -> str:
    for name in ("key", "idx", "name"):
        if name in getattr(type(key), "__match_args__", ()):
            return str(getattr(key, name))
    return str(key)
