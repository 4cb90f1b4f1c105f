"""Signatures of calls as patterns that native code compares arguments with.

    pattern ::= aval | (code, ...)

An aval stands for an array of that type; the codes are those of the native core. Results are put
into their containers by a function made for their structure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jitney.core import dtypes, pytrees
from jitney.core.avals import ShapedArray
from jitney.core.pytree_kinds import find_kind
from jitney.runtime.array import ArrayImpl, DeletedArray
from jitney.runtime.native._native import CODES

Pattern = ShapedArray | tuple[Any, ...]

_CONTAINERS = {tuple: CODES["tuple"], list: CODES["list"]}
_SCALARS = {int: CODES["int"], float: CODES["float"], bool: CODES["bool"]}
_NUMPY_SCALARS = frozenset(dtypes.numpy_scalar_types)


def pattern(x: Any, is_static: bool = False) -> Pattern | None:
    """The pattern of one argument; None if native code cannot check such arguments.

    Static arguments are known again if type, hash and value are the same.
    """
    if is_static:
        return (CODES["static"], x, hash(x))
    kind = type(x)
    if kind is ArrayImpl or kind is DeletedArray:  # a donated one
        return x.aval
    if x is None:
        return (CODES["none"],)
    if kind in _SCALARS:
        dtype = dtypes.canonicalize_dtype(dtypes.python_scalar_dtype(kind))
        return (_SCALARS[kind], dtype.itemsize)
    if kind is np.ndarray:
        return (CODES["ndarray"], x.dtype, x.shape) if _is_plain(x.dtype) else None
    if kind in _NUMPY_SCALARS:
        return (CODES["scalar"], kind) if _is_plain(x.dtype) and x.nbytes <= 8 else None
    return _container(x, kind)


def _is_plain(dtype: np.dtype) -> bool:
    """Whether data of `dtype` are what programs read."""
    return dtype.isbuiltin == 1 and dtype == dtypes.canonicalize_dtype(dtype)


def _container(x: Any, kind: type) -> Pattern | None:
    node = find_kind(kind)
    if node is None:
        return None
    try:
        children, data = node.flatten(x)
    except Exception:
        return None
    inner = [pattern(child) for child in children]
    if None in inner:
        return None
    if kind in _CONTAINERS:
        return (_CONTAINERS[kind], *inner)
    if kind is dict:
        return (CODES["dict"], data, *inner)
    if node.family == "namedtuple":
        return (CODES["namedtuple"], kind, *inner)
    return (CODES["node"], kind, node.flatten, data, *inner)


def has_nodes(found: Pattern | None) -> bool:
    """Whether a pattern has containers of users in it."""
    if not isinstance(found, tuple):
        return False
    if found[0] in _CONTAINERS.values():
        return any(map(has_nodes, found[1:]))
    if found[0] in (CODES["dict"], CODES["namedtuple"]):
        return any(map(has_nodes, found[2:]))
    return found[0] == CODES["node"]


# --- results ------------------------------------------------------------------------------------


def unflatten_function(tree: Any) -> Callable[[list[Any]], Any] | None:
    """What makes a function's result of its flat results; None for one bare array.

    For all but deeply nested structures it is Python code made for the purpose, such as
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
    """Writes the expression that builds a structure; `names` are the objects that it uses."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__builtins__": {}}
        self.n_leaves = 0

    def name(self, value: Any) -> str:
        made = f"c{len(self.names)}"
        self.names[made] = value
        return made

    def write(self, tree: Any) -> str:
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
