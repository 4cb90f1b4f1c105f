"""The grid of processes over which a mesh of devices is partitioned.

A mesh whose devices belong to several processes is also a mesh of processes: along an axis of n
devices there are p processes with n / p devices each. The shards of a process's devices form a
block, which is one buffer, and one program computes on it with all of the process's threads. So
programs are partitioned among processes, not among devices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.program.memo import memoize_by_identity
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.util.record import record

if TYPE_CHECKING:
    from jitney.compiler.hlo.sharding_propagation import Spec
    from jitney.core.sharding.mesh import Mesh
    from jitney.core.sharding.named import NamedSharding


@record(frozen=True, eq=False)
class ProcessGrid:
    """An array of processes, whose axes have the names of the axes of a mesh.

    Attributes:
      extents: the number of processes along each axis of the mesh.
      devices: the number of devices of a process along each axis.
      ranks: the numbers of the processes, in row-major order.
    """

    extents: Mapping[str, int]
    devices: Mapping[str, int]
    ranks: tuple[int, ...]

    def spec(self, place: NamedSharding, ndim: int) -> Spec:
        """Returns for each axis of an array with sharding `place` the grid axes that shard it.

        Raises:
          ValueError: if a process's shards do not form a block.
        """
        entries = place.spec.partitions
        return tuple([
            () if k >= len(entries) or entries[k] is PartitionSpec.UNCONSTRAINED
            else self._divided(names_of(entries[k]), place)
            for k in range(ndim)
        ])  # fmt: skip

    def _divided(self, names: Sequence[object], place: NamedSharding) -> tuple[str, ...]:
        inner: str | None = None  # an axis along which a process has several shards
        axes: list[str] = []
        for name in map(str, names):
            if self.extents[name] > 1:
                if inner is not None:
                    raise ValueError(
                        f"{place}: an axis is sharded along {inner!r} and then {name!r}, so that "
                        f"a process, which has {self.devices[inner]} devices along {inner!r}, "
                        "would have shards that are not adjacent. Name the axis that separates "
                        "processes first, or order the mesh's devices by process, as "
                        "jax.make_mesh does"
                    )
                axes.append(name)
            if self.devices[name] > 1:
                inner = name
        return tuple(axes)


@memoize_by_identity
def grid_of(mesh: Mesh) -> ProcessGrid:
    """Returns the grid of the processes that own the devices of `mesh`.

    Raises:
      ValueError: if a process's devices are not a block of the mesh, or if blocks differ in size.
    """
    devices = np.asarray(mesh.devices)
    owners = np.asarray([d.process_index for d in devices.flat]).reshape(devices.shape)
    steps: list[int] = []
    for axis, n in enumerate(owners.shape):
        along = np.moveaxis(owners, axis, 0).reshape(n, -1)
        changes = 1 + int(np.count_nonzero((along[1:] != along[:-1]).any(axis=1)))
        steps.append(n // changes if n % changes == 0 else n)
    coarse = owners[tuple([slice(None, None, step) for step in steps])]
    spread = coarse
    for axis, step in enumerate(steps):
        spread = np.repeat(spread, step, axis)
    ranks = tuple([int(rank) for rank in coarse.flat])
    if not np.array_equal(spread, owners) or len({*ranks}) != len(ranks):
        raise ValueError(
            f"the devices of each process must form a block of {mesh}, all of the same size, but "
            f"the processes that own them are {owners.tolist()}. jax.make_mesh orders devices by "
            "process"
        )
    names = [str(name) for name in mesh.axis_names]
    return ProcessGrid(
        dict(zip(names, coarse.shape, strict=True)), dict(zip(names, steps, strict=True)), ranks
    )
