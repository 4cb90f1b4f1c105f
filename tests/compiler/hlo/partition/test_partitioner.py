"""Programs are divided such that little is sent, and all devices together compute the whole."""

import numpy as np
import pytest
from tests.compiler.hlo.partition.divided import WHOLE, X, Y, divided, sends

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.parse import parse_module
from jitney.compiler.hlo.partition.partitioner import partition

RNG = np.random.default_rng(0)
M = RNG.integers(-4, 5, (8, 16)).astype(np.float32)
MESH = {"x": 4, "y": 2}


def test_sums_of_partial_sums_are_reduced_once():
    body = (
        "%1 = reduce p0 fn=add dims=(0,) : float32[16]\n%2 = mul p0, p0 : float32[8,16]\n"
        "%3 = reduce %2 fn=add dims=(0,) : float32[16]\n%4 = add %1, %3 : float32[16]"
    )
    assert sends(divided(body, [(X, WHOLE)], MESH, [M])) == ["all_reduce"]


def test_who_wants_a_part_of_a_sum_gets_it_by_a_reduce_scatter():
    line = "%1 = reduce p0 fn=add dims=(0,) : float32[16]"
    program = divided(line, [(X, WHOLE)], MESH, [M], outs=[(X,)])
    assert sends(program) == ["reduce_scatter"]


def test_free_values_are_built_for_the_shard():
    body = (
        "%1 = iota dim=1 : float32[8,16]\n%2 = exp %1 : float32[8,16]\n"
        "%3 = mul p0, %2 : float32[8,16]"
    )  # fmt: skip
    program = divided(body, [(X, Y)], MESH, [np.sign(M)])
    assert sends(program) == []
    nodes = traversal.topological_order(program.module.region.results)
    assert {n.shape for n in nodes if isinstance(n, ir.Apply) and n.fn == "exp"} == {(2, 8)}


def test_what_was_moved_is_not_moved_again():
    body = (
        "%1 = sort p0 dim=0 num_keys=1 stable=True : (float32[8,16])\n"
        "%2 = project %1 index=0 : float32[8,16]\n"
        "%3 = cumulative p0 fn=logaddexp dim=0 reverse=False : float32[8,16]\n"
        "%4 = add %2, %3 : float32[8,16]"
    )
    program = divided(body, [(X, WHOLE)], MESH, [M], outs=[(WHOLE, X)])
    assert sends(program) == ["all_to_all"]


LOOP = """%1 = constant 0 : int32[]
%2 = while %1, p0 cond=(p0: int32[], p1: float32[8,16]) {
    %2 = constant 3 : int32[]
    %3 = lt p0, %2 : bool[]
    return %3
  } body=(p0: int32[], p1: float32[8,16]) {
    %2 = constant 1 : int32[]
    %3 = add p0, %2 : int32[]
    %4 = add p1, p1 : float32[8,16]
    return %3, %4
  } : (int32[], float32[8,16])
%3 = project %2 index=1 : float32[8,16]"""


def test_carries_keep_their_sharding():
    program = divided(LOOP, [(X, Y)], MESH, [M])
    assert sends(program) == [] and program.out_specs == ((X, Y),)


def test_carries_that_the_body_turns_are_replicated():
    body = LOOP.replace("16]", "8]").replace(
        "%4 = add p1, p1 : float32[8,8]", "%4 = transpose p1 perm=(1,0) : float32[8,8]"
    )
    program = divided(body, [(X, WHOLE)], MESH, [M[:, :8]])
    assert sends(program) == ["all_gather"]


@pytest.mark.parametrize("index", [0, 1])
def test_branches_agree_on_the_shardings_of_results(index):
    body = """%2 = cond p1, p0 case0=(p0: float32[8,8]) {
    %1 = neg p0 : float32[8,8]
    return %1
  } case1=(p0: float32[8,8]) {
    %1 = transpose p0 perm=(1,0) : float32[8,8]
    return %1
  } : (float32[8,8])
%3 = project %2 index=0 : float32[8,8]"""
    divided(body, [(X, WHOLE), ()], MESH, [M[:, :8], np.int32(index)])


def test_axes_of_size_one_divide_nothing():
    program = divided(
        "%1 = neg p0 : float32[8,16]", [(("x", "one"), WHOLE)], {"x": 2, "one": 1}, [M]
    )
    assert program.in_specs == program.out_specs == ((X, WHOLE),)


def test_collectives_of_programs_are_refused():
    module = parse_module(
        "module f(p0: float32[4]) {\n  %1 = collective p0 kind=all_reduce axes=(('x',2),) "
        "params={fn='add'} : float32[4]\n  return %1\n}"
    )
    with pytest.raises(ValueError, match="already contains a collective, all_reduce"):
        partition(module, [(X,)], {"x": 2})


def test_specs_must_divide_evenly():
    module = parse_module("module f(p0: float32[6]) {\n  return p0\n}")
    with pytest.raises(ValueError, match=r"4 devices along .* do not evenly divide an axis of 6"):
        partition(module, [(X,)], {"x": 4})
    with pytest.raises(ValueError, match="a spec has length 2, but the tensor has shape"):
        partition(module, [(X, WHOLE)], {"x": 2})
