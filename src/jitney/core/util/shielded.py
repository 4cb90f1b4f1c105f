"""Work that signals cannot interrupt, because it runs in a separate thread.

Python runs signal handlers in its main thread, between any two of its instructions. Foreign code
that is driven from Python, such as LLVM through llvmlite, is not prepared for that: an exception
between a foreign call and the statement that stores its result leaves an object that is freed
twice, or a lock that is held for ever. Other threads are never interrupted, so such work runs in
another thread while the main thread waits. If the wait is interrupted, work that has not begun is
canceled, and the exception is raised when work in progress has ended.
"""

from __future__ import annotations

import _thread
import atexit
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Work(Generic[T]):
    """A function that is called at most once, by one thread.

    It uses raw locks instead of the classes of `threading`, which are written in Python and can be
    interrupted.

    Attributes:
      begun: whether the call has begun.
      finished: whether the call has ended, or was canceled.
    """

    __slots__ = ("_done", "_function", "_ticket", "begun", "error", "finished", "result")

    result: T

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._ticket = _thread.allocate_lock()  # acquired to call or to cancel the function
        self._done = _thread.allocate_lock()  # held until the call has ended
        self._done.acquire()
        self.begun = self.finished = False
        self.error: BaseException | None = None

    def __call__(self) -> None:
        if not self._ticket.acquire(blocking=False):
            return
        self.begun = True
        try:
            self.result = self._function()
        except BaseException as error:  # raised again by the waiting thread
            self.error = error
        self.finished = True
        self._done.release()

    def wait(self) -> None:
        """Waits for the end of the call; can be repeated after an interrupt."""
        if not self.finished:
            self._done.acquire()

    def cancel(self) -> None:
        """Prevents the call, or waits for its end if it has begun."""
        if self._ticket.acquire(blocking=False):
            self.finished = True
        else:
            self.wait()


# Work that may be in progress: it is awaited at exit.
_under_way: set[_Work[Any]] = set()


def call(function: Callable[[], T]) -> T:
    """Returns the result of `function()`, called without interruption by signals."""
    return call_all([function])[0]


def call_all(functions: list[Callable[[], T]], cancel: Callable[[], None] | None = None) -> list[T]:
    """Returns the results of functions, each of which is called in a separate thread.

    Outside of the main thread, a single function is called directly.

    Args:
      functions: the functions, none of which may need locks that the caller holds.
      cancel: called when the wait is interrupted, to make the functions end early.

    Raises:
      BaseException: the error of the first function that failed, or of a signal handler.
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
    except RuntimeError:  # too many threads, or interpreter shutdown
        work()


@atexit.register
def _wait_for_all() -> None:
    """Waits for work still in progress after a second interrupt; it must not outlive its data."""
    for work in list(_under_way):
        if work.begun:
            work.wait()
