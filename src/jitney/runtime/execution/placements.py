"""Shardings of results, found by propagation from the operands' shardings.

Results of operands on one device are on that device. Results of operands on a mesh are sharded by
the rules of `compiler.hlo.sharding_propagation`. Programs with operations over a mesh (slot `mesh`)
run on the devices of that mesh, even if all operands are uncommitted, and their results are on it.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

import numpy as np

from jitney.compiler import library
from jitney.compiler.tensor_type import TensorType
from jitney.core.messages import messages
from jitney.core.program.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, fact_of_program, subjaxprs
from jitney.core.program.memo import memoize_by_identity
from jitney.core.settings import caches
from jitney.core.sharding.gspmd import GSPMDSharding
from jitney.core.sharding.mesh import (
    AxisType,
    Mesh,
    entered_mesh,
    get_abstract_mesh,
    get_mesh,
)
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec, names_of
from jitney.core.sharding.tile_assignment import HloSharding
from jitney.core.sharding.tiling import Tiling
from jitney.core.sharding_in_types import explicit
from jitney.core.tracing.primitive import declare_slot
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.devices import sharding
from jitney.runtime.execution import assignment as assignments
from jitney.runtime.execution.assignment import NO_REQUESTS, RequestedShardings

if TYPE_CHECKING:
    from jitney.compiler.hlo import ir
    from jitney.compiler.hlo.build import Builder
    from jitney.compiler.hlo.sharding_propagation import PartBuilder, Spec
    from jitney.core.sharding.mesh import AbstractMesh
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.types.avals import AbstractValue
    from jitney.runtime.devices.device import Device
    from jitney.runtime.execution.assignment import Assignment

    Observer: TypeAlias = Callable[
        [ir.Module, Sequence[Spec], Mapping[Any, int], Sequence[Spec | None]], None
    ]

V = TypeVar("V")

MESH = declare_slot("mesh")  # (**params) -> the mesh that the operation is over


def mesh_of(closed: ClosedJaxpr) -> Mesh | None:
    """Returns the mesh that operations of `closed` are over; None if there is none."""
    return _mesh_in(closed.jaxpr)[0]


@memoize_by_identity
def _mesh_in(jaxpr: Jaxpr) -> tuple[Mesh | None]:
    for eqn in _equations(jaxpr):
        rule = eqn.primitive.rules.get(MESH.name)
        mesh = None if rule is None else rule(**eqn.params)
        if isinstance(mesh, Mesh):
            return (mesh,)
    return (None,)


def on_its_mesh(closed: ClosedJaxpr, assignment: Assignment) -> Assignment:
    """Returns `assignment` for the devices of the mesh of `closed`, if it has one.

    Raises:
      ValueError: if operands are committed to other devices.
    """
    mesh = mesh_of(closed)
    if mesh is None:
        return assignment
    devices = tuple(mesh.devices.flat)
    if assignment.is_placed and assignment.devices == devices:
        return assignment
    if assignment.in_shardings and set(assignment.devices) != set(devices):
        raise ValueError(
            "Received incompatible devices for jitted computation: arguments on device ids "
            f"{[d.id for d in assignment.devices]}, and shard_map over {mesh} on device ids "
            f"{[d.id for d in devices]}. Move them to the same devices with jax.device_put"
        )
    return assignments.over(devices, assignment, len(closed.in_avals))


def of_results(closed: ClosedJaxpr, assignment: Assignment) -> tuple[Sharding | None, ...] | None:
    """Returns the sharding of each result; None if neither operands nor program have any."""
    mesh = mesh_of(closed)
    if mesh is None and not assignment.is_placed:
        return None
    wanted = assignment.requests.results
    typed_places = of_types(closed.out_avals, assignment)
    if None not in typed_places and not any([_is_partial(place) for place in typed_places]):
        shardings = typed_places
    else:
        shardings = of_operation(lambda: closed, assignment, len(closed.out_avals), mesh)
        forwarded = _forwarded(closed, assignment)
        shardings = tuple([
            typed if place is None and typed is not None else _joined(place, other)
            for place, typed, other in zip(typed_places, forwarded, shardings, strict=True)
        ])  # fmt: skip
    return tuple([a or b for a, b in zip(wanted, shardings, strict=True)]) if wanted else shardings


def check_axes(closed: ClosedJaxpr, assignment: Assignment) -> None:
    """Raises ValueError if a result's type has a mesh whose size is not the number of devices."""
    count = len(assignment.devices)
    for i, aval in enumerate(closed.out_avals):
        place = explicit.sharding_of(aval)
        if place is not None and place.num_devices != count:
            raise ValueError(
                f"jit: result {i}, {aval.str_short()}, has Explicit axes of {place.mesh}, of "
                f"{messages.counted(place.num_devices, 'device')}, but the program runs on "
                f"{count}. Instead: set a mesh with jax.set_mesh, place an argument with "
                "jax.device_put, or pass a Mesh of devices"
            )


