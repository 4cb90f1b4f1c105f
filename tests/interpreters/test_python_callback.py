"""`mlir.emit_python_callback`: lowering rules of users' primitives that call Python."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.core import ShapedArray
from jitney.extend.core import Primitive
from jitney.interpreters import mlir


def primitive_of(callback, has_side_effect=False):
    prim = Primitive("host")
    prim.multiple_results = True
    prim.def_abstract_eval(lambda x: [ShapedArray((2, *x.shape), x.dtype), x])

    def rule(ctx, x):
        outs, token, keepalive = mlir.emit_python_callback(
            ctx, callback, None, [x], ctx.avals_in, ctx.avals_out, has_side_effect=has_side_effect
        )
        assert token is None
        ctx.module_context.add_keepalive(keepalive)
        return outs

    mlir.register_lowering(prim, rule)
    return prim


def test_results_and_fusion():
    prim = primitive_of(lambda x: [np.stack([x, -np.asarray(x)]), np.asarray(x) * 3])
    x = jnp.arange(3.0)
    both, tripled = jitney.jit(lambda x: [y + 1 for y in prim.bind(x * 2)])(x)
    np.testing.assert_array_equal(both, [[1.0, 3.0, 5.0], [1.0, -1.0, -3.0]])
    np.testing.assert_array_equal(tripled, [1.0, 7.0, 13.0])


@pytest.mark.parametrize("has_side_effect", [False, True])
def test_calls(has_side_effect):
    calls = []

    def callback(x):
        calls.append(float(x))
        return [np.stack([x, x]), x]

    prim = primitive_of(callback, has_side_effect)

    @jitney.jit
    def unused(x):
        prim.bind(x)
        return x + 1

    assert unused(2.0) == 3.0
    # Programs leave out equations that have no declared effect, with their lowering.
    assert len(calls) <= 1


def test_errors():
    prim = primitive_of(lambda x: [x])
    with pytest.raises(jitney.errors.JaxRuntimeError, match="a callback must return"):
        jitney.jit(prim.bind)(jnp.ones(2))
