"""Filtering of tracebacks, which then show only the user's frames.

An error passes through frames of this package on its way to the user's line. These frames are
removed at three kinds of places:

- `api_boundary` removes them when an error leaves a transformation, a jitted function or a loop.
  These call the user's functions, so frames of the user and of the package alternate.
- `leave_call` removes them when an error leaves a native function that counts its calls
  (`api/jit/repeated.py`).
- `install` removes them when an uncaught error is displayed by Python, in threads or by IPython.
  The pytest plugin, `jitney_pytest`, calls `mark`.

Operators, methods of arrays and the functions of `jax.lax` have no boundary: an addition takes 0.8
us, to which a Python function around it would add a tenth, and a native function a fiftieth.
Programs that catch their errors and print `traceback.format_exc()` show all frames.

At the same places, the message of the error is completed with the user's code
(`core/diagnostics/completion.py`).

The setting `jax_traceback_filtering` determines what happens to the frames (`docs/settings.md`).
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from jitney.core.settings import config
from jitney.core.source import source_info

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

F = TypeVar("F", bound=Callable[..., Any])

_LIBRARY = os.path.dirname(os.__file__) + os.sep
# Errors that native code of this package and Python's lists raise, without a frame of this package.
_OF_NATIVE_CODE = (TypeError, IndexError, MemoryError, ImportError)
_NOTE = (
    "This traceback omits the frames of jitney itself; set JAX_TRACEBACK_FILTERING=off to show "
    "them."
)


class UnfilteredStackTrace(Exception):
    """The complete traceback of an error, attached as its cause in mode `remove_frames`."""


def shorten(error: BaseException) -> None:
    """Removes this package's frames from the traceback of `error`, in the configured mode.

    The message is completed first, since this needs the frames, which contain the operands.
    """
    _complete(error)
    match config.traceback_filtering.value:
        case "off":
            return
        case "tracebackhide":
            mark(error)
            return
        case "remove_frames":
            _keep_whole_traceback(error)
        case "quiet_remove_frames":
            _note_filtering(error)
        case _:
            pass
    error.__traceback__ = _users_part(error.__traceback__)


def mark(error: BaseException) -> None:
    """Marks this package's frames in a traceback as hidden for pytest and IPython."""
    _complete(error)
    if config.traceback_filtering.value == "off":
        return
    for entry, is_own in _entries(error.__traceback__):
        if is_own:
            entry.tb_frame.f_locals["__tracebackhide__"] = True


def leave_call(
    error: BaseException, function: Callable[..., Any], args: tuple[PyTree, ...],
    kwargs: dict[str, PyTree],
) -> None:  # fmt: skip
    """Completes and shortens an error that a public function has raised; called by native code.

    Errors in calls by this package itself are not changed.
    """
    here = inspect.currentframe()
    caller = None if here is None else here.f_back  # native code has no frame
    if caller is not None and not source_info.is_internal(caller.f_code):
        _complete_call(error, caller, function, args, kwargs)
        if config.traceback_filtering.value != "remove_frames":
            shorten_all(error)


def _complete_call(
    error: BaseException, caller: FrameType, function: Callable[..., Any],
    args: tuple[PyTree, ...], kwargs: dict[str, PyTree],
) -> None:  # fmt: skip
    """Completes the message of an error in a call by the user, unless the user's code raised it."""
    if source_info.is_internal(caller.f_code):
        return
    if all(is_own for _, is_own in _entries(error.__traceback__)):
        from jitney.core.diagnostics import completion

        completion.complete_call(error, function, args, kwargs)


def _complete(error: BaseException) -> None:
    """Completes the message of an error that was raised in a frame of this package."""
    user: TracebackType | None = None
    own: TracebackType | None = None
    for entry, is_own in _entries(error.__traceback__):
        if not is_own:
            user, own = entry, None
        elif own is None:
            own = entry
    # NumPy raises a ValueError of its own, whose cause is one of ours.
    is_native = type(error) in _OF_NATIVE_CODE or (type(error) is ValueError and error.__cause__)
    if user is not None and (own is not None or is_native):
        from jitney.core.diagnostics import completion

        frame = None if own is None else own.tb_frame
        completion.complete_within(error, user.tb_frame, user.tb_lasti, frame)


def _entries(tb: TracebackType | None) -> Iterator[tuple[TracebackType, bool]]:
    """Yields (traceback entry, whether it is internal), outermost first.

    Frames of this package and of the libraries that it calls are internal.
    """
    is_own = False
    while tb is not None:
        code = tb.tb_frame.f_code
        is_own = source_info.is_internal(code) or (is_own and _is_installed(code.co_filename))
        yield tb, is_own
        tb = tb.tb_next


def _is_installed(name: str) -> bool:
    """Returns whether a file belongs to Python or to a dependency of this package."""
    if name.startswith(source_info.DEPENDENCIES):
        return True
    return name.startswith(_LIBRARY) and f"{os.sep}site-packages{os.sep}" not in name


def _has_own_frames(error: BaseException) -> bool:
    return any(is_own for _, is_own in _entries(error.__traceback__))


