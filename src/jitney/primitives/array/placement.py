"""Placement: operations that move their operands to other devices or to other shardings."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.core.program.key_reuse import KeyUse
from jitney.core.program.shape_dtype import ShapeDtypeStruct, abstractify
from jitney.core.sharding.mesh import (
    AbstractMesh,
    AxisType,
)
from jitney.core.sharding.named import NamedSharding, asks_nothing
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.sharding.sharding import Sharding
from jitney.core.sharding_in_types import explicit, varying
from jitney.core.tracing import communication
from jitney.core.tracing.primitive import declare
from jitney.core.tracing.pvary import as_type
from jitney.core.tracing.trace import Tracer
from jitney.core.types.avals import ShapedArray
from jitney.core.types.memory_space import MemorySpace
from jitney.primitives import rules
from jitney.primitives.array.resharding import (
    as_mesh,
    as_named,
    check_explicit,
    divided,
    reshard,
    sharding_constraint,
    sharding_on_context_mesh,
)
from jitney.runtime.arrays.array import ArrayImpl, array_of
from jitney.runtime.arrays.array_interceptors import features as array_interceptors
from jitney.runtime.devices.sharding import as_sharding, default, in_memory
from jitney.transforms import jet
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.array import Array
    from jitney.core.types.avals import AbstractValue
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

_Place = TypeVar("_Place")  # the option `device` of public functions


class ArrayCopySemantics(enum.Enum):
    """How `device_put` treats the operand's buffer: it is reused, copied or donated."""

    REUSE_INPUT = 0
    ALWAYS_COPY = 1
    DONATE_INPUT = 2

    def __repr__(self) -> str:
        return str(self)


device_put_p = declare("device_put", multiple_results=True, linear=True)
# The program itself requests this transfer.
device_put_p.communication(communication.of_contents)
device_put_p.varying(varying.as_declared)
device_put_p.declares_sharding = True


@device_put_p.abstract
def _device_put_abstract(
    *avals: ShapedArray, devices: Sequence[Any], srcs: object, copy_semantics: object
) -> list[ShapedArray]:
    return [_moved(aval, place) for aval, place in zip(avals, devices, strict=True)]


def _moved(aval: ShapedArray, place: object) -> ShapedArray:
    if isinstance(place, MemorySpace):
        return aval.update(memory_space=place)
    return explicit.typed(aval, place) if explicit.has_explicit_axes(place) else aval


@device_put_p.def_impl
def _device_put_def_impl(
    *xs: Value, devices: Sequence[Any], srcs: object, copy_semantics: object
) -> list[ArrayImpl]:
    arrays = [x if isinstance(x, ArrayImpl) else array_of(np.asarray(x)) for x in xs]
    return [
        x if place is None else x.placed(sharding_of(place, x))
        for x, place in zip(arrays, devices, strict=True)
    ]


def sharding_of(place: object, x: object) -> Sharding:
    """Returns the sharding of the result of `device_put(x, place)`.

    Raises:
      ValueError: if `place` is a PartitionSpec, and there is no context mesh.
    """
    if isinstance(place, MemorySpace):
        return in_memory(x.sharding if isinstance(x, ArrayImpl) else default(), place)
    if isinstance(place, PartitionSpec):
        return sharding_on_context_mesh(place, "device_put: device")
    return as_sharding(place)


device_put_p.absent("eager", why="arrays are moved, not computed")


@device_put_p.lower
def _device_put_lower(
    b: Builder, *xs: Node, devices: Sequence[Any], srcs: object, copy_semantics: object
) -> list[Node]:
    return [divided(b, x, place) for x, place in zip(xs, devices, strict=True)]


@device_put_p.jvp
def _device_put_jvp(
    primals: Primals, tangents: Tangents, **params: object
) -> tuple[list[Value], list[Tangent]]:
    moved = device_put_p.bind(*primals, **params)
    # Cotangents are moved back to the operands' devices.
    here = [x.placement if isinstance(x, ArrayImpl) else None for x in primals]
    srcs: Any = params["srcs"]
    params["srcs"] = tuple([own or x for own, x in zip(srcs, here, strict=True)])
    return moved, device_put_p.bind(*[instantiate(t) for t in tangents], **params)


device_put_p.jet(jet.linear(device_put_p))


@device_put_p.transpose
def _device_put_transpose(
    cts: Sequence[Cotangent],
    *xs: Operand,
    devices: Sequence[object],
    srcs: Sequence[object],
    copy_semantics: Sequence[object],
) -> list[Cotangent | None]:
    known = [i for i, ct in enumerate(cts) if type(ct) is not Zero]
    nonzero_cts: list[Any] = [cts[i] for i in known]
    back = device_put_p.bind(
        *nonzero_cts,
        devices=tuple([srcs[i] for i in known]),
        srcs=tuple([devices[i] for i in known]),
        copy_semantics=tuple([copy_semantics[i] for i in known]),
    )
    out: list[Cotangent | None] = list(cts)
    for i, ct in zip(known, back, strict=True):
        out[i] = ct
    return out


