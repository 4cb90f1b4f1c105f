"""Products of rows with one matrix are computed before the loop, all at once."""

import numpy as np
import pytest

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.interpret import run
from jitney.compiler.hlo.passes import hoist

F32 = np.dtype(np.float32)
COUNT, N = 10, 4 + int(COSTS.large_matrix**0.5)
RNG = np.random.default_rng(0)
XS, W = [RNG.integers(-2, 3, size=s).astype(np.float32) for s in ((COUNT, N), (N, N))]


def program(product, count=COUNT, changes_matrix=False):
    """A loop that adds `product(builder, xs[i], w)`."""
    b = Builder()
    xs, w = [b.parameter(k, ir.TensorType(x.shape, F32)) for k, x in enumerate((XS, W))]

    def step(c, i, xs, w, total):
        part = c.reshape(c.dynamic_slice(xs, [i, c.constant(np.int32(0))], (1, N)), (N,))
        made = product(c, part, w)
        return [xs, c.apply("neg", w) if changes_matrix else w, c.apply("add", total, made)]

    return b.module("f", [xs, w], b.for_(count, [xs, w, b.full((N,), 0, F32)], step)[2:])


def left(c, row, w):
    return c.dot(row, w, ((0,), (0,)), ((), ()))


def right(c, row, w):
    return c.dot(w, row, ((1,), (0,)), ((), ()))


def dots(module):
    """The shapes of products outside of the loop, and in its body."""
    nodes = traversal.topological_order(module.region.results)
    loop = next(n for n in nodes if isinstance(n, ir.While))
    inner = traversal.topological_order(loop.body.results)
    return [[n.shape for n in some if isinstance(n, ir.Dot)] for some in (nodes, inner)]


@pytest.mark.parametrize("product", [left, right])
def test_one_product_of_all_rows(product):
    module = program(product)
    hoisted = hoist.run(module)
    assert dots(module) == [[], [(N,)]]
    assert dots(hoisted) == [[(COUNT, N)], []]
    expected = (XS @ W if product is left else XS @ W.T).sum(0)
    for some in (module, hoisted):
        np.testing.assert_array_equal(run(some, [XS, W])[0], expected)


def test_axes_of_products_of_several_rows_are_turned():
    b = Builder()
    xs = b.parameter(0, ir.TensorType((COUNT, 2, N), F32))
    w = b.parameter(1, ir.TensorType((N, N), F32))

    def step(c, i, xs, w, total):
        zero = c.constant(np.int32(0))
        rows = c.reshape(c.dynamic_slice(xs, [i, zero, zero], (1, 2, N)), (2, N))
        return [xs, w, c.apply("add", total, c.dot(w, rows, ((1,), (1,)), ((), ())))]

    module = b.module("f", [xs, w], b.for_(COUNT, [xs, w, b.full((N, 2), 0, F32)], step)[2:])
    hoisted = hoist.run(module)
    assert dots(hoisted) == [[(COUNT, 2, N)], []]
    values = [RNG.integers(-2, 3, size=p.shape).astype(np.float32) for p in (xs, w)]
    np.testing.assert_array_equal(run(hoisted, values)[0], run(module, values)[0])


@pytest.mark.parametrize("given", [{"changes_matrix": True}, {"count": 4}])
def test_products_that_would_not_pay_off_stay(given):
    """Those of matrices that change, or of many more rows than iterations."""
    module = program(left, **given)
    assert dots(hoist.run(module)) == [[], [(N,)]]


def test_tall_matrices_are_transposed_before_the_loop():
    rows, columns = COSTS.narrow_row, COSTS.narrow_row - 1
    b = Builder()
    w = b.parameter(0, ir.TensorType((rows, columns), F32))
    x = b.parameter(1, ir.TensorType((columns,), F32))

    def step(c, i, w, x):
        y = c.dot(w, x, ((1,), (0,)), ((), ()))
        return [w, c.apply("sub", x, c.slice(y, (0,), (columns,), (1,)))]

    module = b.module("f", [w, x], b.for_(3, [w, x], step)[1:])
    hoisted = hoist.run(module)
    outside = traversal.topological_order(hoisted.region.results)
    assert [n.shape for n in outside if isinstance(n, ir.Transpose)] == [(columns, rows)]
    values = [RNG.integers(-1, 2, size=p.shape).astype(np.float32) for p in (w, x)]
    np.testing.assert_array_equal(run(hoisted, values)[0], run(module, values)[0])