def _is_partial(place: Sharding | None) -> bool:
    """Returns whether a sharding from a type is on a mesh with Auto axes, which types omit."""
    return isinstance(place, NamedSharding) and AxisType.Auto in place.mesh.axis_types


def _joined(typed_place: Sharding | None, propagated: Sharding) -> Sharding:
    """Returns a value's sharding: its type's, extended along Auto axes by the propagated one."""
    if typed_place is None:
        return propagated
    if not isinstance(typed_place, NamedSharding) or not _is_partial(typed_place):
        return typed_place
    if not isinstance(propagated, NamedSharding) or propagated.mesh != typed_place.mesh:
        return typed_place
    auto = set(typed_place.mesh.auto_axes)
    entries: list[tuple[Any, ...]] = []
    for entry, other in itertools.zip_longest(typed_place.spec, propagated.spec):
        mine, names = names_of(entry), names_of(other)
        # Propagation keeps axes in order; the type has only the Explicit ones of them.
        is_more = auto.issuperset(set(names) - set(mine)) and set(mine) <= set(names)
        entries.append(names if is_more else (*mine, *[name for name in names if name in auto]))
    if not any([auto.intersection(names) for names in entries]):
        return typed_place
    while not entries[-1]:  # types have an entry per axis, specs need not
        entries.pop()
    return typed_place.update(spec=typed_place.spec.update(partitions=entries))


def _forwarded(closed: ClosedJaxpr, assignment: Assignment) -> tuple[Sharding | None, ...]:
    """Returns the shardings of results that are operands, if these are committed to a mesh."""
    shardings = dict(zip(closed.jaxpr.invars, assignment.in_shardings, strict=False))
    return tuple([
        place if isinstance(place, NamedSharding) else None
        for place in [shardings.get(x) if isinstance(x, Var) else None for x in closed.jaxpr.outvars]
    ])  # fmt: skip


def of_types(avals: Sequence[AbstractValue], assignment: Assignment) -> tuple[Sharding | None, ...]:
    """Returns the shardings in types, which are along Explicit axes of the mesh of `assignment`."""
    if not explicit.is_explicit(avals):
        return (None,) * len(avals)
    mesh = assignment.mesh
    return tuple([explicit.place_of(a, mesh if isinstance(mesh, Mesh) else None) for a in avals])


# --- observers of placements ------------------------------------------------------------------------

INSPECT = "inspect_sharding"  # the name of inspecting calls in programs for propagation


@memoize_by_identity
def _asks(jaxpr: Jaxpr) -> bool:
    return any(eqn.primitive.asks_places for eqn in _equations(jaxpr))


def _equations(jaxpr: Jaxpr) -> Iterator[JaxprEqn]:
    """Yields the equations of a program and of all programs nested in it."""
    programs: list[Jaxpr] = [jaxpr]
    for program in programs:  # grows during the loop
        yield from program.eqns
        programs += subjaxprs(program)


def tell(closed: ClosedJaxpr, assignment: Assignment) -> None:
    """Calls the functions with which `closed` inspects the shardings of intermediate values."""
    if not _asks(closed.jaxpr):
        return
    calls, _ = _host_calls(closed, assignment)
    for call, operand_places in calls.items():
        if call.name == INSPECT:
            call.fn(operand_places[0])


def builder_of_parts(closed: ClosedJaxpr, assignment: Assignment) -> type[PartBuilder] | None:
    """Returns the builder of `closed` if it calls functions on shards of devices, else None."""
    if len(assignment.devices) == 1 or not calls_on_parts(closed.jaxpr):
        return None
    from jitney.compiler.hlo.sharding_propagation import PartBuilder, kind_of

    shardings, calls = _host_calls(closed, assignment)
    places_of_kind: dict[Hashable, list[list[Sharding]]] = {}
    for call in calls:
        if call in shardings:  # its results are used
            places_of_kind.setdefault(kind_of(call), []).append(shardings[call])
    return PartBuilder.for_one_program(places_of_kind)


@memoize_by_identity
def calls_on_parts(jaxpr: Jaxpr) -> bool:
    """Returns whether a program calls functions once per device, on the device's shards."""
    return any(
        eqn.primitive.divides_itself or eqn.params.get("partitioned") for eqn in _equations(jaxpr)
    )


