"""Support for forks: in the child every lock is free, and the data that it guards is consistent.

A fork copies the memory, but only the forking thread. A lock that another thread holds at that
moment stays locked in the child for ever, and the data that it guards stays inconsistent: an LLVM
module that is half built, a Python module that is being imported. Therefore the forking thread
first waits for imports and acquires all locks of the package, which waits for compilations in
progress; parent and child release them afterwards.

All locks of the package are created here. They are reentrant, as a signal handler that forks may
have interrupted the thread that holds one. The native thread pool handles forks itself
(`runtime/native/threads.h`).
"""

# `sys._current_frames` is documented; there is no other way to see what other threads run.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import sys
import threading
import time
from types import FrameType

# Held while machine code of kernels is looked up, compiled and registered.
kernels = threading.RLock()

# Held while LLVM works, which it does for one thread at a time. Its objects are freed before the
# release.
llvm = threading.RLock()

# Held while machine code that programs share is read from disk.
disk = threading.RLock()

# Held while global settings change.
settings = threading.RLock()

# Held while this process connects to the other processes of its program.
processes = threading.RLock()

# Held while a program is compiled, one for each digest: threads that need the same program wait for
# it. A fork does not wait for them, as they are held long; the child creates new ones.
programs: dict[str, threading.RLock] = {}

# Lock order: a lock that is acquired while another is held comes after that one.
_all = (kernels, llvm, disk, settings, processes)

# Maximum time in seconds that a fork waits for imports of other threads. An import takes longer
# only if it waits for the fork.
_LONGEST_IMPORT = 10.0

# Python holds a lock for each module that is being imported; in a child it would never be released.
# These are the packages whose modules are imported lazily, by whichever thread needs them first.
_LATE = ("jitney", "jax", "numpy", "scipy", "llvmlite", "ml_dtypes", "opt_einsum")


def _before() -> None:
    until = time.monotonic() + _LONGEST_IMPORT
    while True:
        for lock in _all:
            lock.acquire()
        if not _others_import() or time.monotonic() > until:
            return
        _after()
        time.sleep(0.001)


def _after() -> None:
    for lock in reversed(_all):
        lock.release()


def _after_in_child() -> None:
    programs.clear()
    _after()


def _others_import() -> bool:
    """Returns whether another thread is importing a module that a child may need."""
    frames = sys._current_frames()
    frames.pop(threading.get_ident(), None)
    return any(_imports(frame) for frame in frames.values())


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_find_and_load" and code.co_filename.startswith("<frozen importlib"):
            name = frame.f_locals.get("name")
            if isinstance(name, str) and name.partition(".")[0] in _LATE:
                return True
        frame = frame.f_back
    return False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
