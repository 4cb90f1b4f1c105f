"""Windows: what a process holds of an array that lies on devices of several processes.

Such an array has the type and the sharding of the whole, and its buffer is this process's window: the
smallest box that the parts of its own devices lie in, which they have to fill. A process that holds
none of the array has an empty window. Where all of the array is on every device, the window is all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from jitney.core.sharding.tiling import Index, Tiling
from jitney.runtime.processes import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.device import Device
    from jitney.runtime.native._native import NativeArray


def is_global(x: NativeArray) -> bool:
    """Whether an array lies on devices of other processes, so that its buffer is a window of it."""
    return joined.world is not None and x.placement is not None and not is_local(x.placement)


@lru_cache(4096)
def is_local(placement: Sharding) -> bool:
    """Returns whether all devices of a sharding are this process's."""
    return placement.is_fully_addressable


@lru_cache(4096)
def holds_all(placement: Sharding, shape: tuple[int, ...]) -> bool:
    """Returns whether this process holds all elements of an array of `shape`."""
    return placement.has_addressable_devices and window_shape(placement, shape) == shape


@lru_cache(4096)
def first_device(placement: Sharding) -> Device:
    """Of a sharding's devices the first that is this process's; the first one if none is."""
    return first_of(cast("tuple[Device, ...]", placement.device_order))


def first_of(devices: Sequence[Device]) -> Device:
    """Returns the first of `devices` that is this process's; the first one if none is."""
    return next((device for device in devices if device.is_addressable), devices[0])


@lru_cache(4096)
def window(placement: Sharding, shape: tuple[int, ...], process_index: int | None = None) -> Index:
    """What a process holds of an array of `shape`: for each axis a slice, of which both ends are given.

    Args:
      placement: where the array is.
      shape: of the whole array.
      process_index: the process; this one by default.

    Raises:
      ValueError: if the parts of its devices fill no box, or the array cannot be cut so.
    """
    placement.check_fits(shape)
    tiling = placement.tiling(len(shape))
    number = joined.rank if process_index is None else process_index
    own = {
        tile
        for device, tile in zip(placement.device_order, tiling.tiles, strict=True)
        if device.process_index == number
    }
    if not own:
        return tuple([slice(0, 0)] * len(shape))
    box = [(min(along), max(along) + 1) for along in zip(*own, strict=True)]
    inside = 1
    for first, last in box:
        inside *= last - first
    if inside != len(own):
        raise ValueError(_no_box(placement, shape, number, tiling, own))
    part = tiling.part_shape(shape)
    return tuple([slice(a * n, b * n) for (a, b), n in zip(box, part, strict=True)])


def _no_box(
    placement: Sharding, shape: tuple[int, ...], number: int, tiling: Tiling,
    own: set[tuple[int, ...]],
) -> str:  # fmt: skip
    return (
        f"{placement} cuts an array of shape {shape} into {tiling.counts} parts, of which process "
        f"{number} has numbers {sorted(own)}: they fill no box, as they have to. Order the mesh's "
        "devices so that those of a process stand together: `jax.make_mesh(...)` without `devices`, or "
        "`jax.experimental.mesh_utils.create_hybrid_device_mesh`"
    )


def whole_shape(placement: Sharding, own: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns the shape of the array of which this process's window has shape `own`.

    None if this process has no device of the sharding, so that its window says nothing.
    """
    counts = placement.tiling(len(own)).counts
    held = window_shape(placement, counts)  # how many of the parts along each axis
    if not all(held):
        return None
    return tuple([n * count // here for n, count, here in zip(own, counts, held, strict=True)])


def window_shape(
    placement: Sharding, shape: tuple[int, ...], process_index: int | None = None
) -> tuple[int, ...]:
    """The shape of a process's window of an array of `shape`; arguments are those of `window`."""
    return shape_of(window(placement, shape, process_index))


def shape_of(box: Index) -> tuple[int, ...]:
    """Returns the shape of what slices with both ends cut out."""
    return tuple([s.stop - s.start for s in box])


def within(index: Index, box: Index) -> tuple[Any, ...]:
    """`index`, slices of a whole array, as slices of its window `box`, which has all of them."""
    return tuple([
        slice(0, b.stop - b.start) if s.start is None else slice(s.start - b.start, s.stop - b.start)
        for s, b in zip(index, box, strict=True)
    ])  # fmt: skip
