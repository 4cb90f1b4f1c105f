"""The CPU devices on the hosts of other devices, which hold the arrays of Python functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from jitney.core.sharding.mesh import Mesh
from jitney.core.util.lazy import listing, refusing
from jitney.runtime.devices.device import Device

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


@overload
def colocated_cpu_devices(devices_or_mesh: Mesh) -> Mesh: ...
@overload
def colocated_cpu_devices(devices_or_mesh: Sequence[Device]) -> Sequence[Device]: ...


def colocated_cpu_devices(devices_or_mesh: Any) -> Mesh | Sequence[Device]:
    """Returns the CPU devices on the hosts of `devices_or_mesh`, one for each device.

    Args:
      devices_or_mesh: a sequence of devices, or a mesh of devices.

    Returns: the same devices, as a list or a mesh, since all devices of jitney are CPUs.

    Raises:
      TypeError: if `devices_or_mesh` is neither a sequence nor a mesh.

    Example:
      >>> colocated_cpu_devices(jax.devices()) == jax.devices()
      True
    """
    if isinstance(devices_or_mesh, Mesh):
        return devices_or_mesh
    if not isinstance(devices_or_mesh, Sequence) or not all(
        isinstance(device, Device) for device in devices_or_mesh
    ):
        raise TypeError(
            "colocated_cpu_devices: expected a sequence of devices, such as jax.devices(), or a "
            f"Mesh, but got {devices_or_mesh!r} of type {type(devices_or_mesh).__name__}"
        )
    return list(devices_or_mesh)
