"""Results that are operands, unchanged, are found through calls, branches and loops."""

import numpy as np
import pytest

import jitney
from jitney import lax
from jitney.core.program.evaluate import jaxpr_as_fun
from jitney.core.program.jaxpr import ClosedJaxpr
from jitney.primitives.control import forwarding

X, XS = np.float32(1), np.ones(3, np.float32)


def program(f, *args) -> ClosedJaxpr:
    return jitney.make_jaxpr(f)(*args)


def swapped(x, y):
    return y, x


def looped(x, y):
    def body(carry, row):
        return (carry[0], carry[1] + row), (row, carry[0])

    return lax.scan(body, (x, y), np.arange(3, dtype=np.float32))[0]


def counted(x, y):
    return lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + 1), (x, y))


@pytest.mark.parametrize(
    ("f", "want"),
    [
        (lambda x, y: (y, x + y, x, 1.0), (1, None, 0, None)),
        (lambda x, y: jitney.jit(swapped)(y, x), (0, 1)),
        (lambda x, y: lax.cond(x > 0, swapped, lambda x, y: (y, y), x, y), (1, None)),
        (looped, (0, None)),
        (counted, (0, None)),
    ],
)
def test_where_results_come_from(f, want):
    assert forwarding.forwarded(program(f, X, X).jaxpr) == want


def test_rows_that_are_returned_unchanged():
    def f(k, xs):
        def body(carry, row):
            return carry + row, (row, k, 2 * row)

        return lax.scan(body, X, xs)[1]

    assert forwarding.forwarded(program(f, X, XS).jaxpr) == (1, None, None)


def test_branches_must_forward_the_same_operand():
    branches = program(swapped, X, X), program(lambda x, y: (x, x), X, X)
    assert forwarding.forwarded_by_all(branches) == (None, 0)


def body(c, x, y, z):
    return x, y + c, y


def condition(c, x, y, z):
    return (y < c) & (z < 1)


def test_carries_that_never_change():
    closed = program(body, X, X, X, X)
    assert forwarding.constant_carries(closed, 1) == (True, False, False)
    unseen = forwarding.unseen_constant_carries(program(condition, X, X, X, X), 1, closed, 1)
    assert unseen == (True, False, False)
    read = program(lambda c, x, y, z: x < y, X, X, X, X)
    assert not any(forwarding.unseen_constant_carries(read, 1, closed, 1))


def evaluated(closed, *args):
    return [float(x) for x in jaxpr_as_fun(closed)(*map(np.float32, args))]


def test_carries_become_constants_or_are_left_out():
    closed = program(body, X, X, X, X)
    moved = forwarding.with_carries_as_constants(closed, 1, (True, False, False), True, 1)
    assert evaluated(moved, 10, 1, 2, 3) == [12, 2]
    moved = forwarding.with_carries_as_constants(closed, 1, (True, False, False), True, 0)
    assert evaluated(moved, 1, 10, 2, 3) == [12, 2]
    less = forwarding.without_carries(program(condition, X, X, X, X), 1, (True, False, False))
    assert [evaluated(less, 5, 4, z) for z in (0, 2)] == [[1], [0]]
