"""Meshes are made of the devices of a topology, which are the attached ones."""

import pytest

import jitney as jax
from jitney.experimental.topologies import (
    TopologyDescription,
    get_attached_topology,
    get_topology_desc,
    make_mesh,
)


def test_meshes_have_the_devices_of_the_topology():
    topology = get_attached_topology()
    assert topology.devices == jax.devices() == get_attached_topology("cpu").devices
    one = TopologyDescription(topology.devices[:1])
    mesh = make_mesh(one, (1, 1), ("x", "y"))
    assert mesh.axis_names == ("x", "y") and list(mesh.devices.flat) == one.devices
    with pytest.raises(ValueError, match="requires 2 devices, but"):
        make_mesh(one, (2,), ("x",))


def test_machines_that_are_not_attached_are_refused():
    with pytest.raises(
        NotImplementedError, match="no topology 'v5e:2x2' is known for the platform 'tpu'"
    ):
        get_topology_desc("v5e:2x2", "tpu")
    with pytest.raises(RuntimeError):
        get_attached_topology("tpu")
