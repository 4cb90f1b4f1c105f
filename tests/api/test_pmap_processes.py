"""A process's share of mapped arguments becomes a global array, and results become its share again."""

import numpy as np
import pytest

import jitney as jax
from jitney.api.parallel.pmap_processes import own_parts, to_all_devices
from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.devices.client import Client


@pytest.fixture(scope="module")
def mesh():
    return Mesh(np.array(Client("cpu", 0, (2, 4), 1).devices()), ("i",))


def test_the_share_of_one_process_is_a_window_of_the_whole(mesh):
    own, n = np.arange(4.0, dtype=np.float32).reshape(2, 2), np.float32(7)
    mapped, same = to_all_devices([own, n], [P("i"), P()], mesh, "f")
    assert mapped.shape == (6, 2) and same.shape == ()
    assert mapped.sharding.mesh == mesh and not mapped.is_fully_addressable


def test_parts_of_results_are_on_the_devices_of_the_process(mesh):
    own = np.arange(6, dtype=np.int32).reshape(3, 2)
    (mapped,) = to_all_devices([own], [P(None, "i")], mesh, "f")
    part = own_parts({"k": mapped}, mesh)["k"]
    np.testing.assert_array_equal(part, own)
    assert part.dtype == np.int32
    assert part.sharding.mesh == mesh.local_mesh and part.sharding.spec == P(None, "i")


def test_transformations_are_refused(mesh):
    with pytest.raises(RuntimeError, match=r"pmap of f: .*cannot be transformed"):
        jax.make_jaxpr(lambda x: to_all_devices([x], [P("i")], mesh, "f"))(np.ones(2))
