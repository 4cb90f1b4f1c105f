"""The option `out_sharding` may be left out; otherwise it names Explicit axes of the mesh."""

import pytest

import jitney
from jitney.primitives.array.out_places import out_place
from jitney.sharding import AxisType, NamedSharding, PartitionSpec as P


def mesh(kind):
    return jitney.make_mesh((1,), ("x",), axis_types=(kind,))


def test_no_sharding_is_none():
    assert out_place(None, "full") is None


def test_shardings_are_on_the_context_mesh():
    with jitney.set_mesh(mesh(AxisType.Explicit)):
        assert out_place(P("x"), "full").spec == P("x")
    with pytest.raises(TypeError, match="full: out_sharding must be a NamedSharding"):
        out_place(3, "full")
    with pytest.raises(ValueError, match=r"full: the axes of .* must be of type Explicit"):
        out_place(NamedSharding(mesh(AxisType.Auto), P("x")), "full")
