"""PartitionSpecs become shardings on the mesh of the context."""

import numpy as np
import pytest

import jitney as jax
from jitney.core.sharding.mesh import AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec
from jitney.private.stand_ins.shardings import PositionalSharding, canonicalize_sharding


def test_specs_are_on_the_mesh_of_the_context():
    mesh = Mesh(np.array(jax.devices()[:1]), ("x",), axis_types=(AxisType.Explicit,))
    place = NamedSharding(mesh, PartitionSpec("x"))
    assert canonicalize_sharding(None, "f") is None
    assert canonicalize_sharding(place, "f") is place
    with jax.set_mesh(mesh):
        found = canonicalize_sharding(PartitionSpec("x"), "f")
    assert isinstance(found, NamedSharding) and found.spec == PartitionSpec("x")
    assert found.mesh.axis_names == ("x",)


def test_specs_need_a_mesh_and_nothing_else_is_a_sharding():
    with pytest.raises(ValueError, match="f"):
        canonicalize_sharding(PartitionSpec("x"), "f")
    automatic = NamedSharding(Mesh(np.array(jax.devices()[:1]), ("x",)), PartitionSpec("x"))
    with pytest.raises(ValueError, match="must be of type Explicit, but x is"):
        canonicalize_sharding(automatic, "f")
    with pytest.raises(TypeError, match="f"):
        canonicalize_sharding("x", "f")


def test_no_sharding_is_positional():
    assert not isinstance(jax.numpy.zeros(2).sharding, PositionalSharding)
