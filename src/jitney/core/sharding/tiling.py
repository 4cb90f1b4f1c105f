"""`Tiling`: how an array is split into equal shards, and which device holds which."""

from __future__ import annotations

from jitney.core.util.record import record

Index = tuple[slice, ...]


@record(frozen=True)
class Tiling:
    """The shards of an array of some rank, one for each device of a sharding.

    Attributes:
      counts: the number of equal shards along each axis.
      tiles: for each device, in the sharding's order, the index of its shard along each axis.
        Devices with equal indices hold replicas.
    """

    counts: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...]

    @property
    def is_whole(self) -> bool:
        """Whether every device holds the complete array."""
        return all([count == 1 for count in self.counts])

    def part_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of a shard of an array of shape `shape`."""
        return tuple([n // count for n, count in zip(shape, self.counts, strict=True)])

    def indices(self, shape: tuple[int, ...]) -> list[Index]:
        """Returns, for each device, the index of its shard in an array of shape `shape`.

        Axes that are not sharded have the index `[:]`.
        """
        part = self.part_shape(shape)
        return [
            tuple([
                slice(None) if count == 1 else slice(k * n, (k + 1) * n)
                for k, n, count in zip(tile, part, self.counts, strict=True)
            ])
            for tile in self.tiles
        ]  # fmt: skip

    def replica_ids(self) -> list[int]:
        """Returns, for each device, how many devices before it hold the same shard."""
        seen: dict[tuple[int, ...], int] = {}
        numbers: list[int] = []
        for tile in self.tiles:
            numbers.append(seen.get(tile, 0))
            seen[tile] = numbers[-1] + 1
        return numbers


def whole(ndim: int, n_devices: int) -> Tiling:
    """Returns the tiling of an array that is replicated on `n_devices`."""
    return Tiling((1,) * ndim, ((0,) * ndim,) * n_devices)
