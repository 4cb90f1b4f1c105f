"""Tile assignments over devices are named shardings on a mesh of the tiles."""

import copy
import types

import pytest

from jitney.core.sharding.gspmd import GSPMDSharding
from jitney.core.sharding.tile_assignment import HloSharding


class Device(types.SimpleNamespace):
    __hash__ = object.__hash__

    def __deepcopy__(self, memo):
        return self


DEVICES = [Device(id=k, is_addressable=True, process_index=0) for k in range(4)]


@pytest.mark.parametrize(
    "tiles",
    [
        HloSharding.replicate(),
        HloSharding.iota_tile((2, 2)),
        HloSharding.iota_tile((2, 2), (2, 2), (1, 0)),
        HloSharding.iota_tile((1, 4)),
        HloSharding.iota_tile((2, 2), subgroup_types=["replicated"]),
    ],
    ids=str,
)
def test_named_shardings_give_each_device_the_same_shard(tiles):
    place = GSPMDSharding(DEVICES, tiles)
    shape = (8, 12)
    assert place.named().devices_indices_map(shape) == place.devices_indices_map(shape)
    assert place.shard_shape(shape) == place.named().shard_shape(shape)


def test_equal_assignments_on_equal_devices_are_equal():
    place = GSPMDSharding(DEVICES, HloSharding.iota_tile((4,)))
    assert place == GSPMDSharding(tuple(DEVICES), HloSharding.iota_tile((4,)))
    assert hash(place) == hash(copy.deepcopy(place))
    assert place != GSPMDSharding(DEVICES[::-1], HloSharding.iota_tile((4,)))
    assert place != place.with_memory_kind("pinned_host")
    assert place.with_memory_kind("device") == place


def test_one_device_has_the_whole_array():
    one = GSPMDSharding(DEVICES[:1], HloSharding.manual())
    assert one.is_fully_replicated
    assert one == GSPMDSharding.get_replicated(DEVICES[:1])
    assert not GSPMDSharding(DEVICES, HloSharding.iota_tile((4,))).is_fully_replicated
    with pytest.raises(ValueError, match="cannot shard an array of rank 1 over 4"):
        GSPMDSharding(DEVICES, HloSharding.iota_tile((2, 2))).tiling(1)
