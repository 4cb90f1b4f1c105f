"""Programs on references update them, also one that is passed several times."""

import numpy as np

import jitney
import jitney.numpy as jnp
from jitney.core.program.evaluate import eval_jaxpr
from jitney.primitives.refs.evaluate import run_on_refs

X = np.arange(3, dtype=np.float32)


def run(closed, args):
    runs.append(closed)
    assert not any(a.is_ref for a in closed.in_avals)
    return eval_jaxpr(closed.jaxpr, closed.consts, *args)


runs = []


def test_references_are_updated():
    def f(r, x, s):
        r[0] = x
        return r[...] + s[...]

    r, s = jitney.new_ref(jnp.asarray(X)), jitney.new_ref(jnp.asarray(10 * X))
    closed = jitney.make_jaxpr(f)(r, np.float32(7), s)
    (out,) = run_on_refs(closed, [r, np.float32(7), s], run)
    np.testing.assert_array_equal(out, [7, 11, 22])
    np.testing.assert_array_equal(r[...], [7, 1, 2])
    np.testing.assert_array_equal(s[...], 10 * X)
    assert len(runs[-1].out_avals) == 2  # the result, and what `r` then holds


def test_a_reference_that_is_passed_twice_is_one():
    def f(r, s):
        r[0] = 5.0
        s[1] = s[0] * 2
        return r[1]

    r, s = (jitney.new_ref(jnp.asarray(X)) for _ in range(2))
    closed = jitney.make_jaxpr(f)(r, s)
    (out,) = run_on_refs(closed, [r, r], run)
    assert out == 10
    np.testing.assert_array_equal(r[...], [5, 10, 2])
    assert len(runs[-1].in_avals) == 1
