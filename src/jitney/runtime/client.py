"""Clients: what owns the devices of one platform in this process."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from jitney.core import config
from jitney.runtime.device import Device, thread_count


class Client:
    """The devices of one platform, and who owns which of them.

    Attributes:
      platform: "cpu".
    """

    platform_version = "jitney"
    runtime_type = "jitney"

    def __init__(self, platform: str, process_index: int, threads: int) -> None:
        """A client of one device, which has all `threads`."""
        self.platform = platform
        self._process_index = process_index
        self._devices = (Device(0, self, platform, threads),)

    def devices(self) -> list[Device]:
        """All devices, those of other processes included."""
        return list(self._devices)

    def local_devices(self) -> list[Device]:
        """The devices of this process."""
        return [d for d in self._devices if d.process_index == self._process_index]

    def device_count(self) -> int:
        return len(self._devices)

    def local_device_count(self) -> int:
        return len(self.local_devices())

    def process_index(self) -> int:
        """The number of this process."""
        return self._process_index

    def device(self, id: int) -> Device:  # noqa: A002
        """The device with a number.

        Raises:
          ValueError: if there is none.
        """
        for device in self._devices:
            if device.id == id:
                return device
        raise ValueError(f"{self} has no device with the number {id}")

    def __reduce__(self) -> tuple[Callable[[str], Client], tuple[str]]:
        return client, (self.platform,)

    def __repr__(self) -> str:
        return f"<Client of platform {self.platform!r}, {self.device_count()} devices>"


@cache
def host_client() -> Client:
    """The client of the host's CPU, made at the first request."""
    return Client("cpu", 0, thread_count())


def client(backend: str | None = None) -> Client:
    """The client of platform `backend`; of the default one if None.

    Raises:
      RuntimeError: if there is no such platform.
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"Unknown backend: '{backend}' requested, but no platforms that are instances of "
            f"{backend} are present. Platforms present are: cpu"
        )
    return host_client()


def default_device() -> Device:
    """The device of what nobody put anywhere: that of `jax_default_device`, or else the first."""
    chosen = config.default_device.value
    return chosen if isinstance(chosen, Device) else client(chosen).devices()[0]
