"""A function is linearized at a point: values now, and a linear program for the tangents."""

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import DebugInfo
from jitney.core.types.avals import shaped_array
from jitney.transforms.linearize import has_tangent, linearize_flat

INFO = DebugInfo("linearize", "f")
X, Y = np.float32(3), np.float32(5)


def f(x, y, n):
    return [jitney.lax.sin(x) * y, n, y + n]


def test_the_linear_program_has_residuals_and_the_nonzero_tangents():
    outs, linear = linearize_flat(f, [X, Y, 2], INFO)
    np.testing.assert_allclose(outs, [np.sin(X) * Y, 2, 7], rtol=1e-6)
    assert linear.nonzero_in == [True, True, False]
    assert linear.nonzero_out == [True, False, True]
    assert not {"sin", "cos"} & {e.primitive.name for e in linear.jaxpr.eqns}
    tangents = eval_jaxpr(linear.jaxpr, linear.consts, np.float32(2), np.float32(7))
    expected = [2 * np.cos(X) * Y + 7 * np.sin(X), 7]
    np.testing.assert_allclose(tangents, expected, rtol=1e-6)


def test_the_program_is_linear():
    _, linear = linearize_flat(f, [X, Y, 2], INFO)

    def at(*tangents):
        return np.array(eval_jaxpr(linear.jaxpr, linear.consts, *map(np.float32, tangents)))

    np.testing.assert_allclose(at(1, 2) + at(3, -1), at(4, 1), rtol=1e-5)
    np.testing.assert_array_equal(at(0, 0), [0, 0])


def test_only_chosen_arguments_are_differentiated():
    _, linear = linearize_flat(f, [X, Y, 2], INFO, [True, False, True])
    assert linear.nonzero_in == [True, False, False]
    assert linear.nonzero_out == [True, False, False]
    assert linear.without_consts().consts == []
    assert linear.without_consts().jaxpr is linear.jaxpr
    assert len(linear.out_avals) == 3


@pytest.mark.parametrize(
    "dtype, expected", [(np.float16, True), (np.complex64, True), (np.int32, False), (bool, False)]
)
def test_types_that_have_tangents(dtype, expected):
    assert has_tangent(shaped_array((2,), np.dtype(dtype))) is expected
