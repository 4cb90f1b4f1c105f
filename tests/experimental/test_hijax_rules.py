"""Rules of users' operations that are made of other ones. The numbers are those of JAX 0.12.0.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.types.avals import ShapedArray
from jitney.experimental import hijax as modules_own_hijax
from jitney.transforms.batch import AxisData

hijax: Any = modules_own_hijax
TYPE = ShapedArray((), np.float32)
AXIS = AxisData("i", 4, None, None)


class Product(hijax.HiPrim):
    """x sin(y), by the methods of subclasses."""

    def __init__(self):
        self.in_avals, self.out_aval, self.params = (TYPE, TYPE), TYPE, {}
        super().__init__()

    def expand(self, x, y):
        return x * jnp.sin(y)


def slope(*operands_and_tangents):
    x, y, s, t = operands_and_tangents
    s, t = hijax.instantiate_zeros(s), hijax.instantiate_zeros(t)
    return s * jnp.sin(y) + t * x * jnp.cos(y)


class OfForward(Product):
    lin, linearized = hijax.linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_jvp

    def jvp(self, primals, tangents):
        return self.expand(*primals), slope(*primals, *tangents)


class OfLinear(Product):
    jvp = hijax.jvp_from_lin
    vjp_fwd, vjp_bwd_retval = hijax.vjp_from_lin

    def lin(self, nzs_in, x, y):
        return self.expand(x, y), (x, y)

    def linearized(self, residuals, s, t):
        return slope(*residuals, s, t)


@pytest.mark.parametrize("kind", [OfForward, OfLinear])
def test_derivatives_that_are_made_of_others(kind):
    def f(x, y):
        return kind()(x, y)

    x, y = 2.0, 3.0
    by_x, by_y = np.sin(y), x * np.cos(y)
    close: Any = np.testing.assert_allclose
    close(f(x, y), x * np.sin(y), rtol=1e-6)
    for jitted in (lambda g: g, jax.jit):
        close(jitted(jax.grad(f))(x, y), by_x, rtol=1e-6)
        close(jitted(jax.grad(f, 1))(x, y), by_y, rtol=1e-6)
        close(jitted(jax.grad(f, (0, 1)))(x, y), (by_x, by_y), rtol=1e-6)
    close(jax.linearize(lambda x: f(x, y), x)[1](2.0), 2 * by_x, rtol=1e-6)
    close(jax.jvp(lambda x: f(x, y), (x,), (2.0,)), (x * by_x, 2 * by_x), rtol=1e-6)
    close(jax.jvp(f, (x, y), (1.0, 1.0))[1], by_x + by_y, rtol=1e-6)
    assert jax.grad(f)(x, y).weak_type is jax.grad(f, (0, 1))(x, y)[0].weak_type is False


def test_accumulators():
    one, two = np.float32(1), np.float32(2)
    value = hijax.ValAccum(TYPE, two)
    value.accum(one)
    value.accum(None)
    value.accum(hijax.Zero(TYPE))
    assert value.freeze() == 3 and repr(value) == "ValAccum(float32[])"
    assert isinstance(hijax.ValAccum(TYPE).freeze(), hijax.Zero)
    ref: Any = jax.new_ref(one, pin=True)
    given = hijax.RefAccum(TYPE, ref)
    given.accum(two)
    assert given.freeze() == ref[...] == 3 and given.inst().ref is ref
    made = hijax.RefAccum(TYPE)
    assert isinstance(made.freeze(), hijax.Zero)
    made.accum(two)
    assert made.freeze() == 2
    assert {type(a).__mro__[-2] for a in (value, given)} == {hijax.GradAccum}
    dropped = hijax.NullAccum(TYPE)
    dropped.accum(one)


def test_functions_mapped_along_the_axis_of_a_rule():
    x = jnp.arange(4.0)
    times = hijax.vmap_rule(AXIS, lambda x, y: x * y, (0, None), 0)
    np.testing.assert_array_equal(times(x, 2.0), 2 * x)
    both = hijax.vmap_rule(AXIS, lambda x, y: (x * y, y), (0, None), (0, None))
    product, same = both(x, 2.0)
    np.testing.assert_array_equal(product, 2 * x)
    assert same == 2
    total = hijax.vmap_rule(AXIS, lambda x, y: x * y, (0, None), None, sum_match=True)
    assert total(x, 2.0) == 12
    with pytest.raises(ValueError, match="mapped"):
        hijax.vmap_rule(AXIS, lambda x: x, (0,), None)(x)
    zero = hijax.Zero(ShapedArray((4,), np.float32))
    found = hijax.vmap_rule(AXIS, lambda x, t: (x, t), (0, 0), 0)(x, zero)
    assert isinstance(found[1], hijax.Zero) and found[1].aval.shape == (4,)


def test_axes_of_trees():
    args = (jnp.ones((3, 4)), {"a": jnp.ones((4, 2))}, jnp.ones(5))
    moved = hijax.bdims_at_front(AXIS, args, (1, {"a": 0}, None))
    assert [x.shape for x in jax.tree.leaves(moved)] == [(4, 3), (4, 2), (4, 5)]
    avals = hijax.unmap_avals(AXIS, (TYPE, {"a": TYPE}), (0, {"a": None}))
    assert [avals[0].shape, avals[1]["a"].shape] == [(4,), ()]
