"""The origin of operations: the line of the user's code that recorded an equation.

The origin of every equation is recorded, so recording must be cheap: it stores a code object and an
instruction offset. File, line and column are computed when they are needed.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from jitney.core.contexts import Within
from jitney.core.source.name_stack import NameStack
from jitney.core.util.record import record
from jitney.core.util.wraps import wraps

if TYPE_CHECKING:
    pass

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = os.path.abspath(os.path.join(__file__, "..", "..", "..")) + os.sep

# Files whose frames are not the user's; libraries may add to these.
exclude_paths: list[str] = [_PACKAGE]

# Packages that this one calls and that do not call users' functions.
_INSTALLED = os.path.dirname(os.path.dirname(np.__file__))
DEPENDENCIES = tuple(
    os.path.join(_INSTALLED, name, "") for name in ("ml_dtypes", "numpy", "opt_einsum", "scipy")
)

# The top-level modules that classes of this package may name as theirs.
NAMES = ("jitney", "jax", "jaxlib")

_SAME: Any = object()

# By file name, as hashing a code object traverses all its contents.
_internal: dict[str, bool] = {}


def register_exclusion(path: str) -> None:
    """Excludes frames of the file or folder `path` from the user's frames."""
    exclude_paths.append(path)
    _internal.clear()


def is_internal(code: CodeType) -> bool:
    """Returns whether frames of `code` belong to this package or to an excluded file."""
    name = code.co_filename
    internal = _internal.get(name)
    if internal is None:
        # Traceback entries of native code have the path at build time.
        is_native = name.endswith((".pyx", ".pxi")) and "jitney/" in name
        internal = is_native or any(name.startswith(path) for path in exclude_paths)
        _internal[name] = internal
    return internal


def is_own(value: object) -> bool:
    """Returns whether an object belongs to this package, by the modules of its class and bases."""
    return any(base.__module__.partition(".")[0] in NAMES for base in type(value).__mro__)


def include_frame(frame: FrameType) -> bool:
    """Returns whether `frame` belongs neither to this package nor to an excluded file."""
    return not is_internal(frame.f_code)


@record(frozen=True)
class Place:
    """A place in the user's code, used where JAX uses a traceback.

    Attributes:
      code: the code object of the innermost user frame.
      lasti: the offset of the instruction within it.
    """

    code: CodeType
    lasti: int


