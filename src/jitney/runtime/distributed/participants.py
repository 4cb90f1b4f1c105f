"""Collectives of compiled programs between processes, by MPI.

A group of processes along some axes of a grid shares a communicator, and a collective is one MPI
call on the program's own buffers. Shards are copied first only if MPI needs them to be contiguous
and they are not.

Sums and products of builtin dtypes, and integer reductions that MPI provides, are computed by MPI.
Extrema of floats (for which MPI does not specify the treatment of NaN) and all reductions of narrow
floats are computed by NumPy functions that MPI calls on the pieces it combines.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jitney.compiler import library
from jitney.compiler.reference import scalar
from jitney.core.util import float_errors
from jitney.runtime.devices import processes

if TYPE_CHECKING:
    from mpi4py import MPI

    from jitney.compiler.hlo import ir
    from jitney.compiler.hlo.ir import Groups, MeshAxes, Params
    from jitney.runtime.distributed.process_grid import ProcessGrid

# An in-flight collective: its requests, and the function to call when they have completed.
Underway: TypeAlias = tuple[Sequence["MPI.Request"], Callable[[], None] | None]
# (operands ..., result): begins a collective.
Begin: TypeAlias = Callable[..., Underway]

_NATIVE = {
    "b": {"and": "BAND", "or": "BOR", "xor": "BXOR", "max": "BOR", "min": "BAND"},
    "i": {"add": "SUM", "mul": "PROD", "max": "MAX", "min": "MIN"},
    "f": {"add": "SUM", "mul": "PROD"},
    "c": {"add": "SUM", "mul": "PROD"},
}
_NATIVE["i"] |= {"and": "BAND", "or": "BOR", "xor": "BXOR"}
_NATIVE["u"] = _NATIVE["i"]
_MPI_FLOATS = ("float32", "float64", "complex64", "complex128")


class Group:
    """This process, and the processes of a grid that differ from it along some axes only.

    Attributes:
      comm: their communicator; ranks are in row-major order along the axes.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm = comm
        self.size: int = comm.Get_size()
        self.rank: int = comm.Get_rank()

    def begin(self, kind: str, params: Params) -> Begin:
        """Returns the function that begins a collective of `kind`."""
        return getattr(self, f"_{kind}")(**dict(params))

    def _all_reduce(self, fn: str) -> Begin:
        def begin(x: np.ndarray, result: np.ndarray) -> Underway:
            kind, op = _operation(fn, x.dtype)
            return [self.comm.Iallreduce(_message(x, kind), _message(result, kind), op)], None

        return begin

    def _all_gather(self, dim: int) -> Begin:
        def begin(x: np.ndarray, result: np.ndarray) -> Underway:
            if _are_in_order(result.shape, dim):
                return [self.comm.Iallgather(_bytes(x), _bytes(result))], None
            parts = np.empty((self.size, *x.shape), x.dtype)
            request = self.comm.Iallgather(_bytes(x), _bytes(parts))
            return [request], lambda: _put_side_by_side(parts, dim, result)

        return begin

    def _reduce_scatter(self, fn: str, dim: int) -> Begin:
        def begin(x: np.ndarray, result: np.ndarray) -> Underway:
            kind, op = _operation(fn, x.dtype)
            parts = x if _are_in_order(x.shape, dim) else _one_after_another(x, dim, self.size)
            receive = _message(result, kind)
            send = [_message(parts, kind)[0], *receive[1:]]  # MPI expects the size of one slice
            return [self.comm.Ireduce_scatter_block(send, receive, op)], None

        return begin

    def _all_to_all(self, split_dim: int, concat_dim: int) -> Begin:
        def begin(x: np.ndarray, result: np.ndarray) -> Underway:
            split = _one_after_another(x, split_dim, self.size)
            if _are_in_order(result.shape, concat_dim):
                return [self.comm.Ialltoall(_bytes(split), _bytes(result))], None
            parts = np.empty_like(split)
            request = self.comm.Ialltoall(_bytes(split), _bytes(parts))
            return [request], lambda: _put_side_by_side(parts, concat_dim, result)

        return begin

    def _permute(self, pairs: Sequence[tuple[int, int]]) -> Begin:
        targets = [target for source, target in pairs if source == self.rank]
        sources = [source for source, target in pairs if target == self.rank]

        def begin(x: np.ndarray, result: np.ndarray) -> Underway:
            requests: list[MPI.Request] = []
            for source in sources:
                if source == self.rank:
                    result[...] = x
                else:
                    requests.append(self.comm.Irecv(_bytes(result), source))
            requests += [
                self.comm.Isend(_bytes(x), target) for target in targets if target != self.rank
            ]
            if not sources:
                result[...] = 0
            return requests, None

        return begin

    def _broadcast(self, source: int) -> Begin:
        def begin(x: np.ndarray, result: np.ndarray) -> Underway:
            if source == self.rank:
                result[...] = x
            return [self.comm.Ibcast(_bytes(result), source)], None

        return begin


