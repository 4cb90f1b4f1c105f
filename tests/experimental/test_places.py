"""`shard_alike`, `mesh_utils` and `topologies` on several devices, in processes of their own."""

import numpy as np
from tests.helpers.programs_alike import lines_alike

from jitney.experimental import mesh_utils

test_like_jax = lines_alike(__file__, "places_on_meshes.py")


class _Device:
    device_kind = "of a test"

    def __init__(self, number, process):
        self.id = number
        self.process_index = process
        self.slice_index = 1 - process


def test_granules_change_along_the_given_axes():
    devices = [_Device(k, k // 4) for k in range(8)]
    numbers = np.vectorize(lambda device: device.id, otypes=[int])
    mesh = mesh_utils.create_hybrid_device_mesh((2, 2), (1, 2), devices, process_is_granule=True)
    assert numbers(mesh).tolist() == [[0, 1, 4, 5], [2, 3, 6, 7]]
    by_slices = mesh_utils.create_hybrid_device_mesh((4,), (2,), devices)
    assert numbers(by_slices).tolist() == [4, 5, 6, 7, 0, 1, 2, 3]
    in_order = mesh_utils.create_hybrid_device_mesh(
        (4,), (2,), devices, should_sort_granules_by_key=False
    )
    assert numbers(in_order).tolist() == [*range(8)]


def test_kinds_of_devices_may_have_an_order_of_their_own(monkeypatch):
    def reverse(mesh_shape, devices, *, contiguous_submeshes=False):
        return np.array(devices[::-1]).reshape(mesh_shape) if len(mesh_shape) == 1 else None

    monkeypatch.setitem(mesh_utils.device_kind_handler_dict, "of a test", reverse)
    devices = [_Device(k, 0) for k in range(4)]
    assert [d.id for d in mesh_utils.create_device_mesh((4,), devices)] == [3, 2, 1, 0]
    assert [d.id for d in mesh_utils.create_device_mesh((2, 2), devices).flat] == [0, 1, 2, 3]
