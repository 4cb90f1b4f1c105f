"""Programs over several processes, each of which runs its own program on its blocks of the arrays.

A program on arrays on a mesh is partitioned among the grid of processes that own the mesh's devices
(`process_grid`, `compiler.hlo.partition`). Collectives of the partitioned program are MPI calls
(`participants`); a process's number is a constant in its program. Within a process, the program is
compiled like any other, for all threads of the process: a reduction first combines the results of
threads, and then sends one message per process.

All processes must compile the same programs and call them in the same order. At each call that has
collectives, they compare the programs that they are about to run, so that a mismatch raises an
error instead of causing a deadlock: each process announces its program, and reads the others'
announcements before its first message.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Generator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.partition import simplified
from jitney.compiler.hlo.text import ELIDE_ABOVE, print_module
from jitney.core.settings import compile_log
from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.core.util.record import record, replace
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.compilation import compiling
from jitney.runtime.devices import processes, windows
from jitney.runtime.devices.client import host_client
from jitney.runtime.distributed import participants
from jitney.runtime.distributed.process_grid import grid_of
from jitney.runtime.execution import placements

if TYPE_CHECKING:
    from jitney.compiler.codegen import linking
    from jitney.compiler.hlo.build import Builder
    from jitney.core.program.jaxpr import ClosedJaxpr
    from jitney.core.sharding.sharding import Sharding
    from jitney.core.typing import Value
    from jitney.runtime.execution.assignment import Assignment


@record(frozen=True, eq=False)
class ProcessProgram:
    """This process's share of a program over several processes.

    Attributes:
      compiled: its machine code.
      mesh: the mesh whose devices run it.
      places: the shardings of its results.
      wanted: the requested shardings of results on another mesh of the same devices, or None.
      windows: the slices of each operand that the process holds.
      digest: a digest of the program, which is the same in all processes that run it.
      name: the name of the program.
      participants: the processes that take part in its collectives; None if it has none.
    """

    compiled: linking.CompiledProgram
    mesh: Mesh
    places: tuple[Sharding, ...]
    wanted: tuple[Sharding | None, ...]
    windows: tuple[tuple[slice, ...], ...]
    digest: bytes
    name: str
    participants: participants.Participants | None

    @contextlib.contextmanager
    def meeting_others(self) -> Generator[None, None, None]:
        """Returns the context of a call: all processes must reach it before its first message.

        Raises:
          RuntimeError: on all processes, if one is about to run something else.
        """
        if self.participants is None:
            yield
            return
        self.participants.come_to(f"the program {self.name}", self.digest)
        try:
            yield
        except BaseException:
            self.participants.give_up()
            raise
        self.participants.settle()

    def on_its_mesh(self, leaves: Sequence[Any]) -> list[Value]:
        """Returns the operands, with global arrays on other meshes replicated on this one."""
        whole = NamedSharding(self.mesh, PartitionSpec())
        return [
            x.placed(whole)
            if type(x) is ArrayImpl and windows.is_global(x) and not _is_on(x.placement, self.mesh)
            else x
            for x in leaves
        ]

    def where_wanted(self, results: Sequence[Any]) -> list[Value]:
        """Returns the results, moved to another mesh if that was requested."""
        return [
            x if place is None else x.placed(place)
            for x, place in zip(results, self.wanted, strict=True)
        ]

    def windows_of(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the process's windows of the operands, each of which is complete or a window."""
        return [
            # (Key arrays have an element per key in memory, but an additional axis of words in
            # programs.)
            x if x.shape == t.shape[: x.ndim] else np.ascontiguousarray(x[window[: x.ndim]])
            for x, t, window in zip(values, self.compiled.inputs, self.windows, strict=True)
        ]