class Participants:
    """The processes of a grid, and their groups along its axes; all create it together.

    Attributes:
      underway: the in-flight collectives of the running program, by their numbers in the program.
    """

    def __init__(self, grid: ProcessGrid) -> None:
        world = processes.world()
        assert world is not None, "a grid of several processes"
        self.grid = grid
        members = world.Get_group().Incl(list(grid.ranks))
        self.comm = world.Create_group(members)
        self.place = np.unravel_index(self.comm.Get_rank(), tuple(grid.extents.values()))
        self._groups: dict[tuple[Any, ...], Group] = {}
        self._meeting: processes.Meeting | None = None
        self.underway: dict[int, Underway] = {}

    def come_to(self, what: str, digest: bytes) -> None:
        """Announces that this process is about to run `what`, a program with this digest.

        Before the first message of that program, `settle` compares the announcements.
        """
        self.settle()
        self._meeting = processes.Meeting(what, digest, self.grid.ranks)

    def settle(self) -> None:
        """Checks that all processes are about to run the same program.

        Raises:
          RuntimeError: on all processes, if they differ.
        """
        meeting, self._meeting = self._meeting, None
        if meeting is not None:
            meeting.wait()

    def give_up(self) -> None:
        """Waits for in-flight messages to a program that has failed, which write to its memory."""
        for number in reversed([*self.underway]):
            self.finish(number)

    def begin(self, number: int, begin: Begin, *arrays: np.ndarray) -> None:
        """Begins collective `number` on operands and result, once all processes agree."""
        self.settle()
        self.underway[number] = begin(*arrays)

    def finish(self, number: int, *_: np.ndarray) -> None:
        """Waits until the result of collective `number` is complete."""
        requests, last = self.underway[number]
        for request in requests:
            processes.wait(request)
        if last is not None:
            last()
        del self.underway[number]

    def number(self, axes: MeshAxes) -> int:
        """Returns the number of this process among those that differ from it only along `axes`."""
        coordinates = dict(zip(self.grid.extents, self.place, strict=True))
        number = 0
        for name, n in axes:
            number = number * n + int(coordinates[name])
        return number

    def group(self, axes: MeshAxes, groups: Groups | None) -> Group:
        """Returns the group of processes that differ from this one only along `axes`.

        With `groups`, it is the subgroup of this process. All processes of the grid have to request
        the same groups in the same order, before the first call.
        """
        key = (axes, groups)
        group = self._groups.get(key)
        if group is None:
            names = {name for name, _ in axes}
            others = tuple([x for x in self.grid.extents.items() if x[0] not in names])
            color, number = self.number(others), self.number(axes)
            if groups is not None:
                own_index = next(i for i, members in enumerate(groups) if number in members)
                color, number = color * len(groups) + own_index, groups[own_index].index(number)
            group = self._groups[key] = Group(self.comm.Split(color, number))
        return group

    def known_group(self, axes: MeshAxes, groups: Groups | None) -> Group:
        """Returns a group that `group` has created.

        Raises:
          ValueError: if it has not.
        """
        group = self._groups.get((axes, groups))
        if group is None:
            raise ValueError(f"the processes have not created a group along {axes} of {groups}")
        return group


# Ranks, and the sizes of their grid.
_Key: TypeAlias = tuple[tuple[int, ...], tuple[tuple[str, int], ...]]
_made: dict[_Key, Participants] = {}


def of_grid(grid: ProcessGrid) -> Participants:
    """Returns the participants of `grid`, which its processes create together when first needed."""
    key = _key(grid)
    participants = _made.get(key)
    if participants is None:
        participants = _made[key] = Participants(grid)
    return participants


def _key(grid: ProcessGrid) -> _Key:
    return grid.ranks, tuple(grid.extents.items())


