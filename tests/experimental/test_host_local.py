"""Types of local data and of global arrays are inverses; a single process moves nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.sharding.mesh import Mesh
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.core.types.avals import shaped_array
from jitney.experimental.host_local import (
    global_array_to_host_local_array_p as to_local,
    gtl_abstract_eval,
    host_local_array_to_global_array_p as to_global,
    ltg_abstract_eval,
)

# 8 x 6 devices, of which each process has 4 x 2.
MANY = SimpleNamespace(shape={"x": 8, "y": 6}, local_mesh=SimpleNamespace(shape={"x": 4, "y": 2}))


@pytest.mark.parametrize(
    ("spec", "factors"),
    [
        (P(), (1, 1)),
        (P("x"), (2, 1)),
        (P(None, "y"), (1, 3)),
        (P(("x", "y"), None), (6, 1)),
        (P("y", "x"), (3, 2)),
    ],
)
def test_axes_are_as_many_times_larger_as_processes_share_them(spec, factors):
    local = shaped_array((4, 5), np.dtype("float32"))
    whole = ltg_abstract_eval(local, global_mesh=MANY, pspec=spec)
    assert whole.shape == (4 * factors[0], 5 * factors[1]) and whole.dtype == np.float32
    assert gtl_abstract_eval(whole, global_mesh=MANY, pspec=spec) == local


def test_a_spec_has_no_more_entries_than_axes():
    with pytest.raises(ValueError, match="an array of rank 1"):
        ltg_abstract_eval(shaped_array((4,), np.dtype("int8")), global_mesh=MANY, pspec=P("x", "y"))


@pytest.fixture
def params():
    return {"global_mesh": Mesh(np.array(jax.devices()[:1]), ("x",)), "pspec": P("x")}


def test_one_process_has_all_of_the_array(params):
    x = np.arange(4.0, dtype=np.float32)
    whole = to_global.bind(x, **params)
    assert whole.sharding.spec == P("x") and whole.tolist() == x.tolist()
    assert to_local.bind(whole, **params) is whole
    tangents = to_global.bind(np.zeros(3, jax.dtypes.float0), **params)
    assert tangents.dtype == bool and tangents.tolist() == [False] * 3


def test_derivatives_are_those_of_the_identity(params):
    f = lambda x: to_local.bind(to_global.bind(x, **params) * 2, **params).sum()  # noqa: E731
    assert jax.jit(jax.grad(f))(jnp.ones(3)).tolist() == [2, 2, 2]


def test_mapped_axes_are_inserted_in_the_spec(params):
    closed = jax.make_jaxpr(jax.vmap(lambda x: to_global.bind(x, **params), in_axes=1, out_axes=1))(
        np.ones((4, 2))
    )
    assert closed.eqns[0].params["pspec"] == P("x", None)
    closed = jax.make_jaxpr(jax.vmap(lambda x: to_global.bind(x, **params)))(np.ones((2, 4)))
    assert closed.eqns[0].params["pspec"] == P(None, "x")
