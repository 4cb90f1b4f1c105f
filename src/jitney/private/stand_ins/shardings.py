"""`jax._src.sharding_impls`: resolution of PartitionSpecs, and a class of older releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.primitives.array.resharding import as_named
from jitney.runtime.devices.sharding import SingleDeviceSharding

if TYPE_CHECKING:
    from jitney.core.sharding.named import NamedSharding
    from jitney.core.sharding.partition_spec import PartitionSpec


def canonicalize_sharding(
    sharding: NamedSharding | PartitionSpec | None,
    api_name: str,
    check_mesh_consistency: bool = True,
) -> NamedSharding | None:
    """Converts a PartitionSpec to a sharding on the context mesh; keeps shardings and None.

    Args:
      sharding: the argument of a function.
      api_name: name of the function, for messages.
      check_mesh_consistency: no effect; a sharding on a different mesh raises an error when it is
        used.

    Raises:
      ValueError: if a PartitionSpec is given, but there is no context mesh.
      TypeError: if the type of `sharding` is none of these.
    """
    return None if sharding is None else as_named(sharding, api_name)


class PositionalSharding(SingleDeviceSharding):
    """A class that was removed from JAX, but that packages still refer to; it has no instances."""