# --- collectives as procedures ------------------------------------------------------------------------

_PREFIX = "mpi"


def procedures(
    members: Participants, node: ir.Collective, number: int
) -> tuple[library.Procedure, library.Procedure]:
    """Returns the procedures that a program calls to begin a collective and to wait for it.

    Their names identify them completely: programs that call them are stored on disk, and find the
    participants, and the group that `members` has created, in the process that loads them.

    Args:
      members: the processes of the grid.
      node: the collective.
      number: its number in the program.
    """
    members.group(node.axes, node.groups)
    grid_params: library.Params = tuple(zip(("ranks", "extents"), _key(members.grid), strict=True))
    collective_params = (("axes", node.axes), ("groups", node.groups), ("params", node.params))
    begin = library.Routine(
        f"{_PREFIX}.{node.kind}", (*grid_params, *collective_params, ("number", number))
    )
    finish = library.Routine(f"{_PREFIX}.{_FINISH}", (*grid_params, ("number", number)))
    return library.Procedure((begin,)), library.Procedure((finish,))


_FINISH = "finish"


def _procedure(routine: library.Routine) -> library.Effect:
    """Returns the function in this process to which a routine from `procedures` refers.

    Raises:
      ValueError: if the participants do not exist.
    """
    params: dict[str, Any] = dict(routine.params)
    members = _made.get((params["ranks"], params["extents"]))
    if members is None:
        raise ValueError(f"the processes {params['ranks']} have no communicator")
    kind, number = routine.name.partition(".")[2], params["number"]
    if kind == _FINISH:
        return functools.partial(members.finish, number)
    group = members.known_group(params["axes"], params["groups"])
    return functools.partial(members.begin, number, group.begin(kind, params["params"]))


library.declare_procedures(_PREFIX, _procedure)


# --- messages --------------------------------------------------------------------------------------


def _bytes(x: np.ndarray) -> np.ndarray:
    """Returns the memory of `x` as an MPI buffer of bytes, which need no MPI datatype."""
    return x.reshape(-1).view(np.uint8) if x.size else np.empty(0, np.uint8)


def _message(x: np.ndarray, kind: MPI.Datatype) -> list[np.ndarray | int | MPI.Datatype]:
    return [x.reshape(-1).view(np.uint8) if x.size else np.empty(0, np.uint8), x.size, kind]


@functools.cache
def _operation(fn: str, dtype: np.dtype) -> tuple[MPI.Datatype, MPI.Op]:
    """Returns the MPI datatype of elements, and the MPI operation for reductions by monoid `fn`."""
    from mpi4py import MPI

    name = _NATIVE.get(dtype.kind, {}).get(fn)
    if name is not None and (dtype.kind in "iu" or dtype.name in _MPI_FLOATS):
        return MPI.Datatype.fromcode(dtype.char), getattr(MPI, name)
    if name is not None and dtype.kind == "b":
        return MPI.UINT8_T, getattr(MPI, name)
    combine = scalar.function(fn)

    def run(lower: Any, combined: Any, _: MPI.Datatype) -> None:
        # MPI calls f(lower, combined); `lower` holds the operands of lower ranks.
        out = np.frombuffer(combined, dtype)
        with float_errors.ignored():
            out[...] = combine(np.frombuffer(lower, dtype), out)

    kind = MPI.BYTE.Create_contiguous(dtype.itemsize)
    kind.Commit()
    return kind, MPI.Op.Create(run, commute=True)


def _are_in_order(shape: Sequence[int], dim: int) -> bool:
    """Returns whether slices of an array along `dim` are contiguous in memory."""
    return all([n == 1 for n in shape[:dim]])


def _one_after_another(x: np.ndarray, dim: int, n: int) -> np.ndarray:
    """Returns `x` split into `n` slices along `dim`, stacked along a new first axis."""
    split = x.reshape(*x.shape[:dim], n, x.shape[dim] // n, *x.shape[dim + 1 :])
    return np.ascontiguousarray(np.moveaxis(split, dim, 0))


def _put_side_by_side(parts: np.ndarray, dim: int, result: np.ndarray) -> None:
    """Concatenates slices, stacked along the first axis of `parts`, along `dim` into `result`."""
    n = parts.shape[0]
    split = result.reshape(*result.shape[:dim], n, result.shape[dim] // n, *result.shape[dim + 1 :])
    split[...] = np.moveaxis(parts, 0, dim)
