"""Loops and branches that are run step by step say in which iteration a check failed."""

import numpy as np
import pytest

import jitney
from jitney import lax
from jitney.primitives.control.steps import cond_by_steps, scan_by_steps, while_by_steps


def only_equation(f, *args):
    closed = jitney.make_jaxpr(f)(*args)
    (eqn,) = [e for e in closed.eqns if e.primitive.name in ("scan", "while", "cond")]
    return eqn


XS = np.float32([2, 1, 0, 1])


@pytest.mark.parametrize(("reverse", "number"), [(False, 2), (True, 1)])
def test_the_iteration_of_a_scan(reverse, number):
    eqn = only_equation(
        lambda xs: lax.scan(lambda c, x: (c + 0 / x, None), 0.0, xs, reverse=reverse), XS
    )
    scan_by_steps(np.float32(0), XS, **eqn.params)
    with (
        jitney.debug_nans(True),
        pytest.raises(FloatingPointError, match=f"in iteration {number} of"),
    ):
        scan_by_steps(np.float32(0), XS, **eqn.params)


def test_the_iteration_of_a_while_loop():
    eqn = only_equation(
        lambda x: lax.while_loop(
            lambda c: c[0] < 5, lambda c: (c[0] + 1, 0 / (3 - c[0])), (0.0, x)
        ),
        1.0,
    )
    with jitney.debug_nans(True), pytest.raises(FloatingPointError, match="in iteration 3 of"):
        while_by_steps(np.float32(0), np.float32(1), **eqn.params)


@pytest.mark.parametrize(("index", "fails"), [(0, False), (1, True), (9, True), (-3, False)])
def test_only_the_selected_branch_is_evaluated(index, fails):
    eqn = only_equation(lambda p, x: lax.cond(p, lambda x: (x - x) / x, lambda x: x, x), True, 1.0)
    with jitney.debug_nans(True):
        if fails:
            with pytest.raises(FloatingPointError):
                cond_by_steps(np.int32(index), np.float32(0), **eqn.params)
        else:
            cond_by_steps(np.int32(index), np.float32(0), **eqn.params)
