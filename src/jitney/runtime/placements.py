"""Where results of programs are put: as their operands are, by propagation.

Results of operands on one device are there, too. Results of operands on a mesh are divided as the rules
of `compiler.hlo.sharding_propagation` say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.runtime import sharding

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir
    from jitney.core.avals import AbstractValue
    from jitney.core.jaxpr import ClosedJaxpr
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.assignment import Assignment


def of_results(closed: ClosedJaxpr, assignment: Assignment) -> tuple[Sharding | None, ...] | None:
    """Where each result of `closed` is put; None if nobody has put any operand anywhere."""
    if not assignment.in_shardings:
        return None
    return of_operation(lambda: closed, assignment, len(closed.out_avals))


def of_operation(
    program: Callable[[], ClosedJaxpr], assignment: Assignment, n_results: int
) -> tuple[Sharding, ...]:
    """Where the results are put of an operation, some of whose operands somebody has put somewhere.

    Args:
      program: makes the program of the operation; asked for on several devices only.
      assignment: where the operands are.
      n_results: how many results there are.
    """
    devices = assignment.devices
    if len(devices) == 1:
        return (sharding.single_device(devices[0]),) * n_results
    places = assignment.in_shardings
    mesh = next(p.mesh for p in places if isinstance(p, NamedSharding))
    closed = program()
    specs = [
        _entries(place if isinstance(place, NamedSharding) and place.mesh == mesh else None, aval)
        for place, aval in zip(places, closed.in_avals, strict=True)
    ]
    from jitney.compiler import lower
    from jitney.compiler.hlo.sharding_propagation import propagate

    region = lower.lower(closed, "placements").region
    found = propagate(region, specs, mesh.shape)
    return tuple([
        NamedSharding(mesh, _trimmed(spec[: len(aval.shape)]))
        for spec, aval in zip(found, closed.out_avals, strict=True)
    ])  # fmt: skip


def partitioned_text(module: ir.Module, places: Sequence[Sharding | None]) -> str:
    """The program that each device runs, as text, if operands are put as `places` say.

    Raises:
      ValueError: if none of them is on a mesh.
    """
    mesh = next((p.mesh for p in places if isinstance(p, NamedSharding)), None)
    if mesh is None:
        raise ValueError(
            'as_text("partitioned") needs an argument on a mesh: an array, or a ShapeDtypeStruct, '
            "whose sharding is a NamedSharding"
        )
    from jitney.compiler import pipeline
    from jitney.compiler.hlo.partition.text import print_partitioned

    specs = [
        _entries(place if isinstance(place, NamedSharding) and place.mesh == mesh else None, p)
        for place, p in zip(places, module.region.parameters, strict=True)
    ]
    return print_partitioned(pipeline.partition(module, specs, mesh.shape))


def _entries(
    place: NamedSharding | None, aval: AbstractValue | ir.Parameter
) -> tuple[tuple[Any, ...], ...]:
    """For each axis of an operand the axes of the mesh that it is divided along."""
    ndim = len(getattr(aval, "shape", ()))
    entries: tuple[Any, ...] = () if place is None else place.spec.partitions
    named = [() if e is PartitionSpec.UNCONSTRAINED else names_of(e) for e in entries]
    return (*named, *[()] * (ndim - len(named)))


def _trimmed(spec: tuple[tuple[Any, ...], ...]) -> PartitionSpec:
    """A spec without the axes at its end that are whole."""
    while spec and not spec[-1]:
        spec = spec[:-1]
    return PartitionSpec(*spec)
