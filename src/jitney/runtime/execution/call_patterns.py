"""Patterns of the arguments of library functions, compared natively and used as keys.

    pattern ::= aval | (code, ...)

The codes are those of `runtime.execution.signatures`, and in addition "exact" for options and
"bits" for floats, both of which are compared by value. Arrays, including NumPy's, are operands of
the program. So are Python floats, unless the function needs their values, and other Python scalars
if the function declares which of its arguments are static, as functions with `jit_when_traced` do.
Everything else is part of the pattern.
"""

from __future__ import annotations

import enum
import inspect
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.native._native import CODES

Pattern = ShapedArray | tuple[Any, ...]

_NONE, _TUPLE, _LIST, _DICT = (CODES[name] for name in ("none", "tuple", "list", "dict"))
_INT, _FLOAT, _BOOL = (CODES[name] for name in ("int", "float", "bool"))
_NDARRAY, _SCALAR = CODES["ndarray"], CODES["scalar"]
_EXACT, _BITS = CODES["exact"], CODES["bits"]
_OPERANDS = frozenset((_INT, _FLOAT, _BOOL, _NDARRAY, _SCALAR))
_SEQUENCES = {tuple: _TUPLE, list: _LIST}
_NUMPY_SCALARS = frozenset(dtypes.numpy_scalar_types)
_OPTIONS = frozenset((str, bytes, type(Ellipsis)))
_KINDS_OF_OPTIONS: Any = (np.dtype, type, enum.Enum)
_MAX_PARTS = 64  # of a call; longer lists are likely to be data, and are not scanned at each call


class NoPatternError(Exception):
    """An argument has no pattern, so the call cannot be compared with others."""


