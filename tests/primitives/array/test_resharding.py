"""Shardings that users ask for: on the context mesh, along axes of the right type."""

import numpy as np
import pytest

import jitney
from jitney.primitives.array.resharding import (
    as_mesh,
    as_named,
    check_explicit,
    replicated_along,
    reshard,
    sharding_constraint,
    sharding_on_context_mesh,
)
from jitney.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

X = np.arange(4, dtype=np.float32)
KINDS = {"Explicit": AxisType.Explicit, "Auto": AxisType.Auto}


def mesh_of(kind, name="x"):
    return jitney.make_mesh((1,), (name,), axis_types=(KINDS[kind],))


def test_specs_are_on_the_context_mesh():
    with pytest.raises(ValueError, match="refers to the context mesh, but none is set"):
        sharding_on_context_mesh(P("x"), "out_sharding")
    mesh = mesh_of("Explicit")
    with jitney.set_mesh(mesh):
        place = as_named(P("x"), "full")
        assert place.spec == P("x")
        assert place.mesh.axis_names == ("x",)
        assert as_mesh(place) == mesh
        other = NamedSharding(mesh_of("Explicit", "y"), P())
        with pytest.raises(ValueError, match="but the context mesh is"):
            as_named(other, "full")


def test_places_that_are_refused():
    with pytest.raises(TypeError, match="full: out_sharding must be a NamedSharding"):
        as_named("x", "full")
    auto = NamedSharding(mesh_of("Auto"), P("x"))
    with pytest.raises(ValueError, match=r"must be of type Explicit, but x is of type .*Auto"):
        check_explicit(auto, "full")
    check_explicit(NamedSharding(auto.mesh, P(None)), "full")  # no axis is named
    abstract = AbstractMesh((1,), ("x",), axis_types=(AxisType.Explicit,))
    place = NamedSharding(abstract, P("x"), memory_kind="device")
    with pytest.raises(ValueError, match="must not have a memory kind"):
        as_named(place, "full")


def test_types_say_where_arrays_were_moved():
    mesh = mesh_of("Explicit")
    with jitney.set_mesh(mesh):
        y = reshard(jitney.numpy.asarray(X), as_named(P("x"), "reshard"))
        assert jitney.typeof(y).sharding.spec == P("x")
        whole = replicated_along(y, 0)
        assert jitney.typeof(whole).sharding.spec == P(None)
        np.testing.assert_array_equal(whole, X)


def test_constraints_along_auto_axes_keep_values_and_cotangents():
    place = NamedSharding(mesh_of("Auto"), P("x"))
    y, pull = jitney.vjp(lambda x: sharding_constraint(x, place), jitney.numpy.asarray(X))
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(pull(y)[0], X)
    assert y.sharding.spec == P("x")


@pytest.mark.parametrize(
    ("place", "error", "match"),
    [
        (None, ValueError, "which has no effect"),
        ("x", TypeError, "takes a Sharding or PartitionSpec, but got 'x'"),
        (P("x"), RuntimeError, "refers to the context mesh, but none is set"),
    ],
)
def test_constraints_that_are_refused(place, error, match):
    with pytest.raises(error, match=match):
        sharding_constraint(jitney.numpy.asarray(X), place)
