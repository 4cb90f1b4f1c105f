"""Implements the argument `out_sharding` of functions whose primitives have no such parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from jitney.core.sharding.named import NamedSharding
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value

R = TypeVar("R")


def call_with_sharding(
    place: Sharding | PartitionSpec | None,
    name: str,
    function: Callable[..., R],
    *args: Value,
    is_sum: bool = False,
) -> R:
    """Returns `function(*args)` with the sharding `place`; mesh axes are Auto in `function`.

    Args:
      place: the sharding of the result; None leaves it to `function`.
      name: the name of the public function, for error messages.
      function: a function of arrays; arrays that it closes over are not on a mesh.
      *args: the arguments of `function`.
      is_sum: whether the result is the sum of the results of `function` for blocks of rows. If
        `place` is unreduced, each device then applies `function` to its rows only.

    Raises:
      ValueError: if `place` is a PartitionSpec and there is no context mesh, or it names axes that
        are not Explicit.
      TypeError: if `place` is neither a NamedSharding nor a PartitionSpec.
    """
    if place is None:
        return function(*args)
    # Imported late, as it is needed with several devices only.
    from jitney.api.parallel.placement import auto_axes
    from jitney.core.sharding.mesh import get_abstract_mesh
    from jitney.primitives.array.resharding import as_named

    sharding = as_named(place, name)
    if is_sum and sharding.spec.unreduced:
        specs = _specs_of_rows(sharding, args)
        if specs is not None:
            from jitney.api.parallel.shard_map import shard_map

            return shard_map(function, mesh=sharding.mesh, in_specs=specs, out_specs=sharding.spec)(
                *args
            )
    axes = get_abstract_mesh().explicit_axes  # within `shard_map` other axes may be Manual
    return auto_axes(function, axes=axes or None, out_sharding=sharding)(*args)


def _specs_of_rows(
    sharding: NamedSharding, args: Sequence[Value]
) -> tuple[PartitionSpec, ...] | None:
    """Returns specs that shard `args` by rows.

    Returns None unless the rows are sharded along the unreduced axes of `sharding` and no other
    axis is sharded.
    """
    from jitney.core.sharding.partition_spec import PartitionSpec, names_of
    from jitney.core.sharding_in_types import explicit
    from jitney.core.types.avals import get_aval

    shardings = [explicit.sharding_of(get_aval(x)) for x in args]
    specs = [PartitionSpec() if s is None else PartitionSpec(*s.spec) for s in shardings]
    rows = frozenset([name for spec in specs for name in names_of(spec[0] if len(spec) else None)])
    others = [name for spec in specs for entry in spec[1:] for name in names_of(entry)]
    if (
        rows != sharding.spec.unreduced
        or others
        or any([names_of(entry) for entry in sharding.spec])
    ):
        return None
    if any([s is not None and s.mesh.shape_tuple != sharding.mesh.shape_tuple for s in shardings]):
        return None
    return tuple(specs)
