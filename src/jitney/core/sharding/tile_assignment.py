"""Tile assignments, the form in which GSPMD writes shardings: they map tiles to devices.

(Xu et al., "GSPMD: General and Scalable Parallelization for ML Computation Graphs", 2021.) Devices
are represented by their indices in the sharding's order of devices. The assignment
`{devices=[2,2,2]<=[8] last_tile_dim_replicate}` splits each of two axes in two, and each tile is on
two devices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jitney.core.messages import messages
from jitney.core.sharding.tiling import Tiling, whole
from jitney.core.util.record import record


@record(frozen=True)
class HloSharding:
    """A tile assignment.

    Attributes:
      kind: "replicated", "manual", "maximal" (all on one device), or "tiled".
      dims: the number of tiles along each axis, followed by the number of replicas, if there are
        any.
      devices: the indices of the devices, tile by tile in row-major order.
      has_replicas: whether the last of `dims` is the number of replicas.
    """

    kind: str
    dims: tuple[int, ...] = ()
    devices: tuple[int, ...] = ()
    has_replicas: bool = False

    @staticmethod
    def replicate() -> HloSharding:
        """Returns the replicated tile assignment."""
        return HloSharding("replicated")

    @staticmethod
    def manual() -> HloSharding:
        """Returns the manual tile assignment: the program handles each device itself."""
        return HloSharding("manual")

    @staticmethod
    def iota_tile(
        dims: Sequence[int],
        reshape_dims: Sequence[int] = (),
        transpose_perm: Sequence[int] = (),
        subgroup_types: Sequence[object] = (),
    ) -> HloSharding:
        """Returns tiles in the order `arange(n).reshape(reshape_dims).transpose(transpose_perm)`.

        Args:
          dims: the number of tiles along each axis; with a subgroup type, the last entry is the
            number of replicas.
          reshape_dims, transpose_perm: the order of the devices; by default 0, 1, 2 ...
          subgroup_types: at most one, for replicas.
        """
        order = np.arange(math.prod(dims))
        if reshape_dims:
            order = order.reshape(tuple(reshape_dims))
            order = order.transpose(tuple(transpose_perm) or None)
        return HloSharding._of(tuple(dims), tuple(order.ravel().tolist()), bool(subgroup_types))

    @staticmethod
    def of_tiling(tiling: Tiling) -> HloSharding:
        """Returns the tile assignment for a tiling."""
        if tiling.is_whole:
            return HloSharding.replicate()
        holders: dict[tuple[int, ...], list[int]] = {}
        for device, tile in enumerate(tiling.tiles):
            holders.setdefault(tile, []).append(device)
        devices = [d for tile in sorted(holders) for d in holders[tile]]
        replicas = len(devices) // math.prod(tiling.counts)
        dims = (*tiling.counts, replicas) if replicas > 1 else tiling.counts
        return HloSharding._of(dims, tuple(devices), replicas > 1)

    @staticmethod
    def _of(dims: tuple[int, ...], devices: tuple[int, ...], has_replicas: bool) -> HloSharding:
        parts = dims[:-1] if has_replicas else dims
        if math.prod(parts) == 1:
            return HloSharding.replicate()
        return HloSharding("tiled", dims, devices, has_replicas)

    def tiling(self, ndim: int, n_devices: int) -> Tiling:
        """Returns how arrays of rank `ndim` are split over `n_devices`.

        Raises:
          ValueError: if the assignment has a higher rank or another number of devices.
        """
        if self.kind != "tiled":
            return whole(ndim, n_devices)
        counts = self.dims[:-1] if self.has_replicas else self.dims
        if len(counts) > ndim or len(self.devices) != n_devices:
            raise ValueError(
                f"{self} has {messages.counted(len(counts), 'axis')} and "
                f"{messages.counted(len(self.devices), 'device')}, so it cannot shard an array of "
                f"rank {ndim} over {messages.counted(n_devices, 'device')}"
            )
        replicas = self.dims[-1] if self.has_replicas else 1
        counts += (1,) * (ndim - len(counts))
        tiles: list[tuple[int, ...]] = [()] * n_devices
        for k, device in enumerate(self.devices):
            tiles[device] = tuple(map(int, np.unravel_index(k // replicas, counts)))
        return Tiling(counts, tuple(tiles))

    def is_replicated(self) -> bool:
        return self.kind == "replicated"

    def is_manual(self) -> bool:
        return self.kind == "manual"

    def is_maximal(self) -> bool:
        return self.kind == "maximal"

    def is_tiled(self) -> bool:
        return self.kind == "tiled"

    def tile_assignment_dimensions(self) -> list[int]:
        return list(self.dims)

    def tile_assignment_devices(self) -> list[int]:
        return list(self.devices)

    def replicate_on_last_tile_dim(self) -> bool:
        return self.has_replicas

    def num_devices(self) -> int:
        return len(self.devices)

    def num_dimensions(self) -> int:
        return len(self.dims)

    def __repr__(self) -> str:
        if self.kind != "tiled":
            return "{" + self.kind + "}"
        in_order = self.devices == tuple(range(len(self.devices)))
        order = f"<=[{len(self.devices)}]" if in_order else ",".join(map(str, self.devices))
        end = " last_tile_dim_replicate" if self.has_replicas else ""
        return "{devices=[" + ",".join(map(str, self.dims)) + "]" + order + end + "}"
