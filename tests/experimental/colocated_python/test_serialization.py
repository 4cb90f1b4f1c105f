"""Lists of devices are hashable, and know what belongs to this process."""

from types import SimpleNamespace

import jitney as jax
from jitney.experimental.colocated_python.serialization import DeviceList, xb


def device(number, process):
    return SimpleNamespace(id=number, process_index=process, is_addressable=process == 0)


def test_lists_are_compared_by_their_devices():
    devices = jax.local_devices()
    a, b = DeviceList(devices), DeviceList(iter(devices))
    assert a == b and hash(a) == hash(b) and list(a) == devices
    assert a.is_fully_addressable and a.addressable_device_list == a
    assert a.device_kind == devices[0].device_kind and a.process_indices == {0}
    assert a.default_memory_kind in a.memory_kinds


def test_devices_of_other_processes_are_left_out():
    mixed = DeviceList([device(0, 0), device(1, 1), device(2, 0), device(3, 2)])
    assert not mixed.is_fully_addressable and mixed.process_indices == {0, 1, 2}
    mine = mixed.addressable_device_list
    assert type(mine) is DeviceList and [d.id for d in mine] == [0, 2]


def test_functions_that_are_loaded_look_up_their_devices():
    assert xb.local_devices() == jax.local_devices()
    assert any(backend.platform == "cpu" for backend in xb.backends().values())
