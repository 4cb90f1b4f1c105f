"""Keys of several words are replaced by their words, in values and in programs."""

import numpy as np
import pytest

import jitney
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.tracing.trace import Tracer
from jitney.transforms.key_words import (
    evaluate_in_words,
    in_words,
    keys_of,
    n_words,
    over_axes,
    program_in_words,
    words_of,
)

KEYS = jitney.random.split(jitney.random.key(1, impl="rbg"), 3)


def test_types_have_an_axis_of_words():
    assert n_words(KEYS.aval) == 4
    assert in_words(KEYS.aval).shape == (3, 4)
    assert in_words(KEYS.aval).dtype == np.uint32
    packed = jitney.random.key(1, impl="threefry2x32").aval
    assert n_words(packed) == 0
    assert in_words(packed) is packed


def test_words_and_keys_are_inverse():
    words = words_of(KEYS)
    np.testing.assert_array_equal(words, jitney.random.key_data(KEYS))
    again = keys_of(words, KEYS.aval)
    assert again.dtype == KEYS.dtype
    np.testing.assert_array_equal(jitney.random.key_data(again), jitney.random.key_data(KEYS))


def test_programs_that_move_keys_move_words():
    closed = jitney.make_jaxpr(lambda keys: (keys[::-1].reshape(3, 1), 2.0))(KEYS)
    program = program_in_words(closed)
    words = words_of(KEYS)
    for found in (
        eval_jaxpr(program.jaxpr, program.consts, words),
        evaluate_in_words(closed, [words]),
    ):
        np.testing.assert_array_equal(found[0], np.asarray(words)[::-1].reshape(3, 1, 4))
        assert found[1] == 2
    assert not any(n_words(v.aval) for e in program.eqns for v in (*e.invars, *e.outvars))


def test_programs_without_keys_stay_the_same():
    closed = jitney.make_jaxpr(lambda x: x + 1)(np.float32(1))
    assert program_in_words(closed) is closed


def test_operands_are_not_batched_along_axes_of_size_one():
    batched = []

    def add(a, b):
        batched.append((isinstance(a, Tracer), isinstance(b, Tracer)))
        return a + b

    x, y = np.ones((3, 2), np.float32), np.ones((1, 2), np.float32)
    assert over_axes(add, (3,), (1,))(x, y).shape == (3, 2)
    assert batched == [(True, False)]


@pytest.mark.parametrize(
    "shapes", [((), ()), ((3,), (3,)), ((3,), ()), ((2, 1), (1, 3)), ((3,), (2, 3)), ((1, 1), ())]
)
def test_functions_are_batched_over_broadcast_axes(shapes):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, 9, (*shape, 2)).astype(np.float32) for shape in shapes)
    batched = over_axes(lambda a, b: (a * b).sum(), *shapes)
    np.testing.assert_array_equal(batched(x, y), (x * y).sum(-1))
