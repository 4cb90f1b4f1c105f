"""`jax.experimental.topologies`: descriptions of the devices of a machine.

Ahead-of-time compilation for machines that are not attached is not supported; `jitney simulate`
estimates programs for meshes of any size (docs/partitioner.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from jitney.core.sharding.mesh import Mesh
from jitney.core.util.lazy import listing
from jitney.experimental import mesh_utils
from jitney.runtime.devices import client
from jitney.runtime.devices.device import Device as Device


class TopologyDescription:
    """The topology of a set of devices, such as all devices of a machine.

    Args:
      devices: the devices.
    """

    def __init__(self, devices: list[Device]) -> None:
        self.devices = devices


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """Returns the topology of the attached devices.

    Raises:
      RuntimeError: if the platform has no devices.
    """
    return TopologyDescription(list(client.client(platform).devices()))


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: object
) -> TopologyDescription:
    """Raises an error, since topologies of machines that are not attached are not supported.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        f"get_topology_desc: no topology {topology_name!r} is known for the platform "
        f"{platform or 'cpu'!r}; get_attached_topology() returns the attached devices, and "
        "`jitney simulate --mesh` estimates programs for larger meshes"
    )


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """Returns a mesh of the devices of `topo`.

    Args:
      topo: topology of the devices.
      mesh_shape: sizes of the mesh axes.
      axis_names: names of the mesh axes.
      contiguous_submeshes: as in `create_device_mesh`.

    Raises:
      ValueError: if `mesh_shape` requires more or fewer devices.
    """
    devices = mesh_utils.create_device_mesh(
        mesh_shape, topo.devices, contiguous_submeshes=contiguous_submeshes
    )
    return Mesh(devices, axis_names)


__all__ = [
    "Device",
    "TopologyDescription",
    "get_attached_topology",
    "get_topology_desc",
    "make_mesh",
]

__dir__ = listing(__name__)
