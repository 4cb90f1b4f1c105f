"""Processes send each other exactly the parts of their shards that the receiver lacks."""

import numpy as np
import pytest

from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.core.types.avals import ShapedArray
from jitney.runtime.devices import moves, windows
from jitney.runtime.devices.client import Client

DEVICES = np.array(Client("cpu", 0, (2, 2, 2), 1).devices())
GRID = Mesh(DEVICES.reshape(3, 2), ("p", "d"))
BACK = Mesh(DEVICES[::-1].reshape(3, 2), ("p", "d"))
SHAPE = (12, 6)


def place(mesh, *spec):
    return NamedSharding(mesh, P(*spec))


PLACES = [
    place(GRID, "p", "d"), place(GRID, None, "p"), place(GRID, "d"), place(GRID),
    place(BACK, "p"), place(Mesh(DEVICES[:2], ("i",)), "i"), place(Mesh(DEVICES[2:], ("i",)), "i"),
]  # fmt: skip


@pytest.mark.parametrize("source", PLACES)
@pytest.mark.parametrize("target", PLACES)
def test_what_is_sent_and_what_is_there_make_up_the_window(source, target):
    for receiver in range(3):
        wanted = windows.window(target, SHAPE, receiver)
        times = np.zeros(SHAPE, int)
        if receiver in moves.members_of(source):
            times[windows.window(source, SHAPE, receiver)] += 1
        for sender in moves.members_of(source):
            for box in moves._sent(source, target, SHAPE, sender, receiver):
                own = windows.window(source, SHAPE, sender)
                assert all(
                    [o.start <= b.start < b.stop <= o.stop for b, o in zip(box, own, strict=True)]
                )
                times[box] += 1
        assert (times[wanted] == 1).all()


def test_overlaps_of_boxes():
    a, b = (slice(0, 4), slice(2, 5)), (slice(3, 9), slice(0, 3))
    assert moves._overlap(a, b) == moves._overlap(b, a) == (slice(3, 4), slice(2, 3))
    assert moves._overlap((slice(0, 4),), (slice(4, 5),)) is None


def test_checksums_depend_on_shape_dtype_and_elements():
    x = np.arange(4, dtype=np.int32)
    different = [x, x.reshape(2, 2), x.astype(np.uint32), x + 1, x[:0], np.float32(0)]
    assert len({moves.digest(y) for y in different}) == len(different)
    assert moves.digest(x[::2]) == moves.digest(np.int32([0, 2]))


def test_complete_arrays_are_cut_without_messages():
    data = np.arange(72.0).reshape(SHAPE)
    aval = ShapedArray(SHAPE, data.dtype)
    local = place(Mesh(DEVICES[:2], ("i",)), "i")
    assert moves.brought(data, aval, None, local) is data
    part = moves.brought(data, aval, place(GRID), place(GRID, "p"))
    np.testing.assert_array_equal(part, data[:4])
    assert not np.may_share_memory(part, data)
    assert moves.brought(data, aval, place(GRID), place(GRID, "d")) is not None
