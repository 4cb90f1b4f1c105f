"""Results are sharded as their operands, their types, or the mesh in force imply."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.sharding.mesh import AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.runtime.devices.client import Client
from jitney.runtime.devices.sharding import single_device
from jitney.runtime.execution import placements
from jitney.runtime.execution.assignment import NO_REQUESTS, RequestedShardings, assign

DEVICES = np.array(Client("cpu", 0, (4,), 1).devices())
MESH = Mesh(DEVICES.reshape(2, 2), ("x", "y"))
X = np.zeros((4, 8), np.float32)


def put(*spec, x=X, mesh=MESH):
    return jax.device_put(x, NamedSharding(mesh, P(*spec)))


def places_of(fun, *args, requests=NO_REQUESTS):
    return placements.of_results(jax.make_jaxpr(fun)(*args), assign(args, requests=requests))


@pytest.mark.parametrize(
    "fun, specs, expected",
    [
        (lambda a: a + 1, [("x", "y")], P("x", "y")),
        (lambda a: a.T, [("x", "y")], P("y", "x")),
        (lambda a: a.sum(0), [("x", "y")], P("y")),
        (lambda a: a.sum(), [("x", "y")], P()),
        (lambda a, b: a + b, [("x",), (None, "y")], P("x", "y")),
        (lambda a, b: a @ b.T, [("x",), ("y",)], P("x", "y")),
        (lambda a: jnp.zeros(3), [("x",)], P()),
    ],
)
def test_shardings_are_propagated(fun, specs, expected):
    (place,) = places_of(fun, *[put(*spec) for spec in specs])
    assert place == NamedSharding(MESH, expected)


def test_shardings_without_a_mesh():
    assert places_of(lambda a: a + 1, X) is None
    x = jax.device_put(X, DEVICES[2])
    assert places_of(lambda a: (a, a + 1), x) == (single_device(DEVICES[2]),) * 2


def test_operands_that_are_results_keep_the_spelling():
    (same, other) = places_of(lambda a: (a, a + 1), put("x", None))
    assert same.spec == P("x", None) and other.is_equivalent_to(same, 2)


def test_requests_come_first():
    wanted = NamedSharding(MESH, P(None, "x"))
    places = places_of(
        lambda a: (a, -a), put("y"), requests=RequestedShardings(results=(None, wanted))
    )
    assert places == (NamedSharding(MESH, P("y")), wanted)


def test_requests_within_programs():
    def f(x):
        y = jax.jit(lambda x: jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P("x"))))(x)
        return y + 1

    requests = placements.requests_of(jax.make_jaxpr(f)(X))
    assert requests.within == NamedSharding(MESH, P("x"))
    assert placements.requests_of(jax.make_jaxpr(lambda x: x + 1)(X)) is NO_REQUESTS


def test_the_mesh_in_force_is_the_last_choice():
    empty = Mesh(np.empty((), object), ())
    own = RequestedShardings(within=single_device(DEVICES[0]))
    assert (
        placements.or_on(MESH, own) is own and placements.or_on(empty, NO_REQUESTS) is NO_REQUESTS
    )
    assert placements.or_on(MESH, NO_REQUESTS).within == NamedSharding(MESH, P())
    with MESH:
        assert placements.in_context(NO_REQUESTS, knows_entered=True).within.mesh == MESH
        assert placements.in_context(NO_REQUESTS, knows_entered=False) is NO_REQUESTS
    x = jnp.ones(4)
    assert placements.settled(x) is x
    with jax.set_mesh(MESH):
        assert placements.settled(jnp.ones(4)).sharding.mesh == MESH


def test_programs_over_a_mesh_run_on_its_devices():
    closed = jax.make_jaxpr(
        jax.shard_map(lambda x: x * 2, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    )(X)
    assert placements.mesh_of(closed) == MESH
    moved = placements.on_its_mesh(closed, assign([X]))
    assert moved.devices == tuple(DEVICES)
    plain = jax.make_jaxpr(lambda x: x)(X)
    assert placements.mesh_of(plain) is None
    assert placements.on_its_mesh(plain, assign([X])) is assign([X])
    elsewhere = jax.device_put(X, DEVICES[0])
    with pytest.raises(ValueError, match=r"arguments on device ids \[0\], and shard_map over"):
        placements.on_its_mesh(closed, assign([elsewhere]))


def test_types_name_shardings_along_explicit_axes():
    mesh = Mesh(DEVICES.reshape(2, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    (place,) = places_of(lambda a: a * 2, put("x", "y", mesh=mesh))
    assert place.spec == P("x", "y")
    joined = placements._joined(
        NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P(("x", "y"), None))
    )
    assert joined.spec == P(("x", "y"))
