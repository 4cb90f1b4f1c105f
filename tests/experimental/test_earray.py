"""`jax.experimental`: arrays of extended dtypes, and modules that are attributes."""

import subprocess
import sys

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.experimental import EArray


def test_keys_are_those_of_the_words():
    keys = jitney.random.split(jitney.random.key(3))
    array = EArray(jitney.typeof(keys), jitney.random.key_data(keys))
    assert isinstance(array, jitney.Array)
    assert (array.aval, array.shape, array.dtype) == (keys.aval, (2,), keys.dtype)
    assert bool((array == keys).all())
    got, want = (jitney.vmap(jitney.random.bits)(x) for x in (array, keys))
    np.testing.assert_array_equal(got, want)
    first = jitney.jit(lambda x: x[0])(array)
    np.testing.assert_array_equal(jitney.random.key_data(first), jitney.random.key_data(keys)[0])
    array.delete()
    assert array.is_deleted()
    assert not keys.is_deleted()


def test_numbers():
    x = EArray(jitney.typeof(jnp.ones(2)), jnp.arange(2.0))
    np.testing.assert_array_equal(x + 1, [1.0, 2.0])


def test_data_of_another_type():
    keys = jitney.random.split(jitney.random.key(3))
    words = jitney.random.key_data(keys)
    with pytest.raises(TypeError, match="uint32"):
        EArray(keys.aval, jnp.ones((2, 2)))
    with pytest.raises(ValueError, match="expected data for an array of type"):
        EArray(keys.aval, words[0])
    with pytest.raises(ValueError, match="expected data for an array of type"):
        EArray(jitney.typeof(jnp.ones(2)), jnp.ones(2, jnp.int32))


def test_modules_are_attributes_and_are_loaded_when_asked_for():
    program = """
import sys
import jitney
jitney.experimental
assert "jitney.experimental.sparse" not in sys.modules
assert jitney.experimental.sparse.BCOO is jitney.experimental.sparse.bcoo.BCOO
assert jitney.extend.core.Primitive and jitney.example_libraries.stax
"""
    subprocess.run([sys.executable, "-c", program], check=True)
