"""A watch over the processes of one machine, which reports the first that dies suddenly.

A process that ends because of `os._exit`, a signal or a lack of memory cannot report anything, and
`mpiexec` kills the others at once. Therefore one process of each machine starts a watcher, in a
separate session. The watcher sleeps until one of the processes ends, reports which one it was, and
exits. If the launcher leaves the other processes running, which would wait forever, the watcher
ends them after some seconds. A process that ends in another way, at the end of the program or with
a message, dismisses the watcher first (`Watch.dismiss`).

The watcher runs only this file, without the package, so it starts within a few milliseconds;
`initialize` waits for it. Each process holds one end of a pipe, which the system closes when the
process dies, as it closes the pipe by which the launcher notices the death. An epoll reports pipes
in the order in which they were closed, however late it is polled, so the first one belongs to the
process that died by itself. (PIDs are freed later, and not in that order.) On systems without these
facilities, processes are not watched.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import subprocess

    from mpi4py import MPI

# A process's identity on its machine: its PID, and the inode of its PID namespace.
Identity: TypeAlias = tuple[int, int]

_PATIENCE = 5.0  # seconds granted to launchers, then to processes after SIGTERM


# --- processes that are watched -------------------------------------------------------------------


class Watch:
    """The watch over the processes of a machine, as seen by one of them.

    Args:
      machine: the processes of the machine, all of which create the watch together.
      number: the number of this process among all processes.
      size: the number of processes on all machines.
    """

    def __init__(self, machine: MPI.Intracomm, number: int, size: int) -> None:
        self._pipe = -1
        self._watcher: subprocess.Popen[bytes] | None = None
        identities = machine.allgather((number, _identity()))
        namespaces = {identity[1] for _, identity in identities if identity is not None}
        if len(namespaces) != 1:  # PIDs of another namespace mean nothing here
            return
        with contextlib.ExitStack() as opened:
            ends = _Ends(opened) if machine.rank == 0 else None
            pids = {k: identity[0] for k, identity in identities if identity is not None}
            folder = machine.bcast(None if ends is None else ends.make(pids))
            if folder is not None and number in pids:
                with contextlib.suppress(OSError):
                    # Opened for reading, too, so that writing does not fail once the watcher is
                    # gone.
                    self._pipe = os.open(os.path.join(folder, str(number)), os.O_RDWR)
                    os.register_at_fork(after_in_child=self._leave)
            machine.Barrier()
            if ends is not None and folder is not None:
                self._watcher = ends.watcher(pids, size)

    def dismiss(self) -> None:
        """Dismisses the watcher.

        Every process calls this at its end; only the first call has an effect.
        """
        if self._pipe >= 0:
            os.write(self._pipe, b".")
            self._leave()
        if self._watcher is not None:
            import subprocess

            with contextlib.suppress(subprocess.TimeoutExpired):
                self._watcher.wait(_PATIENCE)
            self._watcher = None

    def _leave(self) -> None:
        """Closes the pipe without dismissing the watcher; forked processes are not watched."""
        pipe, self._pipe = self._pipe, -1
        if pipe >= 0:
            os.close(pipe)


def _identity() -> Identity | None:
    """Returns the identity of this process; None if the system cannot watch processes."""
    if not hasattr(os, "pidfd_open") or not hasattr(select, "epoll"):
        return None
    try:
        return os.getpid(), os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return None


class _Ends:
    """The pipes and process descriptors that a watcher polls; the process that starts it owns them.

    Args:
      opened: closes them in this process once the watcher has them.
    """

    def __init__(self, opened: contextlib.ExitStack) -> None:
        self._opened = opened
        self._ends: dict[int, tuple[int, int]] = {}  # process number -> (pipe, pidfd)

    def make(self, pids: Mapping[int, int]) -> str | None:
        """Creates the pipes; returns their folder, or None if the system does not permit them."""
        import shutil
        import tempfile

        try:
            folder = tempfile.mkdtemp(prefix="jitney-")
            self._opened.callback(shutil.rmtree, folder, ignore_errors=True)
            for number, pid in pids.items():
                path = os.path.join(folder, str(number))
                os.mkfifo(path, 0o600)
                pipe = self._kept(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                self._ends[number] = pipe, self._kept(os.pidfd_open(pid))
        except OSError:
            return None
        return folder

    def watcher(self, pids: Mapping[int, int], size: int) -> subprocess.Popen[bytes] | None:
        """Starts the watcher and waits until it is ready; returns None if it cannot be started."""
        import subprocess

        try:
            with select.epoll() as epoll:
                for pipe, pidfd in self._ends.values():
                    epoll.register(pipe, select.EPOLLIN | select.EPOLLONESHOT)
                    epoll.register(pidfd, select.EPOLLIN | select.EPOLLONESHOT)
                fds = [epoll.fileno(), *[fd for both in self._ends.values() for fd in both]]
                arguments = [
                    f"{n},{pids[n]},{pipe},{pidfd}" for n, (pipe, pidfd) in self._ends.items()
                ]
                # -I, -S: imports nothing from the user's environment, and nothing slow.
                command = [sys.executable, "-I", "-S", __file__, str(size), str(epoll.fileno())]
                started = subprocess.Popen(
                    [*command, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    pass_fds=fds, start_new_session=True,
                )  # fmt: skip
        except OSError:
            return None
        # It may have to be quick: launchers read what it writes until all processes have ended.
        assert started.stdout is not None, "a pipe"
        with started.stdout:
            started.stdout.read(1)
        return started

    def _kept(self, fd: int) -> int:
        self._opened.callback(os.close, fd)
        return fd


# --- the watcher --------------------------------------------------------------------------------------


def message(number: int, pid: int, size: int, watched: int) -> str:
    """Returns the message about a process that ended without reporting a reason.

    Args:
      number, pid: the number and the PID of the process.
      size: the number of processes.
      watched: how many of them are on this machine. If there are others, the launcher may have
        ended this one.
    """
    causes = ["os._exit", "a signal such as SIGKILL or SIGSEGV", "a lack of memory"]
    if watched < size:
        causes.append("the end of a process on another machine")
    return (
        f"jitney: process {number} of {size} (PID {pid}) has ended in the middle of the program "
        f"without an error message, because of {', '.join(causes[:-1])}, or {causes[-1]}. The "
        "other processes are terminated, too"
    )


class _Watched:
    """A process, as seen by the watcher."""

    def __init__(self, text: str) -> None:
        self.number, self.pid, self.pipe, self.pidfd = map(int, text.split(","))

    def takes_leave(self) -> bool:
        """Returns whether the process has dismissed the watcher."""
        try:
            return os.read(self.pipe, 1) != b""
        except BlockingIOError:  # the process has ended; another one holds its end of the pipe
            return False


def _watch(size: str, epoll: str, *texts: str) -> None:
    watched = [_Watched(text) for text in texts]
    by_fd = {fd: x for x in watched for fd in (x.pipe, x.pidfd)}
    events = select.epoll.fromfd(int(epoll))
    os.write(1, b"\n")
    os.close(1)
    first = by_fd[events.poll(maxevents=1)[0][0]]
    if first.takes_leave():
        return
    text = message(first.number, first.pid, int(size), len(watched))
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode())  # one write, so that other output cannot interleave
    living = select.poll()
    for x in watched:
        living.register(x.pidfd, select.POLLIN)
    left = {x.pidfd for x in watched}
    for kind in (signal.SIGTERM, signal.SIGKILL):
        left = _after(_PATIENCE, left, living)
        for pidfd in left:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, kind)


def _after(seconds: float, left: set[int], living: select.poll) -> set[int]:
    """Returns the processes in `left` that are alive after `seconds`; returns early if none is."""
    end = time.monotonic() + seconds
    while left and (remaining := end - time.monotonic()) > 0:
        for pidfd, _ in living.poll(1000 * remaining):
            living.unregister(pidfd)
            left = left - {pidfd}
    return left


if __name__ == "__main__":
    _watch(*sys.argv[1:])
