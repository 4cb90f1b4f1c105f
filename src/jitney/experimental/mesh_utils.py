"""`jax.experimental.mesh_utils`: arrays of devices for meshes.

CPU devices are all alike and share one memory, so their order is that of their numbers. Devices of
several processes can be laid out so that axes that change the process come first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.core import messages
from jitney.core.lazy import listing
from jitney.runtime import client
from jitney.runtime.device import Device

device_kind_handler_dict: dict[str, Callable[..., np.ndarray | None]] = {}
"""Kind of device -> function (mesh_shape, devices, contiguous_submeshes=) -> their array, or None."""


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """Returns devices as an array of shape `mesh_shape`.

    Args:
      mesh_shape: sizes of the mesh.
      devices: all devices by default.
      contiguous_submeshes: for functions in `device_kind_handler_dict`.
      allow_split_physical_axes: accepted for compatibility: there is no network of links to be split.

    Raises:
      ValueError: if the mesh has another number of devices.

    Example:
      >>> from jax.experimental import mesh_utils
      >>> mesh_utils.create_device_mesh((1, 1))
      array([[CpuDevice(id=0)]], dtype=object)
    """
    chosen = list(client.client().devices() if devices is None else np.asarray(devices).flat)
    if math.prod(mesh_shape) != len(chosen):
        raise ValueError(
            f"create_device_mesh: a mesh of shape {tuple(mesh_shape)} has "
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
    """Returns devices as an array in which slow links are crossed along given axes alone.

    Args:
      mesh_shape: sizes of the mesh of one granule: the devices between which links are fast.
      dcn_mesh_shape: sizes of the mesh of granules. The result's sizes are the products.
      devices: all devices by default.
      process_is_granule: whether a granule is the devices of a process, as it is for CPUs; otherwise
        those with one `slice_index`.
      should_sort_granules_by_key: whether granules come in the order of these numbers, or as in
        `devices`.
      allow_split_physical_axes: accepted for compatibility.

    Raises:
      ValueError: if devices have no such number, or there are more or fewer of them, or of granules.
    """
    chosen = list(client.client().devices() if devices is None else np.asarray(devices).flat)
    attribute = "process_index" if process_is_granule else "slice_index"
    granules: dict[int, list[Any]] = {}
    for device in chosen:
        if not hasattr(device, attribute):
            raise ValueError(
                f"create_hybrid_device_mesh: {device} has no {attribute}; CPU devices are grouped by "
                "their process, with process_is_granule=True"
            )
        granules.setdefault(getattr(device, attribute), []).append(device)
    if math.prod(dcn_mesh_shape) != len(granules):
        raise ValueError(
            f"create_hybrid_device_mesh: a mesh of granules of shape {tuple(dcn_mesh_shape)} has "
            f"{math.prod(dcn_mesh_shape)} of them, but {messages.there_are(len(granules))}, by "
            f"{attribute}"
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
