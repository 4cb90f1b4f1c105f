"""Keys and random numbers: the bits of JAX, and the samples that are made of them."""

import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
from jitney import random

# Exact: keys, bits, and what is made of bits by exact operations.
EXACT = {
    "key_data": lambda r, k: r.key_data(k),
    "split": lambda r, k: r.key_data(r.split(k, 5)),
    "split_shape": lambda r, k: r.key_data(r.split(k, (2, 3))),
    "split_of_split": lambda r, k: r.key_data(r.split(r.split(k)[1])),
    "fold_in": lambda r, k: r.key_data(r.fold_in(k, 7)),
    "fold_in_large": lambda r, k: r.key_data(r.fold_in(k, np.uint32(2**32 - 1))),
    "clone": lambda r, k: r.key_data(r.clone(k)),
    "bits": lambda r, k: r.bits(k, (3, 5)),
    "bits8": lambda r, k: r.bits(k, (7,), "uint8"),
    "bits16": lambda r, k: r.bits(k, (3, 3), "uint16"),
    "bits_scalar": lambda r, k: r.bits(k),
    "bits_empty": lambda r, k: r.bits(k, (0, 3)),
    "bits_odd": lambda r, k: r.bits(k, (13,)),
    "bits_many": lambda r, k: r.bits(k, (1000,)),
    "uniform": lambda r, k: r.uniform(k, (4, 9)),
    "uniform_range": lambda r, k: r.uniform(k, (50,), minval=-3, maxval=5),
    "uniform16": lambda r, k: r.uniform(k, (9,), "float16"),
    "uniform_bf16": lambda r, k: r.uniform(k, (9,), "bfloat16"),
    "randint": lambda r, k: r.randint(k, (50,), -5, 11),
    "randint8": lambda r, k: r.randint(k, (50,), 0, 100, "uint8"),
    "randint_one": lambda r, k: r.randint(k, (9,), 3, 4),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, (40,)),
    "rademacher": lambda r, k: r.rademacher(k, (40,)),
    "permutation": lambda r, k: r.permutation(k, 30),
    "permutation_rows": lambda r, k: r.permutation(k, np.arange(12).reshape(4, 3)),
    "choice": lambda r, k: r.choice(k, 10, (5,)),
    "choice_without": lambda r, k: r.choice(k, 10, (5,), replace=False),
    "choice_weighted": lambda r, k: r.choice(k, 4, (9,), p=np.array([0.1, 0.2, 0.3, 0.4])),
    "categorical": lambda r, k: r.categorical(k, np.log(np.array([0.1, 0.2, 0.7])), shape=(20,)),
}
# Close: functions of analysis are applied to uniform numbers.
CLOSE = {
    "normal": lambda r, k: r.normal(k, (6, 7)),
    "normal16": lambda r, k: r.normal(k, (9,), "float16"),
    "normal_complex": lambda r, k: r.normal(k, (9,), "complex64"),
    "truncated_normal": lambda r, k: r.truncated_normal(k, -1, 2, (40,)),
    "exponential": lambda r, k: r.exponential(k, (40,)),
    "gumbel": lambda r, k: r.gumbel(k, (40,)),
    "laplace": lambda r, k: r.laplace(k, (40,)),
    "logistic": lambda r, k: r.logistic(k, (40,)),
    "cauchy": lambda r, k: r.cauchy(k, (40,)),
}
WIDE = {
    "bits64": lambda r, k: r.bits(k, (5,), "uint64"),
    "uniform64": lambda r, k: r.uniform(k, (9,), "float64"),
    "randint64": lambda r, k: r.randint(k, (9,), -(2**40), 2**40, "int64"),
    "normal64": lambda r, k: r.normal(k, (9,), "float64"),
}
SEEDS = (0, 42, 2**31 - 1)


def results(function, seed, how, x64=False):
    want = of_jax(lambda j: function(j.random, j.random.key(seed)), x64=x64)
    run = jitney.jit if how == "jit" else (lambda f: f)
    got = run(lambda k: function(random, k))(random.key(seed))
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert got.aval.weak_type == want.weak_type
    return np.asarray(got), np.asarray(want)


@pytest.mark.parametrize("how", ["eager", "jit"])
@pytest.mark.parametrize("name", EXACT)
def test_exact(name, how):
    for seed in SEEDS[: 3 if name in ("bits", "split") else 1]:
        got, want = results(EXACT[name], seed, how)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("how", ["eager", "jit"])
@pytest.mark.parametrize("name", CLOSE)
def test_close(name, how):
    got, want = results(CLOSE[name], 42, how)
    bound = 2e-3 if got.dtype.itemsize == 2 else 1e-5
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound)


@pytest.mark.parametrize("how", ["eager", "jit"])
@pytest.mark.parametrize("name", WIDE)
def test_wide(name, how):
    with jitney.enable_x64(True):
        got, want = results(WIDE[name], 42, how, x64=True)
    np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**31 - 1, -(2**31), np.uint32(2**32 - 1), np.int64(5)])
def test_seeds(seed):
    for x64 in (False, True):

        def words(j):
            return j.random.key_data(j.random.key(seed)), j.random.PRNGKey(seed)

        with jitney.enable_x64(x64):
            for got, want in zip(words(jitney), of_jax(words, x64=x64), strict=True):
                np.testing.assert_array_equal(got, want)


def test_old_style_keys():
    """Keys as pairs of uint32."""

    def results(j):
        key = j.random.PRNGKey(3)
        return j.random.split(key, 3), j.random.uniform(key, (5,)), j.random.fold_in(key, 3)

    for got, want in zip(results(jitney), of_jax(results), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("shape", [None, (2,)])
@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_arrays_like_keys(name, shape):
    def bits(j):
        def f(key):
            return j.random.key_data(getattr(j.numpy, name)(key, shape=shape))

        return f(j.random.key(7)), j.jit(f)(j.random.key(7))

    for got, want in zip(bits(jitney), of_jax(bits), strict=True):
        np.testing.assert_array_equal(got, want)
