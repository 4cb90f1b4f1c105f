"""Bodies of loops with other orders of operands compute the same results."""

import numpy as np

import jitney
from jitney.core.program.evaluate import eval_jaxpr
from jitney.primitives.control.scan_orders import regrouped, reordered


def evaluated(closed, *args):
    return [float(x) for x in eval_jaxpr(closed.jaxpr, closed.consts, *map(np.float32, args))]


def body(a, b, c, d, e, f):
    return a - b, c * d, e + f, a * f


CLOSED = jitney.make_jaxpr(body)(*[np.float32(1)] * 6)


def test_operands_and_results_are_permuted():
    turned = reordered(CLOSED, [5, 4, 3, 2, 1, 0], [3, 0])
    assert evaluated(turned, 6, 5, 4, 3, 2, 1) == [6, -1]
    assert reordered(CLOSED, [5, 4, 3, 2, 1, 0], [3, 0]) is turned


def test_derivatives_follow_their_group():
    # consts carry xs dconsts dcarry dxs: one each; results: carry ys dcarry dys
    grouped = regrouped(CLOSED, (1, 1, 1, 1, 1, 1), 2)
    # const, dconst, carry, dcarry, x, dx
    assert evaluated(grouped, 1, 4, 2, 5, 3, 6) == [-1, 11, 12, 6]
    uneven = regrouped(CLOSED, (2, 1, 1, 1, 1, 0), 3)
    # consts a, b, then dconst e, carry c, dcarry f, x d
    assert evaluated(uneven, 1, 2, 5, 3, 6, 4) == [-1, 6, 12, 11]
