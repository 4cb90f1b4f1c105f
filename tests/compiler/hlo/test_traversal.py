"""Graphs are walked operands first, and built again without what nothing needs."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.hlo.parse import parse_region
from jitney.compiler.hlo.text import print_region

F32 = np.dtype(np.float32)
LOOP = """(p0: float32[3], p1: float32[3]) {
  %2 = while p0, p1 cond=(p0: float32[3], p1: float32[3]) {
    %2 = constant True : bool[]
    return %2
  } body=(p0: float32[3], p1: float32[3]) {
    %2 = sin p0 : float32[3]
    return %2, p1
  } : (float32[3], float32[3])
  %3 = project %2 index=0 : float32[3]
  %4 = project %2 index=1 : float32[3]
  return %3, %4
}"""


def vector(b, index=0, n=3):
    return b.parameter(index, TensorType((n,), F32))


def test_operands_come_before_their_users():
    b = Builder()
    x = vector(b)
    unused = b.apply("cos", x)
    out = b.apply("add", b.apply("sin", x), b.apply("exp", x))
    order = traversal.topological_order([out])
    assert unused not in order and order[-1] is out
    places = {node: k for k, node in enumerate(order)}
    assert all(places[x] < places[node] for node in order for x in traversal.operands(node))


def test_uses_count_each_operand_and_each_result():
    b = Builder()
    x = vector(b)
    square = b.apply("mul", x, x)
    uses = traversal.count_uses([x, square], [square, square])
    assert uses == {x: 2, square: 2}


def test_branches_are_named_by_number():
    b = Builder()
    x = vector(b)
    case = b.region([x.type], lambda inner, p: [p])
    node = b.cond(b.constant(np.int32(0)), [case, case], [x])[0].node
    assert [name for name, _ in traversal.regions(node)] == ["case0", "case1"]
    assert traversal.operands(node) == (node.index, x)
    assert traversal.regions(x) == []


def test_carries_that_stay_share_the_storage_of_their_start():
    region = parse_region(LOOP)
    changed, kept = region.results
    assert traversal.storage_of(kept) is region.parameters[1]
    assert traversal.storage_of(changed) is changed
    b = Builder()
    x = vector(b, n=4)
    assert traversal.storage_of(b.bitcast(b.reshape(x, (2, 2)), np.uint8)) is x
    assert traversal.storage_of(out := b.reverse(x, (0,))) is out


def test_regions_are_changed_in_loops_alone():
    region = parse_region(LOOP)
    loop = region.results[0].node
    rebuilt = traversal.with_regions(loop, lambda r: ir.Region(r.parameters, r.parameters[:1]))
    assert rebuilt.body.results == loop.body.parameters[:1] and rebuilt.init == loop.init
    assert traversal.with_regions(region.parameters[0], lambda r: None) is region.parameters[0]


def test_rewriting_replaces_what_make_returns():
    lines = "  %1 = sin p0 : float32[3]\n  %2 = neg %1 : float32[3]\n  return %2"
    region = parse_region(f"(p0: float32[3]) {{\n{lines}\n}}")

    def make(b, node, new):
        if isinstance(node, ir.Apply) and node.fn == "sin":
            return b.apply("cos", new[node.args[0]])
        return traversal.rebuild(b, node, new.__getitem__)

    text = print_region(region)
    assert print_region(traversal.rewrite(region, make)) == text.replace("sin", "cos")
    assert print_region(region) == text


def test_every_kind_of_node_in_a_loop_is_built_again():
    region = parse_region(LOOP)
    again = traversal.rewrite(region, lambda b, n, new: traversal.rebuild(b, n, new.__getitem__))
    assert print_region(again) == print_region(region)


@pytest.mark.parametrize("value", [2.5, -0.0])
def test_the_value_of_broadcast_constants(value):
    b = Builder()
    found = traversal.scalar_value(b.reshape(b.full((2, 3), value, F32), (6,)))
    assert found == np.float32(value) and np.signbit(found) == np.signbit(value)
    assert traversal.scalar_value(b.constant(np.float32([1, 2]))) is None
    assert traversal.scalar_value(vector(b)) is None


def test_windows_of_scatters_are_one_element_along_indexed_axes():
    b = Builder()
    x = b.parameter(0, TensorType((5, 4, 3), F32))
    indices = b.parameter(1, TensorType((7, 1), np.dtype(np.int32)))
    updates = b.parameter(2, TensorType((7, 2, 3), F32))
    dims = ir.ScatterDims((1, 2), (0,), (0,))
    assert traversal.window_sizes(b.scatter(x, indices, updates, dims, None, "clip")) == [1, 2, 3]
