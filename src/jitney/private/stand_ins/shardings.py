"""`jax._src.sharding_impls`: shardings given by a spec alone, and a class of older releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.primitives.array.resharding import as_named
from jitney.runtime.sharding import SingleDeviceSharding

if TYPE_CHECKING:
    from jitney.core.sharding.named import NamedSharding
    from jitney.core.sharding.partition_spec import PartitionSpec


def canonicalize_sharding(
    sharding: NamedSharding | PartitionSpec | None,
    api_name: str,
    check_mesh_consistency: bool = True,
) -> NamedSharding | None:
    """Returns a sharding on the mesh in force for a spec; shardings and None as they are.

    Args:
      sharding: what a function was given.
      api_name: the function's name, for messages.
      check_mesh_consistency: has no effect; a sharding on another mesh is refused where it is used.

    Raises:
      ValueError: if a spec is given and no mesh is in force.
      TypeError: if it is anything else.
    """
    return None if sharding is None else as_named(sharding, api_name)


class PositionalSharding(SingleDeviceSharding):
    """A class that JAX has removed, for which packages still ask; no array has one."""
