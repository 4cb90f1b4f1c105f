"""Where operations come from: the user's line that recorded an equation.

Capturing must be cheap (it happens for every equation), so it keeps a code object and an offset
into it; file, line and column are worked out when they are needed.
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
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.contexts import Within
from jitney.core.name_stack import NameStack
from jitney.core.record import record
from jitney.core.wraps import wraps

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep

# Files whose frames are not the user's; libraries add their own.
exclude_paths: list[str] = [_PACKAGE]

# Packages that this one calls, and that call no functions of users.
_INSTALLED = os.path.dirname(os.path.dirname(np.__file__))
DEPENDENCIES = tuple(
    os.path.join(_INSTALLED, name, "") for name in ("ml_dtypes", "numpy", "opt_einsum", "scipy")
)

# Where classes of this package say that they are from.
NAMES = ("jitney", "jax", "jaxlib")

_SAME: Any = object()

# By the file's name: hashing a code object goes over all that it holds.
_internal: dict[str, bool] = {}


def register_exclusion(path: str) -> None:
    """Frames of the file or folder `path` no longer count as the user's."""
    exclude_paths.append(path)
    _internal.clear()


def is_internal(code: CodeType) -> bool:
    """Returns whether frames of `code` belong to this package or to an excluded file."""
    name = code.co_filename
    internal = _internal.get(name)
    if internal is None:
        # Entries of native code have the path that it was built from.
        is_native = name.endswith((".pyx", ".pxi")) and "jitney/" in name
        internal = is_native or any(name.startswith(path) for path in exclude_paths)
        _internal[name] = internal
    return internal


def is_own(value: object) -> bool:
    """Returns whether an object is of this package, by the modules that its class and bases show."""
    return any(base.__module__.partition(".")[0] in NAMES for base in type(value).__mro__)


def include_frame(frame: FrameType) -> bool:
    """Whether `frame` is shown to users: it belongs neither to this package nor to an excluded file."""
    return not is_internal(frame.f_code)


@record(frozen=True)
class Place:
    """A place in the user's code: what JAX has a traceback for.

    Attributes:
      code: code object of the innermost user frame.
      lasti: offset of the instruction within it.
    """

    code: CodeType
    lasti: int


