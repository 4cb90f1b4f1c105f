"""Logs of transposed branches are put together, with zeros where a branch did not run."""

import numpy as np

import jitney
from jitney import lax, tree_util as pytree
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.core.types.avals import shaped_array
from jitney.primitives.control.cond_backward import TransposedBranches, transposed_branches

ONE = np.float32(1)


def test_entries_of_all_branches_by_name():
    trees = [pytree.tree_structure(t) for t in ({"a": 0}, {}, {"b": (0, 0), "a": 0})]
    log = TransposedBranches([], (), trees).log_of(np.int32(2), [1, 2, 3, 4])
    assert log["a"].branches == [1, None, 2]
    assert log["b"].branches == [None, None, (3, 4)]
    assert log["b"].index == 2


def test_transposes_return_the_same_results():
    branches = (
        jitney.make_jaxpr(lambda k, x, y: (k * x, y))(ONE, ONE, ONE),
        jitney.make_jaxpr(lambda k, x, y: (x + x, 0 * x))(ONE, ONE, ONE),
    )
    aval = shaped_array((), np.float32)
    got = transposed_branches(branches, (False, True, True), (True, False), (False,), (aval, aval))
    for program, want in zip(got.programs, (5, 2), strict=True):
        outs = jaxpr_as_fun(program)(np.float32(5), ONE)
        assert float(outs[0]) == want
    assert len({len(p.out_avals) for p in got.programs}) == 1


def test_operands_that_one_branch_does_not_use_have_zero_cotangents():
    def f(p, x, y):
        return lax.cond(p, lambda x, y: x * 2, lambda x, y: y * 3, x, y)

    for p, want in ((True, [2, 0]), (False, [0, 3])):
        assert [float(g) for g in jitney.grad(f, (1, 2))(p, ONE, ONE)] == want
