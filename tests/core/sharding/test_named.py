"""Named shardings split arrays along the axes of a mesh."""

import pickle
import types

import numpy as np
import pytest

from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.named import (
    NamedSharding,
    asks_nothing,
    constraint,
    has_devices,
    in_shardy,
    on_devices,
    too_few_axes,
    with_free_axes,
)
from jitney.core.sharding.partition_spec import PartitionSpec as P

AUTO = AbstractMesh((2, 3), ("x", "y"), (AxisType.Auto,) * 2)
EXPLICIT = AbstractMesh((2, 3), ("x", "y"))
FREE = P.UNCONSTRAINED


def test_tiles_follow_the_axes_of_the_mesh():
    tiling = NamedSharding(AUTO, P("y")).tiling(2)
    assert tiling.counts == (3, 1)
    assert tiling.tiles == ((0, 0), (1, 0), (2, 0)) * 2
    both = NamedSharding(AUTO, P(None, ("y", "x"))).tiling(2)  # y is the major one
    assert both.counts == (1, 6)
    assert [tile[1] for tile in both.tiles] == [0, 2, 4, 1, 3, 5]
    with pytest.raises(ValueError, match="needs an array of at least that rank, but got rank 1"):
        NamedSharding(AUTO, P(None, "x")).tiling(1)


def test_shards_must_be_equal():
    place = NamedSharding(AUTO, P("y"))
    assert place.shard_shape((6, 4)) == (2, 4)
    with pytest.raises(ValueError, match="its size, 4, is not a multiple of 3"):
        place.shard_shape((4,))


def test_replication():
    assert NamedSharding(AUTO, P(None, FREE)).is_fully_replicated
    assert not NamedSharding(AUTO, P("x")).is_fully_replicated
    assert not NamedSharding(EXPLICIT, P(unreduced={"x"})).is_fully_replicated
    assert NamedSharding(EXPLICIT, P("x")).replicated_axes == {"y"}
    assert asks_nothing(NamedSharding(AUTO, P(None)))
    assert not asks_nothing(NamedSharding(EXPLICIT, P(None)))


@pytest.mark.parametrize(
    "mesh, spec, error, message",
    [
        (AUTO, P("z"), ValueError, "'z' is not among"),
        (AUTO, P("x", ("y", "x")), ValueError, "duplicate entries for `x`"),
        (EXPLICIT, P(FREE), ValueError, "requires Auto axes"),
        (AUTO, P(unreduced={"x"}), ValueError, "'x' is of type Auto"),
        (EXPLICIT, P(unreduced={"z"}), ValueError, "must be axes of the mesh"),
        (AUTO, None, TypeError, r"use P\(\) for a replicated array"),
    ],
)
def test_specs_that_do_not_fit_the_mesh_are_refused(mesh, spec, error, message):
    with pytest.raises(error, match=message):
        NamedSharding(mesh, spec)


def test_memory_kinds():
    place = NamedSharding(AUTO, P("x"))
    assert place.memory_kind is None
    assert place.with_memory_kind("pinned_host").memory_kind == "pinned_host"
    assert place.with_memory_kind("pinned_host") != place
    with pytest.raises(ValueError, match="invalid memory kind 'disk'"):
        NamedSharding(AUTO, P(), memory_kind="disk")
    assert pickle.loads(pickle.dumps(place)) == place


def test_unconstrained_axes_stay_as_they_are():
    own = NamedSharding(AUTO, P("x", "y"))
    free = NamedSharding(AUTO, P(FREE, "x"))
    # `x` is used elsewhere.
    assert with_free_axes(free, own, 3, [0, 2]).spec == P(None, "x")
    free = NamedSharding(AUTO, P(None, FREE))
    assert with_free_axes(free, own, 2, [1]).spec == P(None, "y")
    assert with_free_axes(free, None, 2, [1]).spec == P()


def test_abstract_meshes_get_devices():
    place = NamedSharding(EXPLICIT, P("x"))
    assert not has_devices(place)
    with pytest.raises(ValueError, match="axes but no devices"):
        place.device_order  # noqa: B018
    own = AbstractMesh((2, 3), ("test_p", "test_q"))  # of no other test
    devices = [types.SimpleNamespace(id=k) for k in range(6)]
    placed = on_devices(NamedSharding(own, P("test_p")), devices)
    assert isinstance(placed.mesh, Mesh)
    assert np.array_equal(placed.mesh.device_ids, [[0, 1, 2], [3, 4, 5]])
    assert placed.device_order == tuple(devices)
    assert on_devices(placed, devices[::-1]) is placed


def test_shardings_in_programs():
    place = NamedSharding(AUTO, P("y", FREE))
    assert in_shardy(place, 3).dim_shardings == (("y",), None, ())
    assert str(constraint(place, 2)) == '<@mesh, [{"y"}, {?}]>'
    assert constraint(place, 2, is_open=True).is_open == (True, True)
    summed = NamedSharding(EXPLICIT, P(None, unreduced={"y"}))
    assert constraint(summed, 1, is_open=True).replicated == ("x",)
    assert constraint(summed, 1).unreduced == ("y",)
    assert "at least that rank, but got rank 0; P() is for scalars" in str(too_few_axes(place, 0))
