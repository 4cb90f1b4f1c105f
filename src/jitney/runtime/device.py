"""Devices: where arrays live and programs run. There is one, the host's CPU."""

from __future__ import annotations

import os
from typing import Any


class Device:
    """A processor with memory of its own.

    Attributes:
      id: number, unique among devices of all kinds.
      platform: "cpu".
      device_kind: a description of the hardware.
      process_index: the process that owns it.
    """

    __slots__ = ("device_kind", "id", "platform", "process_index")

    def __init__(self, id: int, platform: str, device_kind: str) -> None:  # noqa: A002
        self.id = id
        self.platform = platform
        self.device_kind = device_kind
        self.process_index = 0

    @property
    def client(self) -> Client:
        return client

    @property
    def host_id(self) -> int:
        return self.process_index

    @property
    def local_hardware_id(self) -> int:
        return self.id

    def memory_stats(self) -> None:
        """Nothing is known of the host's memory use."""
        return

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    def __reduce__(self) -> Any:
        return _device_by_id, (self.id,)


class Client:
    """What owns the devices of one platform."""

    platform = "cpu"
    platform_version = "jitney"
    runtime_type = "jitney"

    def devices(self) -> list[Device]:
        return [cpu]

    local_devices = devices

    def device_count(self) -> int:
        return 1

    local_device_count = device_count

    def process_index(self) -> int:
        return 0


cpu = Device(0, "cpu", "cpu")
client = Client()


def _device_by_id(id: int) -> Device:  # noqa: A002
    return cpu


def devices(backend: str | None = None) -> list[Device]:
    """All devices of `backend`.

    Raises:
      RuntimeError: if there is no such backend.
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"Unknown backend: '{backend}' requested, but no platforms that are instances of "
            f"{backend} are present. Platforms present are: cpu"
        )
    return [cpu]


def thread_count() -> int:
    """Threads that large kernels are divided over: JITNEY_NUM_THREADS, or all usable cores."""
    asked = os.environ.get("JITNEY_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
