"""Digests of questions: of functions, of what they use among the tests, and of values.

The same in all versions of Python and in each checkout. Modules of the package and of others count by
name: their answers are what is asked.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import dis
import functools
import hashlib
import inspect
import os
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import numpy as np

TESTS = Path(__file__).parent.parent
DIGEST_BYTES = 12  # 96 bits: a collision among 10^5 questions has a probability of 10^-19
# What answers questions is not part of them.
_ANSWERING = {str(Path(__file__).with_name(f"{x}.py")) for x in ("oracle", "digests", "answers")}
_SALT = b"0.10.2"  # of the hash: with other bytes no record would be found


class _Digest:
    """A hash of what a function depends on, the same in all versions of Python."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256(_SALT)
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []

    def text(self, kind: str, text: str = "") -> None:
        self.hash.update(f"{kind}:{len(text)}:{text};".encode())

    def add(self, x: Any) -> None:
        """Adds a value; of values that were seen before, their number."""
        if x is None or isinstance(x, (bool, int, float, complex, str, bytes, type(...))):
            return self.text(type(x).__name__, repr(x))
        # Whether equal constants are one object differs between Pythons: they count each time.
        if not isinstance(x, (tuple, np.ndarray, np.generic, np.dtype, frozenset, range, slice)):
            if id(x) in self.seen:
                return self.text("seen", str(self.seen[id(x)]))
            self.seen[id(x)] = len(self.seen)
            self.kept.append(x)  # the id stays taken
        match x:
            case np.ndarray() | np.generic():
                array = np.ascontiguousarray(x)
                self.text("array", f"{x.dtype} {x.shape} {type(x) is np.ndarray}")
                if array.dtype == object:
                    self.each("elements", array.ravel().tolist())
                else:
                    self.hash.update(array.tobytes())
            case np.dtype() | np.ufunc():
                self.text("numpy", str(x))
            case types.ModuleType():
                self.module(x)
            case functools.partial():
                self.each("partial", [x.func, x.args, x.keywords])
            case types.MethodType():
                self.each("method", [x.__func__, x.__self__])
            case types.FunctionType():
                self.function(x)
            case types.BuiltinFunctionType():
                self.text("builtin", x.__qualname__)
            case type():
                self.type(x)
            case list() | tuple() | collections.deque():
                self.each(type(x).__name__, x)
            case set() | frozenset():
                self.each("set", sorted(x, key=repr))
            case Mapping():
                self.each("mapping", [y for item in x.items() for y in item])
            case slice():
                self.each("slice", [x.start, x.stop, x.step])
            case range():
                self.text("range", repr(x))
            case PurePath():
                self.text("path", _place(x))
            case types.CellType():
                self.add(x.cell_contents)
            case _:
                self.object(x)
        return None

    def each(self, kind: str, values: Sequence[Any]) -> None:
        self.text(kind, str(len(values)))
        for value in values:
            self.add(value)

    def function(self, f: types.FunctionType) -> None:
        """Adds source, defaults, closure, and those globals that the source reads."""
        if not is_of_tests(f.__code__.co_filename):
            wrapped = getattr(f, "__wrapped__", None)
            if wrapped is not None:  # such as by a decorator of contextlib
                self.text("wrapper", f.__code__.co_qualname)
                return self.add(wrapped)
            self.text("function", f"{f.__module__}.{f.__qualname__}")
            return self.closure(f) if f.__code__.co_filename in _ANSWERING else None
        self.text("source", _source(f))
        self.each("defaults", [f.__defaults__, f.__kwdefaults__])
        self.closure(f)
        self.globals(f)
        return None

    def closure(self, f: types.FunctionType) -> None:
        """Adds the values that `f` closes over."""
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            self.text("free", name)
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self.text("empty")

    def globals(self, f: types.FunctionType) -> None:
        """Adds the globals that the source of `f` reads; of modules of `tests` the attributes."""
        for name in sorted(set(_global_names(f.__code__)) & f.__globals__.keys()):
            self.text("global", name)
            value = f.__globals__[name]
            if name == "__file__":
                self.text("file", _place(Path(value)))
            elif isinstance(value, types.ModuleType):
                self.module(value, f.__code__)
            else:
                self.add(value)

    def module(self, x: types.ModuleType, reader: types.CodeType | None = None) -> None:
        """Adds a module: its name, and of one of `tests` what `reader` reads of it, or its text."""
        self.text("module", getattr(x, "__name__", None) or repr(x))
        if not is_of_tests(getattr(x, "__file__", None) or ""):
            return
        if reader is None:
            self.text("text", Path(str(x.__file__)).read_text())
            return
        for name in sorted(set(_attribute_names(reader)) & vars(x).keys()):
            self.text("attribute", name)
            value = vars(x)[name]
            if isinstance(value, types.ModuleType):
                self.text("module", value.__name__)
            else:
                self.add(value)

    def type(self, x: type) -> None:
        file = getattr(sys.modules.get(x.__module__), "__file__", None) or ""
        if not is_of_tests(file):
            return self.text("class", f"{x.__module__.partition('.')[0]}.{x.__qualname__}")
        key = file, x.__qualname__, getattr(x, "__firstlineno__", None)
        if key not in _CLASSES:
            _CLASSES[key] = textwrap.dedent(inspect.getsource(x))
        self.text("class", _CLASSES[key])
        self.each("bases", [base for base in x.__bases__ if base is not object])
        for name, member in sorted(vars(x).items()):
            for f in _functions_of(member):
                if is_of_tests(f.__code__.co_filename):  # not one that a decorator has made
                    self.text("member", name)
                    self.globals(f)
        return None

    def object(self, x: Any) -> None:
        """Adds an object of another class by its state."""
        self.add(type(x))
        if dataclasses.is_dataclass(x):
            self.each("fields", [getattr(x, f.name) for f in dataclasses.fields(x)])
        elif hasattr(x, "dtype") and hasattr(x, "__array__"):
            self.add(np.asarray(x))
        elif callable(x) and hasattr(x, "__wrapped__"):
            self.add(x.__wrapped__)
        elif callable(x) and hasattr(x, "__qualname__"):
            self.text("callable", f"{x.__qualname__}")
        elif hasattr(x, "__dict__"):
            self.each("state", [vars(x)])
        elif hasattr(type(x), "__slots__"):
            self.each("slots", [getattr(x, name) for name in type(x).__slots__])
        else:
            raise TypeError(f"the oracle has no digest for a {type(x).__name__}: {x!r}")