@device_put_p.batch
def _device_put_batch(
    args: Primals, dims: Dims, *, devices: Sequence[Any], **params: object
) -> tuple[list[Value], list[BatchDim]]:
    places = tuple(
        place if dim is None else explicit.batched(place, dim)
        for place, dim in zip(devices, dims, strict=True)
    )
    return device_put_p.bind(*args, devices=places, **params), list(dims)


def device_put(
    xs: Sequence[Any],
    devices: Sequence[Any],
    srcs: Sequence[Any] = (),
    *,
    donate: bool = False,
) -> list[Array]:
    """Applies the primitive `device_put` to flat operands, and returns the moved arrays.

    `devices` has the destination of each operand, or None to leave the operand where it is; `srcs`
    has the sources that are known.

    Raises:
      ValueError: if a destination is a PartitionSpec, and there is no context mesh.
    """
    devices = [
        sharding_on_context_mesh(place, "device_put: device")
        if isinstance(place, PartitionSpec)
        else place
        for place in devices
    ]
    how = ArrayCopySemantics.DONATE_INPUT if donate else ArrayCopySemantics.REUSE_INPUT
    n = len(xs)
    return device_put_p.bind(
        *xs, devices=tuple(devices), srcs=tuple(srcs) or (None,) * n, copy_semantics=(how,) * n
    )


def placed(x: Array, device: object, out_sharding: object = None) -> Array:
    """Moves the new array `x` according to a function's option `device` or `out_sharding`.

    Within a trace this records a sharding constraint, a `reshard` or a `device_put`.

    Raises:
      ValueError: if both options are given.
      TypeError: if an option is neither a device nor a sharding.
    """
    if device is not None and out_sharding is not None:
        raise ValueError(f"device={device} and out_sharding={out_sharding} cannot both be passed")
    place = device if out_sharding is None else out_sharding
    if place is None or asks_nothing(place):
        for feature in array_interceptors.installed:
            x = feature.new_array(x)
        return x
    if out_sharding is not None:
        place = as_named(out_sharding, "a new array")
    else:
        if isinstance(place, PartitionSpec):
            place = sharding_on_context_mesh(place, "device")
        if isinstance(place, NamedSharding) and isinstance(place.mesh, AbstractMesh):
            check_explicit(place, "a new array: device")
    sharding = as_sharding(place)
    if isinstance(x, ArrayImpl):
        if explicit.has_explicit_axes(place):
            explicit_place = explicit.place_of(explicit.typed(x.aval, place), as_mesh(place))
            if explicit_place is not None:  # `out_sharding` has no memory kind
                kind = None if out_sharding is not None else place.memory_kind
                sharding = explicit_place if kind is None else explicit_place.with_memory_kind(kind)
        return x.placed(sharding)
    if explicit.has_explicit_axes(place):
        aval = rules.aval_of(x)
        if explicit.sharding_of(aval) == explicit.sharding_of(explicit.typed(aval, place)):
            return x
        return reshard(x, place)
    if isinstance(place, Sharding):
        return sharding_constraint(x, place)
    return device_put([x], [place])[0]


def with_devices(device: _Place) -> _Place | None:
    """Returns `device`, or None if it is on an AbstractMesh without Explicit axes.

    Such a sharding does not specify devices. Explicit axes are part of the type of the result, so
    they matter even without devices.
    """
    if not isinstance(device, NamedSharding) or not isinstance(device.mesh, AbstractMesh):
        return device
    return device if AxisType.Explicit in device.mesh.axis_types else None


def placed_like(
    x: Array, prototype: object, shape: object, device: object, out_sharding: object
) -> Array:
    """Moves the new array `x` according to the options; by default, to the sharding of `prototype`.

    If `shape` is given, the sharding of `prototype` is used only if it is fully replicated.
    """
    if device is None and out_sharding is None:
        place = _place_of_prototype(prototype)
        if place is not None and (shape is None or place.is_fully_replicated):
            device = place
    if isinstance(prototype, Tracer | ShapeDtypeStruct):
        # Within shard_map, the result varies over the same mesh axes as the prototype.
        kind = prototype.aval if isinstance(prototype, Tracer) else abstractify(prototype)
        x = as_type(x, varying.type_of(kind))
    return placed(x, device, out_sharding)


def _place_of_prototype(prototype: object) -> Sharding | None:
    """Returns the sharding of a committed array, otherwise the sharding in the type, or None."""
    if isinstance(prototype, ArrayImpl):
        return prototype.placement
    if isinstance(prototype, ShapeDtypeStruct):
        place = prototype.sharding
        if isinstance(place, NamedSharding) and isinstance(place.mesh, AbstractMesh):
            return explicit.sharding_of(abstractify(prototype))
        return place if isinstance(place, Sharding) else None
    return explicit.sharding_of(prototype.aval) if isinstance(prototype, Tracer) else None


@device_put_p.key_use
def _device_put_key_use(avals: Sequence[AbstractValue], **_: object) -> KeyUse:
    return KeyUse(forwarded=tuple([(i, i) for i in range(len(avals))]))
