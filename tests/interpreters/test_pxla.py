"""The context mesh, as older libraries read it, is the one entered or else the one set."""

import numpy as np

import jitney as jax
from jitney.core.sharding.mesh import Mesh
from jitney.interpreters.pxla import thread_resources
from jitney.runtime.devices.client import Client

DEVICES = np.array(Client("cpu", 0, (2,), 1).devices())
ENTERED, SET = Mesh(DEVICES, ("i",)), Mesh(DEVICES[:1], ("j",))


def test_the_entered_mesh_comes_first():
    assert thread_resources.env.physical_mesh.empty
    with jax.set_mesh(SET):
        assert thread_resources.env.physical_mesh == SET
    with ENTERED:
        assert thread_resources.env.physical_mesh == ENTERED
        with SET:
            assert thread_resources.env.physical_mesh == SET
        assert thread_resources.env.physical_mesh == ENTERED
    assert thread_resources.env.physical_mesh.empty
