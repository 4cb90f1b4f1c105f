"""Programs with unreduced results compute each device's addend in addition to the sum."""

import numpy as np
import pytest

import jitney as jax
from jitney.api.jit import unreduced
from jitney.core.sharding.mesh import AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.arrays import terms
from jitney.runtime.devices.client import Client
from jitney.runtime.execution.assignment import RequestedShardings, assign


@pytest.fixture(scope="module")
def mesh():
    devices = Client("cpu", 0, (2,), 1).devices()
    return Mesh(np.array(devices), ("i",), axis_types=(AxisType.Explicit,))


def put(mesh, x, *spec):
    return jax.device_put(np.asarray(x, np.float32), NamedSharding(mesh, P(*spec)))


def call(closed, leaves, results):
    return unreduced.call(
        closed, leaves, assign(leaves, requests=RequestedShardings(results=results)), "f"
    )


def test_programs_of_complete_values_are_left_to_others(mesh):
    x = put(mesh, [1, 2], "i")
    closed = jax.make_jaxpr(lambda x: x + 1)(x)
    assert call(closed, [x], ()) is None
    assert unreduced.call(closed, [np.float32([1, 2])], assign([np.ones(2)]), "f") is None


def test_addends_are_attached_to_the_sum(mesh):
    x = put(mesh, [[1, 2], [30, 40]], "i")
    to = NamedSharding(mesh, P(unreduced={"i"}))
    with jax.set_mesh(mesh):
        closed = jax.make_jaxpr(
            lambda x: jax.numpy.einsum("ij->j", x, out_sharding=P(unreduced={"i"}))
        )(x)
        (out,) = call(closed, [x], (to,))
        np.testing.assert_array_equal(terms.of_array(out), [[1, 2], [30, 40]])
        # The addends go on through a program on them.
        (negative,) = call(jax.make_jaxpr(lambda s: -s)(out), [out], (to,))
        np.testing.assert_array_equal(terms.of_array(negative), [[-1, -2], [-30, -40]])
    np.testing.assert_array_equal(negative._value, [-31, -42])
