"""Each element has a key of its own: its draws do not depend on the others."""

import numpy as np

import jitney
from jitney.primitives.random.elements import split_elements, uniform_elements

KEYS = jitney.random.split(jitney.random.key(1), (2, 3))


def data(keys):
    return np.asarray(jitney.random.key_data(keys))


def test_splits_of_each_key():
    first, second = split_elements(KEYS, 2)
    assert first.shape == second.shape == (2, 3)
    for place in np.ndindex(2, 3):
        want = data(jitney.random.split(KEYS[place]))
        np.testing.assert_array_equal([data(first)[place], data(second)[place]], want)


def test_a_float_for_each_key():
    got = np.asarray(uniform_elements(KEYS, np.dtype(np.float32)))
    assert got.shape == (2, 3)
    assert ((got >= 0) & (got < 1)).all()
    for place in np.ndindex(2, 3):
        assert got[place] == jitney.random.uniform(KEYS[place])
