"""Asynchronous dispatch: long calls return before their results are computed.

A call of a jitted function is deferred if the last call of its program took `_DEFERRED_FROM`
nanoseconds or more, or if a deferred call computes one of its arguments. A deferred call returns
arrays that can be waited for, and the device's queue runs it (`runtime/native/queues.pxi`).
Programs that call Python functions always run in the calling thread, so that their effects happen
in order.
"""

from __future__ import annotations

import atexit
import os
import sys
from functools import partial

from jitney.core.diagnostics.errors import interrupted_call_error
from jitney.core.settings import config
from jitney.core.util.thresholds import threshold
from jitney.runtime.native import _native

# Handing a call to another thread and back takes some tens of microseconds.
_DEFERRED_FROM = threshold(1_000_000, small=0)

_INTERRUPTS = 3  # the number of interrupts at exit that end the wait for calls of other threads

_disabled = 0  # contexts in which no call is deferred


def install() -> None:
    """Enables deferred calls if the settings permit, and their completion at forks and at exit."""
    config.async_dispatch.listen(lambda _: _choose())
    config.sync.listen(lambda _: _choose())
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_native.prepare_to_fork,
            after_in_parent=partial(_native.end_fork, False),
            after_in_child=partial(_native.end_fork, True),
        )
    atexit.register(_native.leave_done_calls)
    atexit.register(_finish)  # which runs before that


def disable() -> None:
    """Waits for deferred calls; from now on, calls run immediately, until `enable` is called."""
    global _disabled
    _disabled += 1
    _choose()
    _native.end_deferred_calls()


def enable() -> None:
    """Undoes one call of `disable`."""
    global _disabled
    _disabled -= 1
    _choose()


def _finish() -> None:
    """Waits for deferred calls at the end of the process, or stops them if that is interrupted."""
    for _ in range(_INTERRUPTS):
        try:
            disable()
            return
        except BaseException as error:
            name = type(error).__name__
            print(f"jitney: {name} while calls were unfinished at exit", file=sys.stderr)


def _choose() -> None:
    is_on = config.async_dispatch.global_value and not config.sync.global_value and not _disabled
    _native.defer_calls_from(_DEFERRED_FROM if is_on else None, interrupted_call_error)
