"""Shardings in types: with axes taken out and put in, and of cotangents."""

import pytest

from jitney.core.sharding import types
from jitney.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P

MESH = AbstractMesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)


def lying(*entries, **sums):
    return NamedSharding(MESH, P(*entries, **sums))


def test_axes_that_are_too_many_are_left_out():
    assert types.of_rank(lying("x", "y"), 1) == lying("x")
    assert types.of_rank(lying("x", None), 3) == lying("x", None)
    assert types.of_rank(None, 2) is None


@pytest.mark.parametrize(
    ("axis", "new"), [(0, (None, "x", None)), (1, ("x", None, None)), (2, ("x", None, None))]
)
def test_a_new_axis_is_whole(axis, new):
    assert types.with_axis(lying("x", None), axis, 2) == lying(*new)


def test_a_new_axis_lies_as_it_is_told():
    assert types.with_axis(lying("x", None), 1, 2, lying("y")) == lying("x", "y", None)
    assert types.with_axis(None, 1, 2, lying("y")) == lying(None, "y", None)


def test_arrays_on_no_mesh_stay_so():
    assert types.with_axis(None, 0, 2) is None
    assert types.of_cotangent(None) is None


@pytest.mark.parametrize(("axis", "rest"), [(0, ("y",)), (1, ("x",))])
def test_an_axis_is_taken_out(axis, rest):
    assert types.without_axis(lying("x", "y"), axis) == lying(*rest)


def test_cotangents_of_unreduced_arrays_are_reduced():
    assert types.of_cotangent(lying(None, unreduced={"x"})) == lying(None, reduced={"x"})
    assert types.of_cotangent(lying(None, reduced={"x"})) == lying(None, unreduced={"x"})
    assert types.of_cotangent(lying("x")) == lying("x")
