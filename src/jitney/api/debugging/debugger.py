"""`jax.debug.breakpoint`: a command-line debugger for compiled programs.

The local variables that the user's functions had at the time of tracing are operands of the
breakpoint, so the debugger shows their values in the current run.
"""

from __future__ import annotations

import cmd
import inspect
import pprint
import threading
import traceback
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, TypeVar, overload

from jitney.api.debugging.callbacks import debug_callback
from jitney.core.diagnostics.tracebacks import api_boundary
from jitney.core.source import source_info
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.core.typing import PyTree

T = TypeVar("T")

_AROUND = 5  # lines of context before and after the current line of a module
_one_at_a_time = threading.Lock()


class DebuggerQuit(RuntimeError):
    """The error that ends a program when the user quits the debugger."""


@record
class _Frame:
    """A stack frame, recorded when the program was traced.

    Attributes:
      filename, name, line: the location in the source.
      source: the source lines, and the number of the first one.
      variables: local variables, with their values in the running program.
      outer: global variables.
    """

    filename: str
    name: str
    line: int
    source: tuple[list[str], int]
    variables: dict[str, Any]
    outer: dict[str, Any]


@overload
def breakpoint(  # noqa: A001
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: None = None,
    **kwargs: Any,
) -> None: ...


@overload
def breakpoint(  # noqa: A001
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: T,
    **kwargs: Any,
) -> T: ...


@api_boundary
def breakpoint(  # noqa: A001
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: PyTree = None,
    **kwargs: Any,
) -> object:
    r"""Opens a command-line debugger each time the program reaches this point.

    The debugger shows the frames of the functions that were being traced, and their variables with
    the values of the current run. Its commands are `p`, `pp` (print), `u`, `d` (up, down), `l`
    (list), `bt` (backtrace), `c` (continue) and `q` (quit, which ends the program with an error).

    Args:
      backend: "cli", or None, which is the same.
      filter_frames: whether to leave out frames of libraries.
      num_frames: the number of frames to keep; all by default.
      ordered: whether the breakpoint is an ordered effect of the program.
      token: a pytree of arrays to compute before the breakpoint.
      **kwargs: `stdin` and `stdout`, the files for input and output.

    Returns: `token`.

    Raises:
      ValueError: if `backend` is unknown.

    Example:
      >>> import io, sys
      >>> @jax.jit
      ... def double(x):
      ...     y = 2 * x
      ...     jax.debug.breakpoint(stdin=io.StringIO("p y - x\nc\n"), stdout=sys.stdout)
      ...     return y
      >>> double(3)
      Entering jdb:
      (jdb) Array(3, dtype=int32, weak_type=True)
      (jdb) Array(6, dtype=int32, weak_type=True)
    """
    if backend not in (None, "cli"):
        raise ValueError(f"jax.debug.breakpoint: the only backend is 'cli', got {backend!r}")
    stack: list[FrameType] = []
    frame = inspect.currentframe()
    frame = None if frame is None else frame.f_back
    while frame is not None:
        if not filter_frames or _is_users(frame):
            stack.append(frame)
        frame = frame.f_back
    if num_frames is not None:
        stack = stack[:num_frames]
    places = [(f.f_code.co_filename, f.f_code.co_name, f.f_lineno, _source(f)) for f in stack]
    modules = [f.f_globals for f in stack]
    variables = [dict(f.f_locals) if f.f_locals is not f.f_globals else {} for f in stack]
    del stack, frame

    def debug(values: list[dict[str, Any]], _token: PyTree) -> None:
        frames = [
            _Frame(*place, own, outer)
            for place, own, outer in zip(places, values, modules, strict=True)
        ]
        with _one_at_a_time:
            Debugger(frames, **kwargs).cmdloop()

    debug_callback(debug, variables, token, ordered=ordered)
    return token


def _is_users(frame: FrameType) -> bool:
    """Returns whether a frame belongs to user code, that is, neither to this package nor to Python.

    Python's `runpy` is on the stack if a program was started as a module.
    """
    return source_info.include_frame(frame) and not frame.f_code.co_filename.startswith("<frozen ")


