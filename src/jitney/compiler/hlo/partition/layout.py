"""The layout of values on a mesh, which determines the shard of a tensor that each device holds.

A device has a coordinate along each mesh axis. A `Spec` contains, for each axis of a tensor, the
mesh axes that it is sharded along, major first; all shards have the same size. Specs in the
partitioner do not contain mesh axes of size 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.sharding_propagation import Spec
from jitney.core.util.record import record

Names = tuple[str, ...]
Coordinates = dict[str, int]


@record(frozen=True, eq=False)
class Mesh:
    """The axes of a mesh by name, with their sizes; devices are numbered in row-major order."""

    extents: Mapping[str, int]

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.extents.values())

    def parts(self, names: Sequence[str]) -> int:
        """Returns the number of shards along the mesh axes `names`."""
        return math.prod([self.extents[name] for name in names])

    def counts(self, spec: Spec) -> tuple[int, ...]:
        """Returns the number of shards along each axis of a tensor."""
        return tuple([self.parts(names) for names in spec])

    def local(self, shape: Sequence[int], spec: Spec) -> ir.Shape:
        """Returns the shape of one device's shard."""
        return tuple([n // self.parts(names) for n, names in zip(shape, spec, strict=True)])

    def axes(self, names: Sequence[str]) -> ir.MeshAxes:
        """Returns the (name, size) pairs of `names`, the form that collectives use."""
        return tuple([(name, self.extents[name]) for name in names])

    def normal(self, spec: Sequence[Sequence[object]], shape: Sequence[int]) -> Spec:
        """Returns `spec` without mesh axes of size 1.

        Raises:
          ValueError: if it does not divide a tensor of shape `shape` evenly, has another rank, or
            contains a mesh axis twice.
        """
        if len(spec) != len(shape):
            raise ValueError(
                f"partition: a spec has length {len(spec)}, but the tensor has shape {shape}"
            )
        normalized = tuple([
            tuple([str(name) for name in names if self.extents[str(name)] > 1]) for names in spec
        ])  # fmt: skip
        used = [name for names in normalized for name in names]
        if len(used) != len(set(used)):
            raise ValueError(
                f"partition: an axis of the mesh occurs twice in {spec_text(normalized)}"
            )
        for n, names in zip(shape, normalized, strict=True):
            if n % self.parts(names):
                raise ValueError(
                    f"partition: {self.parts(names)} devices along {names} do not evenly divide "
                    f"an axis of {n} elements"
                )
        return normalized

    def devices(self, names: Sequence[str] | None = None) -> Iterator[Coordinates]:
        """Yields all coordinates along `names` (all axes if None), in row-major order."""
        names = tuple(self.extents) if names is None else names
        for place in itertools.product(*[range(self.extents[name]) for name in names]):
            yield dict(zip(names, place, strict=True))

    def number(self, place: Mapping[str, int], names: Sequence[str]) -> int:
        """Returns the index of the device at `place` among the participants along `names`."""
        number = 0
        for name in names:
            number = number * self.extents[name] + place[name]
        return number

    def tile(self, place: Mapping[str, int], spec: Spec) -> tuple[int, ...]:
        """Returns the index, along each axis, of the shard of the device at `place`."""
        return tuple([self.number(place, names) for names in spec])


def spec_text(spec: Spec) -> str:
    """Returns `[x, *, y+z]`: for each axis its mesh axes, or `*` if it is replicated."""
    return "[" + ", ".join(["+".join(names) or "*" for names in spec]) + "]"


def split(x: np.ndarray, spec: Spec, mesh: Mesh) -> list[np.ndarray]:
    """Returns the shards of `x` in the order of the devices of a mesh."""
    shape = mesh.local(x.shape, spec)
    parts: list[np.ndarray] = []
    for place in mesh.devices():
        tile = mesh.tile(place, spec)
        window = [slice(k * n, (k + 1) * n) for k, n in zip(tile, shape, strict=True)]
        parts.append(x[tuple(window)])
    return parts


def join(parts: Sequence[np.ndarray], spec: Spec, mesh: Mesh) -> np.ndarray:
    """Returns the tensor with these shards.

    Raises:
      AssertionError: if replicas differ.
    """
    local = parts[0].shape
    shape = [n * count for n, count in zip(local, mesh.counts(spec), strict=True)]
    whole = np.empty(shape, parts[0].dtype)
    seen: dict[tuple[int, ...], np.ndarray] = {}
    for place, part in zip(mesh.devices(), parts, strict=True):
        tile = mesh.tile(place, spec)
        first = seen.setdefault(tile, part)
        assert first is part or first.tobytes() == part.tobytes(), f"replicas of {tile} differ"
        window = [slice(k * n, (k + 1) * n) for k, n in zip(tile, local, strict=True)]
        whole[tuple(window)] = part
    return whole
