"""Tile assignments as protocol buffers: the bytes are those of real JAX."""

import pytest
from jitney._src.lib.xla_client import HloSharding, OpSharding
from tests.helpers.oracle import RealModule, answer

from jitney.extend import sharding

theirs = RealModule("jax.extend.sharding")
lib = RealModule("jax._src.lib")

MADE = {
    "replicated": lambda h, o: h.replicate(),
    "manual": lambda h, o: h.manual(),
    "in order": lambda h, o: h.iota_tile((2, 2)),
    "along one axis": lambda h, o: h.iota_tile((4,), (4,), (0,)),
    "with replicas": lambda h, o: h.iota_tile((2, 2, 2), subgroup_types=[o.Type.REPLICATED]),
}


def described(module, h, o, make):
    tiles = make(h, o)
    data = module.get_serialized_proto_from_hlo_sharding(tiles)
    again = module.get_hlo_sharding_from_serialized_proto(data)
    message = module.get_op_sharding_from_serialized_proto(data)
    names = "tile_assignment_dimensions", "iota_reshape_dims", "iota_transpose_perm"
    return [
        list(data), str(again), again == tiles, message.type.name,
        message.replicate_on_last_tile_dim, *[list(getattr(message, name)) for name in names],
    ]  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_like_jax(name):
    make = MADE[name]
    expected = answer(
        lambda: described(theirs, lib.xla_client.HloSharding, lib.xla_client.OpSharding, make), name
    )
    assert described(sharding, HloSharding, OpSharding, make) == expected


def test_other_orders_list_their_devices():
    tiles = HloSharding.iota_tile((2, 3), (3, 2), (1, 0))
    data = sharding.get_serialized_proto_from_hlo_sharding(tiles)
    assert sharding.get_hlo_sharding_from_serialized_proto(data) == tiles
    # What JAX writes for the same tiles, in short and with all devices:
    short = b"\x08\x03\x1a\x02\x02\x03J\x02\x03\x02R\x02\x01\x00"
    assert sharding.get_hlo_sharding_from_serialized_proto(short) == tiles
    listed = b'\x08\x03\x1a\x02\x02\x02"\x04\x01\x03\x00\x020\x01'
    tiles = sharding.get_hlo_sharding_from_serialized_proto(listed)
    assert tiles.tile_assignment_devices() == [1, 3, 0, 2] and tiles.replicate_on_last_tile_dim()
    maximal = b'\x08\x01"\x01\x03'
    tiles = sharding.get_hlo_sharding_from_serialized_proto(maximal)
    assert tiles.is_maximal() and tiles.tile_assignment_devices() == [3]
    assert sharding.get_serialized_proto_from_hlo_sharding(tiles) == maximal


def test_what_is_no_tile_assignment():
    with pytest.raises(ValueError, match="not a protocol buffer"):
        sharding.get_hlo_sharding_from_serialized_proto(b"\x0a\x7f")
    with pytest.raises(NotImplementedError, match="must be replicated, manual"):
        sharding.get_hlo_sharding_from_serialized_proto(b"\x08\x06")
    with pytest.raises(ValueError, match="has 4 tiles, but lists 3 devices"):
        sharding.get_hlo_sharding_from_serialized_proto(
            b'\x08\x03\x1a\x02\x02\x02"\x03\x01\x03\x00'
        )