def span(code: CodeType, lasti: int) -> tuple[int | None, int | None, int | None, int | None]:
    """Returns (first line, last line, first column, last column) of an instruction.

    Lines count from one, columns from zero, in bytes of UTF-8. All four, or only the columns, are
    None if unknown, as under `python -X no_debug_ranges`.
    """
    return list(code.co_positions())[lasti // 2]


def stretch(lines: Sequence[str], column: int, end_column: int | None) -> str:
    """Returns the source from a column of the first line to a column of the last, as one line.

    Columns count bytes of UTF-8. If `end_column` is None, the last line is included up to its end.
    """
    parts = [line.encode() for line in lines]
    if not parts:
        return ""
    parts[-1] = parts[-1][:end_column]
    parts[0] = parts[0][column:]
    return " ".join(b"".join(parts).decode(errors="replace").split())


class SourceInfo:
    """A place in the user's code, with its name stack.

    Attributes:
      code: the code object of the innermost user frame; None if there was none.
      lasti: the offset of the instruction within it.
      name_stack: the scopes and transformations.
    """

    __slots__ = ("code", "lasti", "name_stack")

    def __init__(self, code: CodeType | None, lasti: int, name_stack: NameStack) -> None:
        self.code = code
        self.lasti = lasti
        self.name_stack = name_stack

    @property
    def traceback(self) -> Place | None:
        """The place without scopes, for `user_context`; None if it is not known."""
        return None if self.code is None else Place(self.code, self.lasti)

    def replace(
        self, *, traceback: Place | None = _SAME, name_stack: NameStack = _SAME
    ) -> SourceInfo:
        """Returns a copy with another place or other scopes."""
        place = self.traceback if traceback is _SAME else traceback
        stack = self.name_stack if name_stack is _SAME else name_stack
        return source_info(place, stack)

    def position(self) -> tuple[int, int]:
        """Returns (line, column); columns count from zero, as in JAX."""
        assert self.code is not None
        line, _, column, _ = span(self.code, self.lasti)
        return line or 0, column or 0


class _Scopes(threading.local):
    """The scopes of this thread.

    Attributes:
      stack: the name stack.
      origin: while a recorded program is run, the origin of its operations; otherwise None.
      around: the scopes outside of those of the origin.
    """

    stack: NameStack = NameStack()
    origin: SourceInfo | None = None
    around: NameStack = NameStack()

    def whole_origin(self) -> SourceInfo:
        """Returns the origin, which must not be None, with all its scopes."""
        origin = self.origin
        assert origin is not None
        return SourceInfo(origin.code, origin.lasti, self.around + origin.name_stack)


scopes = _Scopes()
_STACK, _STACK_AND_ORIGIN = ("stack",), ("stack", "origin")


class named_scope(Within):  # the name is JAX's
    """A context manager or decorator that adds `name` to the name stack of recorded equations.

    Raises:
      TypeError: if `name` is not a string.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users may err
            raise TypeError(f"named_scope: the name must be a string, got {name!r}")
        super().__init__(scopes, _STACK)
        self.name = name

    def find(self) -> tuple[tuple[object, ...], None]:
        return (scopes.stack.extend(self.name),), None


named_scope.__module__ = "jax"


def no_scopes() -> Within:
    """Returns a context without scopes, so that a program does not depend on where it is traced."""
    return Within(scopes, _STACK_AND_ORIGIN, (NameStack(), None))


def code_of_users() -> Within:
    """Returns a context in which an equation calls user code.

    The origin of operations is that code, and they are recorded within the scopes of the equation.
    """
    stack = scopes.stack if scopes.origin is None else scopes.whole_origin().name_stack
    return Within(scopes, _STACK_AND_ORIGIN, (stack, None))


def origins() -> Within[Callable[[object], None]]:
    """Returns a context that yields a function, which sets the origin of later operations."""
    outer, around, stack = scopes.origin, scopes.around, scopes.stack

    def come_from(info: object) -> None:
        if not isinstance(info, SourceInfo) or info.code is None:
            scopes.origin, scopes.around = outer, around
        else:
            scopes.origin, scopes.around = info, stack

    return Within(scopes, ("origin", "around"), (outer, around), come_from)


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """Returns a function that calls `fun` and records its operations in a named scope.

    Args:
      fun: any function.
      name: the name of the scope; by default the name of the function.

    Example:
      >>> jax.named_call(lambda x: x + 1, name="increment")(2)
      3
    """
    scope = name or getattr(fun, "__name__", type(fun).__name__)

    @wraps(fun)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return named


def current() -> SourceInfo:
    """Returns the origin of the equation that is being run again, or the innermost user frame."""
    origin: SourceInfo | None = scopes.origin
    if origin is not None:
        return scopes.whole_origin() if scopes.around else origin
    # The caller is not the user's code.
    frame: FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  # documented
    known = _internal
    while frame is not None:
        code = frame.f_code
        internal = known.get(code.co_filename)
        if internal is None:
            internal = is_internal(code)
        if not internal:
            return SourceInfo(code, frame.f_lasti, scopes.stack)
        frame = frame.f_back
    return SourceInfo(None, 0, scopes.stack)


def source_info(place: Place | None, name_stack: NameStack) -> SourceInfo:
    """Returns the source info of a place and scopes; the place can be None."""
    code, lasti = (None, 0) if place is None else (place.code, place.lasti)
    return SourceInfo(code, lasti, name_stack)


def current_name_stack() -> NameStack:
    """Returns the current name stack."""
    return scopes.stack


def set_name_stack(name_stack: NameStack) -> Within[NameStack]:
    """Returns a context that replaces the name stack, and yields it."""
    return Within(scopes, _STACK, (name_stack,), name_stack)


def extend_name_stack(name: str) -> AbstractContextManager[NameStack]:
    """Returns a context with one more scope, which yields the name stack."""
    return set_name_stack(scopes.stack.extend(name))


# Name stacks of a single transformation, by name: most transformed calls have one of these.
_alone: dict[str, NameStack] = {}


def transform_name_stack(name: str) -> Within[NameStack]:
    """Returns a context that marks inner scopes as transformed; it yields the name stack."""
    outer = scopes.stack
    inner = _alone.get(name) if not outer else outer.transform(name)
    if inner is None:
        inner = _alone[name] = outer.transform(name)
    return Within(scopes, _STACK, (inner,), inner)


def reset_name_stack() -> AbstractContextManager[NameStack]:
    """Returns a context without scopes."""
    return set_name_stack(NameStack())


def user_context(traceback: Place | None, *, name_stack: NameStack | None = None) -> Within:
    """Returns a context that sets the origin and scopes of operations, to run a jaxpr.

    Args:
      traceback: `eqn.source_info.traceback`; None for the place where the operations are bound.
      name_stack: the scopes; by default the current ones.
    """
    stack = scopes.stack if name_stack is None else name_stack
    origin = None if traceback is None else source_info(traceback, stack)
    return Within(scopes, ("stack", "origin", "around"), (stack, origin, NameStack()))


def summarize(info: object) -> str:
    """Returns "file:line:column (function)", or an empty string if nothing is known."""
    if not isinstance(info, SourceInfo) or info.code is None:
        return ""
    line, column = info.position()
    return f"{info.code.co_filename}:{line}:{column} ({info.code.co_qualname})"


def name_stack_of(info: object) -> str:
    """Returns the scopes of a place as text, joined by slashes."""
    return str(info.name_stack) if isinstance(info, SourceInfo) else ""


def fun_sourceinfo(fun: Callable[..., Any]) -> str:
    """Returns "name at file:line" for a function, looking through wrappers and partials."""
    while True:
        if isinstance(fun, functools.partial):
            fun = fun.func
        elif hasattr(fun, "__wrapped__"):
            fun = fun.__wrapped__  # type: ignore[attr-defined]  # it has one
        else:
            break
    name = getattr(fun, "__name__", None) or type(fun).__name__
    code = getattr(fun, "__code__", None)
    if code is None:
        call = getattr(type(fun), "__call__", None)  # noqa: B004
        code = getattr(call, "__code__", None) if not inspect.isbuiltin(fun) else None
    if code is None:
        return str(name)
    return f"{name} at {code.co_filename}:{code.co_firstlineno}"
