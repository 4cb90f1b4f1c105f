"""Shardings on single devices, and conversion of devices and formats to shardings."""

from __future__ import annotations

from functools import cache

from jitney.core.sharding.sharding import Sharding
from jitney.core.sharding.tiling import Tiling, whole
from jitney.core.types.memory_space import MemorySpace
from jitney.runtime.devices import client
from jitney.runtime.devices.device import MEMORY_KINDS, Device
from jitney.runtime.devices.layout import Format as Format, Layout as Layout

_KINDS_OF_SPACES = {MemorySpace.Device: "device", MemorySpace.Host: "pinned_host"}


class _Unspecified:
    """A marker for a placement that was not specified; jaxprs print it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UnspecifiedValue"

    def __reduce__(self) -> str:
        return "UNSPECIFIED"


UNSPECIFIED = _Unspecified()


class SingleDeviceSharding(Sharding):
    """The sharding of an array that is on one device.

    Raises:
      ValueError: if the device has no memory of kind `memory_kind`.
    """

    __slots__ = ("_device", "_memory_kind")

    def __init__(self, device: Device, *, memory_kind: str | None = None) -> None:
        self._device = device
        self._memory_kind = memory_kind
        if memory_kind is not None and memory_kind not in MEMORY_KINDS:
            raise ValueError(
                f"Could not find memory of kind {memory_kind!r}: the memory kinds of device "
                f"{device} are {', '.join(MEMORY_KINDS)}"
            )

    @property
    def device_order(self) -> tuple[Device, ...]:
        return (self._device,)

    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind or MEMORY_KINDS[0]

    def tiling(self, ndim: int) -> Tiling:
        return whole(ndim, 1)

    def with_memory_kind(self, kind: str) -> SingleDeviceSharding:
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, SingleDeviceSharding)
            and other._device is self._device
            and other.memory_kind == self.memory_kind
        )

    def __hash__(self) -> int:
        return hash(self._device.id)

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self._device, self._memory_kind)


class DeviceOfJit(SingleDeviceSharding):
    """The sharding of operands of `jit(device=...)`, which are moved there even if committed."""

    __slots__ = ()
    brings_operands = True


def _rebuild(device: Device, memory_kind: str | None) -> SingleDeviceSharding:
    return SingleDeviceSharding(device, memory_kind=memory_kind)


@cache
def single_device(device: Device) -> SingleDeviceSharding:
    """Returns the sharding of an array in the default memory of `device`."""
    return SingleDeviceSharding(device)


def default() -> SingleDeviceSharding:
    """Returns the sharding of uncommitted arrays."""
    return single_device(client.default_device())


def in_memory(sharding: Sharding, space: MemorySpace) -> Sharding:
    """Returns a sharding over the same devices, in their memory or in their host's memory."""
    return sharding.with_memory_kind(_KINDS_OF_SPACES[space])


def as_sharding(sharding: object) -> Sharding:
    """Converts a device, a sharding or a format to a sharding.

    Raises:
      TypeError: if `sharding` is none of these.
    """
    if isinstance(sharding, Format):
        sharding = sharding.sharding or default()
    if isinstance(sharding, Device):
        return single_device(sharding)
    if not isinstance(sharding, Sharding):
        raise TypeError(
            "expected a Device, a Sharding or a Format, such as `jax.devices()[0]`, but got "
            f"{sharding!r} of type {type(sharding).__name__}"
        )
    return sharding
