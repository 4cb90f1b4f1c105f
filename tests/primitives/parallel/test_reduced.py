"""Collectives on unreduced operands, or with reduced results: types and cotangents."""

import numpy as np
import pytest

import jitney
from jitney.core.sharding.manual_axes import ManualAxisType
from jitney.core.sharding_in_types import varying
from jitney.core.types.avals import shaped_array
from jitney.primitives.parallel.pvary import pcast
from jitney.primitives.parallel.reduced import (
    all_gather_reduced_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
)
from jitney.sharding import PartitionSpec as P

X = np.arange(4, dtype=np.float32)
SCATTER = {"axis_name": ("i",), "axis_size": 2, "tiled": True}
KINDS = ("varying", "unreduced", "reduced")


def value(**kinds):
    manual = ManualAxisType(**{k: frozenset(kinds.get(k, "")) for k in KINDS})
    return varying.typed(shaped_array((4,), np.float32), manual)


def kinds_of(aval):
    manual = varying.type_of(aval)
    return {k: "".join(sorted(getattr(manual, k))) for k in KINDS if getattr(manual, k)}


def test_types_of_results():
    total = unreduced_psum_p.rules["abstract"](value(unreduced="ij"), axes=("i",))
    assert kinds_of(total) == {"unreduced": "j"}
    part = unreduced_reduce_scatter_p.rules["abstract"](
        value(unreduced="i", varying="j"), scatter_dimension=0, **SCATTER
    )
    assert (part.shape, kinds_of(part)) == ((2,), {"varying": "ij"})
    whole = all_gather_reduced_p.rules["abstract"](
        value(varying="ij"), all_gather_dimension=0, **SCATTER
    )
    assert (whole.shape, kinds_of(whole)) == ((8,), {"varying": "j", "reduced": "i"})


def test_operands_of_another_kind():
    with pytest.raises(ValueError, match=r"unreduced_psum: the operand must be unreduced along"):
        unreduced_psum_p.rules["abstract"](value(varying="i"), axes=("i",))
    with pytest.raises(ValueError, match="all_gather_reduced: the operand must be varying"):
        all_gather_reduced_p.rules["abstract"](value(), all_gather_dimension=0, **SCATTER)


def test_sums_of_partial_sums_and_their_cotangents():
    def body(x):
        return unreduced_psum_p.bind(pcast(x, "i", to="unreduced"), axes=("i",))

    f = jitney.shard_map(
        body, mesh=jitney.make_mesh((1,), ("i",)), in_specs=P("i"), out_specs=P(None)
    )
    np.testing.assert_array_equal(f(X), X)
    np.testing.assert_array_equal(jitney.grad(lambda x: (f(x) ** 2).sum())(X), 2 * X)
