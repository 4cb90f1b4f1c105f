"""`Sharding`, the base of all descriptions of how an array lies on devices."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, Any, Protocol


class Device(Protocol):
    """What shardings know of a device; `jitney.runtime.device` has the class."""

    @property
    def id(self) -> int: ...
    @property
    def platform(self) -> str: ...
    @property
    def process_index(self) -> int: ...


class Sharding:
    """Base of all shardings."""

    __slots__ = ()

    if TYPE_CHECKING:  # subclasses have them as properties

        @property
        def device_set(self) -> Set[Device]: ...
        @property
        def memory_kind(self) -> str | None: ...

    else:
        memory_kind = "device"

    @property
    def addressable_devices(self) -> Set[Device]:
        return self.device_set

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(global_shape)

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> dict[Device, Any]:
        return {d: tuple(slice(None) for _ in global_shape) for d in self.device_set}

    addressable_devices_indices_map = devices_indices_map

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        return tuple(self.device_set)

    def is_equivalent_to(self, other: object, ndim: int) -> bool:
        """Whether arrays of `ndim` axes lie alike by both."""
        return isinstance(other, Sharding) and self.device_set == other.device_set
