"""`jax.extend.sharding`: named shardings and shardings by tile assignment."""

from jitney.core.sharding.gspmd import GSPMDSharding as GSPMDSharding
from jitney.core.sharding.sharding import Sharding as Sharding
from jitney.core.sharding.sharding_proto import (
    op_sharding_of,
    op_sharding_of_bytes as get_op_sharding_from_serialized_proto,
    tiles_of,
)
from jitney.core.sharding.tile_assignment import HloSharding
from jitney.core.util.lazy import listing
from jitney.runtime.devices.sharding import SingleDeviceSharding as SingleDeviceSharding

__all__ = [
    "GSPMDSharding", "Sharding", "SingleDeviceSharding", "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto", "get_serialized_proto_from_hlo_sharding",
]  # fmt: skip

__dir__ = listing(__name__)


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> HloSharding:
    """Returns the tile assignment of a serialized `OpSharding`, a protocol buffer.

    Raises:
      ValueError: if the bytes do not encode an `OpSharding`.
      NotImplementedError: if the sharding is not replicated, manual, maximal or tiled.

    Example:
      >>> from jax.extend.sharding import get_hlo_sharding_from_serialized_proto
      >>> get_hlo_sharding_from_serialized_proto(b"")
      {replicated}
    """
    return tiles_of(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: HloSharding) -> bytes:
    """Serializes a tile assignment as an `OpSharding`, a protocol buffer."""
    return op_sharding_of(sharding).SerializeToString()
