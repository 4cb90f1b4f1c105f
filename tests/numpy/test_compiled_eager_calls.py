"""Calls on large arrays that are compiled outside of `jit`: bit for bit what small steps give."""

import numpy as np
import pytest

import jitney
import jitney.numpy as jnp
from jitney.primitives.elementwise.compiled_rules import LARGE
from jitney.primitives.linalg.dot import MANY_PRODUCTS

N = LARGE + 3
_rng = np.random.default_rng(3)


def _bytes(x):
    return np.asarray(x).tobytes()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32])
def test_products_of_integers_wrap(dtype):
    info = np.iinfo(dtype)
    m, k, n = 300, 400, 1 + MANY_PRODUCTS // (300 * 400)
    x = _rng.integers(info.min, info.max, (m, k), dtype, endpoint=True)
    y = _rng.integers(info.min, info.max, (k, n), dtype, endpoint=True)
    exact = (x.astype(np.int64) @ y.astype(np.int64)).astype(dtype)
    product = jnp.asarray(x) @ jnp.asarray(y)
    assert product.dtype == dtype
    np.testing.assert_array_equal(np.asarray(product), exact)


def test_products_of_integers_in_a_wider_type():
    x = _rng.integers(-128, 127, (3, 130, 257), np.int8, endpoint=True)
    y = _rng.integers(-128, 127, (3, 257, 200), np.int8, endpoint=True)
    assert x.size * 200 >= MANY_PRODUCTS
    wide = jnp.matmul(jnp.asarray(x), jnp.asarray(y), preferred_element_type=np.int32)
    np.testing.assert_array_equal(np.asarray(wide), x.astype(np.int32) @ y.astype(np.int32))


def test_elements_at_many_positions():
    m = _rng.normal(size=(30, 50)).astype(np.float32)
    i = _rng.integers(-40, 40, N).astype(np.int32)  # some out of range: the nearest
    j = _rng.integers(-60, 60, N).astype(np.int16)
    ours = jnp.asarray(m)[jnp.asarray(i), jnp.asarray(j)]
    at_i = np.clip(np.where(i < 0, i + 30, i), 0, 29)
    at_j = np.clip(np.where(j < 0, j + 50, j), 0, 49)
    assert _bytes(ours) == _bytes(m[at_i, at_j])
    rows = jnp.asarray(m)[jnp.asarray(i)]
    assert _bytes(rows) == _bytes(m[at_i])
    assert _bytes(jnp.asarray(m)[jnp.asarray(i), None, 3:5]) == _bytes(m[at_i, None, 3:5])


def test_updates_at_many_positions():
    x = _rng.integers(0, 9, (40, 5)).astype(np.int32)
    i = _rng.integers(0, 40, N)
    v = _rng.integers(0, 9, (N, 5)).astype(np.int32)
    expected = x.copy()
    np.add.at(expected, i, v)
    assert _bytes(jnp.asarray(x).at[jnp.asarray(i)].add(v)) == _bytes(expected)
    with pytest.raises(ValueError, match=r"shape|broadcast"):
        jnp.asarray(x).at[jnp.asarray(i)].add(v[None])


@pytest.mark.parametrize("period", [None, 0.7])
def test_interp(period):
    x = _rng.uniform(-1, 2, N).astype(np.float32)
    xp, fp = np.sort(_rng.uniform(0, 0.7, (2, 100)).astype(np.float32))
    large = jnp.interp(x, xp, fp, period=period)
    parts = [jnp.interp(part, xp, fp, period=period) for part in np.split(x, [N // 3, 2 * N // 3])]
    assert _bytes(large) == b"".join(map(_bytes, parts))


@pytest.mark.parametrize(
    "draw",
    [
        lambda key: jitney.random.uniform(key, (N,), minval=-1.0, maxval=3.0),
        lambda key: jitney.random.uniform(key, (N,), dtype=np.float16),
        lambda key: jitney.random.randint(key, (N,), -5, 1000),
        lambda key: jitney.random.bernoulli(key, 0.3, (N,)),
    ],
)
def test_draws(draw):
    key = jitney.random.key(5)
    with jitney.disable_jit():
        by_numpy = _bytes(draw(key))
    assert _bytes(draw(key)) == by_numpy


def test_cholesky():
    a = _rng.normal(size=(330, 330)).astype(np.float32)
    a = jnp.asarray(a @ a.T + 330 * np.eye(330, dtype=np.float32))
    assert a.size >= LARGE
    with jitney.disable_jit():
        by_steps = _bytes(jnp.linalg.cholesky(a))
    assert _bytes(jnp.linalg.cholesky(a)) == by_steps


@pytest.mark.parametrize("fun", [jnp.gcd, jnp.lcm])
def test_divisors_and_multiples(fun):
    x, y = _rng.integers(-(2**31), 2**31, (2, N)).astype(np.int32)
    x[:4], y[:4] = (0, 0, -(2**31), -(2**31)), (0, 5, 0, -(2**31))
    x, y = jnp.asarray(x), jnp.asarray(y)
    with jitney.disable_jit():
        by_steps = _bytes(fun(x, y))
    assert _bytes(fun(x, y)) == by_steps


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_reductions_are_those_of_jit(name, reverse):
    x = (1 + 1e-4 * _rng.normal(size=N)).astype(np.float32)

    def accumulated(x):
        return getattr(jitney.lax, name)(x, reverse=reverse)

    eager = accumulated(jnp.asarray(x))
    assert _bytes(eager) == _bytes(jitney.jit(accumulated)(x))
    functions = {"cumsum": np.add, "cumprod": np.multiply, "cumlogsumexp": np.logaddexp}
    ufunc = functions.get(name, np.maximum if name == "cummax" else np.minimum)
    turn = -1 if reverse else 1
    exact = ufunc.accumulate(x[::turn].astype(np.float64))[::turn]
    np.testing.assert_allclose(eager, exact, rtol=1e-5)


def test_large_cumulative_sums_of_other_dtypes():
    ints = _rng.integers(-(2**31), 2**31 - 1, N, np.int32)
    assert _bytes(jnp.cumsum(ints)) == _bytes(np.cumsum(ints, dtype=np.int32))
    pairs = (_rng.normal(size=(N, 2)) + 1j).astype(np.complex64)
    np.testing.assert_allclose(jnp.cumsum(pairs, 1), np.cumsum(pairs, 1), rtol=1e-6)
    assert jnp.cumsum(jnp.ones(N, "bfloat16")).dtype == "bfloat16"
    with_nan = np.ones(N, np.float32)
    with_nan[5] = np.nan
    assert np.isnan(jnp.cumsum(with_nan)).sum() == N - 5
