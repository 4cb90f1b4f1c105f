"""Signatures of calls: patterns that native code compares arguments with.

    pattern ::= aval | (code, ...)

An aval stands for an uncommitted array of that type. The native core defines the codes; for
example, "placed" stands for an array with a type and a placement. Patterns are made from the leaves
and the tree structure with which a call was traced, before the program runs, because it may call
Python functions that change the containers among the arguments. Results are put into their
containers by a function made for their tree structure.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from jitney.core.pytree import pytrees
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.core.util.record import record
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.native._native import CODES

if TYPE_CHECKING:
    from jitney.core.pytree.treedef import PyTreeDef
    from jitney.core.types.avals import AbstractValue

Pattern = ShapedArray | tuple[Any, ...]

_CONTAINERS = {tuple: CODES["tuple"], list: CODES["list"]}
_SCALARS = {int: CODES["int"], float: CODES["float"], bool: CODES["bool"]}
_NUMPY_SCALARS = frozenset(dtypes.numpy_scalar_types)


@record(frozen=True)
class Signature:
    """The form of the calls that a program handles.

    Attributes:
      patterns: the patterns of positional arguments, followed by those of keyword arguments.
      names: the names of keyword arguments, sorted.
    """

    patterns: tuple[Pattern, ...]
    names: tuple[str, ...]


class _NoPatternError(Exception):
    """An argument cannot be checked by native code."""


def signature(
    tree: PyTreeDef,
    leaves: Sequence[Any],
    types: Sequence[Any],
    static: Iterable[tuple[int | str, Any]] | None,
) -> Signature | None:
    """Returns the signature of a call; None if native code cannot check such arguments.

    Args:
      tree: the structure of the non-static (positional, keyword) arguments.
      leaves: their leaves.
      types: the types of the leaves that the program was compiled for.
      static: (position or name, key) of each static argument, whose value is `key.value`; or None.
    """
    positional, named = tree.subtrees
    fixed = {where: _static(key.value) for where, key in static or ()}
    typed_leaves = zip(leaves, types, strict=True)
    patterns: list[Pattern] = []
    by_name: dict[str, Pattern] = {k: v for k, v in fixed.items() if isinstance(k, str)}
    try:
        for part in positional.subtrees:
            while len(patterns) in fixed:
                patterns.append(fixed[len(patterns)])
            patterns.append(_pattern(part, typed_leaves))
        while len(patterns) in fixed:
            patterns.append(fixed[len(patterns)])
        for name, part in zip(named.data, named.subtrees, strict=True):
            by_name[name] = _pattern(part, typed_leaves)
    except (_NoPatternError, RecursionError):
        return None
    names = tuple(sorted(by_name))
    return Signature((*patterns, *(by_name[name] for name in names)), names)


def _static(value: Any) -> Pattern:
    """Returns the pattern of a static argument."""
    if type(value) is float:  # the sign of zeros matters
        return (CODES["bits"], struct.unpack("q", struct.pack("d", value))[0])
    return (CODES["static"], value, hash(value))


def _pattern(tree: PyTreeDef, typed_leaves: Iterator[tuple[Any, Any]]) -> Pattern:
    """Returns the pattern of one argument, whose leaves are the next of `typed_leaves`."""
    if tree.kind is None:
        return _leaf(*next(typed_leaves))
    inner = [_pattern(part, typed_leaves) for part in tree.subtrees]
    kind = tree.kind.type
    if kind is type(None):
        return (CODES["none"],)
    if kind in _CONTAINERS:
        return (_CONTAINERS[kind], *inner)
    if kind is dict:
        return (CODES["dict"], tree.data, *inner)
    if tree.kind.family == "namedtuple":
        return (CODES["namedtuple"], kind, *inner)
    return (CODES["node"], kind, tree.kind.flatten, tree.data, *inner)


def _leaf(x: Any, aval: AbstractValue) -> Pattern:
    """Returns the pattern of a leaf that a program accepts as `aval`."""
    kind = cast("type[Any]", type(x))
    if kind is ArrayImpl:
        if x.aval.shape != aval.shape or x.aval.dtype != aval.dtype:
            raise _NoPatternError
        return x.aval if x.placement is None else (CODES["placed"], x.aval, x.placement)
    if kind in _SCALARS:
        if aval.shape == () and aval.dtype.kind == dtypes.python_scalar_dtype(kind).kind:
            return (_SCALARS[kind], aval.dtype.itemsize)
        raise _NoPatternError
    if kind is not np.ndarray and kind not in _NUMPY_SCALARS:
        raise _NoPatternError
    if x.shape != aval.shape or x.dtype != aval.dtype or x.dtype.isbuiltin != 1:
        raise _NoPatternError
    if kind is np.ndarray:
        return (CODES["ndarray"], x.dtype, x.shape)
    if x.nbytes > 8:  # more than native code has room for
        raise _NoPatternError
    return (CODES["scalar"], kind)


# --- results ------------------------------------------------------------------------------------


def unflatten_function(tree: PyTreeDef) -> Callable[[Sequence[object]], object] | None:
    """Returns a function from flat results to a function's result; None for a single array.

    Unless the structure is deeply nested, it is generated Python code, such as
    `lambda r: {k0: r[0], k1: (r[1], None)}`.
    """
    if tree == pytrees.tree_structure(0):
        return None
    writer = _Writer()
    try:
        return eval(f"lambda r: {writer.write(tree)}", writer.names)
    except (RecursionError, MemoryError, SyntaxError):  # nested too deeply for Python's parser
        return partial(pytrees.tree_unflatten, tree)


class _Writer:
    """A writer of the expression that builds a structure; `names` has the objects that it uses."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__builtins__": {}}
        self.n_leaves = 0

    def name(self, value: object) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def write(self, tree: PyTreeDef) -> str:
        if tree.kind is None:
            self.n_leaves += 1
            return f"r[{self.n_leaves - 1}]"
        parts = [self.write(child) for child in tree.subtrees]
        kind = tree.kind.type
        if kind is type(None):
            return "None"
        if kind is list:
            return f"[{', '.join(parts)}]"
        if kind is dict:
            pairs = zip(tree.data, parts, strict=True)
            return f"{{{', '.join(f'{self.name(key)}: {part}' for key, part in pairs)}}}"
        children = f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if kind is tuple:
            return children
        return f"{self.name(tree.kind.unflatten)}({self.name(tree.data)}, {children})"
