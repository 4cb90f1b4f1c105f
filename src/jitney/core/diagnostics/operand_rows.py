"""Rows of operands in messages: the label, the type, and the user's expression of each."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from jitney.core.messages import messages
from jitney.core.source import source_info
from jitney.core.source.call_arguments import Argument
from jitney.core.source.user_code import UserCode
from jitney.core.types.avals import AbstractValue

MOST_ROWS = 6  # operands to show
_SCALARS = (bool, int, float, complex, str, bytes, type(None))


def rows(arguments: Sequence[Argument], code: UserCode) -> list[str]:
    """Returns a line for each operand: its label, its type and the user's expression for it."""
    lines: list[tuple[str, str, str]] = []
    for argument in arguments:
        for each in _parts(argument):
            text = _text(each)
            if text:
                lines.append((each.label, text, _holder(each, code)))
    ellipsis = ["  ..."] if len(lines) > MOST_ROWS else []
    lines = lines[:MOST_ROWS]
    left = max((len(label) for label, _, _ in lines), default=0)
    width = max((len(text) for _, text, _ in lines), default=0)
    return [f"  {a:{left}}  {b:{width}}  {c}".rstrip() for a, b, c in lines] + ellipsis


def _parts(argument: Argument) -> Iterator[Argument]:
    """Yields the arrays in a list or tuple; for any other argument, the argument itself."""
    value: Any = argument.value
    node = argument.node
    if type(value) not in (list, tuple) or not any(type_of(each) for each in value):
        yield argument
        return
    parts: Sequence[ast.expr] = node.elts if isinstance(node, ast.List | ast.Tuple) else ()
    fits = len(parts) == len(value) and not any(isinstance(p, ast.Starred) for p in parts)
    for k, each in enumerate(value):
        yield Argument(f"{argument.label}[{k}]", each, parts[k] if fits else None)


def _text(argument: Argument) -> str:
    """Returns the type of an array, or a value that is not evident from the expression; else ""."""
    type_text = type_of(argument.value)
    if type_text or argument.node is None or not _is_short(argument.value):
        return type_text
    try:
        ast.literal_eval(argument.node)
    except (ValueError, SyntaxError, TypeError, RecursionError):
        text = repr(argument.value)
        return text if messages.is_short(text) else ""
    return ""


def type_of(value: Any) -> str:
    """Returns the type of an array or tracer; empty for other objects."""
    if isinstance(value, np.ndarray | np.generic):
        host = cast("np.ndarray", value)
        return f"{host.dtype}[{_extents(host.shape)}]"
    if isinstance(value, type) or not source_info.is_own(value):
        return ""
    aval = getattr(value, "aval", value)
    if isinstance(aval, AbstractValue):
        return aval.str_short()
    shape: Any = getattr(aval, "shape", None)
    dtype: Any = getattr(aval, "dtype", None)
    return f"{dtype}[{_extents(shape)}]" if isinstance(shape, tuple) and dtype else ""


def count_arrays(values: Sequence[Any]) -> int:
    """Returns the number of leading values that are arrays.

    Integers of rank 0 do not count, as they can be axes.
    """
    for k, value in enumerate(values):
        if not type_of(value):
            return k
        aval = getattr(value, "aval", value)
        if getattr(aval, "shape", None) == () and aval.dtype.kind in "iu":
            return k
    return len(values)


def _extents(shape: Any) -> str:
    return ",".join([str(n) for n in shape])


def _is_short(value: Any) -> bool:
    if type(value) in (list, tuple):
        return len(value) <= MOST_ROWS and all(type(each) in _SCALARS for each in value)
    return type(value) in _SCALARS


def _holder(argument: Argument, code: UserCode) -> str:
    node = argument.node
    if isinstance(node, ast.Name):
        return code.described(node.id)
    text = "" if node is None or isinstance(node, ast.Constant) else code.text(node)
    return text if messages.is_short(text) else ""
