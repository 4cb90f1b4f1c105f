"""Branches are chosen by booleans or by an index, which is clamped."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.control.cond import cond, switch

BRANCHES = [lambda x: x + 1, lambda x: x * 10, lambda x: -x]


@pytest.mark.parametrize(("index", "want"), [(0, 3), (1, 20), (2, -2), (7, -2), (-4, 3)])
def test_indices_are_clamped(index, want):
    assert switch(index, BRANCHES, 2) == want
    assert jitney.jit(lambda i: switch(i, BRANCHES, 2))(index) == want
    assert switch(index, BRANCHES[:1], 2) == 3


@pytest.mark.parametrize("pred", [True, False, 2, 0, 0.5, np.float32(0), np.bool_(True)])
def test_predicates_are_booleans_or_numbers(pred):
    def choose(p):
        return cond(p, lambda x: x + 1, lambda x: x - 1, 5)

    want = 6 if pred else 4
    assert choose(pred) == want
    assert jitney.jit(choose)(pred) == want


def test_only_the_chosen_branch_runs():
    with jitney.disable_jit():
        assert cond(False, lambda: 1 / 0, lambda: 3) == 3
    seen = []
    jitney.jit(lambda p: cond(p, lambda: jitney.debug.callback(seen.append, 1), lambda: None))(
        False
    )
    jitney.effects_barrier()
    assert seen == []


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: cond(True, 1, 2), TypeError, "`true_fun` and `false_fun` must be functions"),
        (lambda: cond(None, abs, abs, 1), TypeError, "but is None"),
        (lambda: cond(jnp.ones(2), abs, abs, 1), TypeError, r"`pred` must be a scalar.*\(2,\)"),
        (lambda: switch(0, [], 1), ValueError, "must contain at least one function"),
        (lambda: switch(0, [1], 1), TypeError, "`branches` must contain functions only"),
        (lambda: switch(0.5, BRANCHES, 1), TypeError, "`index` must be an integer"),
        (lambda: switch(jnp.zeros(2, int), BRANCHES, 1), TypeError, "`index` must be a scalar"),
        (lambda: cond(True, lambda x: x, lambda x: (x,), 1), TypeError, "the same tree structure"),
        (lambda: cond(True, lambda x: x, lambda x: 0.5 * x, 1), TypeError, "their dtypes differ"),
    ],
)
def test_what_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()
