"""The devices of a lowered program are those that are known, or are assigned at compile time."""

import numpy as np
import pytest

from jitney.api.jit.stage_devices import NamedDevices
from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.devices.client import Client
from jitney.runtime.execution.assignment import NO_REQUESTS, RequestedShardings

DEVICES = tuple(Client("cpu", 0, (4,), 1).devices())
NO_MESH = Mesh(np.empty((), object), ())
ABSTRACT = NamedSharding(AbstractMesh((4,), ("i",)), P("i"))
CONCRETE = NamedSharding(Mesh(np.array(DEVICES), ("i",), (AxisType.Explicit,)), P("i"))
OF_TWO = NamedSharding(Mesh(np.array(DEVICES[:2]), ("i",)), P())


def known(*places, requests=NO_REQUESTS, mesh=NO_MESH):
    return NamedDevices("f", places, requests, mesh)


def test_assigned_devices_replace_abstract_meshes_everywhere():
    requests = RequestedShardings((ABSTRACT, None), (None, ABSTRACT), ABSTRACT)
    out = known(ABSTRACT, None, requests=requests).resolved(DEVICES)
    assert out.places == (CONCRETE, None)
    assert out.requests == RequestedShardings((CONCRETE, None), (None, CONCRETE), CONCRETE)


def test_other_arguments_or_the_context_mesh_know_the_devices():
    assert known(ABSTRACT, CONCRETE).resolved(None).places == (CONCRETE, CONCRETE)
    assert known(ABSTRACT, mesh=CONCRETE.mesh).resolved(None).places == (CONCRETE,)
    assert known(None).resolved(None).places == (None,)


def test_sizes_have_to_agree():
    known(ABSTRACT, CONCRETE).check_sizes()
    known(ABSTRACT).check_sizes()
    with pytest.raises(ValueError, match="of 4 devices, and other arguments or options are on 2"):
        known(ABSTRACT, OF_TWO).check_sizes()
    with pytest.raises(RuntimeError, match="of 4 devices, and device_assignment has 2"):
        known(ABSTRACT).resolved(DEVICES[:2])


def test_devices_that_are_missing_or_others():
    with pytest.raises(RuntimeError, match="so device_assignment cannot be None"):
        known(ABSTRACT).resolved(None)
    with pytest.raises(
        ValueError, match=r"ids \[3, 2, 1, 0\], .* on other devices, \[0, 1, 2, 3\]"
    ):
        known(CONCRETE).resolved(DEVICES[::-1])
