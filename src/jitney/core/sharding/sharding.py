"""`Sharding`, the base class of all descriptions of how an array is distributed over devices.

A sharding has an ordered list of devices, and a `Tiling`, which defines how arrays of a given rank
are split into shards. Everything else is derived from these two.
"""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, Protocol

from jitney.core.sharding.tile_assignment import HloSharding
from jitney.core.sharding.tiling import Index, Tiling

if TYPE_CHECKING:
    from collections.abc import Mapping


class Device(Protocol):
    """The attributes of a device that shardings use; the class is in `runtime.devices.device`."""

    @property
    def id(self) -> int: ...
    @property
    def platform(self) -> str: ...
    @property
    def process_index(self) -> int: ...
    @property
    def is_addressable(self) -> bool: ...


class Sharding:
    """The base class of shardings. Subclasses define `device_order`, `memory_kind`, `tiling`."""

    __slots__ = ()

    brings_operands = False  # whether programs move operands from other devices to these

    if TYPE_CHECKING:  # properties of subclasses

        @property
        def device_order(self) -> tuple[Device, ...]:
            """The devices, in the order of the tiling."""
            ...

        @property
        def memory_kind(self) -> str | None: ...

    else:
        memory_kind = "device"

    def tiling(self, ndim: int) -> Tiling:
        """Returns how arrays of rank `ndim` are split into shards.

        Raises:
          ValueError: if the sharding needs arrays of higher rank.
        """
        raise NotImplementedError(f"{type(self).__name__} does not specify shards of arrays")

    def with_memory_kind(self, kind: str) -> Sharding:
        """Returns the same sharding with another memory kind."""
        raise NotImplementedError(f"{type(self).__name__} has no memory kinds")

    # --- devices ----------------------------------------------------------------------------------

    @property
    def device_set(self) -> Set[Device]:
        return set(self.device_order)

    @property
    def device_key(self) -> object:
        """A key that is equal for shardings on the same devices in the same order."""
        return self.device_order

    @property
    def num_devices(self) -> int:
        return len(self.device_order)

    @property
    def addressable_devices(self) -> Set[Device]:
        """The devices of this process."""
        return {d for d in self.device_order if d.is_addressable}

    @property
    def has_addressable_devices(self) -> bool:
        return any([d.is_addressable for d in self.device_order])

    @property
    def is_fully_addressable(self) -> bool:
        return all([d.is_addressable for d in self.device_order])

    # Names that libraries use.

    @property
    def _device_assignment(self) -> tuple[Device, ...]:
        return self.device_order

    @property
    def _addressable_device_assignment(self) -> tuple[Device, ...]:
        return tuple([d for d in self.device_order if d.is_addressable])

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> HloSharding:
        return HloSharding.of_tiling(self.tiling(num_dimensions))

    # --- parts ------------------------------------------------------------------------------------

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device holds the complete array."""
        return self.num_devices == 1

    def shard_shape(self, global_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of a shard of an array of shape `global_shape`.

        Raises:
          ValueError: if the array cannot be split into equal shards.
        """
        shape = tuple(global_shape)
        self.check_fits(shape)
        return self.tiling(len(shape)).part_shape(shape)

    def devices_indices_map(self, global_shape: tuple[int, ...]) -> Mapping[Device, Index]:
        """Returns, for each device, the index of its shard in an array of shape `global_shape`.

        Raises:
          ValueError: if the array cannot be split into equal shards.
        """
        shape = tuple(global_shape)
        self.check_fits(shape)
        indices = self.tiling(len(shape)).indices(shape)
        return dict(zip(self.device_order, indices, strict=True))

    def addressable_devices_indices_map(
        self, global_shape: tuple[int, ...]
    ) -> Mapping[Device, Index | None]:
        """Returns `devices_indices_map` for the devices of this process."""
        parts = self.devices_indices_map(global_shape)
        return {device: index for device, index in parts.items() if device.is_addressable}

    def check_compatible_aval(self, aval_shape: tuple[int, ...]) -> None:
        """Checks that arrays of shape `aval_shape` have a sufficient rank.

        Raises:
          ValueError: if the sharding needs arrays of higher rank.
        """
        self.tiling(len(aval_shape))

    def check_fits(self, shape: tuple[int, ...]) -> None:
        """Checks that an array of shape `shape` can be split into equal shards.

        Raises:
          ValueError: if its rank is too low, or its shards would be unequal.
        """
        counts = self.tiling(len(shape)).counts
        for axis, (n, count) in enumerate(zip(shape, counts, strict=True)):
            if n % count:
                raise ValueError(
                    f"{self} splits axis {axis} of an array of shape {shape} into {count} shards, "
                    f"but its size, {n}, is not a multiple of {count}: pad the array, or shard "
                    "another axis"
                )

    def is_equivalent_to(self, other: object, ndim: int) -> bool:
        """Returns whether the shardings distribute arrays of rank `ndim` identically."""
        return self is other or (
            isinstance(other, Sharding)
            and self.memory_kind == other.memory_kind
            and self.device_key == other.device_key
            and self.tiling(ndim) == other.tiling(ndim)
        )


def device_ids(sharding: Sharding) -> list[int]:
    """Returns the ids of a sharding's devices, for messages."""
    return [d.id for d in sharding.device_order]