class Reader:
    """A reader of the calls of one function.

    Attributes:
      numbers_are_exact: whether the values of all Python scalars are part of the pattern.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.numbers_are_exact = False
        self._function = function
        self._statics: tuple[frozenset[int], frozenset[str]] | None = None

    def read(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[object], tuple[Pattern, ...], tuple[str, ...]]:
        """Returns (operands, patterns, names of keyword arguments) of a call.

        Raises:
          NoPatternError: if an argument has no pattern.
        """
        leaves: list[Any] = []
        if self.numbers_are_exact or not hasattr(self._function, "static_arguments"):
            patterns = [self._pattern(x, leaves, True) for x in args]
            names = tuple(sorted(kwargs)) if kwargs else ()
            patterns += [self._pattern(kwargs[name], leaves, True) for name in names]
            return leaves, tuple(patterns), names
        numbers, static = self._statics or self._find_statics()
        patterns = [self._pattern(x, leaves, i in numbers) for i, x in enumerate(args)]
        names = tuple(sorted(kwargs)) if kwargs else ()
        patterns += [self._pattern(kwargs[name], leaves, name in static) for name in names]
        return leaves, tuple(patterns), names

    def has_numbers(self, patterns: Sequence[Pattern]) -> bool:
        """Returns whether the patterns accept Python scalars of any value."""
        if self.numbers_are_exact:
            return False
        todo = list(patterns)
        while todo:
            p = todo.pop()
            if type(p) is tuple:
                if p[0] in (_INT, _FLOAT, _BOOL):
                    return True
                todo += [x for x in p[1:] if type(x) is tuple] if p[0] in (_TUPLE, _LIST) else ()
        return False

    def _find_statics(self) -> tuple[frozenset[int], frozenset[str]]:
        """Returns positions and names of the arguments that the function declares static."""
        function = cast("Any", self._function)
        static: tuple[tuple[int, ...], tuple[str, ...]] = function.static_arguments
        parameters = list(inspect.signature(self._function).parameters)
        names: set[str] = {*static[1], *(parameters[i] for i in static[0])}
        self._statics = (
            frozenset(i for i, name in enumerate(parameters) if name in names),
            frozenset(names),
        )
        return self._statics

    def _pattern(self, x: Any, leaves: list[Any], is_static: bool) -> Pattern:
        kind = cast("Any", type(x))
        if kind is ArrayImpl:
            if x.placement is not None or x.is_deleted():
                raise NoPatternError
            leaves.append(x)
            return x.aval
        if x is None:
            return (_NONE,)
        if kind is float:
            if self.numbers_are_exact:
                return (_BITS, struct.unpack("q", struct.pack("d", x))[0])
            leaves.append(x)
            return (_FLOAT, get_aval(x).dtype.itemsize)
        if kind is int or kind is bool:
            if is_static:
                return (_EXACT, kind, x)
            leaves.append(x)
            try:
                size = get_aval(x).dtype.itemsize
            except OverflowError:
                raise NoPatternError from None
            return (_INT if kind is int else _BOOL, size)
        if kind in _SEQUENCES:
            if len(x) > _MAX_PARTS:
                raise NoPatternError
            inner = [self._pattern(part, leaves, is_static) for part in x]
            if len(leaves) > _MAX_PARTS:
                raise NoPatternError
            return (_SEQUENCES[kind], *inner)
        if kind is np.ndarray:
            leaves.append(x)
            return (_NDARRAY, x.dtype, x.shape, *_other_dtype(x))
        if kind in _NUMPY_SCALARS:
            leaves.append(x)
            # Native code has room for 8 bytes; NumPy stores elements there for its builtin dtypes
            # only.
            is_plain = x.nbytes <= 8 and x.dtype.isbuiltin == 1
            return (_SCALAR, kind, *(_other_dtype(x) or (() if is_plain else (x.dtype,))))
        if kind in _OPTIONS or isinstance(x, _KINDS_OF_OPTIONS):
            return (_EXACT, kind, x)
        if kind is dict and len(x) <= _MAX_PARTS and all(type(name) is str for name in x):
            return (
                _DICT,
                tuple(x),
                *[self._pattern(part, leaves, is_static) for part in x.values()],
            )
        raise NoPatternError


def _other_dtype(x: np.ndarray | np.generic) -> tuple[np.dtype, ...]:
    """Returns the dtype to which operations convert a NumPy operand, if it differs from its own."""
    if x.dtype.isbuiltin == 0 or (x.dtype.kind in "OSUVMm" and x.dtype.isbuiltin == 1):
        raise NoPatternError
    wanted = get_aval(x).dtype
    return () if wanted == x.dtype else (wanted,)


def without_numbers(pattern: Pattern) -> Pattern:
    """Returns `pattern` without the values of Python scalars."""
    if type(pattern) is not tuple:
        return pattern
    code = pattern[0]
    if code == _BITS:
        return (_FLOAT,)
    if code == _EXACT:
        return (_INT,) if pattern[1] is int else pattern
    if code in (_TUPLE, _LIST):
        return (code, *[without_numbers(part) for part in pattern[1:]])
    if code == _DICT:
        return (code, pattern[1], *[without_numbers(part) for part in pattern[2:]])
    return pattern


def leaves_of(
    patterns: Sequence[Pattern],
    names: Sequence[str],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> list[object]:
    """Returns the operands among a call's arguments."""
    leaves: list[Any] = []

    def collect(pattern: Pattern, x: Any) -> None:
        if type(pattern) is not tuple or pattern[0] in _OPERANDS:
            leaves.append(x)
        elif pattern[0] in (_TUPLE, _LIST):
            for p, part in zip(pattern[1:], x, strict=True):
                collect(p, part)
        elif pattern[0] == _DICT:
            for p, name in zip(pattern[2:], pattern[1], strict=True):
                collect(p, x[name])

    for p, x in zip(patterns, (*args, *(kwargs[name] for name in names)), strict=True):
        collect(p, x)
    return leaves


def filled(pattern: Pattern, leaves: Iterator[Any]) -> object:
    """Returns an argument of this pattern, whose operands are the next of `leaves`."""
    if type(pattern) is not tuple or pattern[0] in _OPERANDS:
        return next(leaves)
    code = pattern[0]
    if code == _TUPLE:
        return tuple([filled(p, leaves) for p in pattern[1:]])
    if code == _LIST:
        return [filled(p, leaves) for p in pattern[1:]]
    if code == _DICT:
        return {k: filled(p, leaves) for k, p in zip(pattern[1], pattern[2:], strict=True)}
    if code == _NONE:
        return None
    if code == _BITS:
        return struct.unpack("d", struct.pack("q", pattern[1]))[0]
    return pattern[2]
