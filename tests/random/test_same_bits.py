"""Draws are the same, to the last bit, outside of `jit` and within."""

import numpy as np
import pytest
from tests.random.distributions import COV, DRAWS, A

import jitney as jax
import jitney.numpy as jnp
from jitney import random
from jitney.random import streams

SIZE = (400,)

SIMPLE = {
    "normal": lambda r, k: r.normal(k, SIZE),
    "normal_complex": lambda r, k: r.normal(k, SIZE, "complex64"),
    "normal_bfloat16": lambda r, k: r.normal(k, SIZE, "bfloat16"),
    "normal_float16": lambda r, k: r.normal(k, SIZE, "float16"),
    "exponential": lambda r, k: r.exponential(k, SIZE),
    "gumbel": lambda r, k: r.gumbel(k, SIZE),
    "laplace": lambda r, k: r.laplace(k, SIZE),
    "logistic": lambda r, k: r.logistic(k, SIZE),
    "cauchy": lambda r, k: r.cauchy(k, SIZE),
    "uniform": lambda r, k: r.uniform(k, SIZE, minval=-2.0, maxval=3.0),
    "gamma_of_one_parameter": lambda r, k: r.gamma(k, 2.5, SIZE),
    "loggamma_of_one_parameter": lambda r, k: r.loggamma(k, 0.3, SIZE),
    "gamma_below_one": lambda r, k: r.gamma(k, 0.4, SIZE),
    "generalized_normal_of_two": lambda r, k: r.generalized_normal(k, 2.0, SIZE),
    "ball_of_two": lambda r, k: r.ball(k, 3, 2.0, (90,)),
    "weibull_of_two_numbers": lambda r, k: r.weibull_min(k, 2.0, 2.0, SIZE),
    "truncated_between_two_numbers": lambda r, k: r.truncated_normal(k, -0.7, 1.9, SIZE),
    "multivariate_normal_by_svd": lambda r, k: r.multivariate_normal(
        k, COV[0], COV, (90,), method="svd"
    ),
}
NAMES = (
    "truncated_normal", "lognormal", "pareto", "rayleigh", "weibull_min", "maxwell", "wald", "t",
    "beta", "dirichlet", "generalized_normal", "multivariate_normal", "orthogonal", "gumbel_high",
)  # fmt: skip
CASES = {**SIMPLE, **{name: DRAWS[name] for name in NAMES}}


def same_bits(x, y):
    return x.dtype == y.dtype and np.asarray(x).tobytes() == np.asarray(y).tobytes()


@pytest.mark.parametrize("name", CASES)
def test_eager_is_jit(name):
    compiled = jax.jit(lambda key: CASES[name](random, key))
    for seed in range(3):
        key = random.key(seed)
        assert same_bits(CASES[name](random, key), compiled(key))


def test_eager_does_not_change_with_the_number_of_calls():
    key = random.key(1)
    first = random.normal(key, (50,))
    for _ in range(200):
        last = random.normal(key, (50,))
    assert same_bits(first, last)


def test_a_large_draw_begins_as_a_small_one():
    key = random.key(2)
    assert same_bits(random.normal(key, (1000,)), random.normal(key, (200_000,))[:1000])


def test_constants_are_not_folded_by_other_functions():
    # NumPy's logarithm of a constant is not the one that the compiled program takes of an operand.
    for x in np.linspace(0.1, 7, 40, dtype=np.float32):
        assert same_bits(jax.jit(lambda x=x: jnp.log(x))(), jax.jit(jnp.log)(x))


def test_parameters_are_operands_in_eager_calls():
    draw = jax.jit(lambda key, a: random.gamma(key, a, (300, 6)))
    key = random.key(3)
    assert same_bits(random.gamma(key, A, (300, 6)), draw(key, A))


def test_rounds_beyond_those_with_keys_made_beforehand(monkeypatch):
    keys = random.split(random.key(4), 3)
    n, p = jnp.full(1100, 30.0), jnp.full(1100, 0.3)

    def draws(size):
        of_keys = jax.vmap(lambda key: random.poisson(key, 8.0, (size,)))(keys)
        return [random.poisson(keys[0], 8.0, (size,)), *of_keys,
                random.binomial(keys[1], n[:size], p[:size])]  # fmt: skip

    wanted = draws(1100)
    monkeypatch.setattr(streams, "_ROUNDS", 3)
    for x, y in zip(draws(1099), wanted, strict=True):
        np.testing.assert_array_equal(x, y[:1099])
    monkeypatch.setattr(streams, "_MANY", 10_000)  # none are made beforehand
    for x, y in zip(draws(1098), wanted, strict=True):
        np.testing.assert_array_equal(x, y[:1098])
