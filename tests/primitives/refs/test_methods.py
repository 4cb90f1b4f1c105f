"""Operators and methods of references read and write, eagerly and for tracers."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def operations(ref):
    ref[0] = ref[1] * 2
    ref.at[1, :2].set(jnp.float32([-1, -2]))
    ref.addupdate(jnp.float32(100), (1, 2))
    old = ref.swap(jnp.float32(50), (0, 0))
    ref.transpose().at[1].set(jnp.float32([11, 12]))
    ref.reshape(-1).at[5].addupdate(jnp.float32(0.5))
    rows = [row.sum() for row in ref]
    return old, rows[0], ref.get((1, slice(None))), ref[...]


WANT = [6.0, 71.0, [-1, 12, 105.5], [[50, 11, 10], [-1, 12, 105.5]]]


@pytest.mark.parametrize("compiled", [False, True])
def test_operations(compiled):
    ref = jitney.new_ref(jnp.asarray(X))
    got = (jitney.jit(operations) if compiled else operations)(ref)
    for a, b in zip(got, WANT, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(ref[...], WANT[-1])


def test_tracers_of_arrays_keep_the_methods_of_arrays():
    got = jitney.jit(lambda x: (x.reshape(3, 2), x.transpose(), x.at[0].set(7.0), x[1]))(X)
    np.testing.assert_array_equal(got[0], X.reshape(3, 2))
    np.testing.assert_array_equal(got[1], X.T)
    np.testing.assert_array_equal(got[2], [[7, 7, 7], X[1]])
    np.testing.assert_array_equal(got[3], X[1])
    with pytest.raises(AttributeError, match="has no attribute 'swap'"):
        jitney.jit(lambda x: x.swap(1.0))(X)
