"""`jax._src.sharding_impls`: resolving PartitionSpecs, and a class of older releases."""

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
    """Returns a PartitionSpec as a sharding on the context mesh; shardings and None unchanged.

    Args:
      sharding: the argument of a function.
      api_name: the function's name, for messages.
      check_mesh_consistency: has no effect; a sharding on another mesh raises an error where it is
        used.

    Raises:
      ValueError: if a PartitionSpec is given, and there is no context mesh.
      TypeError: if it is of another type.
    """
    return None if sharding is None else as_named(sharding, api_name)


class PositionalSharding(SingleDeviceSharding):
    """A class that JAX has removed, but that packages still refer to; it has no instances."""
