"""What the user wrote: the expression that an operation comes from, and what its variables hold.

An error names `x @ w`, not the operation that computes it. From version 3.11 on, Python has the
columns of each instruction of a frame; the source is there for programs in files and notebooks, and
from 3.13 on behind `-c`. All this is looked up when the message of an error is made, never before.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

from jitney.core import source_info
from jitney.core.record import record

_ABSENT: Any = object()

# Syntax that has a place in the source.
_Placed = ast.stmt | ast.expr | ast.excepthandler | ast.arg | ast.keyword | ast.alias | ast.pattern


@record(frozen=True, eq=False)
class UserCode:
    """A place in the user's program.

    Attributes:
      path: the syntax there: the expression, what it is a part of, and so on outwards; empty if
        there is no source.
      source: of the file.
      frame: which runs it.
    """

    path: tuple[ast.AST, ...]
    source: str
    frame: FrameType

    @property
    def expression(self) -> ast.AST | None:
        """The innermost syntax that the operation is asked for by."""
        return self.path[0] if self.path else None

    def text(self, node: ast.AST | None = None) -> str:
        """A part of the source, the expression by default, on one line; empty if there is none."""
        node = node or self.expression
        found = None if node is None else ast.get_source_segment(self.source, node)
        return " ".join(found.split()) if found else ""

    @property
    def place(self) -> str:
        """ "model.py:11", the line that runs."""
        return f"{_file_name(self.frame)}:{self.frame.f_lineno}"

    @property
    def function(self) -> str:
        """The name of the function; empty for a module."""
        name = self.frame.f_code.co_name
        return "" if name == "<module>" else name

    def variables(self) -> Iterator[tuple[str, Any]]:
        """The variables in the expression, in order, and what they hold."""
        if self.expression is None:
            return
        scopes: tuple[Mapping[str, Any], ...] = (self.frame.f_locals, self.frame.f_globals)
        names = [n for n in ast.walk(self.expression) if isinstance(n, ast.Name)]
        for node in sorted(names, key=lambda n: (n.lineno, n.col_offset)):
            value = next((s[node.id] for s in scopes if node.id in s), _ABSENT)
            if value is not _ABSENT:
                yield node.id, value

    def described(self, name: str) -> str:
        """ "argument x of layer (model.py:11)" if `name` is one, else `name`."""
        code = self.frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        if name not in code.co_varnames[:count]:
            return name
        line = f"{_file_name(self.frame)}:{code.co_firstlineno}"
        return f"argument {name} of {code.co_name} ({line})"


def current() -> UserCode | None:
    """Where the innermost frame of the user's is; None if there is none."""
    frame = inspect.currentframe()
    while frame is not None and (
        source_info.is_internal(frame.f_code)
        # NumPy asks for the values of tracers that users pass to it.
        or frame.f_code.co_filename.startswith(source_info.DEPENDENCIES)
    ):
        frame = frame.f_back
    if frame is None:
        return None
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    source = "".join(lines)
    return UserCode(_path(source, _positions(frame)), source, frame)


def _file_name(frame: FrameType) -> str:
    return os.path.basename(frame.f_code.co_filename)


def _positions(frame: FrameType) -> tuple[int, int, int, int] | None:
    """First line, last line, first column, last column; None if they are not known."""
    line, last_line, column, last_column = source_info.span(frame.f_code, frame.f_lasti)
    if line is None or last_line is None or column is None or last_column is None:
        return None  # python -X no_debug_ranges
    return line, last_line, column, last_column


@functools.lru_cache(maxsize=8)
def _tree(source: str) -> ast.AST | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _path(source: str, positions: tuple[int, int, int, int] | None) -> tuple[ast.AST, ...]:
    """The innermost expression around the positions, and what it is a part of."""
    node = _tree(source) if source and positions else None
    if node is None or positions is None:
        return ()
    first_line, last_line, first_column, last_column = positions
    first, last = (first_line, first_column), (last_line, last_column)
    path: list[ast.AST] = []
    inner: ast.AST | None = node
    while inner is not None:
        path.append(inner)
        # Of a call over several lines, the instruction has the method's name and the arguments.
        inner = next((c for c in _parts(inner) if _begin(c) <= first and last <= _end(c)), None)
    while path and not isinstance(path[-1], ast.expr | ast.stmt):
        path.pop()
    return tuple(reversed(path[1:]))  # without the module


def _parts(node: ast.AST) -> Iterator[_Placed]:
    """The parts of a node that have a place in the source."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Placed):
            yield child
        else:
            yield from _parts(child)  # such as the `for` of a comprehension


def _begin(node: _Placed) -> tuple[int, int]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        node = node.decorator_list[0] if node.decorator_list else node
    return node.lineno, node.col_offset


def _end(node: _Placed) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
