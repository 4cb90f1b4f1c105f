"""Casts say along which mesh axes values differ, and keep the values."""

import numpy as np
import pytest

import jitney
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.primitives.parallel.pvary import pcast, relation
from jitney.sharding import PartitionSpec as P

X = np.arange(4, dtype=np.float32)


def mapped(body, out=None):
    mesh = jitney.make_mesh((1, 1), ("i", "j"))
    return jitney.shard_map(body, mesh=mesh, in_specs=P("i"), out_specs=out or P("i"))(X)


@pytest.mark.parametrize(
    ("names", "want"),
    [(("a",), "varying"), (("b", "c"), "unreduced"), (("d",), "reduced"), (("e",), None),
     (("a", "e"), "mixed"), (("a", "b"), "mixed"), ((), None)],
)  # fmt: skip
def test_kinds_of_axes(names, want):
    manual = ManualAxisType(
        varying=frozenset("a"), unreduced=frozenset("bc"), reduced=frozenset("d")
    )
    assert relation(manual, names) == want


def test_types_after_a_cast():
    seen = []

    def body(x):
        for to in ("varying", "reduced"):
            seen.append(jitney.typeof(pcast(x, "j", to=to)))
        return pcast(x, "j", to="varying")

    got = mapped(body, out=P(("i", "j")))
    np.testing.assert_array_equal(got, X)
    assert [str(t) for t in seen] == ["float32[4]{V:(i,j)}", "float32[4]{V:i, R:j}"]


def test_cotangents_of_values_that_may_differ_are_summed():
    def loss(x):
        return jitney.lax.psum((pcast(x, "j", to="varying") ** 2).sum(), ("i", "j"))

    got = mapped(jitney.grad(loss))
    np.testing.assert_array_equal(got, 2 * X)


@pytest.mark.parametrize(
    ("axis", "to", "error", "match"),
    [
        ("i", "equal", ValueError, "must be one of varying, reduced, unreduced, but is 'equal'"),
        ({"i"}, "varying", TypeError, "a tuple of names, because their order matters"),
        ("i", "reduced", ValueError, r"is varying along \('i',\), which cannot be cast to reduced"),
        (("i", "j"), "varying", ValueError, "is of several kinds along"),
    ],
)
def test_what_is_refused(axis, to, error, match):
    with pytest.raises(error, match=match):
        mapped(lambda x: pcast(x, axis, to=to))
    with pytest.raises(ValueError, match="no axis 'k' is in scope"):
        pcast(X, "k", to="varying")