def _source(frame: FrameType) -> tuple[list[str], int]:
    """Returns the source lines of a frame's function, and the number of the first one.

    For code at module level, these are the lines around the current one. If the source is not
    available, there are no lines.
    """
    try:
        lines, first = inspect.getsourcelines(frame)
    except (OSError, TypeError, IndexError):
        return [], 0
    if not first:  # at module level
        first = max(frame.f_lineno - _AROUND, 1)
        lines = lines[first - 1 : frame.f_lineno + _AROUND]
    return [line.rstrip("\n") for line in lines], first


class Debugger(cmd.Cmd):
    """The command loop, with the commands of `pdb`."""

    prompt = "(jdb) "

    def __init__(
        self,
        frames: list[_Frame],
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
        completekey: str = "tab",
    ) -> None:
        super().__init__(completekey=completekey, stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.frames = frames
        self.at = 0
        self.intro = "Entering jdb:"

    @property
    def frame(self) -> _Frame:
        """The selected frame."""
        return self.frames[self.at]

    def show(self, text: str) -> None:
        """Prints a line."""
        print(text, file=self.stdout, flush=True)

    def evaluate(self, expression: str) -> tuple[object, bool]:
        """Evaluates an expression in the selected frame; returns (value, success)."""
        try:
            if not self.frames:
                return eval(expression, {}), True
            return eval(expression, self.frame.outer, self.frame.variables), True
        except Exception as error:
            self.show(f"*** {type(error).__name__}: {error}")
            return None, False

    def default(self, line: str) -> None:
        """Evaluates input that is not a command as an expression, and prints its value."""
        self.do_p(line)

    def emptyline(self) -> bool:
        """Does nothing; `cmd` would repeat the last command."""
        return False

    def do_p(self, arg: str) -> None:
        """p(rint) expression: prints its value"""
        value, is_valid = self.evaluate(arg)
        if is_valid:
            self.show(repr(value))

    def do_pp(self, arg: str) -> None:
        """pp expression: pretty-prints its value"""
        value, is_valid = self.evaluate(arg)
        if is_valid:
            self.show(pprint.pformat(value))

    def do_list(self, _arg: str) -> None:
        """l(ist): shows the source of the function, and the current line"""
        if not self.frames:
            return
        frame = self.frame
        self.show(f"> {frame.filename}({frame.line})")
        lines, first = frame.source
        for number, line in enumerate(lines, first):
            self.show(("->  " if number == frame.line else "    ") + line)

    def do_where(self, _arg: str) -> None:
        """w(here), bt: shows the stack frames, the innermost last"""
        self.show("Traceback:")
        for frame in reversed(self.frames):
            lines, first = frame.source
            own = lines[frame.line - first : frame.line - first + 1] or [""]
            entry = traceback.FrameSummary(frame.filename, frame.line, frame.name, line=own[0])
            self.show("".join(traceback.format_list([entry])).rstrip("\n"))

    def do_up(self, _arg: str) -> None:
        """u(p): selects the frame of the caller"""
        self._move(1, "Oldest frame")

    def do_down(self, _arg: str) -> None:
        """d(own): selects the frame of the callee"""
        self._move(-1, "Newest frame")

    def _move(self, by: int, at_the_end: str) -> None:
        if not 0 <= self.at + by < len(self.frames):
            self.show(f"*** {at_the_end}")
            return
        self.at += by
        self.do_list("")

    def do_continue(self, _arg: str) -> bool:
        """c(ont(inue)): continues the program"""
        return True

    def do_quit(self, _arg: str) -> bool:
        """q(uit), exit: ends the program with an error"""
        raise DebuggerQuit("the program was ended in the debugger")

    def do_EOF(self, _arg: str) -> bool:  # name prescribed by `cmd`
        """end of input: ends the program with an error"""
        return self.do_quit("")

    do_l, do_w, do_bt = do_list, do_where, do_where
    do_u, do_d, do_c, do_cont = do_up, do_down, do_continue, do_continue
    do_q, do_exit = do_quit, do_quit


breakpoint.__module__ = "jax.debug"
