"""All devices are CPUs, so those on their hosts are the same ones."""

import numpy as np
import pytest

import jitney as jax
from jitney.core.sharding.mesh import Mesh
from jitney.experimental.colocated_python.api import colocated_cpu_devices


def test_devices_and_meshes_stay():
    devices = tuple(jax.devices())
    found = colocated_cpu_devices(devices)
    assert found == list(devices) and colocated_cpu_devices([]) == []
    mesh = Mesh(np.array(devices[:1]), ("x",))
    assert colocated_cpu_devices(mesh) is mesh


@pytest.mark.parametrize("wrong", ["cpu", 3, [0], iter(())])
def test_other_values_are_refused(wrong):
    with pytest.raises(TypeError, match=r"expected a sequence of devices, .* or a Mesh"):
        colocated_cpu_devices(wrong)
