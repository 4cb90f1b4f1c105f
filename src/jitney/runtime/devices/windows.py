"""Windows: the part that one process holds of an array on devices of several processes.

Such an array has the global type and sharding. Its buffer is this process's window: the smallest
box that contains the shards of the process's devices, which must fill the box. A process without
any shard has an empty window. If the array is fully replicated, the window is the complete array.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, cast

from jitney.core.sharding.tiling import Index, Tiling
from jitney.runtime.devices.processes import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.devices.device import Device
    from jitney.runtime.native._native import NativeArray


def is_global(x: NativeArray) -> bool:
    """Returns whether an array is on devices of other processes, so that its buffer is a window."""
    return joined.world is not None and x.placement is not None and not is_local(x.placement)


@lru_cache(4096)
def is_local(placement: Sharding) -> bool:
    """Returns whether all devices of a sharding belong to this process."""
    return placement.is_fully_addressable


@lru_cache(4096)
def holds_all(placement: Sharding, shape: tuple[int, ...]) -> bool:
    """Returns whether this process holds all elements of an array of `shape`."""
    return placement.has_addressable_devices and window_shape(placement, shape) == shape


@lru_cache(4096)
def first_device(placement: Sharding) -> Device:
    """Returns a sharding's first device that belongs to this process, or else the first one."""
    return first_of(cast("tuple[Device, ...]", placement.device_order))


def first_of(devices: Sequence[Device]) -> Device:
    """Returns the first of `devices` that belongs to this process, or else the first one."""
    return next((device for device in devices if device.is_addressable), devices[0])


@lru_cache(4096)
def window(placement: Sharding, shape: tuple[int, ...], process_index: int | None = None) -> Index:
    """Returns a process's window of an array: a slice for each axis, with both ends given.

    Args:
      placement: the sharding of the array.
      shape: the shape of the global array.
      process_index: the process; this one by default.

    Raises:
      ValueError: if the shards of the process's devices do not fill a box, or if the sharding does
        not fit the shape.
    """
    placement.check_fits(shape)
    tiling = placement.tiling(len(shape))
    number = joined.rank if process_index is None else process_index
    indices = {
        tile
        for device, tile in zip(placement.device_order, tiling.tiles, strict=True)
        if device.process_index == number
    }
    if not indices:
        return tuple([slice(0, 0)] * len(shape))
    box = [(min(along), max(along) + 1) for along in zip(*indices, strict=True)]
    inside = 1
    for first, last in box:
        inside *= last - first
    if inside != len(indices):
        raise ValueError(_no_box(placement, shape, number, tiling, indices))
    part = tiling.part_shape(shape)
    return tuple([slice(a * n, b * n) for (a, b), n in zip(box, part, strict=True)])


def _no_box(
    placement: Sharding, shape: tuple[int, ...], number: int, tiling: Tiling,
    indices: set[tuple[int, ...]],
) -> str:  # fmt: skip
    return (
        f"{placement} splits an array of shape {shape} into {tiling.counts} shards, of which "
        f"process {number} has the indices {sorted(indices)}, which must form a box but do not. Order "
        "the devices of the mesh so that the devices of each process are adjacent, as "
        "`jax.make_mesh(...)` without `devices` does, or "
        "`jax.experimental.mesh_utils.create_hybrid_device_mesh`"
    )


def global_shape(placement: Sharding, local_shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns the global shape of an array whose window on this process has shape `local_shape`.

    None if this process has no device of the sharding, so that the window does not determine it.
    """
    counts = placement.tiling(len(local_shape)).counts
    held = window_shape(placement, counts)  # number of shards along each axis
    if not all(held):
        return None
    return tuple(
        [n * count // here for n, count, here in zip(local_shape, counts, held, strict=True)]
    )


def window_shape(
    placement: Sharding, shape: tuple[int, ...], process_index: int | None = None
) -> tuple[int, ...]:
    """Returns the shape of a process's window; the arguments are those of `window`."""
    return shape_of(window(placement, shape, process_index))


def shape_of(box: Index) -> tuple[int, ...]:
    """Returns the shape of a box of slices with both ends given."""
    return tuple([s.stop - s.start for s in box])


def within(index: Index, box: Index) -> tuple[slice, ...]:
    """Returns `index`, slices of a global array, relative to the enclosing window `box`."""
    return tuple([
        slice(0, b.stop - b.start) if s.start is None else slice(s.start - b.start, s.stop - b.start)
        for s, b in zip(index, box, strict=True)
    ])  # fmt: skip
