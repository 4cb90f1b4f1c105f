"""Functions that close over many bytes of arrays warn when they are compiled."""

import warnings

import numpy as np
import pytest

import jitney as jax
import jitney.numpy as jnp

LIMIT = "jax_captured_constants_warn_bytes"


@pytest.fixture(autouse=True)
def _restored():
    before = jax.config.values[LIMIT]
    yield
    jax.config.update(LIMIT, before)


def compiled(large):
    return jax.jit(lambda x: x @ large)(jnp.zeros(16))


@pytest.mark.parametrize("make", [np.ones, jnp.ones], ids=["numpy", "jitney"])
def test_from_the_limit_on(make):
    large = make((16, 16), np.float32)
    jax.config.update(LIMIT, large.nbytes)
    with pytest.warns(UserWarning, match=r"jit\(<lambda>\): .*over 1 array of 0\.00102 MB"):
        compiled(large)


def test_arrays_of_inner_functions_count_once():
    large = jnp.ones((16, 16))
    inner = jax.jit(lambda x: x @ large)
    jax.config.update(LIMIT, large.nbytes)
    with pytest.warns(UserWarning, match=r"over 1 array of 0\.00102 MB"):
        jax.jit(lambda x: inner(x) + inner(2 * x))(jnp.zeros(16))


@pytest.mark.parametrize("limit", [1025, -1])
def test_none_below_it_or_without(limit):
    jax.config.update(LIMIT, limit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(jnp.ones((16, 16)))


def test_arguments_do_not_count():
    jax.config.update(LIMIT, 16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.jit(lambda x, y: x @ y)(jnp.zeros(16), jnp.ones((16, 16)))
