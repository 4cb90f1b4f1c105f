"""Work that signals do not interrupt: it runs in a thread of its own.

Python runs the handlers of signals in its main thread, between any two of its instructions. Foreign
code that is driven from Python, such as LLVM through llvmlite, is not written for that: an exception
between a foreign call and the statement that notes its result leaves an object that is freed twice, or
a lock that is held for ever. Other threads are never interrupted, so such work runs in one while the
main thread waits. An interrupt of the wait cancels what has not begun, and is raised once the rest has
ended.
"""

from __future__ import annotations

import _thread
import atexit
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Work(Generic[T]):
    """A function that one thread calls once.

    Raw locks, and no objects of `threading`: those are written in Python, and can be interrupted.

    Attributes:
      begun: whether a thread calls it, or has.
      finished: whether it has been called to its end, or never will be.
    """

    __slots__ = ("_done", "_function", "_ticket", "begun", "error", "finished", "result")

    result: T

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._ticket = _thread.allocate_lock()  # taken by what calls it, or cancels it
        self._done = _thread.allocate_lock()  # held until it has ended
        self._done.acquire()
        self.begun = self.finished = False
        self.error: BaseException | None = None

    def __call__(self) -> None:
        if not self._ticket.acquire(blocking=False):
            return
        self.begun = True
        try:
            self.result = self._function()
        except BaseException as error:  # raised by the thread that waits
            self.error = error
        self.finished = True
        self._done.release()

    def wait(self) -> None:
        """Returns when it has ended; can be repeated after an interrupt."""
        if not self.finished:
            self._done.acquire()

    def cancel(self) -> None:
        """Keeps it from being called, or else waits for its end."""
        if self._ticket.acquire(blocking=False):
            self.finished = True
        else:
            self.wait()


# Those that may be under way: a process that ends waits for them.
_under_way: set[_Work[Any]] = set()


def call(function: Callable[[], T]) -> T:
    """Returns the result of `function()`, which no signal interrupts."""
    return call_all([function])[0]


def call_all(functions: list[Callable[[], T]], cancel: Callable[[], None] | None = None) -> list[T]:
    """Returns the results of functions, each called by a thread of its own.

    In other threads than the main one, a single function is called at once.

    Args:
      functions: to be called, none of which may need the caller's locks.
      cancel: called when the wait is interrupted, to have the functions end early.

    Raises:
      BaseException: what the first of the functions that failed has raised, or the handler of a signal.
    """
    if len(functions) == 1 and _thread.get_ident() != threading.main_thread().ident:
        return [functions[0]()]
    works = [_Work(function) for function in functions]
    _under_way.update(works)
    try:
        for work in works:
            _start(work)
        for work in works:
            work.wait()
    except BaseException:
        if cancel is not None:
            cancel()
        for work in works:
            work.cancel()
        raise
    finally:
        _under_way.difference_update([work for work in works if work.finished])
    for work in works:
        if work.error is not None:
            raise work.error
    return [work.result for work in works]


def _start(work: _Work[T]) -> None:
    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:  # there are too many threads, or the interpreter is about to end
        work()


@atexit.register
def _wait_for_all() -> None:
    """Waits for work that a second interrupt has left behind: it must not outlive its data."""
    for work in list(_under_way):
        if work.begun:
            work.wait()
