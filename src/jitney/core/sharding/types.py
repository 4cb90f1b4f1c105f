"""Shardings in array types: on meshes without devices, with one entry for each axis."""

from __future__ import annotations

from functools import cache

from jitney.core.settings import config
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding.mesh import AbstractMesh, AxisType
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of

_NO_MESH = AbstractMesh((), ())


@cache
def unsharded(ndim: int) -> NamedSharding:
    """Returns the sharding in the type of an array of rank `ndim` that is not on a mesh."""
    return NamedSharding(_NO_MESH, PartitionSpec(*(None,) * ndim))


def of_aval(sharding: NamedSharding, shape: tuple[int, ...]) -> NamedSharding | None:
    """Normalizes `sharding` for the type of an array of `shape`; None if it has no mesh.

    A type has shardings along Explicit axes only. Along Auto axes the compiler chooses the
    sharding, and along Manual axes the program does.

    Raises:
      ValueError: if the mesh has devices, there are more entries than axes, or the shards are
        unequal.
    """
    mesh, spec = sharding.mesh, sharding.spec
    if not isinstance(mesh, AbstractMesh):
        raise ValueError(f"the sharding of a type must be on an AbstractMesh, but is on {mesh!r}")
    if mesh.empty:
        return None
    entries = list(spec)
    if len(entries) > len(shape):
        raise ValueError(f"{spec} has more entries than an array of shape {shape} has axes")
    explicit = {
        name
        for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True)
        if kind is AxisType.Explicit
    }
    extents = mesh.shape
    if config.remove_size_one_mesh_axis_from_type.value:
        explicit = {name for name in explicit if extents[name] != 1}
    kept: list[tuple[object, ...]] = []
    for axis, entry in enumerate(entries):
        names = tuple([name for name in names_of(entry) if name in explicit])
        parts = 1
        for name in names:
            parts *= extents[name]
        if shape[axis] % parts:
            raise ValueError(
                f"{spec} splits axis {axis} of an array of shape {shape} into {parts} shards, but "
                f"its size, {shape[axis]}, is not a multiple of {parts}"
            )
        kept.append(names)
    kept.extend([()] * (len(shape) - len(kept)))
    exact = PartitionSpec(*kept, unreduced=spec.unreduced, reduced=spec.reduced)
    return NamedSharding(mesh, exact, memory_kind=sharding.memory_kind)


def of_rank(sharding: NamedSharding | None, ndim: int) -> NamedSharding | None:
    """Returns `sharding` for an array of rank `ndim`, without superfluous entries."""
    if sharding is None or len(sharding.spec) <= ndim:
        return sharding
    return sharding.update(spec=sharding.spec.update(partitions=sharding.spec[:ndim]))


def with_axis(
    sharding: NamedSharding | None, axis: int, ndim: int, along: NamedSharding | None = None
) -> NamedSharding | None:
    """Returns `sharding`, of an array of rank `ndim`, with a new axis at position `axis`.

    The new axis is sharded like the only axis of an array with sharding `along`, or not sharded if
    `along` is None.
    """
    if sharding is None:
        if along is None:
            return None
        sharding = along.update(spec=PartitionSpec(*[None] * ndim))
    entries = tuple(sharding.spec)
    new = None if along is None else along.spec[0]
    entries = (*entries[:axis], new, *entries[axis:])
    return sharding.update(spec=sharding.spec.update(partitions=entries))


def without_axis(sharding: NamedSharding, axis: int) -> NamedSharding:
    """Returns `sharding` without the entry of axis `axis`."""
    entries = tuple(sharding.spec)
    entries = (*entries[:axis], *entries[axis + 1 :])
    return sharding.update(spec=sharding.spec.update(partitions=entries))


def of_cotangent(sharding: NamedSharding | None) -> NamedSharding | None:
    """Returns the sharding of cotangents: `unreduced` and `reduced` are interchanged."""
    if sharding is None:
        return None
    spec = sharding.spec
    return sharding.update(spec=spec.update(unreduced=spec.reduced, reduced=spec.unreduced))


def extents_text(shape: tuple[int, ...], sharding: NamedSharding | None) -> str:
    """Returns sizes and the mesh axes that shard each axis: "8@x,4"."""
    if sharding is None:
        return ",".join(map(str, shape))
    entries = [_names_text(names_of(entry)) for entry in sharding.spec]
    return ",".join([f"{n}@{e}" if e else str(n) for n, e in zip(shape, entries, strict=True)])


def axes_text(sharding: NamedSharding | None, manual: ManualAxisType) -> str:
    """Returns the axes along which values vary, or are unreduced or reduced: "{V:x, U:y}"."""
    unreduced, reduced = manual.unreduced, manual.reduced
    if sharding is not None:
        unreduced, reduced = unreduced | sharding.spec.unreduced, reduced | sharding.spec.reduced
    groups = {"V": manual.varying, "U": unreduced, "R": reduced}
    parts = [
        f"{letter}:{_names_text(tuple(sorted(names, key=str)))}"
        for letter, names in groups.items()
        if names
    ]
    return f"{{{', '.join(parts)}}}" if parts else ""


def axis_types_text(sharding: NamedSharding | None) -> str:
    """Returns the mesh axes by type: "({Explicit: ('x', 'y')})"."""
    if sharding is None:
        return "({})"
    mesh = sharding.mesh
    kinds: dict[AxisType, tuple[object, ...]] = {}
    for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True):
        kinds[kind] = (*kinds.get(kind, ()), name)
    return f"({kinds})"


def _names_text(names: tuple[object, ...]) -> str:
    return str(names[0]) if len(names) == 1 else f"({','.join(map(str, names))})" if names else ""