def _host_calls(
    closed: ClosedJaxpr, assignment: Assignment
) -> tuple[dict[ir.HostCall, list[Sharding]], list[ir.HostCall]]:
    """Returns host calls in `closed` with their operands' shardings, and the calls on shards."""
    from jitney.compiler import lower
    from jitney.compiler.hlo.sharding_propagation import PlacementBuilder, propagate

    mesh = mesh_of(closed) or assignment.mesh
    shardings = assignment.in_shardings or (None,) * len(closed.in_avals)
    specs = [
        _entries(place if isinstance(place, NamedSharding) and place.mesh == mesh else None, aval)
        for place, aval in zip(shardings, closed.in_avals, strict=True)
    ]
    builder = PlacementBuilder.for_one_program(mesh)
    region = lower.lower(closed, "placements", builder).region
    calls: dict[ir.HostCall, list[Spec]] = {}
    propagate(region, specs, {} if mesh is None else _extents(mesh), calls)
    places_of: dict[ir.HostCall, list[Sharding]] = {}
    if mesh is None:
        replicated: Sharding = (
            sharding.single_device(assignment.devices[0])
            if len(assignment.devices) == 1
            else GSPMDSharding.get_replicated(assignment.devices)
        )
        places_of.update(
            {call: [replicated] * len(operand_specs) for call, operand_specs in calls.items()}
        )
        return places_of, builder.calls_on_parts
    name_of = {str(name): name for name in mesh.axis_names}
    for call, operand_specs in calls.items():
        places_of[call] = [NamedSharding(mesh, _trimmed(spec, name_of)) for spec in operand_specs]
    return places_of, builder.calls_on_parts


def or_context_mesh(requests: RequestedShardings) -> RequestedShardings:
    """Returns `requests`, or if there are none, a request for the context mesh of `jax.set_mesh`."""
    return or_on(get_mesh(), requests)


def in_context(requests: RequestedShardings, knows_entered: bool) -> RequestedShardings:
    """Returns `requests`, or if there are none, a request for the context mesh.

    If `knows_entered`, a mesh entered with a `with` statement is the second choice.
    """
    requests = or_on(get_mesh(), requests)
    return or_on(entered_mesh(), requests) if knows_entered else requests


def or_on(mesh: Mesh, requests: RequestedShardings) -> RequestedShardings:
    """Returns `requests`, or if there are none and `mesh` is not empty, a request for `mesh`."""
    if requests is not NO_REQUESTS or mesh.empty:
        return requests
    return RequestedShardings(within=NamedSharding(mesh, PartitionSpec()))


def settled(x: V, is_typed: bool = True) -> V | ArrayImpl:
    """Returns a result replicated on the context mesh, if there is one and `x` is uncommitted.

    The type of a fully replicated result is placed on the mesh as well if the mesh has Explicit
    axes, unless `is_typed` is False.
    """
    mesh = get_mesh()
    if mesh.empty or type(x) is not ArrayImpl or not x.aval.sharding.mesh.empty:
        return x
    if explicit.rewriting.is_on or get_abstract_mesh().manual_axes:
        return x  # a constant of a program under rewriting, or of a device's program
    place = x.placement
    if place is None or (
        is_typed
        and AxisType.Explicit in mesh.axis_types
        and isinstance(place, NamedSharding)
        and place.is_fully_replicated
    ):
        return x.placed(explicit.whole_on(mesh, len(x.aval.shape)))
    return x


@fact_of_program
def requests_of(jaxpr: Jaxpr) -> RequestedShardings:
    """Returns a request for the first sharding that a program names for an intermediate value."""
    programs: list[Jaxpr] = [jaxpr]
    while programs:
        for eqn in programs.pop().eqns:
            for name, value in eqn.params.items():
                several: Any = value
                for x in several if isinstance(value, tuple) else (value,):
                    if isinstance(x, Jaxpr):
                        programs.append(x)
                    elif name in _PLACES and (
                        isinstance(x, sharding.SingleDeviceSharding)
                        or (isinstance(x, NamedSharding) and isinstance(x.mesh, Mesh))
                    ):
                        return RequestedShardings(within=x)
    return NO_REQUESTS


# Parameters that hold shardings: of constraints, `device_put` and jitted functions.
_PLACES = ("sharding", "devices", "in_shardings", "out_shardings")


