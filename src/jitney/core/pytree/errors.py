"""Where and how two pytrees differ, for messages.

`prefix_errors` explains why one tree is not a prefix of another, `equality_errors` why two trees
differ in structure. Both look at trees only after something has been found to be wrong.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from jitney.core.pytree.paths import keystr
from jitney.core.pytree.registry import KeyPath, find_kind, flatten_one_level_with_keys
from jitney.core.pytree.treedef import IsLeaf, PyTreeDef

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

MakeError = Callable[[str], ValueError]
Difference = tuple[KeyPath, str, str, str]


def prefix_errors(prefix: PyTree, full: PyTree, is_leaf: IsLeaf | None = None) -> list[MakeError]:
    """One function for each place where `prefix` is not a prefix of `full`.

    Each takes a name for the prefix and gives the error to raise.
    """
    return list(_prefix_errors((), prefix, full, is_leaf))


def _prefix_errors(
    path: KeyPath, prefix: object, full: object, is_leaf: IsLeaf | None
) -> Iterator[MakeError]:
    if (is_leaf is not None and is_leaf(prefix)) or find_kind(type(prefix)) is None:
        return
    kind = type(prefix)
    if kind is not type(full):
        yield _error(
            "different types", path,
            f"the prefix has a {kind},\n    the value a {type(full)}",
        )  # fmt: skip
        return
    pairs, data = _one_level(prefix)
    full_pairs, full_data = _one_level(full)
    keys, full_keys = [k for k, _ in pairs], [k for k, _ in full_pairs]
    if len(pairs) != len(full_pairs):
        yield _wrong_number(path, kind, keys, full_keys)
        return
    if data != full_data:
        yield _error(
            "different metadata of pytrees", path,
            f"both have a {kind}, but the prefix's metadata are\n    {data}\n    and the value's\n"
            f"    {full_data}\n    which differ:\n{_diff(data, full_data)}",
        )  # fmt: skip
        return
    for (key, child), (_, full_child) in zip(pairs, full_pairs, strict=True):
        yield from _prefix_errors((*path, key), child, full_child, is_leaf)


def _wrong_number(path: KeyPath, kind: type, keys: list[Any], full_keys: list[Any]) -> MakeError:
    if kind is tuple or kind is list:
        return _error(
            f"different lengths of {kind.__name__}", path,
            f"the prefix has {len(keys)} entries,\n    the value {len(full_keys)}",
        )  # fmt: skip
    missing, more = _only(keys, full_keys), _only(full_keys, keys)
    difference = "\n".join(
        f"    the {which} has no {names}, which the {other} has"
        for which, names, other in (("value", missing, "prefix"), ("prefix", more, "value"))
        if names
    )
    return _error(
        "different children of pytrees", path,
        f"both have a {kind}, with {len(keys)} children in the prefix,\n"
        f"    {' '.join(map(_name, keys))}\n    and {len(full_keys)} in the value,\n"
        f"    {' '.join(map(_name, full_keys))}\n{difference}",
    )  # fmt: skip


def _only(keys: list[Any], others: list[Any]) -> str:
    """The keys that are not among `others`."""
    return ", ".join(keystr((key,)) for key in keys if key not in others)


def _error(what: str, path: KeyPath, detail: str) -> MakeError:
    return lambda name: ValueError(
        f"pytree structure error at {name}{keystr(path)}: {what}\n    {detail}"
    )


def _name(key: object) -> str:
    return keystr((key,), simple=True)


def _diff(a: object, b: object) -> str:
    import difflib  # for errors alone

    lines = difflib.ndiff(str(a).splitlines(), str(b).splitlines())
    return textwrap.indent("\n".join(lines), "    ")


def _one_level(tree: object) -> tuple[list[tuple[Any, Any]], Any]:
    kind = find_kind(type(tree))
    assert kind is not None
    return flatten_one_level_with_keys(tree)[0], kind.flatten(tree)[1]


# --- equality -----------------------------------------------------------------------------------


def equality_errors(a: PyTree, b: PyTree, is_leaf: IsLeaf | None = None) -> Iterator[Difference]:
    """(path, what `a` has there, what `b` has there, in what they differ), for each difference."""
    yield from _equality_errors((), a, b, is_leaf)


def _equality_errors(
    path: KeyPath, a: object, b: object, is_leaf: IsLeaf | None
) -> Iterator[Difference]:
    a_is_leaf, b_is_leaf = _is_leaf(a, is_leaf), _is_leaf(b, is_leaf)
    if a_is_leaf and b_is_leaf:
        return
    kind = type(a)
    if a_is_leaf or b_is_leaf or kind is not type(b):
        a_text = "pytree leaf" if _is_blank(a) else str(kind)
        b_text = "pytree leaf" if _is_blank(b) else str(type(b))
        yield path, a_text, b_text, "their Python types differ"
        return
    a_pairs, a_data = _one_level(a)
    b_pairs, b_data = _one_level(b)
    if len(a_pairs) != len(b_pairs):
        yield path, *_wrong_lengths(kind, [k for k, _ in a_pairs], [k for k, _ in b_pairs])
        return
    if a_data != b_data:
        yield (
            path,
            f"{kind} with pytree metadata {a_data}",
            f"{kind} with pytree metadata {b_data}",
            "their metadata differ",
        )
        return
    for (key, x), (_, y) in zip(a_pairs, b_pairs, strict=True):
        yield from _equality_errors((*path, key), x, y, is_leaf)


def _wrong_lengths(kind: type, a: list[Any], b: list[Any]) -> tuple[str, str, str]:
    if kind is tuple or kind is list:
        name = kind.__name__
        return (
            f"{name} of length {len(a)}",
            f"{name} of length {len(b)}",
            "their lengths differ",
        )
    difference = {getattr(k, "key", getattr(k, "name", k)) for k in {*a} ^ {*b}}
    return (
        f"{kind} with {_children(len(a))}",
        f"{kind} with {_children(len(b))}",
        f"their children differ: {difference} are in one alone",
    )


def _children(n: int) -> str:
    return f"{n} child{'' if n == 1 else 'ren'}"


def _is_leaf(x: object, is_leaf: IsLeaf | None) -> bool:
    return (is_leaf is not None and is_leaf(x)) or find_kind(type(x)) is None


class _Blank:
    """Stands for a leaf of which nothing is known."""


def _is_blank(x: object) -> bool:
    return isinstance(x, _Blank)


def equality_errors_pytreedef(a: PyTreeDef, b: PyTreeDef) -> Iterator[Difference]:
    """`equality_errors` of trees of which only the structures are at hand."""
    blank = _Blank()
    yield from equality_errors(
        a.unflatten([blank] * a.num_leaves), b.unflatten([blank] * b.num_leaves)
    )
