"""Traced rules compute what the functions compute, and are pytrees of their residuals."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.api.rules import traced_rules
from jitney.core.types.avals import get_aval
from jitney.transforms.accumulators import NullAccum, ValAccum
from jitney.transforms.zero import Zero

F32 = get_aval(jnp.float32(0))


def test_rules_are_trees_of_what_they_capture():
    c = jnp.arange(3.0)
    rule = traced_rules.pulled_back(lambda ct: {"x": ct[0] * c, "y": ct[1]}, (c, jnp.float32(1)))
    out = rule(jnp.full(3, 2.0), jnp.float32(5))
    np.testing.assert_array_equal(out["x"], [0, 2, 4])
    assert out["y"] == 5
    (residual,) = jax.tree.leaves(rule)
    assert residual is c
    other = jax.tree.map(lambda x: 10 * x, rule)
    np.testing.assert_array_equal(other(jnp.full(3, 2.0), jnp.float32(5))["x"], [0, 20, 40])


def test_symbolic_zeros_become_zeros():
    zeros, one = traced_rules.flat_cotangents((Zero(F32.update(shape=(2,))), jnp.float32(1)))
    np.testing.assert_array_equal(zeros, [0, 0])
    assert one == 1


def accumulating(rule, perturbed=(True, True), declared=ValAccum):
    args = (jnp.float32(2), jnp.float32(3))
    return traced_rules.accumulating_rule("f", rule, jnp.float32(6), args, perturbed, declared)


def test_rules_add_to_accumulators():
    def rule(ct, x, y):
        x.accum(ct * 3)
        x.accum(ct)
        y.accum(ct * 2)
        return {"slope": ct}

    x, y = ValAccum(F32, jnp.float32(100)), ValAccum(F32)
    log = accumulating(rule)("f", [jnp.float32(10)], [x, y])
    assert (float(x.freeze()), float(y.freeze()), float(log["slope"])) == (140, 20, 10)
    partly = accumulating(rule, perturbed=(False, True))
    assert partly.kinds == (NullAccum, ValAccum)
    y = ValAccum(F32)
    partly("f", [jnp.float32(10)], [NullAccum(F32), y])
    assert float(y.freeze()) == 20


def test_accumulators_have_to_be_of_the_declared_kinds():
    with pytest.raises(
        TypeError, match=r"leaves ValAccum or RefAccum .* but has a leaf <class 'int'>"
    ):
        accumulating(lambda ct, x, y: None, declared=(ValAccum, int))
    rule = accumulating(lambda ct, x, y: None)
    with pytest.raises(TypeError, match="with_accums declares a ValAccum for leaf 1"):
        rule("f", [jnp.float32(1)], [ValAccum(F32), object()])
