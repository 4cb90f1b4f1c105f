"""Eager mode gets the data of operands at once only if they are complete and on this host."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.runtime.arrays import host_path
from jitney.runtime.devices.client import Client, default_device


@pytest.mark.parametrize("data_of", [host_path.eager_data, host_path.host_data])
def test_data_of_computed_arrays(data_of):
    x = jnp.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(data_of(x), [[0, 1, 2], [3, 4, 5]])
    assert data_of(x).__array_interface__["data"][0] == x.unsafe_buffer_pointer()


@pytest.mark.parametrize("data_of", [host_path.eager_data, host_path.host_data])
def test_others_are_left_to_their_primitives(data_of):
    seen = []
    jax.make_jaxpr(lambda x: seen.append(data_of(x)) or x)(1.0)
    deleted = jnp.arange(2)
    deleted.delete()
    assert seen == [None] and data_of(deleted) is None and data_of("text") is None


def test_threads_are_those_of_the_default_device():
    other = Client("cpu", 0, (2,), 1).devices()[1]
    assert host_path.threads() is default_device().pool
    with jax.default_device(other):
        assert host_path.threads() is other.pool


def test_arrays_of_results():
    x = host_path.array_from_numpy(np.float32([1, 2]), jnp.ones(2).aval)
    np.testing.assert_array_equal(x + 1, [2, 3])
