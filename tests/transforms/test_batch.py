"""Functions and programs are batched over axes at any position."""

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.tracing.primitive import Primitive
from jitney.transforms.batch import (
    AxisData,
    batch_flat,
    batch_jaxpr,
    batch_jaxpr_at,
    move_to,
    whole_aval,
)

AXIS = AxisData(None, 3)
X = np.arange(6, dtype=np.float32).reshape(3, 2)
Y = np.arange(2, dtype=np.float32)


def f(x, y):
    return [x * y, y + 1, x.sum()]


@pytest.mark.parametrize("dim", [0, 1])
def test_batches_have_dimensions_as_far_as_operands_do(dim):
    outs, dims = batch_flat(f, AXIS, [np.moveaxis(X, 0, dim), Y], [dim, None])
    assert dims[1] is None
    np.testing.assert_array_equal(np.moveaxis(outs[0], dims[0], 0), X * Y)
    np.testing.assert_array_equal(outs[1], Y + 1)
    np.testing.assert_array_equal(outs[2], X.sum(1))


def test_axes_have_names_within_the_function():
    seen = []

    def named(x):
        seen.append(jitney.lax.axis_size("i"))
        return [jitney.lax.psum(x, "i")]

    outs, dims = batch_flat(named, AxisData("i", 3), [X], [0])
    assert seen == [3]
    total = outs[0] if dims[0] is None else np.moveaxis(outs[0], dims[0], 0)[0]
    np.testing.assert_array_equal(total, X.sum(0))


@pytest.mark.parametrize(
    "instantiated, batched",
    [(False, (True, False, True)), (True, (True, True, True)), ((False, True, False), (True,) * 3)],
)
def test_programs_are_batched_over_leading_axes(instantiated, batched):
    closed = jitney.make_jaxpr(f)(Y, Y)
    program, found = batch_jaxpr(closed, AXIS, (True, False), instantiated)
    assert found == batched
    outs = eval_jaxpr(program.jaxpr, program.consts, X, Y)
    expected = [X * Y, np.broadcast_to(Y + 1, (3, 2)) if batched[1] else Y + 1, X.sum(1)]
    for out, wanted in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out, wanted)


def test_programs_are_batched_without_moving_axes():
    closed = jitney.make_jaxpr(lambda x: [x * 2, 3.0])(Y)
    program, dims = batch_jaxpr_at(closed, AXIS, (1,))
    assert dims == (1, None)
    assert [str(a) for a in program.in_avals] == ["float32[2,3]"]
    assert [e.primitive.name for e in program.eqns] == ["mul"]


def test_values_are_moved_or_broadcast():
    np.testing.assert_array_equal(move_to(X, 0, 1, 3), X.T)
    assert move_to(X, 0, 0, 3) is X
    np.testing.assert_array_equal(move_to(Y, None, 1, 3), np.stack([Y] * 3, 1))
    aval = jitney.typeof(Y)
    assert whole_aval(aval, AXIS, 1).shape == (2, 3)
    assert whole_aval(aval, AXIS, None) is aval


def test_primitives_without_a_rule_are_refused():
    p = Primitive("test_p")
    p.def_impl(lambda x: x)
    with pytest.raises(NotImplementedError, match="'test_p' has no batching rule, so vmap"):
        batch_flat(lambda x: [p.bind(x)], AXIS, [X], [0])
    outs, dims = batch_flat(lambda x: [p.bind(Y)], AXIS, [X], [0])  # on no batch
    assert dims == [None]
    np.testing.assert_array_equal(outs[0], Y)
