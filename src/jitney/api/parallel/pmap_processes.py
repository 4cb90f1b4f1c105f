"""`pmap` over the devices of several processes.

Each process passes and receives the data of its own devices: its mapped axis has one index for each
of these devices. Collectives along the axis include the devices of all processes. The compiled
program computes with arrays on a mesh of all devices; this module converts the arguments to such
arrays, and extracts the shards of this process from the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from jitney.api.parallel.placement import windowed
from jitney.core.pytree import pytrees
from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.trace import state
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.arrays.array import ArrayImpl, array_from_numpy, host_array
from jitney.runtime.devices import windows

if TYPE_CHECKING:
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.typing import PyTree

T = TypeVar("T")


def to_all_devices(
    values: Sequence[PyTree], specs: Sequence[PartitionSpec], mesh: Mesh, name: str
) -> list[ArrayImpl]:
    """Returns this process's arguments as arrays on a mesh over several processes.

    Args:
      values: arrays and scalars.
      specs: the PartitionSpec of each value.
      mesh: a mesh of devices of several processes.
      name: the name of the function, for messages.

    Raises:
      RuntimeError: if called under a transformation, since processes exchange arrays, not tracers.
    """
    if state.trace is not state.eval_trace:
        raise RuntimeError(
            f"pmap of {name}: a pmap over devices of several processes cannot be transformed "
            "(jit, grad, vmap, ...). Transform the mapped function instead, or use jax.shard_map "
            "on a mesh of all devices"
        )
    return [
        _of_part(cast("ArrayImpl", as_value(x)), NamedSharding(mesh, spec))
        for x, spec in zip(values, specs, strict=True)
    ]


def _of_part(x: ArrayImpl, place: NamedSharding) -> ArrayImpl:
    """Returns the global array whose part on this process is `x`."""
    whole = windows.global_shape(place, x.shape)
    assert whole is not None, "pmap's mesh has devices of all processes"
    return windowed(x, place, whole)


def own_parts(results: T, mesh: Mesh) -> T:
    """Returns the parts of results on `mesh` that this process's devices hold."""
    local = mesh.local_mesh

    def part(x: ArrayImpl) -> ArrayImpl:
        place = x.placement
        assert isinstance(place, NamedSharding)
        data = host_array(x)
        shape = windows.window_shape(place, x.shape)
        aval = explicit.typed(x.aval, None).update(shape=shape)
        return array_from_numpy(data, aval).placed(NamedSharding(local, place.spec))

    return pytrees.tree_map(part, results)
