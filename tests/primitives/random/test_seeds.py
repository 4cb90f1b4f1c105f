"""Seeds are integers of 64 bits, of which keys keep what the settings allow."""

import numpy as np
import pytest

import jitney
from jitney.primitives.random.prng import resolve
from jitney.primitives.random.seeds import random_seed, seed_with_impl

IMPL = resolve(jitney.random.key(0).dtype)


def words(seeds):
    return np.asarray(jitney.random.key_data(random_seed(seeds, IMPL))).tolist()


@pytest.mark.parametrize(
    ("seed", "narrow", "wide"),
    [
        (5, [0, 5], [0, 5]),
        (-1, [0xFFFFFFFF] * 2, [0xFFFFFFFF] * 2),
        (2**32 + 5, [0, 5], [1, 5]),
        (2**63 - 1, [0xFFFFFFFF] * 2, [0x7FFFFFFF, 0xFFFFFFFF]),
    ],
)
def test_words_of_python_integers(seed, narrow, wide):
    low = words(seed)
    assert low[1] == narrow[1]
    if 0 <= seed < 2**31:
        assert low == narrow
    with jitney.enable_x64(True):
        assert words(seed) == wide


def test_arrays_of_seeds_and_offsets():
    assert words(np.uint32([[1, 2]])) == [[[0, 1], [0, 2]]]
    assert jitney.numpy.array_equal(seed_with_impl(IMPL, 3), random_seed(3, IMPL))


def test_what_is_no_seed():
    with pytest.raises(TypeError, match="must be an integer, but it is already a key"):
        random_seed(random_seed(0, IMPL), IMPL)
    for seed in (1.5, True, "a"):
        with pytest.raises(TypeError):
            random_seed(seed, IMPL)
    with pytest.raises(OverflowError, match="must fit into 64 bits"):
        random_seed(2**63, IMPL)
