"""Tile assignments as protocol buffers, `OpSharding`, the form in which XLA stores them.

Source: `OpSharding` in https://github.com/openxla/xla/blob/main/xla/xla_data.proto.
"""

from __future__ import annotations

import enum
import math
from typing import Any

import numpy as np

from jitney.core.sharding.tile_assignment import HloSharding
from jitney.core.util import protobuf
from jitney.core.util.protobuf import Field, Schema
from jitney.core.util.record import record


class OpShardingType(enum.IntEnum):
    """The kinds of shardings; tiled shardings have the kind OTHER."""

    REPLICATED = 0
    MAXIMAL = 1
    TUPLE = 2
    OTHER = 3
    MANUAL = 4
    UNKNOWN = 5
    UNREDUCED = 6


_NAMES = {
    OpShardingType.REPLICATED: "replicated",
    OpShardingType.MAXIMAL: "maximal",
    OpShardingType.OTHER: "tiled",
    OpShardingType.MANUAL: "manual",
}
_FIELDS: Schema = {
    "OpSharding": {
        "type": Field(1, "int"),
        "tile_assignment_dimensions": Field(3, "int", True),
        "tile_assignment_devices": Field(4, "int", True),
        "replicate_on_last_tile_dim": Field(6, "bool"),
        "last_tile_dims": Field(8, "int", True),
        "iota_reshape_dims": Field(9, "int", True),
        "iota_transpose_perm": Field(10, "int", True),
    }
}


@record
class OpSharding:
    """A tile assignment as a message.

    Attributes:
      type: the kind of the sharding.
      tile_assignment_dimensions: the number of tiles along each axis, and of replicas.
      tile_assignment_devices: the indices of the devices, tile by tile.
      replicate_on_last_tile_dim: whether the last dimension is the number of replicas.
      last_tile_dims: the kinds of the last dimensions; at most one, of replicas, is supported.
      iota_reshape_dims, iota_transpose_perm: the order of the devices, in place of a list:
        `arange(n).reshape(...).transpose(...)`.
    """

    type: OpShardingType = OpShardingType.REPLICATED
    tile_assignment_dimensions: tuple[int, ...] = ()
    tile_assignment_devices: tuple[int, ...] = ()
    replicate_on_last_tile_dim: bool = False
    last_tile_dims: tuple[int, ...] = ()
    iota_reshape_dims: tuple[int, ...] = ()
    iota_transpose_perm: tuple[int, ...] = ()

    Type = OpShardingType

    def SerializeToString(self) -> bytes:  # the name is that of protocol buffers
        """Returns the message in binary form."""
        fields = {name: getattr(self, name) for name in _FIELDS["OpSharding"]}
        return protobuf.encode(fields, "OpSharding", _FIELDS)


def op_sharding_of_bytes(data: bytes) -> OpSharding:
    """Returns the message with the binary form `data`.

    Raises:
      ValueError: if `data` does not encode such a message.
    """
    fields: dict[str, Any] = protobuf.decode(data, "OpSharding", _FIELDS)
    kind = OpShardingType(fields.pop("type", 0))
    for name in fields:
        if name != "replicate_on_last_tile_dim":
            fields[name] = tuple(fields[name])
    return OpSharding(kind, **fields)


def op_sharding_of(tiles: HloSharding) -> OpSharding:
    """Returns a tile assignment as a message."""
    kind = next(kind for kind, name in _NAMES.items() if name == tiles.kind)
    n = len(tiles.devices)
    in_order = tiles.kind == "tiled" and tiles.devices == tuple(range(n))
    return OpSharding(
        kind,
        tiles.dims if tiles.kind == "tiled" else (),
        () if in_order else tiles.devices,
        tiles.has_replicas,
        (),
        (n,) if in_order else (),
        (0,) if in_order else (),
    )


def tiles_of(sharding: OpSharding) -> HloSharding:
    """Returns the tile assignment of a message.

    Raises:
      NotImplementedError: if the sharding is of another kind, such as a tuple, or unreduced.
      ValueError: if the number of devices does not match the number of tiles.
    """
    name = _NAMES.get(sharding.type)
    others = set(sharding.last_tile_dims) - {OpShardingType.REPLICATED}
    if name is None or others or len(sharding.last_tile_dims) > 1:
        raise NotImplementedError(
            f"a tile assignment must be replicated, manual, maximal or tiled, but is {sharding}"
        )
    dims = tuple(sharding.tile_assignment_dimensions)
    devices = tuple(sharding.tile_assignment_devices)
    if name != "tiled":
        return HloSharding(name, devices=devices if name == "maximal" else ())
    if not devices:
        order = np.arange(math.prod(sharding.iota_reshape_dims or dims))
        order = order.reshape(sharding.iota_reshape_dims or dims)
        devices = tuple(order.transpose(sharding.iota_transpose_perm or None).ravel().tolist())
    if math.prod(dims) != len(devices):
        raise ValueError(
            f"a tile assignment with dimensions {dims} has {math.prod(dims)} tiles, but lists "
            f"{len(devices)} devices"
        )
    has_replicas = sharding.replicate_on_last_tile_dim or bool(sharding.last_tile_dims)
    return HloSharding("tiled", dims, devices, has_replicas)
