"""`jax.interpreters.ad`: derivatives of functions of flat values, and rules by primitive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.recording import linear_util as lu
from jitney.core.types.avals import ShapedArray
from jitney.interpreters import ad
from jitney.lax import mul_p, sin_p

F32 = ShapedArray((), np.dtype(np.float32))


def products(x, y):
    return [x * y, jnp.sin(y)]


@pytest.mark.parametrize("wrapped", [True, False])
def test_jvp(wrapped):
    fun = lu.wrap_init(products) if wrapped else products
    outs, tangents = ad.jvp(fun, [2.0, 3.0], [1.0, ad.Zero(F32)])
    np.testing.assert_allclose(outs, [6.0, np.sin(3.0)], rtol=1e-6)
    np.testing.assert_array_equal(tangents, [3.0, 0.0])


def test_jvp_with_zeros_as_they_are():
    _, tangents = ad.jvp(products, [2.0, 3.0], [1.0, ad.Zero(F32)], instantiate=False)
    assert float(tangents[0]) == 3.0
    assert isinstance(tangents[1], ad.Zero)


def test_jvp_with_a_further_result():
    outs, tangents, aux = ad.jvp(lambda x: ([x * x], "kept"), [3.0], [1.0], has_aux=True)
    assert (float(outs[0]), float(tangents[0]), aux) == (9.0, 6.0, "kept")


@pytest.mark.parametrize("instantiate", [False, True, [False, True]])
def test_jvp_of_a_program(instantiate):
    closed: Any = jax.make_jaxpr(products)(2.0, 3.0)
    program, nonzero = ad.jvp_jaxpr(closed, [True, False], instantiate)
    has_second = instantiate is not False
    assert nonzero == [True, has_second]
    outs = eval_jaxpr(program.jaxpr, program.consts, 2.0, 3.0, 1.0)
    expected = [6.0, np.sin(3.0), 3.0, *[0.0] * has_second]
    np.testing.assert_allclose(outs, expected, rtol=1e-6)


def test_rules_by_primitive():
    rule = ad.get_primitive_transpose(mul_p)
    ct = rule(2.0, ad.UndefinedPrimal(F32), 3.0, out_dtype=None)
    assert float(ct[0]) == 6.0
    with pytest.raises(NotImplementedError, match="'sin' has no transpose rule"):
        ad.get_primitive_transpose(sin_p)


def test_sums_and_zeros():
    np.testing.assert_array_equal(ad.add_jaxvals(np.float32(1), np.float32(2)), 3)
    zeros = ad.zeros_like_aval(ShapedArray((2,), np.dtype(np.float32)))
    assert (zeros.shape, zeros.dtype) == ((2,), np.float32)
    assert not np.any(zeros)


def test_rules_of_linear_primitives():
    prim = jax.extend.core.Primitive("thrice of the tests of ad")
    prim.def_impl(lambda x, *, by: x * by)
    prim.def_abstract_eval(lambda x, *, by: x)
    ad.deflinear(prim, lambda ct, *, by: [ct * by])
    assert jax.jvp(lambda x: prim.bind(x, by=3.0), (2.0,), (5.0,)) == (6.0, 15.0)
    assert jax.grad(lambda x: prim.bind(x, by=3.0))(2.0) == 3.0
    (none,) = prim.rules["transpose"](ad.Zero(F32), ad.UndefinedPrimal(F32), by=3.0)
    assert isinstance(none, ad.Zero)