def of_operation(
    program: Callable[[], ClosedJaxpr],
    assignment: Assignment,
    n_results: int,
    mesh: Mesh | None = None,
) -> tuple[Sharding, ...]:
    """Returns the shardings of the results of an operation with committed operands.

    Args:
      program: makes the operation's program; called only if there are several devices.
      assignment: the devices and shardings of the operands.
      n_results: the number of results.
      mesh: the mesh that the program's own operations are over; by default that of an operand.
    """
    devices = assignment.devices
    if len(devices) == 1 and mesh is None and not isinstance(assignment.mesh, Mesh):
        return (sharding.single_device(devices[0]),) * n_results
    closed = program()
    known = _places.setdefault(closed, {})
    propagated = known.get((assignment, mesh))
    if propagated is None:
        propagated = known[assignment, mesh] = _propagated(closed, assignment, mesh)
    return propagated


# (assignment, mesh) -> shardings of a program's results.
_places: weakref.WeakKeyDictionary[
    ClosedJaxpr, dict[tuple[Assignment, Mesh | None], tuple[Sharding, ...]]
] = weakref.WeakKeyDictionary()
caches.register(
    "shardings of results", "the traced program; devices, shardings", __name__,
    entries=lambda: sum(map(len, _places.values())), clear=_places.clear,
)  # fmt: skip


def _propagated(
    closed: ClosedJaxpr, assignment: Assignment, mesh: Mesh | None
) -> tuple[Sharding, ...]:
    devices = assignment.devices
    shardings = assignment.in_shardings or (None,) * len(closed.in_avals)
    grid: Mesh | AbstractMesh | None = mesh or assignment.mesh
    tiled = grid is None
    if grid is None:
        tiles = (*shardings, *assignment.requests.results)
        meshes = [p.named() for p in tiles if isinstance(p, GSPMDSharding)]
        grid = max(
            meshes, key=lambda p: len(p.spec)
        ).mesh  # prefers a mesh with sharded axes to one of replicas
        shardings = [p.named() if isinstance(p, GSPMDSharding) else None for p in shardings]
    specs = [
        _entries(place if isinstance(place, NamedSharding) and place.mesh == grid else None, aval)
        for place, aval in zip(shardings, closed.in_avals, strict=True)
    ]
    from jitney.compiler import lower
    from jitney.compiler.hlo.sharding_propagation import PlacementBuilder, propagate

    builder = PlacementBuilder.for_one_program(grid)
    region = lower.lower(closed, "placements", builder).region
    result_specs = propagate(region, specs, _extents(grid))
    name_of = {str(name): name for name in grid.axis_names}
    named: list[NamedSharding] = []
    for spec, aval in zip(result_specs, closed.out_avals, strict=True):
        ndim = len(aval.shape)
        place = NamedSharding(grid, _trimmed(spec[:ndim], name_of))
        named.append(_as_given(place, ndim, shardings))
    if not tiled:
        return tuple(named)
    ranks = [len(aval.shape) for aval in closed.out_avals]
    return tuple([_as_tiles(p, devices, n) for p, n in zip(named, ranks, strict=True)])


def _as_given(
    place: NamedSharding, ndim: int, operands: Sequence[Sharding | None]
) -> NamedSharding:
    """Returns an operand's sharding that is equivalent to `place`, to keep its spelling; or `place`."""
    if not place.spec:
        return place
    for candidate in operands:
        if (
            isinstance(candidate, NamedSharding)
            and candidate.mesh == place.mesh
            and candidate.spec != place.spec
            and len(candidate.spec) <= ndim
            and explicit.entries_of(candidate, ndim) == explicit.entries_of(place, ndim)
        ):
            return NamedSharding(place.mesh, candidate.spec)
    return place


def _as_tiles(place: NamedSharding, devices: tuple[Device, ...], ndim: int) -> GSPMDSharding:
    """Returns `place` as tiles of `devices`, which are its devices in another order."""
    tile_of = dict(zip(place.device_order, place.tiling(ndim).tiles, strict=True))
    tiling = Tiling(place.tiling(ndim).counts, tuple([tile_of[d] for d in devices]))
    return GSPMDSharding(devices, HloSharding.of_tiling(tiling))


def partitioned_text(
    module: ir.Module, shardings: Sequence[Sharding | None], results: Sequence[Sharding | None]
) -> str:
    """Returns the text of the program that each device runs, for operands with shardings `shardings`.

    Args:
      module: the program, as lowered.
      shardings: the shardings of its operands.
      results: the requested shardings of results; None where unspecified.

    Raises:
      ValueError: if no operand is on a mesh.
    """
    specs = _specs(module, shardings, results)
    if specs is None:
        raise ValueError(
            'as_text("partitioned") needs an argument on a mesh: pass an array or a '
            "ShapeDtypeStruct whose sharding is a NamedSharding, or set in_shardings of jit"
        )
    from jitney.compiler import pipeline
    from jitney.compiler.hlo.partition.text import print_partitioned

    return print_partitioned(pipeline.partition(module, *specs))


