"""Library functions that are promoted to compiled programs: when, and that results do not show it."""

import threading

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.api import tiering
from jitney.api.jit import jit_when_traced

CALLS = tiering.SAMPLE * (tiering.PROMOTE_AFTER + 4)


def call_often(fun, *args, **kwargs):
    """Results of calls on either side of a promotion."""
    results = [fun(*args, **kwargs) for _ in range(CALLS)]
    for thread in threading.enumerate():
        if thread.name == "jitney-tiering":
            thread.join()
    return results + [fun(*args, **kwargs) for _ in range(2 * tiering.SAMPLE)]


def counted(body, **options):
    """`body` as a library function, and a list that grows when its Python code runs."""
    runs = []

    def fun(*args, **kwargs):
        runs.append(None)
        return body(*args, **kwargs)

    return jit_when_traced(fun, **options), runs


def test_exact_functions_are_promoted():
    fun, runs = counted(lambda x: jnp.maximum(x * 2, 1) - x)
    x = jnp.linspace(-3, 3, 100)
    first = np.asarray(fun(x))
    for result in call_often(fun, x):
        assert np.asarray(result).tobytes() == first.tobytes()
    before = len(runs)
    fun(x)
    assert len(runs) == before


@pytest.mark.parametrize("body", [jnp.sin, lambda x: (x * x).sum(), lambda x: x @ x])
def test_what_is_exact_up_to_rounding_is_not(body):
    fun, runs = counted(body)
    x = jnp.linspace(-3, 3, 100)
    assert {np.asarray(result).tobytes() for result in call_often(fun, x)} == {
        np.asarray(fun(x)).tobytes()
    }
    assert len(runs) >= CALLS


@pytest.mark.parametrize(
    "draw",
    [
        lambda key: jitney.random.uniform(key, (7, 5)),
        lambda key: jitney.random.normal(key, (9,)),
        lambda key: jitney.random.randint(key, (9,), 0, 100),
        lambda key: jnp.clip(jitney.random.normal(key, (9,)), -0.5, 0.5),
    ],
)
def test_results_do_not_depend_on_earlier_calls(draw):
    key = jitney.random.key(3)
    first = np.asarray(draw(key))
    for result in call_often(draw, key):
        assert np.asarray(result).tobytes() == first.tobytes()


def test_settings_and_types_are_part_of_the_signature():
    x = np.array([1.5, -2.5])
    call_often(jnp.clip, x, -1, 1)
    with jitney.enable_x64():
        assert jnp.clip(x, -1, 1).dtype == np.float64
    assert jnp.clip(x, -1, 1).dtype == np.float32
    assert jnp.clip(jnp.arange(3), 1, 2).dtype == np.int32


def test_errors_and_transformations_after_a_promotion():
    x = jnp.linspace(-3.0, 3.0, 8)
    call_often(jnp.clip, x, -1.0, 1.0)
    np.testing.assert_array_equal(
        jitney.grad(lambda x: jnp.clip(x, -1.0, 1.0).sum())(x), (abs(x) <= 1).astype(np.float32)
    )
    assert jitney.vmap(lambda x: jnp.clip(x, -1.0, 1.0))(x).shape == (8,)
    with pytest.raises(TypeError):
        jnp.clip("x", -1.0, 1.0)
    with jitney.disable_jit():
        np.testing.assert_array_equal(jnp.clip(x, -1.0, 1.0), np.clip(x, -1, 1))
    jitney.clear_caches()
    np.testing.assert_array_equal(jnp.clip(x, -1.0, 1.0), np.clip(x, -1, 1))
