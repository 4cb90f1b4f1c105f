"""The processes of one program, which MPI has started: which this one is, and how they meet.

A program has one process until `jax.distributed.initialize()` joins those that `mpiexec` has started
(`jitney.runtime.initialize`). mpi4py is imported then, and not before.

All processes run one program, so they come to the same places in the same order. Where one of them
would wait for others it first meets them: each says what it has come to do, and with what (`meet`). If
they differ, all of them raise an error that names what each process does, and none is left waiting.

Processes that wait look again and again for a while, and yield their core to other threads in
between; then ever more rarely, up to some milliseconds. MPI itself would spin, and there may be more
processes than cores.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core import forking

if TYPE_CHECKING:
    from mpi4py import MPI


class Joined:
    """The processes that this one has joined.

    Attributes:
      world: all processes, for the use of programs; None if there is but one.
      rank: the number of this process.
      size: how many processes there are.
      device_counts: how many devices each process has; None until they have told each other.
      sharers: how many processes, this one included, have the same cores of the same machine.
    """

    def __init__(self) -> None:
        self.world: MPI.Intracomm | None = None
        self.rank = 0
        self.size = 1
        self.device_counts: tuple[int, ...] | None = None
        self.sharers = 1
        # Communicators for meetings, by their processes: MPI would confuse what two threads do at
        # the same time in the same one.
        self.meetings: dict[tuple[int, ...], MPI.Intracomm] = {}


joined = Joined()


def world() -> MPI.Intracomm | None:
    """Returns the communicator of all processes; None if there is but one.

    It is for programs alone: processes meet in others.
    """
    return joined.world


def rank() -> int:
    """Returns the number of this process."""
    return joined.rank


def size() -> int:
    """Returns how many processes there are."""
    return joined.size


# --- meeting ------------------------------------------------------------------------------------------

_DIGEST = 16  # bytes
_TEXT = 256  # bytes of what a process does, for messages


def agree(digest: bytes, what: str, members: Sequence[int] | None = None) -> None:
    """Checks that all processes have the same digest of `what`; waits until they have come here.

    Args:
      digest: of any length; equal in all processes if they are to go on.
      what: what they are to agree on, such as "the program f", for messages.
      members: the numbers of the processes that come here; all by default.

    Raises:
      RuntimeError: in all of these processes, if some have another digest, or came to something else.
    """
    meet(what, digest, members)


def meet(what: str, digest: bytes = b"", members: Sequence[int] | None = None) -> None:
    """Waits until all processes have come to do the same: `what`, with what has this digest.

    Args, Raises: see `agree`.
    """
    if joined.world is not None:
        Meeting(what, digest, members).wait()


class Meeting:
    """A meeting that this process has come to, and does not wait for yet.

    Args: see `agree`; there are several processes.
    """

    def __init__(self, what: str, digest: bytes, members: Sequence[int] | None = None) -> None:
        self._what = what
        self._members = members
        with forking.processes:
            self._comm = comm = group(members)
            self._own = np.frombuffer(_digest_of(what.encode()) + _digest_of(digest), np.uint8)
            self._every = np.empty((comm.size, 2 * _DIGEST), np.uint8)
            self._request = comm.Iallgather(self._own, self._every)

    def wait(self) -> None:
        """Waits until all have come; raises RuntimeError in all of them if they differ."""
        with forking.processes:
            wait(self._request)
            if (self._every == self._own).all():
                return
            texts = _texts(self._comm, self._what)
        members = self._members
        numbers = tuple(members) if members is not None else tuple(range(joined.size))
        digests = [row.tobytes() for row in self._every[:, _DIGEST:]]
        raise RuntimeError(_difference(numbers, texts, digests))


def _digest_of(data: bytes) -> bytes:
    from hashlib import blake2b

    return blake2b(data, digest_size=_DIGEST).digest()


def _texts(comm: MPI.Intracomm, what: str) -> list[str]:
    """Returns what each process has come to do."""
    own = np.zeros(_TEXT, np.uint8)
    # A letter that is cut in two is dropped when it is read.
    cut = what.encode()[:_TEXT]
    own[: len(cut)] = np.frombuffer(cut, np.uint8)
    every = np.empty((comm.size, _TEXT), np.uint8)
    wait(comm.Iallgather(own, every))
    return [row.tobytes().rstrip(b"\0").decode(errors="ignore") for row in every]


def _difference(numbers: tuple[int, ...], texts: list[str], digests: list[bytes]) -> str:
    """Returns what to tell of processes that do different things, or the same with different values."""
    doing: dict[str, list[int]] = {}
    having: dict[bytes, list[int]] = {}
    for number, text, digest in zip(numbers, texts, digests, strict=True):
        doing.setdefault(text, []).append(number)
        having.setdefault(digest, []).append(number)
    if len(doing) > 1:
        listed = "; ".join([f"{named(ranks)} to {what!r}" for what, ranks in doing.items()])
        return (
            f"the processes have come to different places in the program: {listed}. All of them run "
            "the same program, and call what involves them all in the same order; look for a branch on "
            "jax.process_index() around such a call"
        )
    listed = "; ".join([named(ranks) for ranks in having.values()])
    return (
        f"{texts[0]} differs from process to process. Equal among themselves are: {listed}. All "
        "processes have to have the same; look for what depends on jax.process_index(), random "
        "seeds, the order of sets, or settings"
    )


def named(numbers: Sequence[int]) -> str:
    """Processes by their numbers, for messages: "process 0", "processes 1, 2"."""
    return f"process{'es' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def group(members: Sequence[int] | None = None) -> MPI.Intracomm:
    """The communicator in which some processes meet, this one among them; all of them by default.

    It is made when these come here for the first time.
    """
    comm = joined.world
    assert comm is not None, "there is one process"
    numbers = tuple(range(joined.size)) if members is None else tuple(members)
    communicator = joined.meetings.get(numbers)
    if communicator is None:
        chosen = comm.Get_group().Incl(numbers)
        communicator = joined.meetings[numbers] = comm.Create_group(chosen)
    return communicator


_LOOKS = 4000  # some milliseconds


def wait(request: MPI.Request) -> None:
    """Waits for an operation of MPI; signals are heeded, and the cores left to others, meanwhile."""
    test, leave = request.Test, os.sched_yield
    for _ in range(_LOOKS):
        if test():
            return
        leave()
    pause = 20e-6  # seconds
    while not test():
        time.sleep(pause)
        pause = min(1.25 * pause, 2e-3)


def stack(what: str, own: np.ndarray) -> np.ndarray:
    """Returns the arrays of all processes along a new first axis, in every process.

    Args:
      what: what is gathered, with its shape and dtype, which are the same everywhere; for messages.
      own: what this process has.

    Raises:
      RuntimeError: if processes have come to something else.
    """
    if joined.world is None:
        return own[None]
    meet(what)
    every = np.empty((joined.size, *own.shape), own.dtype)
    with forking.processes:
        wait(group().Iallgather(_bytes_of(np.ascontiguousarray(own)), _bytes_of(every)))
    return every


def broadcast(what: str, own: np.ndarray, source: int) -> np.ndarray:
    """Returns the array of process number `source`, in every process.

    Args, Raises: see `stack`.
    """
    if joined.world is None:
        return own
    meet(what)
    # Others' own elements are overwritten.
    data = np.array(own, order="C")
    with forking.processes:
        wait(group().Ibcast(_bytes_of(data), source))
    return data


def _bytes_of(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1).view(np.uint8)


def gather(what: str, own: bytes, members: Sequence[int] | None = None) -> list[bytes]:
    """Returns what each process has, in every process; texts of any lengths.

    Args:
      what: what is gathered, for messages.
      own: what this process has.
      members: the numbers of the processes that come here; all by default.

    Raises:
      RuntimeError: if processes have come to something else.
    """
    if joined.world is None:
        return [own]
    meet(what, b"", members)
    with forking.processes:
        comm = group(members)
        lengths = np.empty(comm.size, np.int64)
        wait(comm.Iallgather(np.array([len(own)], np.int64), lengths))
        longest = int(lengths.max())
        padded = np.zeros(longest, np.uint8)
        padded[: len(own)] = np.frombuffer(own, np.uint8)
        every = np.empty((comm.size, longest), np.uint8)
        wait(comm.Iallgather(padded, every))
    return [row[:n].tobytes() for row, n in zip(every, lengths.tolist(), strict=True)]
