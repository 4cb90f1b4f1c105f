"""Partial evaluation computes what is known, and pruning keeps what used results need."""

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.recording import linear_util as lu
from jitney.core.types.avals import ShapedArray
from jitney.interpreters import partial_eval as pe
from jitney.interpreters.partial_rules import PartialVal

F32 = ShapedArray((), np.dtype(np.float32))


def names(jaxpr):
    return [eqn.primitive.name for eqn in jaxpr.eqns]


def test_programs_of_wrapped_functions():
    c = jnp.arange(3.0)
    jaxpr, avals, consts = pe.trace_to_jaxpr_dynamic(lu.wrap_init(lambda x: [x * c, c]), [F32])
    assert [aval.shape for aval in avals] == [(3,), (3,)] and len(jaxpr.constvars) == len(consts)
    first, second = eval_jaxpr(jaxpr, consts, 2.0)
    np.testing.assert_array_equal(first, [0, 2, 4])
    np.testing.assert_array_equal(second, c)


@pytest.mark.parametrize("instantiate", [False, True, [True, False, False]])
def test_known_values_are_computed_at_once(instantiate):
    def f(x, y):
        return [x * 2, (x + 1) * y, y]

    pvals = [PartialVal.known(np.float32(3)), PartialVal.unknown(F32)]
    jaxpr, outs, consts = pe.trace_to_jaxpr_nounits(lu.wrap_init(f), pvals, instantiate)
    is_forced = instantiate is not False
    assert [out.is_known() for out in outs] == [not is_forced, False, False]
    assert is_forced or outs[0].get_known() == 6
    assert "add" not in names(jaxpr) and len(jaxpr.invars) == 1
    results = eval_jaxpr(jaxpr, consts, np.float32(5))
    assert [float(x) for x in results] == ([6.0] if is_forced else []) + [20.0, 5.0]


def f(x, y, z):
    return jnp.sin(x) * y, jnp.cos(z), y


JAXPR = jax.make_jaxpr(f)(1.0, 2.0, 3.0).jaxpr


@pytest.mark.parametrize(
    "used, left, needed",
    [
        ((True, False, False), ["sin", "mul"], [True, True, False]),
        ((False, True, False), ["cos"], [False, False, True]),
        ((False, False, True), [], [False, True, False]),
        (False, [], [False] * 3),
        (True, ["sin", "mul", "cos"], [True] * 3),
    ],
)
def test_pruning(used, left, needed):
    pruned, kept = pe.dce_jaxpr(JAXPR, used)
    assert names(pruned) == left and kept == needed
    assert len(pruned.invars) == sum(needed)
    _, kept = pe.dce_jaxpr(JAXPR, used, instantiate=[False, False, True])
    assert kept == [*needed[:2], True]


def test_constants_are_pruned_as_well():
    c, d = jnp.arange(3.0), jnp.arange(4.0)
    closed = jax.make_jaxpr(lambda x, y: (x * c, y * d))(1.0, 2.0)
    pruned, constants, arguments = pe.dce_jaxpr_consts(closed.jaxpr, [False, True])
    assert sum(constants) == 1 and arguments == [False, True]
    kept = [x for x, is_kept in zip(closed.consts, constants, strict=True) if is_kept]
    np.testing.assert_array_equal(eval_jaxpr(pruned, kept, 2.0)[0], 2 * np.arange(4))


def test_writes_that_nobody_reads_are_dead():
    def stores(ref, x):
        ref[...] = x
        return x + 1

    jaxpr = jax.make_jaxpr(stores)(jax.new_ref(jnp.float32(0)), jnp.float32(1)).jaxpr
    assert len(pe.dce_jaxpr(jaxpr, True, live_inputs=True)[0].eqns) == 2
    assert names(pe.dce_jaxpr(jaxpr, True, live_inputs=False)[0]) == ["add"]
