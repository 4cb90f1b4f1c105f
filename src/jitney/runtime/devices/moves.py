"""Moves of arrays between shardings that span several processes.

`device_put` and `reshard` outside of programs use this module, and so do functions that gather an
array in every process; programs contain their own collectives. Each process divides the parts of
its window that other processes need into shards of the source sharding, and one MPI call exchanges
all of them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from jitney.core.sharding.tiling import Index
from jitney.core.util import forking
from jitney.runtime.devices import processes, windows
from jitney.runtime.devices.processes import joined
from jitney.runtime.native._native import empty

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.types.avals import ShapedArray


def brought(
    data: np.ndarray, aval: ShapedArray, source: Sharding | None, target: Sharding
) -> np.ndarray:
    """Returns the part of an array that this process holds after a move to `target`.

    Args:
      data: the data that the process holds before the move: all of the array, or its window.
      aval: the type of the global array.
      source: the array's sharding; None if it is uncommitted.
      target: the new sharding.

    Raises:
      RuntimeError: if a local array is to be shared with processes whose elements differ, or if
        processes move an array to different shardings.
      ValueError: if a process's shards would not form a box.
    """
    shape = aval.shape
    divided = None if source is None or windows.is_local(source) else source
    is_here = divided is None or _is_all_there(divided, target, shape)
    if windows.is_local(target) and is_here:
        return data
    if len(shape) > data.ndim:
        raise ValueError(
            f"device_put: arrays of more than 64 axes, such as {aval.str_short()}, must be on devices "
            "of one process: reshape the array first"
        )
    wanted = windows.window(target, shape)
    if divided is None or is_here:
        if divided is None and joined.rank in members_of(target):
            what = f"{aval.str_short()}, put on devices of several processes,"
            processes.agree(digest(data), what, members_of(target))
        part = data[(*wanted, ...)]
        return part if part.size == data.size else part.copy()  # which releases the original
    try:
        return moved(data, aval, divided, target)
    except RuntimeError as error:
        raise RuntimeError(
            f"{error}. jax.experimental.multihost_utils.process_allgather(x, tiled=True) gathers "
            "an array in each process; x.addressable_shards are the shards of this process"
        ) from None


@lru_cache(4096)
def _is_all_there(source: Sharding, target: Sharding, shape: tuple[int, ...]) -> bool:
    """Returns whether all processes of `target` hold the complete array of sharding `source`.

    All processes compute the same answer, whatever they hold themselves.
    """
    return all([
        number in members_of(source) and windows.window_shape(source, shape, number) == shape
        for number in members_of(target)
    ])  # fmt: skip


def digest(data: np.ndarray) -> bytes:
    """Returns a checksum that almost surely differs if shapes, dtypes or elements differ."""
    flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return f"{data.shape} {data.dtype} {zlib.crc32(flat.data)}".encode()


@lru_cache(4096)
def members_of(placement: Sharding) -> tuple[int, ...]:
    """Returns the numbers of the processes that own devices of a sharding."""
    return tuple(sorted({device.process_index for device in placement.device_order}))


def moved(data: np.ndarray, aval: ShapedArray, source: Sharding, target: Sharding) -> np.ndarray:
    """Returns this process's window of an array after a move from `source` to `target`.

    All processes of both shardings have to call it.

    Args:
      data: the process's window before the move.
      aval: the type of the global array.
      source: the array's sharding.
      target: the new sharding.

    Raises:
      RuntimeError: if processes have reached different operations.
    """
    shape = aval.shape
    members = tuple(sorted({*members_of(source), *members_of(target)}))
    own, wanted = windows.window(source, shape), windows.window(target, shape)
    if joined.rank not in members:
        return empty(windows.shape_of(wanted), data.dtype)
    processes.meet(f"the move of {aval.str_short()} from {source} to {target}", b"", members)
    out = empty(windows.shape_of(wanted), data.dtype)
    here = _overlap(own, wanted)
    if here is not None and joined.rank in members_of(source):
        out[windows.within(here, wanted)] = data[windows.within(here, own)]
    sent = [
        [data[(*windows.within(box, own), ...)] for box in boxes]
        for boxes in [_sent(source, target, shape, joined.rank, other) for other in members]
    ]
    received = [list(_sent(source, target, shape, other, joined.rank)) for other in members]
    parts = _exchanged(sent, received, data.dtype, members)
    for boxes, values in zip(received, parts, strict=True):
        start = 0
        for box in boxes:
            part_shape = windows.shape_of(box)
            n = int(np.prod(part_shape, dtype=int))
            out[windows.within(box, wanted)] = values[start : start + n].reshape(part_shape)
            start += n
    return out


def _sent(
    source: Sharding, target: Sharding, shape: tuple[int, ...], sender: int, receiver: int
) -> Iterator[Index]:
    """Yields, in order, the boxes that `sender` sends: parts of its shards that `receiver` lacks.

    If several processes hold replicas of a shard, receivers are spread over them.
    """
    if sender == receiver:
        return
    wanted = windows.window(target, shape, receiver)
    for box, owners in _parts(source, shape):
        if receiver in owners or owners[receiver % len(owners)] != sender:
            continue
        common = _overlap(box, wanted)
        if common is not None:
            yield common


@lru_cache(256)
def _parts(source: Sharding, shape: tuple[int, ...]) -> list[tuple[Index, tuple[int, ...]]]:
    """Returns the shards of an array, each with the processes that hold it."""
    tiling = source.tiling(len(shape))
    owners: dict[tuple[int, ...], list[int]] = {}
    for device, tile in zip(source.device_order, tiling.tiles, strict=True):
        ranks = owners.setdefault(tile, [])
        if device.process_index not in ranks:
            ranks.append(device.process_index)
    part = tiling.part_shape(shape)
    return [
        (
            tuple([slice(k * n, (k + 1) * n) for k, n in zip(tile, part, strict=True)]),
            tuple(sorted(ranks)),
        )
        for tile, ranks in owners.items()
    ]


def _overlap(a: Index, b: Index) -> Index | None:
    """Returns the intersection of two boxes; None if it is empty."""
    both = tuple([
        slice(max(x.start, y.start), min(x.stop, y.stop)) for x, y in zip(a, b, strict=True)
    ])  # fmt: skip
    return both if all([s.start < s.stop for s in both]) else None


def _exchanged(
    sent: list[list[np.ndarray]],
    received: list[list[Index]],
    dtype: np.dtype,
    members: tuple[int, ...],
) -> list[np.ndarray]:
    """Returns the data that each member has sent to this process, as one flat array."""
    flat = [[np.ascontiguousarray(part).reshape(-1) for part in parts] for parts in sent]
    out_counts = [sum([part.nbytes for part in parts]) for parts in flat]
    pieces = [part.view(np.uint8) for parts in flat for part in parts]
    outgoing = np.concatenate(pieces) if pieces else np.empty(0, np.uint8)
    in_counts = [
        dtype.itemsize * sum([int(np.prod(windows.shape_of(box), dtype=int)) for box in boxes])
        for boxes in received
    ]
    incoming = np.empty(sum(in_counts), np.uint8)
    with forking.processes:
        comm = processes.group(members)
        processes.wait(comm.Ialltoallv([outgoing, out_counts], [incoming, in_counts]))
    ends = np.cumsum(in_counts).tolist()
    return [incoming[end - n : end].view(dtype) for n, end in zip(in_counts, ends, strict=True)]
