"""Upward links between layers of the package.

Arrays, which are defined in a low layer, receive operators and methods from `jax.numpy`.
Transformations receive the few operations of `primitives` that they use. Jaxprs receive the module
that prints them. Lowering and evaluation receive the passes that rewrite keys as words and
discharge mutable references. Evaluation also receives the execution of programs with unreduced
values, and the features that intercept operations. Modules receive names from other modules that
JAX exports from them.

`install` is called once, when the package is imported, before any array is created.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.compiler import lower
from jitney.core.array import Array
from jitney.core.program import jaxpr
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.core.sharding import part_types
from jitney.core.symbolic import expressions
from jitney.core.tracing import hi_types
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.core.util import lazy
from jitney.runtime import native_setup
from jitney.runtime.devices import client
from jitney.runtime.execution import eager
from jitney.runtime.features import every_feature
from jitney.transforms import discharge, key_words, lojax

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import Printer
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.sharding.part_types import AnyMesh
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.types.avals import AbstractValue
    from jitney.core.typing import AxisName, Value
    from jitney.runtime.arrays.array import ArrayImpl
    from jitney.runtime.devices.client import Client
    from jitney.runtime.devices.compile_options import CompileOptions
    from jitney.runtime.devices.device import Device
    from jitney.runtime.execution.assignment import Assignment
    from jitney.runtime.execution.executable import Executable


def install() -> None:
    """Installs operators, methods and properties on `Array`, for arrays and tracers alike.

    Attributes that a subclass defines are not overridden.
    """
    from jitney.numpy.array_methods import ArrayMethods, attributes
    from jitney.numpy.operators import operators
    from jitney.numpy.reduction_methods import ReductionMethods
    from jitney.primitives import tangent_algebra

    members = {**attributes(ArrayMethods), **attributes(ReductionMethods), **operators()}
    for name, member in members.items():
        setattr(Array, name, member)
        if hasattr(member, "__qualname__"):
            member.__qualname__ = f"Array.{name}"
    setattr(Tracer, "broadcast", _broadcast)  # noqa: B010  # a method of tracers alone, as in JAX
    own = {"broadcast": _broadcast, "item": Array.item, "itemsize": Array.itemsize}
    hi_types.describe_tracers(ShapedArray, {**members, **own})
    part_types.use_part_types(_PartTypes())
    client.use_executables(_Executables())
    native_setup.install(Array)
    jaxpr.use_printer(_jaxpr_text)
    lazy.use_reexports(_reexported)
    expressions.use_values(_value_of_dim)
    tangent_algebra.install()
    lower.transforms.install(_on_arrays)
    eager.use_refs(_run_on_refs)
    eager.use_lowering(lojax.run_lowered)
    eager.use_terms(_call_with_terms)
    dtypes.keys_of_words.installs(key_words.install)
    every_feature.install()


class _PartTypes:
    """Types of shards, computed by the module of `shard_map`, which is imported when first used."""

    def part(
        self,
        aval: AbstractValue,
        mesh: AnyMesh,
        manual_axes: frozenset[AxisName],
        check_vma: bool,
        spec: PartitionSpec,
    ) -> AbstractValue:
        from jitney.primitives.parallel import shard_map

        return shard_map.part_type(aval, mesh, manual_axes, check_vma, spec)

    def whole(
        self, aval: AbstractValue, mesh: AnyMesh, check_vma: bool, spec: PartitionSpec
    ) -> AbstractValue:
        from jitney.primitives.parallel import shard_map

        return shard_map.whole_type(aval, mesh, check_vma, spec)


def _broadcast(
    x: Tracer, sizes: Sequence[int], *, out_sharding: ShardingLike | None = None
) -> Array:
    """Returns `x` with new leading axes of the given sizes."""
    from jitney.primitives.array.broadcasting import broadcast

    return broadcast(x, sizes, out_sharding=out_sharding)


class _Executables:
    """The operations of clients on executables."""

    def compile_and_load(
        self,
        owner: Client,
        computation: object,
        devices: Sequence[Device],
        options: CompileOptions | None,
    ) -> Executable:
        from jitney.runtime.execution import loading

        return loading.compile_and_load(owner, computation, devices, options)

    def serialize(self, executable: Executable) -> bytes:
        from jitney.runtime.execution import loading

        return loading.serialize(executable)

    def deserialize(
        self, owner: Client, serialized: bytes, devices: Sequence[Device]
    ) -> Executable:
        from jitney.runtime.execution import loading

        return loading.deserialize(owner, serialized, devices)

    def heap_profile(self, platform: str) -> bytes:
        from jitney.api.debugging import memory_profile

        return memory_profile.device_memory_profile(platform)


def _on_arrays(closed: ClosedJaxpr) -> ClosedJaxpr:
    return discharge.discharged(lojax.lowered(closed))


def _reexported(module: str, name: str) -> Any:
    from jitney.private import reexports

    return reexports.find(module, name)


def _value_of_dim(dim: expressions.DimExpr) -> Array:
    from jitney.primitives.array.extents import dim_as_value

    return dim_as_value(dim)


def _run_on_refs(*args: Any) -> list[Value]:
    from jitney.primitives.refs.evaluate import run_on_refs

    return run_on_refs(*args)


def _call_with_terms(
    closed: ClosedJaxpr, leaves: Sequence[object], assignment: Assignment, name: str
) -> list[ArrayImpl] | None:
    from jitney.api.jit import unreduced

    return unreduced.call(closed, leaves, assignment, name)


def _jaxpr_text() -> Printer:
    from jitney.core.program import text

    return text