# Called with each program lowered for operands on a mesh: the program, the specs of its operands,
# the mesh's axis sizes, and the specs of results (`jitney simulate`).
observers: list[Observer] = []


def observe(
    module: ir.Module, shardings: Sequence[Sharding | None], results: Sequence[Sharding | None]
) -> None:
    """Calls the observers of lowered programs, if any operand is on a mesh."""
    specs = _specs(module, shardings, results) if observers else None
    if specs is not None:
        for observer in observers:
            observer(module, *specs)


def _specs(
    module: ir.Module, shardings: Sequence[Sharding | None], results: Sequence[Sharding | None]
) -> tuple[list[Spec], Mapping[str, int], list[Spec | None]] | None:
    """Returns the specs of operands, the axis sizes of their mesh, and the specs of results.

    None if no operand is on a mesh.
    """
    mesh = next((p.mesh for p in shardings if isinstance(p, NamedSharding)), None)
    if mesh is None:
        return None
    specs = [
        _entries(place if isinstance(place, NamedSharding) and place.mesh == mesh else None, p)
        for place, p in zip(shardings, module.region.parameters, strict=True)
    ]
    wanted = [
        _entries(place, r) if isinstance(place, NamedSharding) and place.mesh == mesh else None
        for place, r in zip(results or (None,) * len(module.region.results), module.region.results,
                            strict=True)
    ]  # fmt: skip
    return specs, _extents(mesh), wanted


def _entries(place: NamedSharding | None, aval: AbstractValue | ir.Node) -> Spec:
    """Returns for each axis of an operand the mesh axes along which it is sharded."""
    ndim = len(getattr(aval, "shape", ()))
    entries: tuple[Any, ...] = () if place is None else place.spec.partitions
    named = [
        () if e is PartitionSpec.UNCONSTRAINED else tuple(map(str, names_of(e))) for e in entries
    ]
    return (*named, *[()] * (ndim - len(named)))


def _extents(mesh: Mesh | AbstractMesh) -> dict[str, int]:
    """Returns the sizes of a mesh's axes by the names that programs use for them."""
    return {str(name): n for name, n in mesh.shape.items()}


def _trimmed(spec: Spec, name_of: Mapping[str, Any]) -> PartitionSpec:
    """Returns a spec without trailing unsharded axes.

    `name_of` maps texts to names of mesh axes.
    """
    while spec and not spec[-1]:
        spec = spec[:-1]
    return PartitionSpec(*[tuple([name_of[name] for name in names]) for names in spec])


# --- operations that define the shardings of their results ------------------------------------------


def _types_of(*_: TensorType, types: Any, specs: object) -> list[TensorType]:
    return [TensorType(shape, np.dtype(name)) for shape, name in types]


def _never_run(*_: np.ndarray, **__: object) -> NoReturn:
    raise RuntimeError("`placed` occurs only in programs for sharding propagation")


library.declare(library.LibraryFunction("placed", _types_of, _never_run))


def marked(
    b: Builder,
    nodes: Sequence[ir.Node],
    mesh: Mesh | AbstractMesh,
    specs: Sequence[PartitionSpec],
    jaxpr: Jaxpr,
    to_global: Callable[[AbstractValue, PartitionSpec], AbstractValue],
) -> list[ir.Node] | None:
    """Returns placeholders for an operation over `mesh` during sharding propagation, else None.

    Args:
      b, nodes: the builder, and the operands.
      mesh: the mesh that the operation is over.
      specs: the specs of its results.
      jaxpr: the program of one shard.
      to_global: (type of a shard, spec) -> type of the global result.
    """
    from jitney.compiler import lower
    from jitney.compiler.hlo.sharding_propagation import PlacementBuilder

    if not isinstance(b, PlacementBuilder):
        return None

    number = {name: k for k, name in enumerate(mesh.axis_names)}
    avals = [to_global(aval, spec) for aval, spec in zip(jaxpr.out_avals, specs, strict=True)]
    types = [lower.tensor_type(aval) for aval in avals]
    entries = tuple([
        tuple([tuple([number[name] for name in names]) for names in _named_entries(spec, len(t.shape))])
        for spec, t in zip(specs, types, strict=True)
    ])  # fmt: skip
    shapes = tuple([(t.shape, t.dtype.name) for t in types])
    return b.library_call("placed", (("types", shapes), ("specs", entries)), nodes)


def _named_entries(spec: PartitionSpec, ndim: int) -> list[tuple[Hashable, ...]]:
    return [names_of(spec[k]) if k < len(spec) else () for k in range(ndim)]
