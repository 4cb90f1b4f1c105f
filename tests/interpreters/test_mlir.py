"""Lowering rules of primitives are derived from functions, or build nodes themselves."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.compiler.hlo.ir import TensorType
from jitney.core.tracing.primitive import Primitive
from jitney.core.types.avals import ShapedArray
from jitney.interpreters import mlir

X = np.float32([[1, 2], [3, 4]])


@pytest.fixture
def scaled():
    prim = Primitive("scaled of the tests of mlir")
    prim.def_abstract_eval(lambda x, *, by: x)
    return prim


@pytest.fixture
def both():
    prim = Primitive("both of the tests of mlir")
    prim.multiple_results = True
    prim.def_abstract_eval(lambda x: [x.update(shape=()), x])
    return prim


def compiled(prim, *args, **params):
    return jax.jit(lambda *xs: prim.bind(*xs, **params))(*args)


def test_rules_from_functions(scaled, both):
    mlir.register_lowering(scaled, mlir.lower_fun(lambda x, *, by: x * by + 1, False))
    np.testing.assert_array_equal(compiled(scaled, X, by=3), 3 * X + 1)
    np.testing.assert_array_equal(compiled(scaled, X, by=5), 5 * X + 1)
    mlir.register_lowering(both, mlir.lower_fun(lambda x: (jnp.sum(x), -x)))
    total, negative = compiled(both, X)
    assert total == 10
    np.testing.assert_array_equal(negative, -X)


def test_rules_that_build_nodes(scaled):
    contexts = []

    def rule(ctx, node, *, by):
        contexts.append(ctx)
        return mlir.ir_constant(np.full((2, 2), by, np.float32), ctx=ctx)

    mlir.register_lowering(scaled, rule)
    np.testing.assert_array_equal(compiled(scaled, X, by=7), np.full((2, 2), 7))
    (ctx,) = contexts
    assert ctx.primitive is scaled and ctx.module_context.platforms == ("cpu",)
    assert [aval.shape for aval in (*ctx.avals_in, *ctx.avals_out)] == [(2, 2), (2, 2)]


def test_rules_for_the_cpu_come_first(scaled):
    def times(n):
        return mlir.lower_fun(lambda x, *, by: x * n, multiple_results=False)

    mlir.register_lowering(scaled, times(10), platform="cpu")
    mlir.register_lowering(scaled, times(100))
    mlir.register_lowering(scaled, times(1000), platform="tpu")
    np.testing.assert_array_equal(compiled(scaled, X, by=1), 10 * X)


def test_types():
    aval = ShapedArray((2, 3), np.dtype(np.int8))
    assert mlir.aval_to_ir_type(None, aval) == TensorType((2, 3), np.dtype(np.int8))
    assert mlir.dtype_to_ir_type(np.float16) == TensorType((), np.dtype(np.float16))
