"""Lists of devices, in the form that JAX sends to the processes that own the devices."""

from __future__ import annotations

from types import SimpleNamespace

from jitney.core.util.lazy import listing
from jitney.extend.backend import backends
from jitney.runtime.devices import client
from jitney.runtime.devices.device import MEMORY_KINDS, Device

__dir__ = listing(__name__)


class DeviceList(tuple[Device, ...]):
    """An ordered, hashable list of devices."""

    __slots__ = ()

    @property
    def addressable_device_list(self) -> DeviceList:
        """The devices of this process."""
        return DeviceList(device for device in self if device.is_addressable)

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all devices belong to this process."""
        return all(device.is_addressable for device in self)

    @property
    def device_kind(self) -> str:
        """The kind of the first device."""
        return self[0].device_kind

    @property
    def default_memory_kind(self) -> str:
        """The default memory kind of the first device."""
        return self[0].default_memory().kind

    @property
    def memory_kinds(self) -> tuple[str, ...]:
        """The memory kinds of the devices."""
        return MEMORY_KINDS

    @property
    def process_indices(self) -> set[int]:
        """The indices of the processes that own the devices."""
        return {device.process_index for device in self}


def _local_devices() -> list[Device]:
    return client.client().local_devices()


# Libraries look up the devices that a deserialized function can use here.
xb = SimpleNamespace(backends=backends, local_devices=_local_devices)