def _users_part(tb: TracebackType | None) -> TracebackType | None:
    """Returns `tb` without the frames of this package and of the libraries that it calls."""
    shortened: TracebackType | None = None
    for entry, is_own in reversed(list(_entries(tb))):
        if not is_own:
            shortened = TracebackType(shortened, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return shortened


def _note_filtering(error: BaseException) -> None:
    """Adds a note that frames were removed, at most once."""
    if _has_own_frames(error) and _NOTE not in getattr(error, "__notes__", ()):
        error.add_note(_NOTE)


def _keep_whole_traceback(error: BaseException) -> None:
    """Attaches the complete traceback as the error's cause, so it is shown before the short one."""
    if not _has_own_frames(error):
        return
    whole = UnfilteredStackTrace("the error below, with the frames of jitney")
    whole.__traceback__ = error.__traceback__
    whole.__context__, whole.__cause__ = error.__context__, error.__cause__
    whole.__suppress_context__ = error.__suppress_context__
    error.__cause__ = whole


def api_boundary(fun: F) -> F:
    """Wraps a function that calls the user's functions, to filter the tracebacks of its errors."""

    @functools.wraps(fun)
    def reraise_with_short_traceback(*args: PyTree, **kwargs: PyTree) -> object:
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            here = inspect.currentframe()
            if here is not None and here.f_back is not None:
                _complete_call(error, here.f_back, fun, args, kwargs)
            del here  # breaks a reference cycle of the frame
            # Only the outermost boundary keeps the complete traceback.
            if config.traceback_filtering.value != "remove_frames" or not _is_within_boundary():
                shorten(error)
            raise  # without an entry for this frame

    return cast("F", reraise_with_short_traceback)


def _is_within_boundary() -> bool:
    """Returns whether the calling boundary is within another one."""
    here = inspect.currentframe()
    boundary = None if here is None else here.f_back
    outer = None if boundary is None else boundary.f_back
    while outer is not None and boundary is not None:
        if outer.f_code is boundary.f_code:  # shared by all boundaries
            return True
        outer = outer.f_back
    return False


# --- where errors are shown -----------------------------------------------------------------------


def install() -> None:
    """Installs the filtering of tracebacks shown by Python, its threads, and IPython."""
    show, show_of_thread = sys.excepthook, threading.excepthook

    def show_users_frames(
        kind: type[BaseException], error: BaseException, tb: TracebackType | None
    ) -> None:
        shorten_all(error)
        show(kind, error, error.__traceback__)

    def show_users_frames_of_thread(args: Any) -> None:
        error = args.exc_value
        if error is not None:
            shorten_all(error)
            args = threading.ExceptHookArgs(
                (args.exc_type, error, error.__traceback__, args.thread)
            )
        show_of_thread(args)

    sys.excepthook, threading.excepthook = show_users_frames, show_users_frames_of_thread
    install_in_ipython()


def shorten_all(error: BaseException) -> None:
    """Shortens the tracebacks of `error` and of all its causes, contexts and members."""
    for each in _with_origins(error):
        shorten(each)


def drop_own_frames(error: BaseException) -> None:
    """Removes this package's frames from tracebacks that become part of a message.

    No note is added.
    """
    for each in _with_origins(error):
        _complete(each)
        if config.traceback_filtering.value != "off":
            each.__traceback__ = _users_part(each.__traceback__)


def _with_origins(error: BaseException) -> Iterator[BaseException]:
    """Yields `error` and, recursively, its causes, contexts and members, each once."""
    todo: list[BaseException | None] = [error]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if each is None or id(each) in seen or isinstance(each, UnfilteredStackTrace):
            continue
        seen.add(id(each))
        todo += _origins(each)
        yield each


def _origins(error: BaseException) -> list[BaseException | None]:
    """Returns the cause, the context and the members of `error`."""
    origins = [error.__cause__, error.__context__]
    if isinstance(error, BaseExceptionGroup):
        origins += cast("BaseExceptionGroup[BaseException]", error).exceptions
    return origins


def install_in_ipython() -> None:
    """Makes the running IPython, if there is one, show errors with `_show_in_ipython`."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    if shell is not None and not shell.custom_exceptions:  # keeps the user's handler
        shell.set_custom_exc((Exception,), _show_in_ipython)


def _add_name_that_was_meant(error: BaseException) -> None:
    """Adds "Did you mean: 'sqrt'?" for a missing name, as Python does when it shows errors."""
    if not isinstance(error, AttributeError) or not isinstance(error.obj, ModuleType):
        return
    message, name = str(error), error.name or ""
    if error.obj.__name__.partition(".")[0] in source_info.NAMES and message.endswith(
        f"no attribute {name!r}"
    ):
        import difflib

        near = difflib.get_close_matches(name, dir(error.obj), 1)
        if near:
            error.args = (f"{message}. Did you mean: {near[0]!r}?",)


def _show_in_ipython(
    shell: Any, kind: type[BaseException], error: BaseException, tb: TracebackType | None,
    tb_offset: int | None = None,
) -> None:  # fmt: skip
    """Shows an error as IPython does, but with a short traceback; an IPython error handler."""
    shorten_all(error)
    _add_name_that_was_meant(error)
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)
