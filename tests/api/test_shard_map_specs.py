"""Specifications of `shard_map` are spread over trees, inferred, and checked against types."""

import numpy as np
import pytest

from jitney.api.parallel import shard_map_specs as specs
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding.mesh import AbstractMesh, AxisType, Mesh
from jitney.core.sharding.named import NamedSharding
from jitney.core.sharding.partition_spec import PartitionSpec as P
from jitney.core.types.avals import ShapedArray
from jitney.primitives.parallel.shard_map import Region
from jitney.runtime.arrays.array import array_of
from jitney.runtime.devices.client import Client

DEVICES = np.array(Client("cpu", 0, (6,), 1).devices()).reshape(2, 3)
MESH = Mesh(DEVICES, ("x", "y"))
EXPLICIT = AbstractMesh((2, 3), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
BOTH, ONLY_X = Region(MESH, frozenset("xy"), True), Region(MESH, frozenset("x"), True)


def f32(*shape, varying=(), **kinds):
    kind = ManualAxisType(varying=varying, **kinds)
    return ShapedArray(shape, np.dtype(np.float32)).update(manual_axis_type=kind)


def test_specs_are_spread_over_trees():
    values = (1, {"a": 2, "b": 3}, [])
    assert specs.leaves("in_specs", BOTH, (P("x"), P(), None), values) == [P("x"), P(), P()]
    assert specs.leaves("in_specs", BOTH, P("y"), values) == [P("y")] * 3
    assert specs.leaves("in_specs", BOTH, (None, P(), None), values)[0] is None


@pytest.mark.parametrize(
    "region, prefix, error, message",
    [
        (BOTH, ("x",), TypeError, "in_specs must be a pytree of .* leaf 'x' of type str"),
        (ONLY_X, (P("y"),), ValueError, r"may name manual axes only, \['x'\] of .* names 'y'"),
        (BOTH, (P(), P()), ValueError, "in_specs has to be a tree prefix"),
        (ONLY_X, (P(unreduced={"x"}),), NotImplementedError, "must be mapped over all axes"),
        (BOTH, (P(unreduced={"x"}),), ValueError, "can be unreduced along Explicit axes only"),
    ],
)
def test_specs_that_do_not_fit(region, prefix, error, message):
    with pytest.raises(error, match=message):
        specs.leaves("in_specs", region, prefix, (1,))


def test_specs_are_inferred_along_the_axes_of_the_region():
    x = array_of(np.zeros((6, 2), np.float32))
    placed = x.placed(NamedSharding(MESH, P(("x", "y"), None)))
    assert specs.inferred(BOTH, placed) == P(("x", "y"))
    assert specs.inferred(ONLY_X, placed) == P("x")
    assert specs.inferred(BOTH, x) == P() and specs.inferred(BOTH, None) is None
    with pytest.raises(
        TypeError, match=r"the axes .x., .y. are of type AxisType.Auto, AxisType.Auto"
    ):
        specs.check_explicit(BOTH)
    specs.check_explicit(Region(EXPLICIT, frozenset("xy"), True))


def test_abstract_meshes_are_replaced_by_those_of_values():
    region = Region(MESH.abstract_mesh, frozenset("x"), False)
    x = array_of(np.zeros(6, np.float32)).placed(NamedSharding(MESH, P("x")))
    assert specs.concrete(region, [1.0, x]) == Region(MESH, frozenset("x"), False)
    with pytest.raises(ValueError, match="which has no devices: pass"):
        specs.concrete(region, [1.0])


def test_arguments_have_to_be_divisible():
    specs.check_arguments("f", BOTH, [P(("x", "y")), P(None, "y")], [f32(6), f32(1, 3)], ["a", "b"])
    with pytest.raises(ValueError, match=r"axis 1, of size 4, along 'y' into 3 shards\. Pad"):
        specs.check_arguments("f", BOTH, [P(None, "y")], [f32(1, 4)], ["a"])
    with pytest.raises(ValueError, match=r"of length 2, for a, .* of rank 1"):
        specs.check_arguments("f", BOTH, [P(None, "y")], [f32(3)], ["a"])


def test_results_must_not_vary_along_other_axes_than_stated():
    def check(aval, spec, region=BOTH):
        specs.check_results("f", region, [spec], [aval], ["result"])

    check(f32(3, varying=("x",)), P("x"))
    check(f32(3, varying=("y",)), P(), Region(MESH, frozenset("xy"), False))
    with pytest.raises(ValueError, match=r"differs along \{x\} alone, .* may vary along \{x,y\}"):
        check(f32(3, varying=("x", "y")), P("x"))
    with pytest.raises(ValueError, match=r"is the same along all axes, \{x,y\}, .* along \{y\}"):
        check(f32(3, varying=("y",)), P())
    with pytest.raises(ValueError, match="that differs between devices needs an axis"):
        check(f32(varying=("x",)), P("x"))


def test_eager_results_are_placed_on_the_mesh():
    x = array_of(np.zeros((6, 2), np.float32))
    assert specs.put(BOTH, x, P("x")).sharding == NamedSharding(MESH, P("x"))
    one = Region(Mesh(DEVICES[:1, :1], ("x", "y")), frozenset("xy"), True)
    assert specs.put(one, x, P("x")) is x
    assert specs.bare(specs.put(BOTH, x, P("x"))).placement is None
