"""`jax.experimental.mesh_utils`: arrangements of devices for meshes.

All CPU devices are alike and share one memory, so they are arranged in order of their ids. The
devices of several processes can be arranged such that only certain mesh axes cross process
boundaries.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.core.messages import messages
from jitney.core.util.lazy import listing
from jitney.runtime.devices import client
from jitney.runtime.devices.device import Device

device_kind_handler_dict: dict[str, Callable[..., np.ndarray | None]] = {}
"""Maps a device kind to a function that arranges devices of that kind.

The function is called with (mesh_shape, devices, contiguous_submeshes=...) and returns an array of
devices, or None for the default order.
"""


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Returns devices as an array of shape `mesh_shape`.

    Args:
      mesh_shape: sizes of the mesh axes.
      devices: devices of the mesh; by default all devices.
      contiguous_submeshes: passed to the functions in `device_kind_handler_dict`.
      allow_split_physical_axes: accepted for compatibility; CPU devices have no interconnect
        topology.

    Raises:
      ValueError: if `mesh_shape` requires more or fewer devices.

    Example:
      >>> from jax.experimental import mesh_utils
      >>> mesh_utils.create_device_mesh((1, 1))
      array([[CpuDevice(id=0)]], dtype=object)
    """
    chosen = list(client.client().devices() if devices is None else np.asarray(devices).flat)
    if math.prod(mesh_shape) != len(chosen):
        raise ValueError(
            f"create_device_mesh: a mesh of shape {tuple(mesh_shape)} requires "
            f"{messages.counted(math.prod(mesh_shape), 'device')}, but "
            f"{messages.there_are(len(chosen))}"
        )
    handler = device_kind_handler_dict.get(chosen[-1].device_kind) if chosen else None
    if handler is not None:
        device_array = handler(mesh_shape, chosen, contiguous_submeshes=contiguous_submeshes)
        if device_array is not None:
            return device_array
    return _array(chosen).reshape(tuple(mesh_shape))


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Returns an array of devices for a mesh of groups that are connected by slower links.

    A granule is a group of devices that are connected by fast links. Axis k of the result has size
    dcn_mesh_shape[k] * mesh_shape[k]; only the first factor crosses the slow links between
    granules. The shorter of the two shapes is padded with leading ones.

    Args:
      mesh_shape: sizes of the mesh axes within a granule.
      dcn_mesh_shape: sizes of the mesh axes across granules.
      devices: devices of the mesh; by default all devices.
      process_is_granule: whether a granule consists of the devices of one process, as required for
        CPUs; otherwise it consists of devices with equal `slice_index`.
      should_sort_granules_by_key: whether granules are sorted by process or slice index; otherwise
        they are in the order of `devices`.
      allow_split_physical_axes: accepted for compatibility.

    Raises:
      ValueError: if a device has no such index, if the number of granules is not the product of
        `dcn_mesh_shape`, or if the number of devices in a granule is not the product of
        `mesh_shape`.
    """
    chosen = list(client.client().devices() if devices is None else np.asarray(devices).flat)
    attribute = "process_index" if process_is_granule else "slice_index"
    granules: dict[int, list[Any]] = {}
    for device in chosen:
        if not hasattr(device, attribute):
            raise ValueError(
                f"create_hybrid_device_mesh: {device} has no {attribute}; pass "
                "process_is_granule=True to group CPU devices by process"
            )
        granules.setdefault(getattr(device, attribute), []).append(device)
    if math.prod(dcn_mesh_shape) != len(granules):
        raise ValueError(
            f"create_hybrid_device_mesh: dcn_mesh_shape={tuple(dcn_mesh_shape)} requires "
            f"{messages.counted(math.prod(dcn_mesh_shape), 'granule')}, but grouping devices by "
            f"{attribute} yields {len(granules)}"
        )
    order = sorted(granules) if should_sort_granules_by_key else list(granules)
    meshes = [create_device_mesh(mesh_shape, granules[key]) for key in order]
    ndim = max(len(mesh_shape), len(dcn_mesh_shape))
    outer = (1,) * (ndim - len(dcn_mesh_shape)) + tuple(dcn_mesh_shape)
    inner = (1,) * (ndim - len(mesh_shape)) + tuple(mesh_shape)
    stacked = _array(list(itertools.chain(*[mesh.flat for mesh in meshes]))).reshape(outer + inner)
    both = [(k, ndim + k) for k in range(ndim)]
    interleaved = stacked.transpose([k for pair in both for k in pair])
    return interleaved.reshape([a * b for a, b in zip(outer, inner, strict=True)])


def _array(devices: Sequence[Device]) -> np.ndarray:
    out = np.empty(len(devices), object)
    out[:] = devices
    return out


__all__ = ["create_device_mesh", "create_hybrid_device_mesh", "device_kind_handler_dict"]

__dir__ = listing(__name__)