def span(code: CodeType, lasti: int) -> tuple[int | None, int | None, int | None, int | None]:
    """Returns (first line, last line, first column, last column) of an instruction; None where unknown.

    Lines count from one, columns from zero, in bytes of UTF-8. All four are unknown, or columns alone,
    under `python -X no_debug_ranges`.
    """
    return list(code.co_positions())[lasti // 2]


def stretch(lines: Sequence[str], column: int, end_column: int | None) -> str:
    """Returns what stands in lines from a column of the first to one of the last, on one line.

    Columns count bytes of UTF-8; None is the end of the line.
    """
    parts = [line.encode() for line in lines]
    if not parts:
        return ""
    parts[-1] = parts[-1][:end_column]
    parts[0] = parts[0][column:]
    return " ".join(b"".join(parts).decode(errors="replace").split())


class SourceInfo:
    """A place in the user's code, and the scopes it was in.

    Attributes:
      code: code object of the innermost user frame; None if there was none.
      lasti: offset of the instruction within it.
      name_stack: names of the scopes, and transformations.
    """

    __slots__ = ("code", "lasti", "name_stack")

    def __init__(self, code: CodeType | None, lasti: int, name_stack: NameStack) -> None:
        self.code = code
        self.lasti = lasti
        self.name_stack = name_stack

    @property
    def traceback(self) -> Place | None:
        """The place alone, for `user_context`; None if it is not known."""
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
    """Where the thread is.

    Attributes:
      stack: names of the scopes, and transformations.
      origin: the place that operations come from while a recorded program is run; None elsewhere.
      around: scopes around those of the origin.
    """

    stack: NameStack = NameStack()
    origin: SourceInfo | None = None
    around: NameStack = NameStack()

    def whole_origin(self) -> SourceInfo:
        """Returns the origin, of which there is one, with all its scopes."""
        origin = self.origin
        assert origin is not None
        return SourceInfo(origin.code, origin.lasti, self.around + origin.name_stack)


scopes = _Scopes()
_STACK, _STACK_AND_ORIGIN = ("stack",), ("stack", "origin")


class named_scope(Within):  # the API's name
    """Within the context, or the decorated function, equations carry `name` on their name stack.

    Raises:
      TypeError: if `name` is not a string.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # users may err
            raise TypeError(f"named_scope: the name must be a string, got {name!r}")
        super().__init__(scopes, _STACK)
        self.name = name

    def find(self) -> tuple[tuple[Any, ...], None]:
        return (scopes.stack.extend(self.name),), None


named_scope.__module__ = "jax"


def no_scopes() -> Within:
    """A context outside of all scopes: a program traced on its own does not say where it is used."""
    return Within(scopes, _STACK_AND_ORIGIN, (NameStack(), None))


def code_of_users() -> Within:
    """Code of users is called for an equation: operations come from there, within its scopes."""
    stack = scopes.stack if scopes.origin is None else scopes.whole_origin().name_stack
    return Within(scopes, _STACK_AND_ORIGIN, (stack, None))


def origins() -> Within[Callable[[object], None]]:
    """A context that gives a function, which says of which place the operations that follow come."""
    outer, around, stack = scopes.origin, scopes.around, scopes.stack

    def come_from(info: object) -> None:
        if not isinstance(info, SourceInfo) or info.code is None:
            scopes.origin, scopes.around = outer, around
        else:
            scopes.origin, scopes.around = info, stack

    return Within(scopes, ("origin", "around"), (outer, around), come_from)


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """Returns `fun`, whose operations are recorded in a scope of its name.

    Args:
      fun: any function.
      name: of the scope; the function's own by default.

    Example:
      >>> jax.named_call(lambda x: x + 1, name="increment")(2)
      3
    """
    scope = name or getattr(fun, "__name__", type(fun).__name__)

    @wraps(fun)
    def named(*args: PyTree, **kwargs: PyTree) -> Any:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return named


def current() -> SourceInfo:
    """Returns the innermost frame of the user, or the origin of the equation that is run again."""
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
    """Returns a place, if it is known, with scopes."""
    code, lasti = (None, 0) if place is None else (place.code, place.lasti)
    return SourceInfo(code, lasti, name_stack)


def current_name_stack() -> NameStack:
    """Returns the scopes in which operations are recorded at this point."""
    return scopes.stack


def set_name_stack(name_stack: NameStack) -> Within[NameStack]:
    """A context that gives these scopes, and in which operations are recorded in them and no others."""
    return Within(scopes, _STACK, (name_stack,), name_stack)


def extend_name_stack(name: str) -> AbstractContextManager[NameStack]:
    """Returns a context within one more scope, which yields all of them."""
    return set_name_stack(scopes.stack.extend(name))


# Single transformations outside of all scopes, by their names: most transformed calls have one.
_alone: dict[str, NameStack] = {}


def transform_name_stack(name: str) -> Within[NameStack]:
    """A context in which the scopes that follow are those of something transformed; gives them."""
    outer = scopes.stack
    inner = _alone.get(name) if not outer else outer.transform(name)
    if inner is None:
        inner = _alone[name] = outer.transform(name)
    return Within(scopes, _STACK, (inner,), inner)


def reset_name_stack() -> AbstractContextManager[NameStack]:
    """Returns a context outside of all scopes."""
    return set_name_stack(NameStack())


def user_context(traceback: Place | None, *, name_stack: NameStack | None = None) -> Within:
    """Returns a context in which operations come from a place and scopes: for code that runs a jaxpr.

    Args:
      traceback: `eqn.source_info.traceback`; None leaves the place where the operations are bound.
      name_stack: the scopes; those of here and now by default.
    """
    stack = scopes.stack if name_stack is None else name_stack
    origin = None if traceback is None else source_info(traceback, stack)
    return Within(scopes, ("stack", "origin", "around"), (stack, origin, NameStack()))


def summarize(info: object) -> str:
    """Returns "file:line:column (function)"; "" if nothing is known."""
    if not isinstance(info, SourceInfo) or info.code is None:
        return ""
    line, column = info.position()
    return f"{info.code.co_filename}:{line}:{column} ({info.code.co_qualname})"


def name_stack_of(info: object) -> str:
    """Returns the scopes of a place, joined by slashes."""
    return str(info.name_stack) if isinstance(info, SourceInfo) else ""


def fun_sourceinfo(fun: Callable[..., Any]) -> str:
    """ "name at file:line" of a function, through wrappers and partials."""
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
