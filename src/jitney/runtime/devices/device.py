"""Devices: where arrays are stored and programs run.

A device is a share of the host's CPU. It has its own threads, among which the loops of its programs
are divided, and a queue that runs calls of its programs. All devices share the host's memory.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, NoReturn, Protocol

from jitney.core.diagnostics.errors import JaxRuntimeError
from jitney.core.settings import environment
from jitney.runtime.devices import processes
from jitney.runtime.native._native import Queue, ThreadPool

if TYPE_CHECKING:
    from jitney.compiler.llvm.target import Target
    from jitney.core.array import Array

# Kinds of memory, the default first. On a CPU they are the same memory.
MEMORY_KINDS = ("device", "pinned_host", "unpinned_host")


class Platform(Protocol):
    """The part of a client that its devices depend on; the class is in `runtime.devices.client`."""

    @property
    def platform(self) -> str: ...
    def process_index(self) -> int: ...
    def live_arrays(self) -> list[Array]: ...
    def device(self, id: int) -> Device: ...  # noqa: A002


class Device:
    """A device, which stores arrays and runs programs.

    Attributes:
      id: its number, unique among devices of all kinds.
      client: the client that owns it.
      device_kind: a description of the hardware.
      process_index: the number of the process that owns it.
      is_addressable: whether this process owns it, so that its memory can be read.
      pool: its threads; only devices of this process have them.
      queue: the calls of its programs, in order; only devices of this process have it.
    """

    __slots__ = (
        "_made_memories", "_number", "client", "device_kind", "id", "is_addressable", "pool",
        "process_index", "queue",
    )  # fmt: skip

    def __init__(
        self,
        id: int,  # noqa: A002
        client: Platform,
        device_kind: str,
        threads: int | None,
        process_index: int = 0,
        number: int | None = None,
    ) -> None:
        """Creates device `number` of its process with `threads` threads.

        `threads` is None if another process owns the device.
        """
        self.id = id
        self.client = client
        self.device_kind = device_kind
        self.process_index = process_index
        self._number = id if number is None else number
        self.is_addressable = threads is not None
        if threads is not None:
            self.pool = ThreadPool(threads)
            self.queue = Queue(self.pool)
        self._made_memories: tuple[Memory, ...] = ()

    @property
    def _memories(self) -> tuple[Memory, ...]:
        if not self._made_memories:
            first = len(MEMORY_KINDS) * self.id
            self._made_memories = tuple(
                [Memory(first + k, kind, self) for k, kind in enumerate(MEMORY_KINDS)]
            )
        return self._made_memories

    @property
    def platform(self) -> str:
        return self.client.platform

    @property
    def host_id(self) -> int:
        return self.process_index

    @property
    def local_hardware_id(self) -> int | None:
        """The device's number among those of its process; None if another process owns it."""
        return self._number if self.is_addressable else None

    @property
    def task_id(self) -> int:
        return self.process_index

    @property
    def target(self) -> Target:
        """The instructions and registers that code for the device may use."""
        from jitney.compiler.llvm import target

        return target.host()

    def addressable_memories(self) -> list[Memory]:
        """Returns the memories that programs on the device can use."""
        return list(self._memories)

    def default_memory(self) -> Memory:
        """Returns the memory of values without a specified memory kind."""
        return self._memories[0]

    def memory(self, kind: str) -> Memory:
        """Returns the memory of a kind: "device", "pinned_host" or "unpinned_host".

        Raises:
          JaxRuntimeError: if the device has no memory of that kind.
        """
        for memory in self._memories:
            if memory.kind == kind:
                return memory
        raise JaxRuntimeError(
            f"device {self} has no memory of kind {kind!r}; its memory kinds are "
            f"{', '.join(MEMORY_KINDS)}"
        )

    def live_buffers(self) -> list[Array]:
        """Returns the arrays that hold data on this device."""
        return [x for x in self.client.live_arrays() if self in x.sharding.device_set]

    def memory_stats(self) -> None:
        """Returns None: the use of the host's memory is not tracked."""
        return

    def __getattr__(self, name: str) -> NoReturn:
        # `pool` and `queue` are missing on other processes' devices.
        if name in ("pool", "queue"):
            raise AttributeError(
                f"device {self} belongs to process {self.process_index}, but this is process "
                f"{self.client.process_index()}, which cannot run programs there: use "
                "jax.local_devices(), or a sharding over devices of all processes",
                name=name,
                obj=self,
            )
        raise AttributeError(f"devices have no attribute {name!r}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> tuple[object, ...]:
        return self.client.device, (self.id,)


class Memory:
    """A kind of memory that a device can use.

    Attributes:
      id: its number, unique among memories of all devices.
      kind: "device", "pinned_host" or "unpinned_host".
    """

    __slots__ = ("_device", "id", "kind")

    def __init__(self, id: int, kind: str, device: Device) -> None:  # noqa: A002
        self.id = id
        self.kind = kind
        self._device = device

    @property
    def platform(self) -> str:
        return self._device.platform

    @property
    def process_index(self) -> int:
        return self._device.process_index

    def addressable_by_devices(self) -> list[Device]:
        """Returns the devices whose programs can use it."""
        return [self._device]

    def __repr__(self) -> str:
        name = "CPU_DEVICE" if self.kind == "device" else self.kind.upper()
        return f"{name}_{self.id}"


@cache
def thread_count() -> int:
    """Returns the number of threads of large kernels: JITNEY_NUM_THREADS, or all usable cores.

    Processes of one program that can use the same cores of a machine divide these among themselves.
    """
    return environment.threads() or max(1, len(usable_cores()) // processes.joined.sharers)


def usable_cores() -> frozenset[int]:
    """Returns the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))
