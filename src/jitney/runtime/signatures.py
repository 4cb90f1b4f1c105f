"""Signatures of calls as patterns that native code compares arguments with.

    pattern ::= aval | (code, ...)

An aval stands for an array of that type; the codes are those of the native core.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from jitney.core import dtypes, pytrees
from jitney.core.avals import ShapedArray
from jitney.runtime.array import ArrayImpl
from jitney.runtime.native._native import CODES

_CONTAINERS = {tuple: CODES["tuple"], list: CODES["list"]}
_SCALARS = {int: CODES["int"], float: CODES["float"], bool: CODES["bool"]}


def pattern(x: Any, is_static: bool = False) -> ShapedArray | tuple[Any, ...] | None:
    """The pattern of one argument; None if native code cannot check such arguments.

    Static arguments are known again if type, hash and value are the same.
    """
    if is_static:
        return (CODES["static"], x, hash(x))
    kind = type(x)
    if kind is ArrayImpl:
        return x.aval
    if x is None:
        return (CODES["none"],)
    if kind in _SCALARS:
        dtype = dtypes.canonicalize_dtype(dtypes.python_scalar_dtype(kind))
        return (_SCALARS[kind], dtype.itemsize)
    if kind in _CONTAINERS:
        inner = [pattern(v) for v in x]
        return None if None in inner else (_CONTAINERS[kind], *inner)
    if kind is dict:
        try:
            keys = tuple(sorted(x))
        except TypeError:
            return None
        inner = [pattern(x[k]) for k in keys]
        return None if None in inner else (CODES["dict"], keys, *inner)
    if kind is np.ndarray and x.dtype == dtypes.canonicalize_dtype(x.dtype):
        return (CODES["ndarray"], x.dtype, x.shape) if x.dtype.isbuiltin == 1 else None
    return None


def unflatten_function(tree: Any) -> Callable[[list[Any]], Any] | None:
    """What makes a function's result of its flat results; None for one bare array."""
    if tree == pytrees.tree_structure(0):
        return None
    if tree == pytrees.tree_structure((0,) * tree.num_leaves):
        return tuple
    return partial(pytrees.tree_unflatten, tree)
