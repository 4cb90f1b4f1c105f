"""What a long compilation is at: a line on a terminal, or a bar in a notebook, while it lasts.

    compiling rnn: 24,000 operations, machine code, 40 % of its kernels, 6 s

A thread draws it from two seconds on, and removes it when the compilation ends. There is one for
programs of some hundred operations or more alone, and where standard error is a terminal or the program
runs in a notebook: others pay for a look at that.
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

DELAY = 2.0  # seconds, from which on a compilation is shown
INTERVAL = 0.2  # seconds, in which what is shown is brought up to date
MANY_OPERATIONS = 200  # of a program that may take so long

_COLUMNS = 80  # of a terminal that does not say it
_CLEAR_LINE = "\r\x1b[K"


class _Display(Protocol):
    def show(self, text: str, share: float | None) -> None: ...
    def remove(self) -> None: ...


class _Terminal:
    """A line of a terminal that is written again and again."""

    def show(self, text: str, share: float | None) -> None:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
        self._write(_CLEAR_LINE + text[: columns - 1])

    def remove(self) -> None:
        self._write(_CLEAR_LINE)

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class _Notebook:
    """A bar below a cell."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str, share: float | None) -> None:
        value = "" if share is None else f" value={share:.2f}"
        self._update(f"<progress{value}></progress> {text}")

    def remove(self) -> None:
        if self._handle is not None:
            self._update("")

    def _update(self, html: str) -> None:
        ipython: Any = importlib.import_module("IPython.display")  # it runs the program
        content = ipython.HTML(html)
        if self._handle is None:
            self._handle = ipython.display(content, display_id=True)
        else:
            self._handle.update(content)


def _display() -> _Display | None:
    """Returns where to show what takes long; None if there is nothing that could."""
    shell: Any = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return _Notebook()
    try:
        return _Terminal() if sys.stderr.isatty() else None
    except (AttributeError, ValueError):  # there is none, or it is closed
        return None


class _Compilation:
    """One that is under way.

    Attributes:
      stage: what it is at.
      share: how much of that is done; None if it is not known.
    """

    def __init__(self, name: str, operations: int, display: _Display) -> None:
        self.stage = ""
        self.share: float | None = None
        self._what = f"compiling {name}: {operations:,} operations"
        self._display = display
        self._begun = time.monotonic()
        self._ends = _thread.allocate_lock()  # held until it does
        self._ends.acquire()
        self._drawing = _thread.allocate_lock()  # held while something is shown

    def watch(self) -> None:
        """Shows it until it ends, in a thread of its own."""
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
        """Returns when nothing is shown any more."""
        self._ends.release()
        with self._drawing:
            pass

    def text(self) -> str:
        """Returns what is shown."""
        parts = [self._what, self.stage]
        if self.share is not None:
            parts.append(f"{self.share:.0%} of its kernels".replace("%", " %"))
        parts.append(f"{time.monotonic() - self._begun:.0f} s")
        return ", ".join(filter(None, parts))


class _Current(threading.local):
    compilation: _Compilation | None = None


_current = _Current()
_shown = _thread.allocate_lock()  # of several compilations at once, one


def watched(name: str, count: Callable[[], int], compile_: Callable[[], T]) -> T:
    """Returns the result of a compilation, which is shown if it takes long.

    Args:
      name: of the program.
      count: gives the number of its operations.
      compile_: compiles it.
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
    """Says what the compilation of this thread is at."""
    compilation = _current.compilation
    if compilation is not None:
        compilation.stage, compilation.share = stage, None


def counter(total: int) -> Callable[[int], None]:
    """A function that is told, in any thread, how much more of `total` this thread's stage has done."""
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
