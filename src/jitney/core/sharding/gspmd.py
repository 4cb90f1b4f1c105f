"""`GSPMDSharding`: devices with a tile assignment, for callers without a mesh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding, in_shardy
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding.sharding import Device, Sharding
from jitney.core.sharding.shardy import SdyArray
from jitney.core.sharding.tile_assignment import HloSharding
from jitney.core.sharding.tiling import Tiling


class GSPMDSharding(Sharding):
    """A sharding over `devices` by a tile assignment, `op_sharding`.

    Example:
      >>> from jitney.extend.sharding import GSPMDSharding
      >>> GSPMDSharding.get_replicated(jax.devices()).is_fully_replicated
      True
    """

    __slots__ = ("_devices", "_hlo_sharding", "_memory_kind")

    def __init__(
        self,
        devices: Sequence[Device],
        op_sharding: HloSharding,
        *,
        memory_kind: str | None = None,
    ) -> None:
        """Creates a sharding over `devices`.

        Args:
          devices: the devices, in the order of the indices in the tile assignment.
          op_sharding: the tile assignment.
          memory_kind: the memory kind; None for the default of the devices.
        """
        self._devices = tuple(devices)
        self._hlo_sharding = op_sharding
        self._memory_kind = memory_kind

    @classmethod
    def get_replicated(
        cls, device_assignment: Sequence[Device], *, memory_kind: str | None = None
    ) -> GSPMDSharding:
        """Returns the sharding that replicates arrays on all devices."""
        return cls(device_assignment, HloSharding.replicate(), memory_kind=memory_kind)

    @property
    def device_order(self) -> tuple[Device, ...]:
        return self._devices

    @property
    def memory_kind(self) -> str | None:
        return self._memory_kind or "device"

    @property
    def is_fully_replicated(self) -> bool:
        return self._hlo_sharding.is_replicated() or len(self._devices) == 1

    def tiling(self, ndim: int) -> Tiling:
        return self._hlo_sharding.tiling(ndim, len(self._devices))

    def named(self) -> NamedSharding:
        """Returns an equivalent NamedSharding on a mesh of tiles.

        The mesh has an axis for each axis of the array, and one for replicas. It has the devices in
        tile order, which may differ from `device_order`.
        """
        tiles = self._hlo_sharding
        if not tiles.is_tiled():
            return NamedSharding(Mesh(list(self._devices), "replica"), PartitionSpec())
        names = tuple([f"axis{k}" for k in range(len(tiles.dims))])
        grid = np.array(self._devices, dtype=object)[list(tiles.devices)].reshape(tiles.dims)
        return NamedSharding(
            Mesh(grid, names), PartitionSpec(*names[: len(names) - tiles.has_replicas])
        )

    def with_memory_kind(self, kind: str) -> GSPMDSharding:
        return GSPMDSharding(self._devices, self._hlo_sharding, memory_kind=kind)

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> HloSharding:
        return self._hlo_sharding

    def _to_sdy_sharding(self, num_dimensions: int) -> SdyArray:
        return in_shardy(self.named(), num_dimensions)

    def _key(self) -> object:
        tiles = HloSharding.replicate() if self.is_fully_replicated else self._hlo_sharding
        return self._devices, tiles, self.memory_kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GSPMDSharding) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self._devices, self._hlo_sharding, self._memory_kind)

    def __repr__(self) -> str:
        return f"GSPMDSharding({self._hlo_sharding!r}, memory_kind={self.memory_kind})"


def _rebuild(
    devices: tuple[Device, ...], tiles: HloSharding, memory_kind: str | None
) -> GSPMDSharding:
    return GSPMDSharding(devices, tiles, memory_kind=memory_kind)
