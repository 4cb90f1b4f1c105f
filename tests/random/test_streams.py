"""Loops of rejection sampling draw the same numbers element by element as round by round."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney import lax, random
from jitney.random import streams

KEY = random.key(7)


def count_until_above(key, limits, parts, dtype="float32"):
    """The number of uniform variables up to the first above each limit, and that variable."""
    shape = limits.shape

    def step(drawn, parameters, state):
        (limit,), (count, _) = parameters, state
        return drawn[0] <= limit, [count + np.int32(1), drawn[0]]

    state = [jnp.zeros(shape, "int32"), jnp.zeros(shape, dtype)]
    active = jnp.ones(shape, bool) & (limits >= 0)
    return streams.repeat(key, shape, np.dtype(dtype), parts, step, [limits], active, state)


@pytest.mark.parametrize("parts", [("next", "draw"), ("draw", "next")])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (0,)])
def test_both_ways_draw_the_same(shape, parts):
    limits = jnp.asarray(np.random.default_rng(0).uniform(0, 0.95, shape).astype(np.float32))
    found = count_until_above(KEY, limits, parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_words_are_independent", lambda key: False)
        wanted = count_until_above(KEY, limits, parts)
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(x, y)
    assert np.all(found[1] > limits)


def test_elements_that_do_not_start_keep_their_state():
    count, value = count_until_above(KEY, jnp.array([-1.0, 0.5]), ("next", "draw"))
    assert count[0] == 0 and value[0] == 0 and count[1] >= 1


def test_many_elements_share_the_keys_of_their_first_rounds():
    limits = jnp.full(2000, 0.9).at[0].set(0.999)
    count, value = count_until_above(KEY, limits, ("next", "draw"))
    assert np.all(value > limits)
    np.testing.assert_allclose(np.mean(count[1:]), 10, rtol=0.15)
    few = count_until_above(KEY, limits[:100], ("next", "draw"))[0]
    np.testing.assert_array_equal(count[:100], few)


def test_words_at_positions_are_those_of_a_draw():
    position = lax.iota(np.dtype("uint32"), 6)
    keys = jnp.broadcast_to(KEY, (6,))
    for dtype, word in (("float32", "uint32"), ("bfloat16", "uint8")):
        found = streams._word_at(keys, position, np.dtype(jnp.dtype(dtype)))
        np.testing.assert_array_equal(found, random.bits(KEY, (6,), word))
    with jitney.enable_x64(True):
        found = streams._word_at(keys, position, np.dtype("float64"))
        np.testing.assert_array_equal(found, random.bits(KEY, (6,), "uint64"))


def test_proposals_are_drawn_until_accepted():
    propose = lambda u, v: (2 * u - 1, (2 * u - 1) ** 2 + (2 * v - 1) ** 2 < 1)  # noqa: E731
    found = np.asarray(streams.redraw_until_accepted(KEY, (2000,), np.dtype("float32"), propose))
    np.testing.assert_allclose(found.var(), 0.25, rtol=0.08)  # a coordinate of points of a disk
