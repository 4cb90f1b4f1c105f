"""Keys, typed and raw, are made, split and turned into words and back; wrong ones are refused."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.random.keys import (
    PRNGKey,
    check_key,
    clone,
    fold_in,
    is_key_array,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)


def words(keys):
    return np.asarray(key_data(keys))


def test_seeds_become_the_words_of_threefry_keys():
    np.testing.assert_array_equal(words(key(7)), [0, 7])
    np.testing.assert_array_equal(words(key(-1)), [0, 2**32 - 1])
    with jitney.enable_x64(True):
        np.testing.assert_array_equal(words(key(2**33 + 5)), [2, 5])
    np.testing.assert_array_equal(PRNGKey(7), [0, 7])


def test_words_and_keys_are_turned_into_each_other():
    keys = split(key(0), (2, 3))
    again = wrap_key_data(key_data(keys))
    assert again.shape == (2, 3) and again.dtype == keys.dtype == key_dtype()
    np.testing.assert_array_equal(words(again), words(keys))
    assert key_impl(keys) == "threefry2x32" and key_impl(key(0, impl="rbg")) == "rbg"
    assert is_key_array(keys) and not is_key_array(key_data(keys))


def test_results_have_the_style_of_the_argument():
    raw, typed = PRNGKey(3), key(3)
    for function in (split, lambda k: split(k, 3), lambda k: fold_in(k, 5), clone):
        np.testing.assert_array_equal(function(raw), words(function(typed)))
        assert is_key_array(function(typed)) and not is_key_array(function(raw))
    assert check_key("f", raw)[1] and not check_key("f", typed)[1]


def test_new_keys_differ_from_each_other_and_repeat():
    keys = words(split(key(0), 50))
    folded = np.stack([words(fold_in(key(0), i)) for i in range(20)])
    assert len(np.unique(np.concatenate([keys[20:], folded]), axis=0)) == 50
    np.testing.assert_array_equal(keys, words(split(key(0), 50)))
    np.testing.assert_array_equal(words(clone(key(9))), words(key(9)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: key(key(0)), TypeError, "already a key"),
        (lambda: PRNGKey(np.arange(2)), TypeError, "the seed must have rank 0"),
        (
            lambda: key(0, impl="rbg", dtype=key_dtype()),
            ValueError,
            "`impl` and `dtype` both specify",
        ),
        (lambda: split(split(key(0))), ValueError, "expected a single key"),
        (lambda: fold_in(key(0), np.arange(2)), TypeError, "`data` must have rank 0"),
        (lambda: wrap_key_data(key(0)), TypeError, "expected raw key data"),
        (lambda: wrap_key_data(np.zeros(3, np.uint32)), TypeError, r"ends in \(2,\)"),
        (lambda: wrap_key_data(np.zeros(2, np.int32)), TypeError, "must have dtype uint32"),
        (lambda: split(5), TypeError, r"jax.random.key\(5\)"),
    ],
)
def test_wrong_keys(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_raw_keys_can_be_refused():
    with jitney.legacy_prng_key("error"), pytest.raises(ValueError, match="legacy key"):
        split(np.zeros(2, np.uint32))


@pytest.mark.parametrize("name", ["max", "min", "nanmax", "sort", "argsort", "argmax", "unique"])
def test_keys_have_no_order(name):
    keys, function = split(key(0), 3), getattr(jnp, name)
    for call in (function, jitney.jit(function)):
        with pytest.raises((TypeError, jitney.errors.ConcretizationTypeError)):
            call(keys)
    with pytest.raises(TypeError, match="in max: operand 0 must be integer"):
        jnp.maximum(keys, keys)
