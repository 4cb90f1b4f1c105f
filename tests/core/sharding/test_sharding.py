"""All that shardings tell follows from their devices and their tiling."""

import types

import pytest

from jitney.core.sharding.sharding import Sharding, device_ids
from jitney.core.sharding.tiling import Tiling


class Device(types.SimpleNamespace):
    __hash__ = object.__hash__


DEVICES = tuple(Device(id=10 + k, is_addressable=k < 2) for k in range(4))


class Halves(Sharding):
    """Splits axis 0 in two, each half on two devices."""

    def __init__(self, tiles=(0, 1, 0, 1), devices=DEVICES):
        self.tiles = tiles
        self.device_order = devices

    def tiling(self, ndim):
        return Tiling((2,) + (1,) * (ndim - 1), tuple((k,) + (0,) * (ndim - 1) for k in self.tiles))


def test_shards_and_their_indices():
    halves = Halves()
    assert halves.shard_shape((6, 3)) == (3, 3)
    lower, upper = (slice(0, 3), slice(None)), (slice(3, 6), slice(None))
    assert list(halves.devices_indices_map((6, 3)).values()) == [lower, upper, lower, upper]
    assert halves.addressable_devices_indices_map((6, 3)) == {DEVICES[0]: lower, DEVICES[1]: upper}
    with pytest.raises(ValueError, match=r"axis 0 of an array of shape \(5,\) into 2 shards"):
        halves.devices_indices_map((5,))


def test_devices_of_this_process():
    halves = Halves()
    assert halves.num_devices == 4
    assert halves.addressable_devices == {*DEVICES[:2]}
    assert halves.has_addressable_devices
    assert not halves.is_fully_addressable
    assert device_ids(halves) == [10, 11, 12, 13]
    assert not halves.is_fully_replicated


def test_equivalence_is_that_of_shards_on_devices():
    assert Halves().is_equivalent_to(Halves(), 2)
    assert not Halves().is_equivalent_to(Halves((0, 0, 1, 1)), 2)
    assert not Halves().is_equivalent_to(Halves(devices=DEVICES[::-1]), 2)
    assert not Halves().is_equivalent_to("halves", 2)


def test_the_base_class_has_no_shards():
    with pytest.raises(NotImplementedError, match="does not specify shards"):
        Sharding().tiling(1)
    with pytest.raises(NotImplementedError, match="has no memory kinds"):
        Sharding().with_memory_kind("device")
