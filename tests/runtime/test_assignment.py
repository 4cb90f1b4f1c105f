"""Programs run on the devices that their operands are committed to, or that they name."""

import numpy as np
import pytest

import jitney as jax
from jitney.core.sharding.mesh import AbstractMesh, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.devices.client import Client, default_device
from jitney.runtime.devices.sharding import DeviceOfJit, single_device
from jitney.runtime.execution import assignment
from jitney.runtime.execution.assignment import RequestedShardings, any_on_mesh, assign, over

DEVICES = tuple(Client("cpu", 0, (2,), 1).devices())
ROWS = NamedSharding(Mesh(np.array(DEVICES), ("i",)), P("i"))
BACK = NamedSharding(Mesh(np.array(DEVICES[::-1]), ("i",)), P("i"))
ABSTRACT = NamedSharding(AbstractMesh((2,), ("i",)), P("i"))
FREE = np.zeros(2, np.float32)


def put(place):
    return jax.device_put(FREE, place)


def test_equal_assignments_are_one_object():
    assert assign([FREE, 1.0]) is assign([2.0])
    assert assign([FREE]).devices == (default_device(),) and not assign([FREE]).is_placed
    first = assign([put(ROWS), FREE])
    assert first is assign([put(ROWS), 3.0]) is not assign([FREE, put(ROWS)])
    assert (first.devices, first.in_shardings, first.mesh) == (DEVICES, (ROWS, None), ROWS.mesh)
    assert assign([FREE], donated=(False,)) is assign([FREE])
    assert assign([FREE], donated=(True,)).donated == (True,)


def test_operands_that_are_not_read_have_no_say():
    one, other = put(DEVICES[0]), put(DEVICES[1])
    assert assign([one, other], live=(False, True)).devices == DEVICES[1:]
    with pytest.raises(ValueError, match=r"operand 0, .* ids \[0\], and operand 1, .* ids \[1\]"):
        assign([one, other])
    with pytest.raises(ValueError, match=r"and the sharding of result 0 on device ids \[0, 1\]"):
        assign([one], requests=RequestedShardings(results=(ROWS,)))
    with pytest.raises(ValueError, match=r"device ids \[0, 1\], and b, .* ids \[1, 0\]"):
        assign([put(ROWS), put(BACK)], describe="ab".__getitem__)


def test_wishes_are_for_uncommitted_operands():
    wanted = RequestedShardings(operands=(ROWS, None))
    assert assign([FREE, 1.0], requests=wanted).in_shardings == (ROWS, None)
    with pytest.raises(ValueError, match=r"was committed to .* in_shardings has .* for it"):
        assign([put(BACK), 1.0], requests=wanted)
    moved = RequestedShardings(operands=(DeviceOfJit(DEVICES[1]),))
    assert assign([put(DEVICES[0])], requests=moved).devices == DEVICES[1:]


def test_abstract_meshes_get_the_devices_of_operands_or_of_the_context():
    results = RequestedShardings(results=(None, ABSTRACT))
    (_, placed) = assign([put(ROWS)], requests=results).requests.results
    assert placed.device_order == DEVICES
    with pytest.raises(ValueError, match=r"out_shardings has .* but there are none"):
        assign([FREE], requests=results)
    with pytest.raises(ValueError, match="the program runs on 1 device"):
        assign([put(DEVICES[0])], requests=results)
    with jax.set_mesh(BACK.mesh):
        own = assign([FREE], requests=RequestedShardings(operands=(ABSTRACT,)))
    assert own.devices == DEVICES[::-1]


def test_moving_an_assignment_and_its_queue():
    moved = over(DEVICES, assign([FREE, FREE]), 2)
    assert moved.devices == DEVICES and moved.in_shardings == (None, None)
    assert moved is over(DEVICES, assign([FREE, FREE]), 2)
    assert assign([put(DEVICES[1])]).queue is DEVICES[1].queue
    assert assignment.devices_of([None, single_device(DEVICES[1])], [], str) == DEVICES[1:]


def test_operands_on_meshes():
    assert any_on_mesh([FREE, put(ROWS)]) and not any_on_mesh([FREE, put(DEVICES[0])])
    both = Client("cpu", 0, (1, 1), 1).devices()
    place = NamedSharding(Mesh(np.array(both), ("i",)), P("i"))
    assert assignment.of_places([place], [FREE]).spans_processes
