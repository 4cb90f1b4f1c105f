"""Values of all iterations, computed at once, are those that the loop computes one after the other."""

import numpy as np
import pytest

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run_region
from jitney.compiler.hlo.loop_analysis import count_trips
from jitney.compiler.hlo.passes.batch_iterations import (
    batch_over_iterations,
    can_lift,
    row,
    with_stacked_outputs,
)

F32 = np.dtype(np.float32)
XS = np.arange(20, dtype=np.float32).reshape(4, 5)
V = np.float32([3, 1, 4, 1, 5])


def looped(make):
    """A loop over i < 4 in which `make(builder, i, xs, v)` is computed; and its parameters."""
    b = Builder()
    xs, v = [b.parameter(k, ir.TensorType(x.shape, F32)) for k, x in enumerate((XS, V))]
    seen = []

    def step(c, i, xs, v, out):
        seen.append(made := make(c, i, xs, v))
        return [xs, v, made]

    types = ir.TensorType((), np.dtype(np.int32)), xs.type, v.type
    c = Builder()
    shape = make(c, *[c.parameter(k, t) for k, t in enumerate(types)]).shape
    out = b.full(shape, 0, F32)
    loop = b.for_(4, [xs, v, out], step)[0].node
    return b, (xs, v), loop, seen[0]


def this_row(c, i, xs):
    return c.reshape(c.dynamic_slice(xs, [i, c.constant(np.int32(0))], (1, 5)), (5,))


def last_row(c, i, xs):
    return this_row(c, c.apply("sub", c.constant(np.int32(3)), i), xs)


CASES = {
    "rows": (lambda c, i, xs, v: this_row(c, i, xs), XS),
    "rows backwards": (lambda c, i, xs, v: last_row(c, i, xs), XS[::-1]),
    "invariants": (lambda c, i, xs, v: c.apply("add", v, this_row(c, i, xs)), V + XS),
    "counter": (
        lambda c, i, xs, v: c.broadcast(c.convert(i, F32), (2,), ()),
        np.float32([[0, 0], [1, 1], [2, 2], [3, 3]]),
    ),
    "transposed": (
        lambda c, i, xs, v: c.transpose(c.broadcast(this_row(c, i, xs), (2, 5), (1,)), (1, 0)),
        np.stack([XS, XS], -1),
    ),
    "reversed": (lambda c, i, xs, v: c.reverse(this_row(c, i, xs), (0,)), XS[:, ::-1]),
    "joined": (
        lambda c, i, xs, v: c.slice(c.concatenate([this_row(c, i, xs), v], 0), (3,), (8,), (2,)),
        np.hstack([XS, np.tile(V, (4, 1))])[:, 3:8:2],
    ),
    "padded": (
        lambda c, i, xs, v: c.pad(this_row(c, i, xs), c.constant(np.float32(9)), (1,), (-2,), (0,)),
        np.pad(XS[:, :3], ((0, 0), (1, 0)), constant_values=9),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_of_all_iterations(name):
    make, expected = CASES[name]
    b, parameters, loop, node = looped(make)
    trips = count_trips(loop)
    assert all(can_lift(loop, trips, x) for x in traversal.topological_order([node]))
    rows = {}
    batch_over_iterations(b, loop, trips, [node], rows)
    found = run_region(ir.Region(parameters, (rows[node],)), [XS, V])[0]
    np.testing.assert_array_equal(found, expected)


def test_what_depends_on_other_iterations_stays():
    b, _, loop, node = looped(lambda c, i, xs, v: c.reduce(this_row(c, i, xs), "add", (0,)))
    trips = count_trips(loop)
    assert not can_lift(loop, trips, node)
    assert not can_lift(loop, trips, loop.body.parameters[3])  # changes
    fixed = b.dynamic_slice(loop.body.parameters[1], [b.constant(np.int32(2))] * 2, (1, 5))
    assert row(loop, trips, fixed) is None


def test_stacked_outputs_are_further_carries():
    b, parameters, loop, node = looped(lambda c, i, xs, v: c.apply("mul", this_row(c, i, xs), v))
    larger = with_stacked_outputs(b, loop, count_trips(loop), [node], kept=[3, 0])
    results = b.while_(larger.cond, larger.body, larger.init)
    last, _, every = run_region(ir.Region(parameters, tuple(results[:3])), [XS, V])
    np.testing.assert_array_equal(last, XS[-1] * V)
    np.testing.assert_array_equal(every, XS * V)
