"""Forks: a child process finds every lock of the package free, and what it guards whole.

A fork copies memory as it is, but of all threads only the one that forks. A lock that another thread
holds at that moment stays held in the child for ever, and what it guards stays half done: LLVM in
the middle of a module, a Python module that is being imported. So the forking thread first waits for
imports and takes all locks of the package, which waits for compilations under way; parent and child
release them afterwards.

All locks of the package are made here. They are reentrant, as a signal handler that forks may have
interrupted their holder. The native thread pool handles forks itself (`runtime/native/threads.h`).
"""

# `sys._current_frames` is documented; there is no other way to see what threads do.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import sys
import threading
import time
from types import FrameType

# Taken while the machine code of kernels is looked up, made and entered.
kernels = threading.RLock()

# Taken while LLVM works, which is for one thread at a time. Its objects are freed before the release.
llvm = threading.RLock()

# Taken while machine code that programs share is read from disk.
disk = threading.RLock()

# Taken while settings are changed for all threads.
settings = threading.RLock()

# Taken while this process meets the others of its program.
processes = threading.RLock()

# Taken while a program is compiled, by its digest: threads that need the same one wait for it. They
# are held long, and not waited for: the child of a fork makes new ones.
programs: dict[str, threading.RLock] = {}

# A lock that is waited for while another is held stands after that one.
_all = (kernels, llvm, disk, settings, processes)

# Seconds that a fork waits for other threads' imports. None takes longer unless it waits for the fork.
_LONGEST_IMPORT = 10.0

# Python keeps a lock for each module that is being imported; in a child it would never be released.
# These are the packages whose modules are imported late, by whichever thread needs them first.
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
