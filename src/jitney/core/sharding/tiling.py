"""How an array is cut into equal parts, and which device holds which."""

from __future__ import annotations

from jitney.core.record import record

Index = tuple[slice, ...]


@record(frozen=True)
class Tiling:
    """The parts of an array of some rank, one for each device of a sharding.

    Attributes:
      counts: into how many equal parts each axis is cut.
      tiles: for each device, in the sharding's order, the number of its part along each axis. Devices
        with the same numbers hold replicas.
    """

    counts: tuple[int, ...]
    tiles: tuple[tuple[int, ...], ...]

    @property
    def is_whole(self) -> bool:
        """Whether every device holds all of the array."""
        return all([count == 1 for count in self.counts])

    def part_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of a part of an array of `shape`."""
        return tuple([n // count for n, count in zip(shape, self.counts, strict=True)])

    def indices(self, shape: tuple[int, ...]) -> list[Index]:
        """For each device the slices that its part is of an array of `shape`; whole axes as `[:]`."""
        part = self.part_shape(shape)
        return [
            tuple([
                slice(None) if count == 1 else slice(k * n, (k + 1) * n)
                for k, n, count in zip(tile, part, self.counts, strict=True)
            ])
            for tile in self.tiles
        ]  # fmt: skip

    def replica_ids(self) -> list[int]:
        """For each device, how many before it hold the same part."""
        seen: dict[tuple[int, ...], int] = {}
        numbers: list[int] = []
        for tile in self.tiles:
            numbers.append(seen.get(tile, 0))
            seen[tile] = numbers[-1] + 1
        return numbers


def whole(ndim: int, n_devices: int) -> Tiling:
    """All of an array on each of `n_devices`."""
    return Tiling((1,) * ndim, ((0,) * ndim,) * n_devices)
