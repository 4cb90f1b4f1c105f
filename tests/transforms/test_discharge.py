"""References become arrays: contents before are operands, and contents after are results."""

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.types.refs import AbstractRef
from jitney.transforms.discharge import (
    changed_refs,
    content_type,
    discharge,
    discharge_with_consts,
    discharged,
    has_inner_refs,
    with_contents,
)

X = np.arange(3, dtype=np.float32)


def swap_and_read(written, read, x):
    old = written[...]
    written[...] = x + read[...]
    return old * 2


@pytest.fixture
def program():
    args = jitney.new_ref(X), jitney.new_ref(X), X
    return jitney.make_jaxpr(swap_and_read)(*args)


def test_changed_contents_follow_the_results(program):
    assert changed_refs(program.jaxpr) == [True, False, False]
    pure, changed = discharge(program, (True, True, False))
    assert changed == [True, False, False]
    assert not any(aval.is_ref for aval in pure.in_avals)
    result, contents = eval_jaxpr(pure.jaxpr, pure.consts, X, X + 1, X + 2)
    np.testing.assert_array_equal(result, 2 * X)
    np.testing.assert_array_equal(contents, 2 * X + 3)
    assert not pure.effects


def test_references_that_are_not_marked_are_kept(program):
    kept, changed = discharge(program, (False, True, False))
    assert [aval.is_ref for aval in kept.in_avals] == [True, False, False]
    assert changed == [False] * 3
    assert len(kept.out_avals) == 1


def test_constants_stay_constants():
    table = np.arange(3, dtype=np.float32)
    closed = jitney.make_jaxpr(lambda ref: ref[...] * table)(jitney.new_ref(X))
    jaxpr, consts, changed = discharge_with_consts(closed.jaxpr, closed.consts, [True])
    assert changed == [False]
    assert len(jaxpr.constvars) == len(consts) == 1
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, consts, X)[0], X * table)


def test_references_that_a_program_makes_disappear():
    def counts(x):
        ref = jitney.new_ref(x)
        ref[...] += 1
        return jitney.jit(lambda y: y * 2, inline=False)(ref[...])

    closed = jitney.make_jaxpr(counts)(X)
    assert has_inner_refs(closed.jaxpr)
    pure = discharged(closed)
    assert not has_inner_refs(pure.jaxpr)
    np.testing.assert_array_equal(eval_jaxpr(pure.jaxpr, pure.consts, X)[0], 2 * (X + 1))
    assert discharged(pure) is pure


def test_types_and_results_are_split():
    ref = AbstractRef(jitney.typeof(X))
    assert content_type(ref) == jitney.typeof(X)
    assert content_type(ref, is_content=False) is ref
    assert with_contents([True, False, True], [1, 2, 3, 4], 2) == ([1, 2], [3, None, 4])
