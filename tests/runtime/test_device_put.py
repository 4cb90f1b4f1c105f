"""`device_put`: what is there already stays the same array, and specifications that do not fit."""

import pytest

import jitney as jax
import jitney.numpy as jnp

DEVICE = jax.devices()[0]


def test_an_array_that_is_there_is_not_made_anew():
    x = jax.device_put(jnp.arange(3), DEVICE)
    assert jax.device_put(x, DEVICE) is x
    assert jax.device_put(x) is x
    assert jax.device_put(x, x.sharding, may_alias=True) is x
    assert jax.device_put(x, DEVICE, may_alias=False) is not x
    uncommitted = jnp.arange(3)
    assert jax.device_put(uncommitted, DEVICE) is not uncommitted
    assert jax.device_put(uncommitted, DEVICE).committed and not uncommitted.committed


def test_all_places_where_the_specification_does_not_fit_are_told():
    x = {"a": jnp.arange(2), "b": jnp.arange(3)}
    one = r"(?s)`device` has to be a tree prefix"
    with pytest.raises(ValueError, match=one + r".* in 1 places:.*device\['b'\]"):
        jax.device_put(x, {"a": None, "b": (None, None)})
    with pytest.raises(ValueError, match=one + r".* in 2 places:.*device\['a'\].*device\['b'\]"):
        jax.device_put(x, {"a": [None, None], "b": (None, None)})


def test_tracers_say_how_to_ask_for_their_sharding():
    def f(x):
        with pytest.raises(AttributeError, match=r"jax\.typeof"):
            _ = x.sharding
        return x

    jax.jit(f)(1.0)


def test_pjit_is_jit():
    from jitney.experimental.pjit import pjit

    assert pjit(lambda x, n: x + n, static_argnums=1)(1, 2) == 3
