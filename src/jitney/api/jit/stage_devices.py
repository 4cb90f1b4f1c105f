"""The devices of a lowered program, determined by its arguments and options, or by `compile`.

A program may be lowered for an `AbstractMesh`, whose axes have no devices. It gets devices when it
is compiled, by `compile(device_assignment=...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.messages import messages
from jitney.core.sharding.mesh import AbstractMesh, Mesh
from jitney.core.sharding.named import NamedSharding, has_devices, on_devices
from jitney.core.util.record import record
from jitney.runtime.devices import client
from jitney.runtime.execution.assignment import NO_REQUESTS, RequestedShardings

if TYPE_CHECKING:
    from jitney.core.sharding.sharding import Sharding
    from jitney.runtime.devices.device import Device

Places = tuple["Sharding | None", ...]


@record(frozen=True)
class NamedDevices:
    """The information about devices in a lowered program.

    Attributes:
      name: the name of the function, for messages.
      places: the shardings of the arguments: of committed arrays, or from `in_shardings`.
      requests: the shardings that the program requests.
      mesh: the context mesh at lowering; it may be empty.
    """

    name: str
    places: Places
    requests: RequestedShardings
    mesh: Mesh

    def check_sizes(self) -> None:
        """Raises ValueError if the size of an abstract mesh is not the number of devices."""
        known = self._known()
        if known is not None:
            self._check_size(len(known), "other arguments or options are on")

    def resolved(self, assigned: Sequence[Device] | None) -> NamedDevices:
        """Returns a copy whose abstract meshes are replaced by meshes with devices.

        The devices are those of the arguments, the requested shardings and the context mesh, or
        `assigned` if these have only abstract meshes.

        Raises:
          RuntimeError: if there are only abstract meshes, and `assigned` is None or has the wrong
            number of devices.
          ValueError: if `assigned` differs from devices that are already determined.
        """
        devices = self._known()
        if assigned is not None:
            assigned = tuple(assigned)
            if devices is None:
                self._check_size(len(assigned), "device_assignment has", RuntimeError)
                devices = assigned
            elif devices != assigned:
                ids = [[d.id for d in some] for some in (assigned, devices)]
                raise ValueError(
                    f"compile: device_assignment has the device ids {ids[0]}, but {self.name} was "
                    f"lowered for arguments and shardings on other devices, {ids[1]}. Omit "
                    "device_assignment, or lower the function for an AbstractMesh"
                )
        if devices is None:
            raise RuntimeError(
                f"compile: {self.name} was lowered for the axes of {self._axes()[0]}, which has no "
                "devices, so device_assignment cannot be None: pass as many devices as the mesh has"
            )
        requests = self.requests
        if requests is not NO_REQUESTS:
            within = None if requests.within is None else on_devices(requests.within, devices)
            requests = RequestedShardings(
                _all_on(requests.operands, devices), _all_on(requests.results, devices), within
            )
        return NamedDevices(self.name, _all_on(self.places, devices), requests, self.mesh)

    def _all(self) -> list[Sharding]:
        requests = self.requests
        shardings = (*self.places, *requests.operands, *requests.results, requests.within)
        return [
            sharding
            for sharding in shardings
            if sharding is not None
            and not (isinstance(sharding, NamedSharding) and sharding.mesh.empty)
        ]

    def _axes(self) -> list[AbstractMesh]:
        """Returns the abstract meshes in the shardings."""
        return [
            sharding.mesh
            for sharding in self._all()
            if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, AbstractMesh)
        ]

    def _known(self) -> tuple[Device, ...] | None:
        """Returns the devices of the arguments, the requested shardings or the context mesh.

        The result is None if there are only abstract meshes, and the default device if nothing
        determines the devices.
        """
        devices: Any = next((p.device_order for p in self._all() if has_devices(p)), None)
        if devices is None and not self.mesh.empty:
            devices = tuple(self.mesh.devices.flat)
        if devices is None and not self._axes():
            devices = (client.default_device(),)
        return devices

    def _check_size(self, n: int, subject: str, error: type[Exception] = ValueError) -> None:
        for mesh in self._axes():
            if mesh.size != n:
                raise error(
                    f"{self.name} was lowered for {mesh}, of "
                    f"{messages.counted(mesh.size, 'device')}, and {subject} {n}"
                )


def _all_on(shardings: Places, devices: Sequence[Device]) -> Places:
    return tuple(
        [None if sharding is None else on_devices(sharding, devices) for sharding in shardings]
    )