def build(
    module: ir.Module, closed: ClosedJaxpr, name: str, assignment: Assignment
) -> ProcessProgram:
    """Builds this process's share of `closed`; `module` is that program in tensor IR.

    Raises:
      ValueError: if the devices do not form a mesh, if the processes that own them do not form a
        grid, or if other processes are about to compile another program.
    """
    mesh = placements.mesh_of(closed) or assignment.mesh
    if not isinstance(mesh, Mesh):
        raise ValueError(
            f"jit({name}) runs on devices of several processes that do not form a mesh; give its "
            "arguments a NamedSharding on a mesh of these devices (jax.make_mesh)"
        )
    grid = grid_of(mesh)
    places = placements.of_results(closed, assignment)
    assert places is not None, "a program on a mesh"
    in_shardings = assignment.in_shardings or (None,) * len(closed.in_avals)
    whole = NamedSharding(mesh, PartitionSpec())
    sources = [p if _is_on(p, mesh) else whole for p in in_shardings]
    targets = [p if _is_on(p, mesh) else whole for p in places]
    ins = [
        grid.spec(p, len(x.shape)) for p, x in zip(sources, module.region.parameters, strict=True)
    ]
    outs = [grid.spec(p, len(x.shape)) for p, x in zip(targets, module.region.results, strict=True)]
    # (Without the pipeline: code generation is not loaded if the program is found on disk.)
    divided = simplified.partition(module, ins, grid.extents, outs)
    description = f"{name} {[*grid.extents.items()]} {ins} {outs}"
    digest = _digest(description, divided.module)
    processes.agree(digest, f"the program {name} that is compiled", grid.ranks)
    members = participants.of_grid(grid)
    bound, meets = bind(divided.module, members)
    with compile_log.step("compilation", name):
        compiled = compiling.backend_compile_and_load(host_client(), bound)
    return ProcessProgram(
        compiled,
        mesh,
        tuple(targets),
        tuple([None if _is_on(place, mesh) else place for place in places]),
        tuple([
            windows.window(place, x.shape)
            for place, x in zip(sources, module.region.parameters, strict=True)
        ]),
        digest,
        name,
        members if meets else None,
    )  # fmt: skip


def _digest(description: str, module: ir.Module) -> bytes:
    """Returns a digest of a program, its constants and its `description`, for comparison."""
    h = hashlib.blake2b(f"{description} {print_module(module)}".encode(), digest_size=16)
    regions = [module.region]
    while regions:
        for node in traversal.topological_order(traversal.roots(regions.pop())):
            if isinstance(node, ir.Constant) and node.value.size > ELIDE_ABOVE:
                h.update(np.ascontiguousarray(node.value).reshape(-1).view(np.uint8).data)
            regions += [inner for _, inner in traversal.regions(node)]
    return h.digest()


def _is_on(place: Sharding | None, mesh: Mesh) -> TypeGuard[NamedSharding]:
    """Returns whether a sharding is on `mesh`."""
    return isinstance(place, NamedSharding) and place.mesh == mesh


# --- collectives as calls of MPI --------------------------------------------------------------------


def bind(module: ir.Module, members: participants.Participants) -> tuple[ir.Module, bool]:
    """Returns `module` with MPI calls in place of collectives, and whether it has any.

    The calls are made in the order in which the nodes were built, which is the same in all
    processes.
    """
    calls = 0

    def change(region: ir.Region) -> ir.Region:
        return traversal.rewrite(region, make)

    def make(
        b: Builder, node: ir.Node, new: MutableMapping[ir.Node, Any]
    ) -> ir.Node | Sequence[ir.Node]:
        nonlocal calls
        if not isinstance(node, ir.Collective):
            return traversal.rebuild(b, traversal.with_regions(node, change), new.__getitem__)
        if node.kind == "axis_index":
            return b.constant(np.int32(members.group(node.axes, node.groups).rank))
        begin, finish = participants.procedures(members, node, calls)
        calls += 1
        (result,) = b.host_call(
            f"mpi.{node.kind}",
            begin,
            [new[x] for x in node.args],
            [node.tensor_type],
            ordered=True,
            in_place=True,
            finish=finish,
        )
        return result

    return replace(module, region=change(module.region)), calls > 0
