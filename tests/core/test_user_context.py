"""Settings of users on which traced programs depend."""

import threading

import pytest

import jitney as jax
from jitney.core.settings import config


def test_functions_are_traced_anew_for_each_value_and_only_then():
    setting = jax.make_user_context()
    traces = []

    @jax.jit
    def f(x):
        traces.append(setting.value)
        return x

    f(1.0)
    with setting(2):
        f(1.0)
    with setting(3):
        f(1.0)
        with setting(4):
            f(1.0)
        f(1.0)
    f(1.0)
    with setting(2):
        f(1.0)
    assert traces == [None, 2, 3, 4]


def test_what_was_traced_before_a_setting_was_made_stays_valid():
    traces = []

    @jax.jit
    def f(x):
        traces.append(1)
        return x

    f(1.0)
    with jax.numpy_rank_promotion("raise"):
        f(1.0)
    setting = jax.make_user_context(0)
    f(1.0)
    with jax.numpy_rank_promotion("raise"):
        f(1.0)
    assert len(traces) == 2
    with setting(1):
        f(1.0)
    assert len(traces) == 3


def test_it_can_be_made_within_a_context():
    traces = []

    @jax.jit
    def f(x):
        traces.append(1)
        return x

    with jax.numpy_rank_promotion("raise"):
        f(1.0)
        jax.make_user_context("a")
        f(1.0)
    assert len(traces) == 1


def test_values_are_of_the_thread_or_global():
    setting = jax.make_user_context("default")
    seen = []
    with setting("here"):
        thread = threading.Thread(target=lambda: seen.append(setting.value))
        thread.start()
        thread.join()
        assert setting.value == "here" and setting.get_global() == "default"
    assert seen == ["default"]
    setting.set_global("other")
    assert setting.value == setting.get_global() == "other"


def test_values_must_have_a_hash():
    with pytest.raises(TypeError, match="unhashable"):
        jax.make_user_context([1])


def test_options_tell_their_global_value():
    outside = jax.numpy_rank_promotion.get_global()
    with jax.numpy_rank_promotion("warn"):
        assert jax.numpy_rank_promotion.value == "warn"
        assert jax.numpy_rank_promotion.get_global() == outside
        assert config.config.values["jax_numpy_rank_promotion"] == outside
