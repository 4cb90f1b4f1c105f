"""Pytrees: nested containers of arrays."""

from __future__ import annotations

from typing import Any

import optree

PyTreeDef = optree.PyTreeSpec
NAMESPACE = "jitney"


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], PyTreeDef]:
    return optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)


def tree_unflatten(treedef: PyTreeDef, leaves: Any) -> Any:
    return treedef.unflatten(leaves)


def tree_structure(tree: Any, is_leaf: Any = None) -> PyTreeDef:
    return optree.tree_structure(tree, is_leaf, namespace=NAMESPACE)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    return optree.tree_leaves(tree, is_leaf, namespace=NAMESPACE)


def tree_map(f: Any, tree: Any, *rest: Any, is_leaf: Any = None) -> Any:
    return optree.tree_map(f, tree, *rest, is_leaf=is_leaf, namespace=NAMESPACE)


def count_leaves(tree: Any) -> int:
    return len(tree_leaves(tree))


def tree_flatten_with_path(tree: Any, is_leaf: Any = None) -> tuple[list[tuple[Any, Any]], Any]:
    paths, leaves, treedef = optree.tree_flatten_with_path(tree, is_leaf, namespace=NAMESPACE)
    return list(zip(paths, leaves, strict=True)), treedef


def keystr(path: Any) -> str:
    return "".join(f"[{p!r}]" for p in path)
