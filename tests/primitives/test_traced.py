"""A primitive that is defined by other operations is lowered to them."""

import numpy as np

import jitney
from jitney.core.tracing.primitive import Primitive
from jitney.primitives.calculus import add, mul
from jitney.primitives.traced import lower_by

X = np.float32([1, 2, 3])


def test_results_are_those_of_the_operations():
    one, two = Primitive("one_of_test"), Primitive("two_of_test")
    one.abstract(lambda x, y, *, times: x)
    lower_by(one, lambda x, y, *, times: [mul(add(x, y), np.float32(times))])
    two.multiple_results = True
    two.abstract(lambda x: [x, x])
    lower_by(two, lambda x: [add(x, x), mul(x, x)])
    for of in (lambda f: f, jitney.jit):
        got = of(lambda x, y: one.bind(x, y, times=10))(X, X[::-1])
        np.testing.assert_array_equal(got, [40, 40, 40])
        double, square = of(two.bind)(X)
        np.testing.assert_array_equal(double, 2 * X)
        np.testing.assert_array_equal(square, X * X)
