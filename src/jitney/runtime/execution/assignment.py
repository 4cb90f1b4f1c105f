"""Device assignments: the devices and shardings that, with the program, identify an executable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from jitney.core.messages import messages
from jitney.core.settings import caches
from jitney.core.sharding.mesh import get_mesh
from jitney.core.sharding.named import NamedSharding, has_devices, on_devices
from jitney.core.types.avals import AbstractValue, get_aval
from jitney.core.util.record import record, replace
from jitney.runtime.arrays.array import ArrayImpl
from jitney.runtime.devices import client

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.devices.device import Device
    from jitney.runtime.native._native import Queue


@record(frozen=True)
class RequestedShardings:
    """Shardings that a program requests for its values.

    Attributes:
      operands: the sharding requested for each operand, or None; empty if none is requested.
      results: likewise for results.
      within: a sharding that the program names for an intermediate value, or None.
    """

    operands: tuple[Sharding | None, ...] = ()
    results: tuple[Sharding | None, ...] = ()
    within: Sharding | None = None

    def places(
        self,
        operand_places: list[Sharding | None],
        leaves: Sequence[Any],
        describe: Callable[[int], str],
    ) -> list[Sharding | None]:
        """Returns each operand's sharding: the requested one, else that in `operand_places`.

        `operand_places` has the shardings of committed operands, and None for others. It is
        modified.

        Raises:
          ValueError: if a committed operand has another sharding than the requested one.
        """
        for i, wanted in enumerate(self.operands):
            own = operand_places[i]
            if wanted is None:
                continue
            if not (
                own is None
                or wanted.brings_operands
                or own.is_equivalent_to(wanted, leaves[i].ndim)
            ):
                raise ValueError(
                    f"jit: {describe(i)}, {leaves[i].aval.str_short()}, was committed to {own}, "
                    f"but in_shardings has {wanted} for it; move it with jax.device_put"
                )
            operand_places[i] = wanted
        return operand_places

    def with_context_mesh(self, operand_places: Sequence[Sharding | None]) -> RequestedShardings:
        """Returns a copy in which operands' shardings on abstract meshes are on the context mesh.

        Shardings requested for operands that are committed according to `operand_places` are left
        unchanged, and are rejected later.

        Raises:
          ValueError: if the context mesh has another size.
        """
        mesh = get_mesh()
        if mesh.empty:
            return self
        operands: list[Sharding | None] = []
        for own, wanted in zip(operand_places, self.operands, strict=True):
            if own is not None or wanted is None or has_devices(wanted):
                operands.append(wanted)
                continue
            if wanted.num_devices != mesh.size:
                raise ValueError(
                    f"jit: in_shardings has {wanted}, on an abstract mesh of "
                    f"{wanted.num_devices} devices, but the context mesh, {mesh}, has "
                    f"{mesh.size}. Set another mesh with jax.set_mesh, or pass a NamedSharding on "
                    "a Mesh"
                )
            operands.append(on_devices(wanted, tuple(mesh.devices.flat)))
        return replace(self, operands=tuple(operands))

    def on_devices(self, shardings: Sequence[Sharding | None]) -> RequestedShardings:
        """Returns a copy in which results' shardings on abstract meshes are on concrete devices.

        The devices are those of the operands (`shardings`), of other values whose shardings the
        program names, or of the context mesh.

        Raises:
          ValueError: if there are no such devices, or if a mesh has another size.
        """
        named = [*shardings, self.within, *self.results]
        order = next((p.device_order for p in named if p is not None and has_devices(p)), None)
        mesh = get_mesh()
        devices = order or (() if mesh.empty else tuple(mesh.devices.flat))
        for sharding in self.results:
            if (
                not has_devices(sharding)
                and sharding is not None
                and sharding.num_devices != len(devices)
            ):
                where = f"the program runs on {messages.counted(len(devices), 'device')}"
                raise ValueError(
                    f"jit: out_shardings has {sharding}, on an abstract mesh of "
                    f"{messages.counted(sharding.num_devices, 'device')}. Its devices are taken from "
                    "the arguments or the context mesh, but "
                    f"{where if devices else 'there are none'}. Set a mesh with "
                    "jax.set_mesh, place an argument with jax.device_put, or pass a NamedSharding "
                    "on a Mesh"
                )
        results = [None if p is None else on_devices(p, devices) for p in self.results]
        return RequestedShardings(self.operands, tuple(results), self.within)


NO_REQUESTS = RequestedShardings()


class Assignment:
    """Devices, shardings and donation of an executable. Equal assignments are the same object.

    Attributes:
      devices: the devices that run the program, in the order of the shardings' devices.
      in_shardings: the sharding of each operand, or None if it is uncommitted; empty if all are.
      requests: the shardings that the program requests.
      mesh: the mesh that values are sharded over, if there is one.
      donated: whether each operand is donated; empty if none is.
      spans_processes: whether devices of other processes take part.
    """

    __slots__ = ("devices", "donated", "in_shardings", "mesh", "requests", "spans_processes")

    def __init__(
        self,
        devices: tuple[Device, ...],
        in_shardings: tuple[Sharding | None, ...],
        donated: tuple[bool, ...],
        requests: RequestedShardings = NO_REQUESTS,
    ) -> None:
        self.devices = devices
        self.in_shardings = in_shardings
        self.donated = donated
        self.requests = requests
        shardings = (*in_shardings, requests.within, *requests.results)
        meshes = [sharding.mesh for sharding in shardings if isinstance(sharding, NamedSharding)]
        self.mesh = meshes[0] if meshes else None
        self.spans_processes = not all([device.is_addressable for device in devices])

    @property
    def is_placed(self) -> bool:
        """Whether the user has specified the placement of any value."""
        requests = self.requests
        return bool(self.in_shardings or requests.results or requests.within is not None)

    @property
    def queue(self) -> Queue:
        """The queue that runs calls: that of the only device, or else that of all threads."""
        return self.devices[0].queue if len(self.devices) == 1 else client.client().queue

    def __repr__(self) -> str:
        return (
            f"Assignment(devices={self.devices}, in_shardings={self.in_shardings}, "
            f"donated={self.donated})"
        )


_interned: dict[tuple[object, ...], Assignment] = {}
caches.register(
    "assignments of programs", "devices, shardings, donation", __name__,
    entries=_interned.__len__, clear=_interned.clear,
)  # fmt: skip


def assign(
    leaves: Sequence[Any],
    donated: Sequence[bool] = (),
    live: Sequence[bool] | None = None,
    describe: Callable[[int], str] = "operand {}".format,
    requests: RequestedShardings = NO_REQUESTS,
) -> Assignment:
    """Returns the assignment of a call: the devices of committed operands, else the default device.

    Args:
      leaves: the operands.
      donated: whether each operand is donated; empty if none is.
      live: whether the program reads each operand, so that its placement matters; by default all.
      describe: returns the name of operand number i for messages.
      requests: the shardings that the program requests.

    Raises:
      ValueError: if operands are committed to different devices, or to others than the program
        requests.
    """
    shardings: list[Sharding | None] = [
        x.placement if type(x) is ArrayImpl else None for x in leaves
    ]  # fmt: skip
    return of_places(shardings, leaves, donated, live, describe, requests)


def any_on_mesh(leaves: Sequence[Any]) -> bool:
    """Returns whether some operand is committed to a mesh of several devices."""
    return any([
        type(x) is ArrayImpl and isinstance(x.placement, NamedSharding) and x.placement.num_devices > 1
        for x in leaves
    ])  # fmt: skip


def of_places(
    shardings: list[Sharding | None],
    leaves: Sequence[Any],
    donated: Sequence[bool] = (),
    live: Sequence[bool] | None = None,
    describe: Callable[[int], str] = "operand {}".format,
    requests: RequestedShardings = NO_REQUESTS,
) -> Assignment:
    """Returns the assignment of a call on operands with the shardings `shardings`; see `assign`.

    `leaves` are the operands, or their types.
    """
    if live is not None:
        shardings = [
            sharding if used else None for sharding, used in zip(shardings, live, strict=True)
        ]
    if requests is not NO_REQUESTS:
        if not all(map(has_devices, requests.operands)):
            requests = requests.with_context_mesh(shardings)
        shardings = requests.places(shardings, leaves, describe)
        if not all(map(has_devices, requests.results)):
            requests = requests.on_devices(shardings)
    in_shardings: tuple[Sharding | None, ...] = ()
    default: Device | None = None
    if any([sharding is not None for sharding in shardings]):
        in_shardings = tuple(shardings)
    elif requests is NO_REQUESTS:
        default = client.default_device()
    given_up = tuple(donated) if any(donated) else ()
    key = (default, in_shardings, given_up, requests)
    assignment = _interned.get(key)
    if assignment is None:
        devices = (
            (default,) if default is not None else devices_of(shardings, leaves, describe, requests)
        )
        assignment = _interned.setdefault(
            key, Assignment(devices, in_shardings, given_up, requests)
        )
    return assignment


def over(devices: tuple[Device, ...], assignment: Assignment, n_operands: int) -> Assignment:
    """Returns `assignment`, of a program of `n_operands`, moved to `devices`."""
    shardings = assignment.in_shardings or (None,) * n_operands
    key = (devices, shardings, assignment.donated, assignment.requests)
    interned = _interned.get(key)
    if interned is None:
        interned = _interned.setdefault(
            key, Assignment(devices, shardings, assignment.donated, assignment.requests)
        )
    return interned


def devices_of(
    shardings: Sequence[Sharding | None],
    leaves: Sequence[Any],
    describe: Callable[[int], str],
    requests: RequestedShardings = NO_REQUESTS,
) -> tuple[Device, ...]:
    """Returns the devices that operands are committed to and that the program names.

    If there are none, the result is the default device.

    Raises:
      ValueError: if operands are committed to different devices, or to the same ones in another
        order.
    """
    named = (*shardings, requests.within, *requests.results)
    first, order = 0, None
    for i, sharding in enumerate(named):
        if sharding is None:
            continue
        if order is None:
            first, order = i, sharding.device_order
        elif sharding.device_order != order:
            descriptions: list[str] = []
            for k, at in ((first, named[first]), (i, sharding)):
                if k < len(shardings):
                    leaf = leaves[k]
                    aval = leaf if isinstance(leaf, AbstractValue) else get_aval(leaf)
                    what = f"{describe(k)}, {aval.str_short()},"
                elif k == len(shardings):
                    what = "an operation over a mesh inside jit"
                else:
                    what = f"the sharding of result {k - len(shardings) - 1}"
                ids = [] if at is None else [d.id for d in at.device_order]
                descriptions.append(f"{what} on device ids {ids}")
            raise ValueError(
                "all operands of one computation must be on the same devices, but they are "
                f"incompatible: {descriptions[0]}, and {descriptions[1]}. Move them to the same "
                "devices by jax.device_put"
            )
    return (client.default_device(),) if order is None else cast("tuple[Device, ...]", order)
