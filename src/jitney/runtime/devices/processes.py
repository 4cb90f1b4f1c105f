"""The processes of one program, which MPI has started, and their meetings.

A program has one process until `jax.distributed.initialize()` joins those that `mpiexec` has
started (`jitney.runtime.distributed.initialize`). mpi4py is imported then, and not before.

All processes run one program, so they reach the same points in the same order. Before a process
waits for others, it meets them: each process announces the operation that it is about to run, and a
digest of its data (`meet`). If the announcements differ, all processes raise an error that lists
the operation of each, instead of waiting forever.

A process that waits polls frequently at first, and yields its core to other threads in between;
then it polls less and less often, down to once in a few milliseconds. MPI itself would spin, and
there may be more processes than cores.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.util import forking

if TYPE_CHECKING:
    from mpi4py import MPI


class Joined:
    """The processes that this one has joined.

    Attributes:
      world: the communicator of all processes, for programs; None if there is only one process.
      rank: the number of this process.
      size: the number of processes.
      device_counts: the number of devices of each process; None until they have been exchanged.
      sharers: the number of processes, this one included, on the same cores of the same machine.
    """

    def __init__(self) -> None:
        self.world: MPI.Intracomm | None = None
        self.rank = 0
        self.size = 1
        self.device_counts: tuple[int, ...] | None = None
        self.sharers = 1
        # Communicators for meetings, by their processes: in one communicator, MPI would confuse
        # what two threads do at the same time.
        self.meetings: dict[tuple[int, ...], MPI.Intracomm] = {}


joined = Joined()


def world() -> MPI.Intracomm | None:
    """Returns the communicator of all processes; None if there is only one process.

    It is reserved for programs: meetings use others.
    """
    return joined.world


def rank() -> int:
    """Returns the number of this process."""
    return joined.rank


def size() -> int:
    """Returns the number of processes."""
    return joined.size


# --- meeting ------------------------------------------------------------------------------------------

_DIGEST = 16  # bytes
_TEXT = 256  # bytes of the announcement, for messages


def agree(digest: bytes, what: str, members: Sequence[int] | None = None) -> None:
    """Checks that all processes have the same digest of `what`; waits until all have called it.

    Args:
      digest: bytes of any length, which must be equal in all processes.
      what: the subject of the agreement, such as "the program f", for messages.
      members: the numbers of the processes that take part; by default all.

    Raises:
      RuntimeError: in all of these processes, if digests differ, or some processes have reached
        another operation.
    """
    meet(what, digest, members)


def meet(what: str, digest: bytes = b"", members: Sequence[int] | None = None) -> None:
    """Waits until all processes are about to run the same operation, `what`, on equal data.

    Args, Raises: see `agree`.
    """
    if joined.world is not None:
        Meeting(what, digest, members).wait()


class Meeting:
    """A meeting that this process has announced, but does not yet wait for.

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
        """Waits until all have arrived; raises RuntimeError in all of them if they differ."""
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
    """Returns the operation that each process is about to run."""
    local = np.zeros(_TEXT, np.uint8)
    # A character cut in two is dropped in decoding.
    cut = what.encode()[:_TEXT]
    local[: len(cut)] = np.frombuffer(cut, np.uint8)
    every = np.empty((comm.size, _TEXT), np.uint8)
    wait(comm.Iallgather(local, every))
    return [row.tobytes().rstrip(b"\0").decode(errors="ignore") for row in every]


def _difference(numbers: tuple[int, ...], texts: list[str], digests: list[bytes]) -> str:
    """Returns the message about processes that do different things, or have different values."""
    doing: dict[str, list[int]] = {}
    having: dict[bytes, list[int]] = {}
    for number, text, digest in zip(numbers, texts, digests, strict=True):
        doing.setdefault(text, []).append(number)
        having.setdefault(digest, []).append(number)
    if len(doing) > 1:
        listed = "; ".join([f"{named(ranks)} to {what!r}" for what, ranks in doing.items()])
        return (
            f"the processes have reached different points of the program: {listed}. All processes "
            "must run the same program, and call collective operations in the same order; look "
            "for a branch on jax.process_index() around such a call"
        )
    listed = "; ".join([named(ranks) for ranks in having.values()])
    return (
        f"{texts[0]} differs between processes. Groups with equal values: {listed}. All processes "
        "must have the same value; look for code that depends on jax.process_index(), random "
        "seeds, the order of sets, or settings"
    )


def named(numbers: Sequence[int]) -> str:
    """Returns the text for processes, for messages: "process 0", "processes 1, 2"."""
    return f"process{'es' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def group(members: Sequence[int] | None = None) -> MPI.Intracomm:
    """Returns the communicator for meetings of `members`, which include this process.

    By default, all processes are members. The communicator is created when the members first meet.
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
    """Waits for an MPI operation; meanwhile, signals are handled and the core is yielded."""
    test, leave = request.Test, os.sched_yield
    for _ in range(_LOOKS):
        if test():
            return
        leave()
    pause = 20e-6  # seconds
    while not test():
        time.sleep(pause)
        pause = min(1.25 * pause, 2e-3)


def stack(what: str, local: np.ndarray) -> np.ndarray:
    """Returns the arrays of all processes along a new first axis, in every process.

    Args:
      what: a description of the data, with their shape and dtype, which must agree; for messages.
      local: the array of this process.

    Raises:
      RuntimeError: if processes have reached different operations.
    """
    if joined.world is None:
        return local[None]
    meet(what)
    every = np.empty((joined.size, *local.shape), local.dtype)
    with forking.processes:
        wait(group().Iallgather(_bytes_of(np.ascontiguousarray(local)), _bytes_of(every)))
    return every


def broadcast(what: str, local: np.ndarray, source: int) -> np.ndarray:
    """Returns the array of process number `source`, in every process.

    Args, Raises: see `stack`.
    """
    if joined.world is None:
        return local
    meet(what)
    # Other processes' elements are overwritten.
    data = np.array(local, order="C")
    with forking.processes:
        wait(group().Ibcast(_bytes_of(data), source))
    return data


def _bytes_of(x: np.ndarray) -> np.ndarray:
    return x.reshape(-1).view(np.uint8)


def gather(what: str, local: bytes, members: Sequence[int] | None = None) -> list[bytes]:
    """Returns the bytes of each process, of any length, in every process.

    Args:
      what: a description of the data, for messages.
      local: the bytes of this process.
      members: the numbers of the processes that take part; by default all.

    Raises:
      RuntimeError: if processes have reached different operations.
    """
    if joined.world is None:
        return [local]
    meet(what, b"", members)
    with forking.processes:
        comm = group(members)
        lengths = np.empty(comm.size, np.int64)
        wait(comm.Iallgather(np.array([len(local)], np.int64), lengths))
        longest = int(lengths.max())
        padded = np.zeros(longest, np.uint8)
        padded[: len(local)] = np.frombuffer(local, np.uint8)
        every = np.empty((comm.size, longest), np.uint8)
        wait(comm.Iallgather(padded, every))
    return [row[:n].tobytes() for row, n in zip(every, lengths.tolist(), strict=True)]
