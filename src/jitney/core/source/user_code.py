"""The user's code: the expression that an operation comes from, and the values of its variables.

Error messages show `x @ w`, not the operation that computes it. This is possible because Python
records the columns of each instruction since version 3.11. The source is available for programs in
files and notebooks and for `jitney -c`, and since Python 3.13 for `python -c`. It is read only when
an error message is composed.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import os
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from jitney.core.source import source_info
from jitney.core.util.record import record

_ABSENT: Any = object()

# Syntax tree nodes with a position in the source.
_Placed = ast.stmt | ast.expr | ast.excepthandler | ast.arg | ast.keyword | ast.alias | ast.pattern

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


# Programs that are not files, by the file names that Python gives them: "<string>", which code run
# by `exec` has, too. `linecache` has their lines.
texts: dict[str, CodeType] = {}


@record(frozen=True, eq=False)
class UserCode:
    """A place in the user's program.

    Attributes:
      path: the syntax tree nodes at the place, from the innermost expression outwards; empty if the
        source is not available.
      lines: the lines of the file.
      frame: the frame that runs the code.
      line: the line of the place; the frame itself can be at a later line if its function has
        ended.
    """

    path: tuple[ast.AST, ...]
    lines: Sequence[str]
    frame: FrameType
    line: int

    @property
    def expression(self) -> ast.AST | None:
        """The innermost syntax tree node at the place."""
        return self.path[0] if self.path else None

    def text(self, node: ast.AST | None = None) -> str:
        """Returns the source of a node, by default that of the expression, as one line.

        Returns an empty string if the source is not available.
        """
        node = node or self.expression
        if not isinstance(node, _Placed) or node.end_lineno is None:
            return ""
        # `ast` has a function for this, but it splits the whole file each time.
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        return source_info.stretch(lines, node.col_offset, node.end_col_offset)

    @property
    def place(self) -> str:
        """The file and line: "model.py:11"."""
        return f"{_file_name(self.frame)}:{self.line}"

    @property
    def function(self) -> str:
        """The name of the function; empty at module level."""
        name = self.frame.f_code.co_name
        return "" if name == "<module>" else name

    def variables(self) -> Iterator[tuple[str, object]]:
        """Yields the variables in the expression, in order, with their values."""
        if self.expression is None:
            return
        names = [n for n in ast.walk(self.expression) if isinstance(n, ast.Name)]
        for node in sorted(names, key=lambda n: (n.lineno, n.col_offset)):
            value = self.value_of(node.id, _ABSENT)
            if value is not _ABSENT:
                yield node.id, value

    def value_of(self, name: str, default: Any = None) -> object:
        """Returns the value of a variable."""
        scopes: tuple[Mapping[str, Any], ...] = (self.frame.f_locals, self.frame.f_globals)
        return next((scope[name] for scope in scopes if name in scope), default)

    def described(self, name: str) -> str:
        """Returns "argument x of layer (model.py:11)" if `name` is an argument, else `name`."""
        code = self.frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        if name not in code.co_varnames[:count]:
            return name
        line = f"{_file_name(self.frame)}:{code.co_firstlineno}"
        return f"argument {name} of {code.co_name} ({line})"


def current() -> UserCode | None:
    """Returns the place of the innermost user frame; None if there is none."""
    frame = inspect.currentframe()
    while frame is not None and (
        source_info.is_internal(frame.f_code)
        # NumPy requests the values of tracers that users pass to it.
        or frame.f_code.co_filename.startswith(source_info.DEPENDENCIES)
    ):
        frame = frame.f_back
    if frame is None:
        return None
    return at(frame, frame.f_lasti)


def at(frame: FrameType, lasti: int) -> UserCode:
    """Returns the place of the instruction at offset `lasti` in the code of a frame."""
    lines = _lines_of(frame.f_code, frame.f_globals)
    line = source_info.span(frame.f_code, lasti)[0] or frame.f_lineno
    return UserCode(_path(lines, _positions(frame.f_code, lasti)), lines, frame, line)


def loop_around(info: source_info.SourceInfo) -> tuple[str, int] | None:
    """Returns (file, line) of the innermost Python loop around a place, in the same function.

    Returns None if there is no loop, or the source is not available.
    """
    code = info.code
    if code is None:
        return None
    lines = _lines_of(code)
    inner: ast.AST | None = None
    for node in _path(lines, _positions(code, info.lasti)):
        if isinstance(node, _FUNCTIONS):
            return None
        if isinstance(node, _LOOPS) and inner in node.body:
            return code.co_filename, node.lineno
        if isinstance(node, _COMPREHENSIONS):
            return code.co_filename, node.lineno
        inner = node
    return None


def _lines_of(code: CodeType, namespace: dict[str, Any] | None = None) -> list[str]:
    """Returns the lines of the file of `code`; empty if it only shares a file name in `texts`."""
    whole = texts.get(code.co_filename)
    if whole is not None and not _is_part(code, whole):
        return []
    return linecache.getlines(code.co_filename, namespace)


def _is_part(code: CodeType, whole: CodeType) -> bool:
    """Returns whether `code` is the code of a module, `whole`, or of a function or class in it."""
    inner = [c for c in whole.co_consts if isinstance(c, CodeType)]
    return code is whole or any(_is_part(code, each) for each in inner)


def _file_name(frame: FrameType) -> str:
    return os.path.basename(frame.f_code.co_filename)


def _positions(code: CodeType, lasti: int) -> tuple[int, int, int, int] | None:
    """Returns (first line, last line, first column, last column); None if they are not known."""
    line, last_line, column, last_column = source_info.span(code, lasti)
    if line is None or last_line is None or column is None or last_column is None:
        return None  # python -X no_debug_ranges
    return line, last_line, column, last_column


@functools.lru_cache(maxsize=8)
def _tree(source: str) -> ast.AST | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _path(lines: Sequence[str], positions: tuple[int, int, int, int] | None) -> tuple[ast.AST, ...]:
    """Returns the innermost expression at the positions, followed by the nodes that contain it."""
    node = _tree("".join(lines)) if lines and positions else None
    if node is None or positions is None:
        return ()
    first_line, last_line, first_column, last_column = positions
    first, last = (first_line, first_column), (last_line, last_column)
    path: list[ast.AST] = []
    inner: ast.AST | None = node
    while inner is not None:
        path.append(inner)
        # For a call over several lines, the instruction's position covers the method name and
        # arguments.
        inner = next((c for c in _parts(inner) if _begin(c) <= first and last <= _end(c)), None)
    while path and not isinstance(path[-1], ast.expr | ast.stmt):
        path.pop()
    return tuple(reversed(path[1:]))  # except the module


def _parts(node: ast.AST) -> Iterator[_Placed]:
    """Yields the children of a node that have a position in the source."""
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
