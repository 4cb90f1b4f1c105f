"""Primitives that convert between global arrays and the local data of each process.

    host_local_array_to_global_array    from local data to a global array
    global_array_to_host_local_array    from a global array to local data: the transpose and inverse

In eager mode these primitives move arrays (`multihost_utils`). In a compiled program of a single
process they are the identity, since the compiler chooses shardings. Programs that run in several
processes reject them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.parallel.placement import of_local_data
from jitney.core.array import Array
from jitney.core.program.key_reuse import uses_keys
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray
from jitney.primitives import rules
from jitney.primitives.elementwise.convert import as_value
from jitney.runtime.arrays.array import ArrayImpl, array_of, host_array
from jitney.runtime.devices import windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.sharding.mesh import Mesh
    from jitney.primitives.rule_types import BatchDim, Builder, Dims, Node, Operand, Value
    from jitney.transforms.batch import AxisData

host_local_array_to_global_array_p = declare("host_local_array_to_global_array", linear=True)
global_array_to_host_local_array_p = declare("global_array_to_host_local_array", linear=True)


def _parts(mesh: Mesh, spec: PartitionSpec, ndim: int) -> list[int]:
    """Returns the number of processes among which each axis is sharded."""
    if len(spec) > ndim:
        raise ValueError(
            f"a PartitionSpec must have at most one entry for each axis, but {spec} is passed for an "
            f"array of rank {ndim}"
        )
    local = mesh.local_mesh.shape
    entries = [*map(names_of, spec), *[()] * (ndim - len(spec))]
    return [math.prod([mesh.shape[name] // local[name] for name in names]) for names in entries]


def ltg_abstract_eval(
    arr: AbstractValue, *, global_mesh: Mesh, pspec: PartitionSpec
) -> ShapedArray:
    """Returns the type of the global array for local data of type `arr`."""
    assert isinstance(arr, ShapedArray), arr
    parts = _parts(global_mesh, pspec, arr.ndim)
    return arr.update(shape=tuple([n * m for n, m in zip(arr.shape, parts, strict=True)]))


def gtl_abstract_eval(
    arr: AbstractValue, *, global_mesh: Mesh, pspec: PartitionSpec
) -> ShapedArray:
    """Returns the type of each process's local data for a global array of type `arr`."""
    assert isinstance(arr, ShapedArray), arr
    parts = _parts(global_mesh, pspec, arr.ndim)
    return arr.update(shape=tuple([n // m for n, m in zip(arr.shape, parts, strict=True)]))


def ltg_batcher(
    insert_axis: bool,
    axis_data: AxisData,
    vals_in: Sequence[Value],
    dims_in: Dims,
    global_mesh: Mesh,
    pspec: PartitionSpec,
) -> tuple[Value, BatchDim]:
    """Batches `host_local_array_to_global_array`.

    The batch dimension is replicated, or sharded along `spmd_axis_name` if that is given.

    Args:
      insert_axis: accepted for compatibility; the batch dimension is always inserted in `pspec`.
      axis_data, vals_in, dims_in: arguments of the batching rule.
      global_mesh, pspec: parameters of the primitive.
    """
    return _batched(
        host_local_array_to_global_array_p, axis_data, vals_in, dims_in, global_mesh, pspec
    )


def _batched(
    primitive: Primitive,
    axis: AxisData,
    values: Sequence[Value],
    dims: Dims,
    mesh: Mesh,
    spec: PartitionSpec,
) -> tuple[Value, BatchDim]:
    (x,), (dim,) = values, dims
    assert dim is not None
    entries = [*spec, *[None] * (dim - len(spec))]
    entries.insert(dim, axis.spmd_name)
    return primitive.bind(x, global_mesh=mesh, pspec=PartitionSpec(*entries)), dim


def host_local_array_to_global_array_impl(
    arr: Value, *, global_mesh: Mesh, pspec: PartitionSpec
) -> Array:
    """Returns the global array with local data `arr`; float0 arrays become zeros of dtype bool."""
    place = NamedSharding(global_mesh, pspec)
    if getattr(arr, "dtype", None) == dtypes.float0:
        arr = np.zeros(np.shape(arr), bool)
    value = as_value(arr)
    assert isinstance(value, ArrayImpl), value
    if place.is_fully_addressable or windows.is_global(value):
        return value.placed(place)
    return of_local_data(np.asarray(value), place)


def global_array_to_host_local_array_impl(
    arr: Value, *, global_mesh: Mesh, pspec: PartitionSpec
) -> Array:
    """Returns the local data of this process, as an array on its devices of `global_mesh`.

    Arrays on a mesh of a single process are returned unchanged.
    """
    if not global_mesh.is_multi_process:
        if isinstance(arr, Array):
            return arr
        return host_local_array_to_global_array_impl(arr, global_mesh=global_mesh, pspec=pspec)
    value = as_value(arr)
    assert isinstance(value, ArrayImpl), value
    data = host_array(value.placed(NamedSharding(global_mesh, pspec)))
    return array_of(data).placed(NamedSharding(global_mesh.local_mesh, pspec))


def _declare_rules(primitive: Primitive, type_rule: Any, impl: Any, transpose: Primitive) -> None:
    name = primitive.name
    primitive.abstract(type_rule)
    primitive.def_impl(impl)
    primitive.absent("eager", why="arrays are moved, not computed")

    def lower(b: Builder, x: Node, *, global_mesh: Mesh, pspec: PartitionSpec) -> Node:
        if global_mesh.is_multi_process:
            raise NotImplementedError(
                f"{name} is not supported in programs that run in several processes; call it "
                "outside of jit"
            )
        return x

    def transposed(ct: Value, x: Operand, **params: Any) -> Value:
        return transpose.bind(ct, **params)

    def batch(
        axis: AxisData, values: Sequence[Value], dims: Dims, *, global_mesh: Mesh, pspec: Any
    ) -> tuple[Value, BatchDim]:
        return _batched(primitive, axis, values, dims, global_mesh, pspec)

    primitive.lower(lower)
    rules.deflinear(primitive, transposed)
    primitive.batch_with_axis(batch)
    uses_keys(primitive, forwards=True)


_declare_rules(
    host_local_array_to_global_array_p,
    ltg_abstract_eval,
    host_local_array_to_global_array_impl,
    global_array_to_host_local_array_p,
)
_declare_rules(
    global_array_to_host_local_array_p,
    gtl_abstract_eval,
    global_array_to_host_local_array_impl,
    host_local_array_to_global_array_p,
)
