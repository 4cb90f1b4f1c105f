"""The option `out_sharding` of functions whose operations have no parameter for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value


def lying(
    place: Sharding | PartitionSpec | None,
    name: str,
    function: Callable[..., Any],
    *args: Value,
) -> Any:
    """`function(*args)`, lying as `place` says; within, the axes of the mesh are Auto.

    Args:
      place: the option; None says nothing, and nothing is done.
      name: of the function that has the option.
      function: takes arrays; what it closes over is on no mesh.
      *args: its arguments.

    Raises:
      ValueError: if `place` is a PartitionSpec and no mesh is in force, or it names axes that are not
        Explicit.
      TypeError: if it is neither a NamedSharding nor a PartitionSpec.
    """
    if place is None:
        return function(*args)
    from jitney.api.placement import auto_axes  # of use on several devices alone
    from jitney.core.sharding.mesh import get_abstract_mesh
    from jitney.primitives.array.placement import as_named

    axes = get_abstract_mesh().explicit_axes  # within `shard_map` others may be Manual
    return auto_axes(function, axes=axes or None, out_sharding=as_named(place, name))(*args)
