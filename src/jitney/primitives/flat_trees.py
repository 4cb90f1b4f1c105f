"""Structures of the operands and results of `scan`: its parameters `ft_in` and `ft_out`.

    ft_in   (constants, carry, rows)
    ft_out  (carry, rows of results)

A group is a tree whose leaves stand for values, some of which may be missing. Trees are printed as
in JAX: the derivative of a loop has groups of values and tangents, and a transposed loop has groups
of lists. Computations depend only on the numbers of values.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

Lists = tuple["Lists", ...] | int


class FlatTree:
    """The structure of a group of values.

    Attributes:
      text: the printed form.
      elts: the subtrees; empty for a leaf or a list.
    """

    __slots__ = ("_size", "elts", "text")

    text: str
    elts: tuple[FlatTree, ...]
    _size: int

    def __new__(cls, text: str, elts: tuple[FlatTree, ...], size: int) -> FlatTree:
        """Returns the tree with this printed form; trees with the same form are identical."""
        tree = _trees.get(text)
        if tree is None:
            tree = _trees[text] = object.__new__(cls)
            tree.text, tree.elts, tree._size = text, elts, size
        return tree

    @property
    def vals(self) -> tuple[None, ...]:
        """A tuple with None for each value."""
        return (None,) * self._size

    def unpack(self) -> tuple[FlatTree, ...]:
        """Returns the subtrees."""
        return self.elts

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[None]:
        return iter(self.vals)

    def __reduce__(self) -> tuple[type[FlatTree], tuple[str, tuple[FlatTree, ...], int]]:
        return FlatTree, (self.text, self.elts, self._size)

    def __repr__(self) -> str:
        return self.text


_trees: dict[str, FlatTree] = {}


def group(*elts: FlatTree) -> FlatTree:
    """Returns the tuple of the given trees."""
    comma = "," if len(elts) == 1 else ""
    text = f"({', '.join([t.text for t in elts])}{comma})"
    return FlatTree(text, elts, sum([len(t) for t in elts]))


VALUE = FlatTree("None", (), 1)
# Two kinds of stacked results: a computed one, and one that equals a stacked operand.
ROW, SAME_ROW = (
    FlatTree("RightsOnly(Right(None))", (), 1),
    FlatTree("RightsOnly(Left(None))", (), 0),
)


@functools.cache
def values(n: int) -> FlatTree:
    """Returns a tuple of `n` values."""
    return group(*(VALUE,) * n)


@functools.cache
def operands(n_consts: int, n_carry: int, n_rows: int) -> FlatTree:
    """Returns `ft_in` of a loop for given numbers of constants, carries and stacked operands."""
    return group(values(n_consts), values(n_carry), values(n_rows))


@functools.cache
def results(n_carry: int, n_rows: int) -> FlatTree:
    """Returns `ft_out` of a loop with the given numbers of carries and stacked results."""
    return group(values(n_carry), group(*(ROW,) * n_rows))


@functools.cache
def groups(
    n_consts: int, n_carry: int, n_rows: int, same: tuple[int | None, ...]
) -> tuple[FlatTree, FlatTree]:
    """Returns (`ft_in`, `ft_out`) of a loop.

    `same` has, for each stacked result, the index of the stacked operand that it equals, or None.
    """
    rows = group(*[ROW if k is None else SAME_ROW for k in same])
    return operands(n_consts, n_carry, n_rows), group(values(n_carry), rows)


def kept(tree: FlatTree, keep: Sequence[bool]) -> FlatTree:
    """Returns a tree without the values that are not marked in `keep`."""
    assert len(keep) == len(tree), (tree, keep)
    return _kept(tree, iter(keep))


def _kept(tree: FlatTree, keep: Iterator[bool]) -> FlatTree:
    if tree.text.startswith("("):
        return group(*[_kept(t, keep) for t in tree.elts])
    marks = [next(keep) for _ in tree.vals]
    again = iter(marks)
    elts = tuple([_kept(t, again) for t in tree.elts])
    sides = iter(["Right(None)" if m else "Left(None)" for m in marks])
    # Values that are already missing stay missing.
    text = re.sub(r"(?<!Left\()\bNone\b", lambda _: next(sides), tree.text)
    return FlatTree(f"RightsOnly({text})", elts, sum(marks))


def split(tree: FlatTree, late: Sequence[bool]) -> tuple[FlatTree, FlatTree]:
    """Splits a tree into (values not marked in `late`, values marked in `late`).

    If `tree` is a pair, and `late` marks exactly the values of its second element, the result is
    that pair.
    """
    if len(tree.elts) == 2:
        n = len(tree.elts[0])
        if not any(late[:n]) and all(late[n:]):
            return tree.elts[0], tree.elts[1]
    early = kept(tree, [not m for m in late]) if any(late) else tree
    return early, kept(tree, late)


def lists(of: Lists) -> FlatTree:
    """Returns a tree of lists of values; `of` is a size or a (nested) tuple of sizes."""
    n, text = _listed(of)
    elts = () if isinstance(of, int) else tuple([lists(x) for x in of])
    return FlatTree(f"Pytree(vals=[{', '.join(['None'] * n)}], tree=PyTreeDef({text}))", elts, n)


def _listed(of: Lists) -> tuple[int, str]:
    if isinstance(of, int):
        return of, f"[{', '.join('*' * of)}]"
    parts = [_listed(x) for x in of]
    return sum([n for n, _ in parts]), f"({', '.join([text for _, text in parts])})"


def sizes(params: dict[str, Any]) -> tuple[int, int]:
    """Returns (number of constants, number of carries) from the parameters of a loop."""
    consts, carry, _ = params["ft_in"].elts
    return len(consts), len(carry)
