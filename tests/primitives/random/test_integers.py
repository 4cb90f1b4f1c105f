"""Offsets below a span are remainders of double-width integers."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.random.integers import offsets_below


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_remainders_of_two_words(dtype):
    n = 8 * np.dtype(dtype).itemsize
    top = 2**n - 1
    for span in (1, 2, 3, 10, 2 ** (n // 2), 2 ** (n // 2) + 1, top):
        for high, low in [(0, 0), (top, top), (1, 0), (top // 3, 5), (7, top)]:
            got = offsets_below(*(jnp.asarray(x, dtype) for x in (span, high, low)))
            if span <= 2 ** (n // 2):
                assert int(got) == (high * 2**n + low) % span
            assert int(got) < span


def test_a_span_of_zero_stands_for_all_integers():
    span, high, low = (jnp.asarray(x, np.uint8) for x in (0, 200, 100))
    assert int(offsets_below(span, high, low)) == 100
    assert jitney.jit(offsets_below)(span, high, low) == 100
