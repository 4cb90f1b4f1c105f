"""Tile assignments: what they say of an array, and that tilings come back from them."""

import pytest

from jitney.core.sharding.tile_assignment import HloSharding

KINDS = {
    "replicated": HloSharding.replicate(),
    "manual": HloSharding.manual(),
    "maximal": HloSharding("maximal"),
    "tiled": HloSharding.iota_tile((2, 2)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_of_one_kind(kind):
    sharding = KINDS[kind]
    answers = {
        "replicated": sharding.is_replicated(),
        "manual": sharding.is_manual(),
        "maximal": sharding.is_maximal(),
        "tiled": sharding.is_tiled(),
    }
    assert answers == {name: name == kind for name in KINDS}


@pytest.mark.parametrize(
    "sharding",
    [
        HloSharding.iota_tile((2, 3)),
        HloSharding.iota_tile((3, 2), (2, 3), (1, 0)),
        HloSharding.iota_tile((2, 1, 3), subgroup_types=["replicated"]),
    ],
)
def test_tilings_come_back(sharding):
    ndim = sharding.num_dimensions() - sharding.replicate_on_last_tile_dim()
    assert HloSharding.of_tiling(sharding.tiling(ndim, 6)) == sharding


def test_tiles_of_devices():
    sharding = HloSharding.iota_tile((2, 2), (2, 2), (1, 0))
    assert sharding.tile_assignment_dimensions() == [2, 2]
    assert sharding.tile_assignment_devices() == [0, 2, 1, 3]
    assert sharding.num_devices() == 4
    assert not sharding.replicate_on_last_tile_dim()
    assert sharding.tiling(2, 4).tiles == ((0, 0), (1, 0), (0, 1), (1, 1))
    assert HloSharding.iota_tile((1, 1)).is_replicated()


@pytest.mark.parametrize(("ndim", "devices"), [(1, 4), (2, 8)])
def test_arrays_that_it_cannot_cut(ndim, devices):
    with pytest.raises(ValueError, match="it cannot shard an array"):
        HloSharding.iota_tile((2, 2)).tiling(ndim, devices)
