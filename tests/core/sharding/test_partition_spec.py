"""Specs compare by their entries and by their unreduced and reduced axes."""

import copy
import pickle

import pytest

from jitney.core.sharding.partition_spec import PartitionSpec as P, names_of
from jitney.core.sharding.unreduced_kind import UnreducedKind


def test_entries_are_normalized():
    assert P(["x", "y"], ("z",), ()).partitions == (("x", "y"), "z", None)
    assert P("x") != P("x", None)
    assert hash(P(("x",))) == hash(P("x"))
    assert [names_of(entry) for entry in P(("x", "y"), "z", None)] == [("x", "y"), ("z",), ()]


@pytest.mark.parametrize(
    "spec, text",
    [
        (P(), "P()"),
        (P("x"), "P('x',)"),
        (P(None, ("x", "y")), "P(None, ('x', 'y'))"),
        (P(P.UNCONSTRAINED), "P(UNCONSTRAINED,)"),
        (P(unreduced={"x"}), "P(unreduced={'x'}, unreduced_kind=sum)"),
        (P("y", reduced={"x"}), "P('y', reduced={'x'})"),
    ],
)
def test_texts_and_copies(spec, text):
    assert repr(spec) == text
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec


def test_sums_of_specs_join_all_parts():
    total = P("x", unreduced={"y"}) + P(None, reduced={"z"})
    assert total == P("x", None, unreduced={"y"}, reduced={"z"})
    assert ("x",) + P("y") == P("x", "y") == P("x") + ["y"]
    with pytest.raises(TypeError, match="requires that both operands are PartitionSpecs"):
        P(unreduced={"y"}) + ("x",)
    with pytest.raises(TypeError, match="must have the same unreduced_kind"):
        P(unreduced={"y"}) + P(unreduced={"z"}, unreduced_kind=UnreducedKind.max)


def test_cotangents_exchange_unreduced_and_reduced_axes():
    spec = P("x", unreduced={"y"}, reduced={"z"})
    assert spec.to_ct_spec() == P("x", unreduced={"z"}, reduced={"y"})
    assert spec.to_ct_spec().to_ct_spec() == spec
    assert P("x").to_ct_spec() == P("x")


def test_updates_forget_the_kind_of_a_reduction_that_is_gone():
    spec = P("x", unreduced={"y"}, unreduced_kind=UnreducedKind.max)
    assert spec.update(partitions=()).unreduced_kind is UnreducedKind.max
    assert spec.update(unreduced=()) == P("x")


@pytest.mark.parametrize(
    "entries, axes, message",
    [
        (("x",), {"unreduced": {"x"}}, "cannot overlap with unreduced axes"),
        ((("x", "y"),), {"reduced": {"y"}}, "cannot overlap with reduced axes"),
        ((), {"reduced": {"y"}, "unreduced": {"y"}}, "unreduced and reduced axes cannot overlap"),
        ((), {"unreduced": {None}}, "unreduced cannot contain None"),
        ((("x", ("y",)),), {}, "cannot contain a nested tuple"),
    ],
)
def test_axes_have_one_role(entries, axes, message):
    with pytest.raises(ValueError, match=message):
        P(*entries, **axes)