# Texts of classes, by file, name and first line: before Python 3.13 `inspect` parses the file for each.
_CLASSES: dict[tuple[str, str, int | None], str] = {}


def is_of_tests(filename: str) -> bool:
    """Whether a file is one of the tests, whose functions make a question."""
    return filename.startswith(f"{TESTS}{os.sep}") and filename not in _ANSWERING


def _functions_of(member: Any) -> list[types.FunctionType]:
    """The functions that make an attribute of a class: a method, or what a descriptor calls."""
    parts = [member, *[getattr(member, x, None) for x in ("__func__", "fget", "fset", "func")]]
    return [x for x in parts if isinstance(x, types.FunctionType)]


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _global_names(const)


def _attribute_names(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            yield instruction.argval
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _attribute_names(const)


def _place(path: PurePath) -> str:
    """A path as text: among the tests, whose checkouts stand in different folders, from there."""
    return (path.relative_to(TESTS) if path.is_relative_to(TESTS) else path).as_posix()


@functools.cache
def _sources(filename: str) -> dict[int, str]:
    """The texts of a file's functions and lambdas, by the line in which their code begins."""
    text = Path(filename).read_text()
    # Columns count bytes. `ast.get_source_segment` would split the file anew for each node.
    lines = [line.encode() for line in text.split("\n")]
    sources: dict[int, str] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            decorators = getattr(node, "decorator_list", [])
            line = min([node.lineno, *[x.lineno for x in decorators]])
            last = node.end_lineno or node.lineno
            parts = lines[node.lineno - 1 : last]
            parts[-1] = parts[-1][: node.end_col_offset]  # first the end: both may be in one line
            parts[0] = parts[0][node.col_offset :]
            # A definition may stand deeper in one version of a file than in another.
            deep = _indent(lines[node.lineno - 1])
            words = b"\n".join([part[min(deep, _indent(part)) :] for part in parts])
            sources[line] = sources.get(line, "") + words.decode()
    return sources


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _source(f: types.FunctionType) -> str:
    """The text of a function; of several that begin in its line, all texts."""
    source = _sources(f.__code__.co_filename).get(f.__code__.co_firstlineno)
    if source is None:
        raise TypeError(f"the oracle needs the source of {f.__qualname__}")
    return source


def digest(*of: Any) -> str:
    """Returns the digest of functions and values: text of 24 hexadecimal digits."""
    out = _Digest()
    out.each("question", of)
    return out.hash.hexdigest()[: 2 * DIGEST_BYTES]
