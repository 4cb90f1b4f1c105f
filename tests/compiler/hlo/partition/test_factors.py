"""A node may be sharded along the factors that its axes share, in whole blocks."""

import numpy as np
import pytest

from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.partition import rules as rules  # registers them
from jitney.compiler.hlo.partition.factors import factors_of
from jitney.compiler.hlo.partition.layout import Mesh
from jitney.compiler.hlo.partition.movement import Movement

F32 = np.dtype(np.float32)
X, Y = ("x",), ("y",)
MESH = Mesh({"x": 4, "y": 2})


def parameters(*shapes):
    b = Builder()
    return b, *[b.parameter(k, TensorType(s, F32)) for k, s in enumerate(shapes)]


@pytest.fixture
def product():
    """Factors 0, 1 and 2 of `ij, jk -> ik`."""
    b, x, y = parameters((8, 12), (12, 6))
    return factors_of(b.dot(x, y, ((1,), (0,)), ((), ())))


def test_specs_follow_from_the_division(product):
    division = {0: X, 2: Y}
    assert product.operand_specs(division, MESH) == [(X, ()), ((), Y)]
    assert product.result_specs(division, MESH) == [(X, Y)]
    assert product.result_specs({1: X}, MESH) == [((), ())]


def test_operands_suggest_divisions(product):
    """All combined first, the replicated product last; a mesh axis is used once."""
    found = list(product.divisions([(X, ()), (X, ())], MESH))
    assert found == [({0: X}, 1), ({1: X}, 1), ({}, 1)]
    both = list(product.divisions([(X, ()), ((), Y)], MESH))
    assert both[0] == ({0: X, 2: Y}, 1) and len(both) == 4
    assert list(product.divisions([None, None], MESH)) == [({}, 1)]


def test_shards_have_one_size(product):
    assert product.is_possible({0: ("x", "y")}, MESH)
    assert not product.is_possible({2: X}, MESH)  # 6 columns on 4 devices
    assert product.is_possible({2: Y}, MESH)


def test_inner_factors_of_an_axis_need_whole_outer_ones():
    b, x = parameters((4, 6))
    merged = factors_of(b.reshape(x, (24,)))
    assert merged.is_possible({0: X, 1: Y}, MESH)
    assert merged.is_possible({0: Y}, MESH)
    assert not merged.is_possible({1: Y}, MESH)


def test_builds_make_shards(product):
    b, x, y = parameters((2, 12), (12, 3))
    built = product.build(Movement(b, MESH), [x, y], {0: X, 2: Y}, [(2, 3)])
    assert built.shape == (2, 3)


def test_nodes_without_a_build_are_replicated():
    b, x = parameters((4, 4))
    (out,) = b.host_call("f", lambda v: (v,), [x], [x.type])
    assert factors_of(out.node) is None
    assert factors_of(x) is None
