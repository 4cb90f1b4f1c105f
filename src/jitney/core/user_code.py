"""What the user wrote: the expression that an operation comes from, and what its variables hold.

An error names `x @ w`, not the operation that computes it. From version 3.11 on, Python has the
columns of each instruction of a frame; the source is there for programs in files and notebooks, and
behind `jitney -c`; behind `python -c` from 3.13 on. All this is looked up when the message of an error
is made, never before.
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

from jitney.core import source_info
from jitney.core.record import record

_ABSENT: Any = object()

# Syntax that has a place in the source.
_Placed = ast.stmt | ast.expr | ast.excepthandler | ast.arg | ast.keyword | ast.alias | ast.pattern

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


# Programs that are not files, by the names that Python gives these: "<string>", which is the name of
# what `exec` runs, too. `linecache` has their lines.
texts: dict[str, CodeType] = {}


@record(frozen=True, eq=False)
class UserCode:
    """A place in the user's program.

    Attributes:
      path: the syntax there: the expression, what it is a part of, and so on outwards; empty if
        there is no source.
      lines: of the file.
      frame: which runs it.
      line: that runs; a frame whose function has ended may have gone on to another.
    """

    path: tuple[ast.AST, ...]
    lines: Sequence[str]
    frame: FrameType
    line: int

    @property
    def expression(self) -> ast.AST | None:
        """The innermost syntax that the operation is asked for by."""
        return self.path[0] if self.path else None

    def text(self, node: ast.AST | None = None) -> str:
        """A part of the source, the expression by default, on one line; empty if there is none."""
        node = node or self.expression
        if not isinstance(node, _Placed) or node.end_lineno is None:
            return ""
        # `ast` has a function for this that splits the whole file each time.
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        return source_info.stretch(lines, node.col_offset, node.end_col_offset)

    @property
    def place(self) -> str:
        """ "model.py:11", the line that runs."""
        return f"{_file_name(self.frame)}:{self.line}"

    @property
    def function(self) -> str:
        """The name of the function; empty for a module."""
        name = self.frame.f_code.co_name
        return "" if name == "<module>" else name

    def variables(self) -> Iterator[tuple[str, Any]]:
        """Yields the variables in the expression, in order, and what they hold."""
        if self.expression is None:
            return
        names = [n for n in ast.walk(self.expression) if isinstance(n, ast.Name)]
        for node in sorted(names, key=lambda n: (n.lineno, n.col_offset)):
            value = self.value_of(node.id, _ABSENT)
            if value is not _ABSENT:
                yield node.id, value

    def value_of(self, name: str, default: Any = None) -> Any:
        """Returns what a variable holds."""
        scopes: tuple[Mapping[str, Any], ...] = (self.frame.f_locals, self.frame.f_globals)
        return next((scope[name] for scope in scopes if name in scope), default)

    def described(self, name: str) -> str:
        """ "argument x of layer (model.py:11)" if `name` is one, else `name`."""
        code = self.frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        if name not in code.co_varnames[:count]:
            return name
        line = f"{_file_name(self.frame)}:{code.co_firstlineno}"
        return f"argument {name} of {code.co_name} ({line})"


def current() -> UserCode | None:
    """Returns where the innermost frame of the user's is; None if there is none."""
    frame = inspect.currentframe()
    while frame is not None and (
        source_info.is_internal(frame.f_code)
        # NumPy converts to values the tracers that users pass to it.
        or frame.f_code.co_filename.startswith(source_info.DEPENDENCIES)
    ):
        frame = frame.f_back
    if frame is None:
        return None
    return at(frame, frame.f_lasti)


def at(frame: FrameType, lasti: int) -> UserCode:
    """Returns the place of an instruction, by its offset, of the code that a frame runs."""
    lines = _lines_of(frame.f_code, frame.f_globals)
    line = source_info.span(frame.f_code, lasti)[0] or frame.f_lineno
    return UserCode(_path(lines, _positions(frame.f_code, lasti)), lines, frame, line)


def loop_around(info: source_info.SourceInfo) -> tuple[str, int] | None:
    """(file, line) of the innermost loop of Python, in the same function, whose body has a place.

    None if there is none, or no source.
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
    """The lines of the file that code is from; none if it only has the name of one in `texts`."""
    whole = texts.get(code.co_filename)
    if whole is not None and not _is_part(code, whole):
        return []
    return linecache.getlines(code.co_filename, namespace)


def _is_part(code: CodeType, whole: CodeType) -> bool:
    """Returns whether `code` is that of a module, or of a function or class within."""
    inner = [c for c in whole.co_consts if isinstance(c, CodeType)]
    return code is whole or any(_is_part(code, each) for each in inner)


def _file_name(frame: FrameType) -> str:
    return os.path.basename(frame.f_code.co_filename)


def _positions(code: CodeType, lasti: int) -> tuple[int, int, int, int] | None:
    """First line, last line, first column, last column; None if they are not known."""
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
    """Returns the innermost expression around the positions, and what it is a part of."""
    node = _tree("".join(lines)) if lines and positions else None
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
    """Yields the parts of a node that have a place in the source."""
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
