"""Along which axes of a mesh operations have devices communicate."""

from __future__ import annotations

import numpy as np
import pytest

import jitney as jax
from jitney.core.tracing.communication import COMMUNICATION, Communication, of_types, unreduced_axes
from jitney.core.tracing.primitive import registry
from jitney.core.types.avals import ShapedArray
from jitney.primitives import load_all

load_all.load()
P, AxisType = jax.P, jax.sharding.AxisType
MESH = jax.sharding.AbstractMesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)


def f32(shape, *spec, **terms):
    sharding = jax.NamedSharding(MESH, P(*spec, **terms))
    return ShapedArray(shape, np.float32, sharding=sharding)


@pytest.mark.parametrize(
    ("operands", "results", "axes"),
    [
        ([f32((4, 2), "x")], [f32((4, 2), "x")], set()),
        ([f32((4, 2), "x")], [f32((2,))], {"x"}),
        ([f32((4, 2), "x", "y")], [f32((4,), "x")], {"y"}),
        ([f32((4, 2), ("x", "y"))], [f32(())], {"x", "y"}),
        ([f32((4, 2), "x")], [f32((2,), unreduced={"x"})], set()),
        ([f32((2,), unreduced={"x"})], [f32((2,))], {"x"}),
        ([f32((0, 2))], [f32((2,))], set()),
        ([f32((4,)), f32((4,), "y")], [f32((4,)), f32((4,), "y")], set()),
    ],
)
def test_types_tell_of_it(operands, results, axes):
    (found,) = of_types(operands, results, {})
    assert found.axes == axes


COLLECTIVES = {
    "all_gather", "all_gather_invariant", "all_gather_reduced", "all_to_all", "pbroadcast", "pmax",
    "pmin", "ppermute", "psum", "psum_invariant", "ragged_all_to_all", "reduce_scatter",
    "unreduced_psum", "unreduced_reduce_scatter",
}  # fmt: skip


def test_collectives_name_their_axes():
    """All operations over named axes, but for those that only tell where a device is, or send."""
    for name in COLLECTIVES:
        rule = COMMUNICATION.rule_of(registry[name])
        assert rule([], [], {"axes": ("x", "y")}) == [Communication({"x", "y"}, "acts on them")]
        assert rule([], [], {"axis_name": "x"})[0].axes == {"x"}
    others = {n for n, p in registry.items() if COMMUNICATION.rule_of(p) and n not in COLLECTIVES}
    assert others == {"cond", "device_put", "dot_general", "reshard", "scan", "shard_map", "while"}


def test_operations_that_call_programs_have_none_of_their_own():
    rule = COMMUNICATION.rule_of(registry["scan"])
    assert rule([f32((4, 2), "x")], [f32((2,))], {}) == []


def test_contractions_sum():
    rule = COMMUNICATION.rule_of(registry["dot_general"])
    x, y = f32((2, 4), None, "x"), f32((4, 2), "x")
    params = {"dimension_numbers": (((1,), (0,)), ((), ()))}
    assert [c.axes for c in rule([x, y], [f32((2, 2))], params)] == [{"x"}, {"x"}]
    assert [c.axes for c in rule([x, y], [f32((2, 2), "x")], params)] == [set(), {"x"}]
    terms = f32((2, 2), unreduced={"x"})
    assert [c.axes for c in rule([x, y], [terms], params)] == [set(), set()]
    assert unreduced_axes([terms, x]) == {"x"}


def test_moves_to_another_axis():
    rule = COMMUNICATION.rule_of(registry["reshard"])
    x = f32((4, 2), "x", "y")
    assert [c.axes for c in rule([x], [f32((4, 2), "y", "x")], {})] == [set(), {"x", "y"}]
    assert [c.axes for c in rule([x], [f32((4, 2), "x")], {})] == [{"y"}, set()]
    assert [c.axes for c in rule([f32((4, 2), "x")], [x], {})] == [set(), set()]
