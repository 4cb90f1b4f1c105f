"""Differences between two pytrees, for error messages.

`prefix_errors` explains why one tree is not a prefix of another, `equality_errors` why two trees
differ in structure. Both are called only after a mismatch has been found.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from jitney.core.messages.messages import counted
from jitney.core.pytree.paths import keystr
from jitney.core.pytree.registry import KeyPath, find_kind, flatten_one_level_with_keys
from jitney.core.pytree.treedef import IsLeaf, PyTreeDef

if TYPE_CHECKING:
    from jitney.core.typing import PyTree


class MakeError(Protocol):
    """A function that makes the error, given names for the prefix and for the value."""

    def __call__(self, name: str, value: str = "the value") -> ValueError: ...


Difference = tuple[KeyPath, str, str, str]


def prefix_errors(prefix: PyTree, full: PyTree, is_leaf: IsLeaf | None = None) -> list[MakeError]:
    """Returns a function for each place where `prefix` is not a prefix of `full`.

    Each maps names for the prefix and for the value to the error to raise.
    """
    return list(_prefix_errors((), prefix, full, is_leaf))


def _prefix_errors(
    path: KeyPath, prefix: object, full: object, is_leaf: IsLeaf | None
) -> Iterator[MakeError]:
    if (is_leaf is not None and is_leaf(prefix)) or find_kind(type(prefix)) is None:
        return
    kind = type(prefix)
    if kind is not type(full):
        yield _error("different types", path, _kind(prefix), _kind(full))
        return
    pairs, data = _one_level(prefix)
    full_pairs, full_data = _one_level(full)
    keys, full_keys = [k for k, _ in pairs], [k for k, _ in full_pairs]
    if len(pairs) != len(full_pairs):
        yield _wrong_number(path, kind, keys, full_keys)
        return
    if data != full_data:
        name = kind.__name__
        yield _error(
            "different metadata of pytrees", path, f"{name} with the metadata {data}",
            f"{name} with the metadata {full_data}", f"\n{_diff(data, full_data)}",
        )  # fmt: skip
        return
    for (key, child), (_, full_child) in zip(pairs, full_pairs, strict=True):
        yield from _prefix_errors((*path, key), child, full_child, is_leaf)


def _wrong_number(path: KeyPath, kind: type, keys: list[Any], full_keys: list[Any]) -> MakeError:
    if kind is tuple or kind is list:
        name = kind.__name__
        return _error(
            f"different lengths of {name}", path, f"{name} of {counted(len(keys), 'element')}",
            f"{name} of {counted(len(full_keys), 'element')}",
        )  # fmt: skip
    return _error(
        "different children of pytrees", path, _children_of(kind, keys, full_keys),
        _children_of(kind, full_keys, keys),
    )  # fmt: skip


def _children_of(kind: type, keys: list[Any], others: list[Any]) -> str:
    """Describes the children of a node and the missing ones: "dict of ['w'], without ['n']"."""
    missing = [key for key in others if key not in keys]
    return f"{kind.__name__} of {_names(keys)}{f', without {_names(missing)}' if missing else ''}"


def _names(keys: list[Any]) -> str:
    return ", ".join(keystr((key,)) for key in keys) or "nothing"


def _kind(tree: object) -> str:
    """Returns a description of a tree: "list", "None", "leaf of type float"."""
    name = type(tree).__name__
    if tree is None:
        return "None"
    return name if find_kind(type(tree)) is not None else f"leaf of type {name}"


def _error(what: str, path: KeyPath, prefix: str, full: str, suffix: str = "") -> MakeError:
    def make(name: str, value: str = "the value") -> ValueError:
        place = keystr(path)
        width = max(len(name), len(value)) + len(place)
        return ValueError(
            f"pytree structure error at {name}{place}: {what}\n"
            f"  {name + place:{width}}  {prefix}\n  {value + place:{width}}  {full}{suffix}"
        )

    return make


def _diff(a: object, b: object) -> str:
    import difflib  # needed for errors only

    lines = difflib.ndiff(str(a).splitlines(), str(b).splitlines())
    return textwrap.indent("\n".join(lines), "    ")


def _one_level(tree: object) -> tuple[list[tuple[object, object]], object]:
    kind = find_kind(type(tree))
    assert kind is not None
    return flatten_one_level_with_keys(tree)[0], kind.flatten(tree)[1]


# --- equality -----------------------------------------------------------------------------------


def equality_errors(a: PyTree, b: PyTree, is_leaf: IsLeaf | None = None) -> Iterator[Difference]:
    """Yields (path, description in `a`, description in `b`, difference) for each difference."""
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
        yield path, a_text, b_text, "they are of different Python types"
        return
    a_pairs, a_data = _one_level(a)
    b_pairs, b_data = _one_level(b)
    if len(a_pairs) != len(b_pairs):
        yield path, *_wrong_lengths(kind, [k for k, _ in a_pairs], [k for k, _ in b_pairs])
        return
    if a_data != b_data:
        yield (
            path,
            f"{kind} with the metadata {a_data}",
            f"{kind} with the metadata {b_data}",
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
        f"their children differ: {difference} are in only one of them",
    )


def _children(n: int) -> str:
    return f"{n} child{'' if n == 1 else 'ren'}"


def _is_leaf(x: object, is_leaf: IsLeaf | None) -> bool:
    return (is_leaf is not None and is_leaf(x)) or find_kind(type(x)) is None


class _Blank:
    """A placeholder for a leaf of unknown value."""


def _is_blank(x: object) -> bool:
    return isinstance(x, _Blank)


def equality_errors_pytreedef(a: PyTreeDef, b: PyTreeDef) -> Iterator[Difference]:
    """Yields the differences of two structures, like `equality_errors` for trees."""
    blank = _Blank()
    yield from equality_errors(
        a.unflatten([blank] * a.num_leaves), b.unflatten([blank] * b.num_leaves)
    )
