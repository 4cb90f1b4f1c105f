"""Single devices are shardings, and places of other kinds stand for shardings, too."""

import copy
import pickle

import pytest

from jitney.runtime.devices import sharding
from jitney.runtime.devices.client import Client, default_device
from jitney.runtime.devices.sharding import (
    UNSPECIFIED,
    DeviceOfJit,
    Format,
    SingleDeviceSharding,
    as_sharding,
    single_device,
)

FIRST, SECOND = Client("cpu", 0, (2,), 1).devices()


def test_equality_and_hashes():
    place = SingleDeviceSharding(FIRST)
    assert place == SingleDeviceSharding(FIRST, memory_kind="device") == single_device(FIRST)
    assert hash(place) == hash(single_device(FIRST))
    assert place != SingleDeviceSharding(SECOND)
    assert place != SingleDeviceSharding(FIRST, memory_kind="pinned_host")
    assert place != FIRST
    assert single_device(FIRST) is single_device(FIRST)


def test_kinds_of_memory():
    place = single_device(FIRST).with_memory_kind("pinned_host")
    assert place.memory_kind == "pinned_host" and place.device_order == (FIRST,)
    with pytest.raises(ValueError, match="Could not find memory of kind 'hbm'"):
        SingleDeviceSharding(FIRST, memory_kind="hbm")


@pytest.mark.parametrize("ndim", [0, 3])
def test_there_is_one_tile(ndim):
    tiling = single_device(FIRST).tiling(ndim)
    assert tiling.counts == (1,) * ndim and tiling.tiles == ((0,) * ndim,)


def test_conversions():
    place = single_device(SECOND)
    assert as_sharding(SECOND) is as_sharding(place) is place
    assert as_sharding(Format(None, place)) is place
    assert as_sharding(Format(None, None)) == sharding.default() == single_device(default_device())
    with pytest.raises(
        TypeError, match=r"expected a Device, a Sharding or a Format.* 'cpu' of type"
    ):
        as_sharding("cpu")


def test_copies():
    place = SingleDeviceSharding(default_device(), memory_kind="unpinned_host")
    assert pickle.loads(pickle.dumps(place)) == copy.deepcopy(place) == place
    assert pickle.loads(pickle.dumps(UNSPECIFIED)) is UNSPECIFIED
    assert DeviceOfJit(FIRST).brings_operands and not place.brings_operands
