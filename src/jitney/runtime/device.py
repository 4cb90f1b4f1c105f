"""Devices: where arrays lie and programs run.

A device is a part of the host's CPU: it has threads of its own, which divide the loops of its programs,
and a queue, which runs the calls of its programs. Its memory is the host's, which all devices share.
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from jitney.core.errors import JaxRuntimeError
from jitney.runtime.native._native import Queue, ThreadPool

if TYPE_CHECKING:
    from jitney.compiler.llvm.target import Target

# Kinds of memory, the default one first. On a CPU they are the same memory.
MEMORY_KINDS = ("device", "pinned_host", "unpinned_host")


class Platform(Protocol):
    """What devices know of the client that owns them: `jitney.runtime.client` has the class."""

    @property
    def platform(self) -> str: ...
    def process_index(self) -> int: ...
    def device(self, id: int) -> Device: ...  # noqa: A002


class Device:
    """A processor with memory of its own.

    Attributes:
      id: number, unique among devices of all kinds.
      client: the client that owns it.
      device_kind: a description of the hardware.
      pool: its threads.
      queue: the calls of its programs, in order.
    """

    __slots__ = ("_made_memories", "client", "device_kind", "id", "pool", "queue")

    def __init__(self, id: int, client: Platform, device_kind: str, threads: int) -> None:  # noqa: A002
        self.id = id
        self.client = client
        self.device_kind = device_kind
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
    def process_index(self) -> int:
        """The number of the process that owns it."""
        return self.client.process_index()

    @property
    def host_id(self) -> int:
        return self.process_index

    @property
    def local_hardware_id(self) -> int:
        return self.id

    @property
    def task_id(self) -> int:
        return self.process_index

    @property
    def is_addressable(self) -> bool:
        """Whether it is this process's, so that its memory can be read."""
        return self.process_index == self.client.process_index()

    @property
    def target(self) -> Target:
        """What code for it may use: the processor's instructions and registers."""
        from jitney.compiler.llvm import target

        return target.host()

    def addressable_memories(self) -> list[Memory]:
        """The memories that programs on it can use."""
        return list(self._memories)

    def default_memory(self) -> Memory:
        """The memory of values that nobody put elsewhere."""
        return self._memories[0]

    def memory(self, kind: str) -> Memory:
        """The memory of a kind: "device", "pinned_host" or "unpinned_host".

        Raises:
          JaxRuntimeError: if it has none of that kind.
        """
        for memory in self._memories:
            if memory.kind == kind:
                return memory
        raise JaxRuntimeError(
            f"device {self} has no memory of kind {kind!r}, but these: {', '.join(MEMORY_KINDS)}"
        )

    def memory_stats(self) -> None:
        """Nothing is known of the host's memory use."""
        return

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> Any:
        return self.client.device, (self.id,)


class Memory:
    """A kind of memory that a device can use.

    Attributes:
      id: number, unique among memories of all devices.
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
        """The devices whose programs can use it."""
        return [self._device]

    def __repr__(self) -> str:
        name = "CPU_DEVICE" if self.kind == "device" else self.kind.upper()
        return f"{name}_{self.id}"


@cache
def thread_count() -> int:
    """Threads that large kernels are divided over: JITNEY_NUM_THREADS, or all usable cores."""
    asked = os.environ.get("JITNEY_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
