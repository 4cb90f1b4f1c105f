"""Progress of a long compilation, shown as a line on a terminal or a bar in a notebook.

    compiling rnn: 24,000 operations, machine code, 40 % of its kernels, 6 s

A thread displays the progress after two seconds and removes it when the compilation ends. The
thread is started only for programs of a few hundred operations or more, and only if standard error
is a terminal or the program runs in a notebook; otherwise, the only cost is this check.
"""

from __future__ import annotations

import _thread
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

DELAY = 2.0  # seconds before a compilation is displayed
INTERVAL = 0.2  # seconds between updates of the display
MANY_OPERATIONS = 200  # programs with fewer operations compile faster than that

_COLUMNS = 80  # for terminals of unknown width
_CLEAR_LINE = "\r\x1b[K"


class _Display(Protocol):
    def show(self, text: str, share: float | None) -> None: ...
    def remove(self) -> None: ...


class _Terminal:
    """A terminal line that is overwritten repeatedly."""

    def show(self, text: str, share: float | None) -> None:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
        self._write(_CLEAR_LINE + text[: columns - 1])

    def remove(self) -> None:
        self._write(_CLEAR_LINE)

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class _Notebook:
    """A progress bar below a notebook cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str, share: float | None) -> None:
        value = "" if share is None else f" value={share:.2f}"
        self._update(f"<progress{value}></progress> {text}")

    def remove(self) -> None:
        if self._handle is not None:
            self._update("")

    def _update(self, html: str) -> None:
        ipython: Any = importlib.import_module("IPython.display")  # IPython runs the program
        content = ipython.HTML(html)
        if self._handle is None:
            self._handle = ipython.display(content, display_id=True)
        else:
            self._handle.update(content)


def _display() -> _Display | None:
    """Returns the display for progress; None if there is neither a terminal nor a notebook."""
    shell: Any = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return _Notebook()
    try:
        return _Terminal() if sys.stderr.isatty() else None
    except (AttributeError, ValueError):  # standard error is None or closed
        return None


class _Compilation:
    """A compilation in progress.

    Attributes:
      stage: the current stage.
      share: the completed fraction of the stage; None if it is not known.
    """

    def __init__(self, name: str, operations: int, display: _Display) -> None:
        self.stage = ""
        self.share: float | None = None
        self._what = f"compiling {name}: {operations:,} operations"
        self._display = display
        self._begun = time.monotonic()
        self._ends = _thread.allocate_lock()  # held until the compilation ends
        self._ends.acquire()
        self._drawing = _thread.allocate_lock()  # held while the progress is displayed

    def watch(self) -> None:
        """Displays the progress until the compilation ends; runs in a separate thread."""
        if self._ends.acquire(timeout=DELAY):
            return
        with _shown, self._drawing:
            is_shown = False
            while not self._ends.acquire(timeout=INTERVAL):
                self._display.show(self.text(), self.share)
                is_shown = True
            if is_shown:
                self._display.remove()

    def end(self) -> None:
        """Ends the display, and waits until it has been removed."""
        self._ends.release()
        with self._drawing:
            pass

    def text(self) -> str:
        """Returns the text to display."""
        parts = [self._what, self.stage]
        if self.share is not None:
            parts.append(f"{self.share:.0%} of its kernels".replace("%", " %"))
        parts.append(f"{time.monotonic() - self._begun:.0f} s")
        return ", ".join(filter(None, parts))


class _Current(threading.local):
    compilation: _Compilation | None = None


_current = _Current()
_shown = _thread.allocate_lock()  # held by the one compilation that is displayed


def watched(name: str, count: Callable[[], int], compile_: Callable[[], T]) -> T:
    """Returns the result of a compilation, and displays its progress if it takes long.

    Args:
      name: the name of the program.
      count: returns the number of operations.
      compile_: compiles the program.
    """
    display = _display()
    operations = count() if display is not None else 0
    if display is None or operations < MANY_OPERATIONS:
        return compile_()
    compilation = _Compilation(name, operations, display)
    outer = _current.compilation
    try:
        _current.compilation = compilation
        _thread.start_new_thread(compilation.watch, ())
        return compile_()
    finally:
        _current.compilation = outer
        compilation.end()


def enters(stage: str) -> None:
    """Sets the stage of this thread's compilation."""
    compilation = _current.compilation
    if compilation is not None:
        compilation.stage, compilation.share = stage, None


def counter(total: int) -> Callable[[int], None]:
    """Returns a function that records progress of the current stage of this thread's compilation.

    Any thread may call it, with the amount of work, out of `total`, that was completed since the
    last call.
    """
    compilation = _current.compilation
    if compilation is None:
        return _ignore
    compilation.share = 0.0
    done = 0

    def add(amount: int) -> None:
        nonlocal done
        done += amount
        compilation.share = done / max(total, 1)

    return add


def _ignore(amount: int) -> None:
    pass
