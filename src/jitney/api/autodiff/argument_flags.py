"""Per-argument flags given as pytrees of booleans: `in_nzs` and `saveable_args` of `vjp`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from jitney.core.messages import messages
from jitney.core.pytree import pytrees

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef

Flags: TypeAlias = (
    "bool | Sequence[Any] | Mapping[Any, Any]"  # nested, or another pytree of booleans
)


def spread(what: str, flags: Flags, tree: PyTreeDef) -> list[bool]:
    """Returns one flag for each leaf of the arguments.

    Args:
      what: the option and its function, for error messages, such as "the in_nzs argument of
        jax.vjp".
      flags: a pytree prefix of the arguments. A boolean applies to all leaves below it. A node must
        have as many children as the corresponding node of the arguments, but its type may differ.
      tree: structure of the arguments, which is a tuple.

    Raises:
      ValueError: if a leaf of `flags` is not a boolean, or if a node has the wrong number of
        children.
    """
    if isinstance(flags, bool):
        return [flags] * tree.num_leaves
    prefix: object = flags
    if pytrees.all_leaves([prefix]):
        raise ValueError(
            f"{what} must be a pytree of booleans, but contains {prefix!r}, of type {type(prefix)}"
        )
    entries, children = [*pytrees.flatten_one_level(prefix)[0]], tree.children()
    if len(entries) != len(children) or pytrees.treedef_is_leaf(tree):
        is_leaf = pytrees.treedef_is_leaf(tree) and tree.num_leaves == 1
        there = "an argument is a leaf" if is_leaf else f"{tree} has {len(children)}"
        raise ValueError(
            f"{what} has to be a tree prefix of the arguments, but {prefix!r} has "
            f"{messages.counted(len(entries), 'child')} where {there}"
        )
    return [
        flag
        for entry, child in zip(entries, children, strict=True)
        for flag in spread(what, entry, child)
    ]


def mirrored(flags: Sequence[bool], tree: PyTreeDef) -> Flags | None:
    """Returns the flags of the leaves as a pytree of structure `tree`.

    Nodes that are not tuples, lists or dicts become tuples.
    """
    if pytrees.treedef_is_leaf(tree):
        return flags[0] if tree.num_leaves else None  # None is a node without leaves
    start = 0
    subtrees: list[Any] = []
    for child in tree.children():
        subtrees.append(mirrored(flags[start : start + child.num_leaves], child))
        start += child.num_leaves
    data: Any = tree.node_data()
    kind, keys = (tuple, ()) if data is None else data
    if kind is dict:
        pairs: Any = zip(keys, subtrees, strict=True)
        return dict(pairs)
    return subtrees if kind is list else tuple(subtrees)
