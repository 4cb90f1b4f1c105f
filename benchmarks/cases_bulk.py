"""Bulk operations but products: gathers, searches, scans, special functions, whole numbers.

Each is called compiled and eagerly, on a million elements or so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case, case_each_way

_N = 1_000_000


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _normal(side: Side, *shape: int) -> Any:
    return side.jnp.asarray(_rng().normal(size=shape).astype(np.float32))


def _integers(side: Side, low: int, high: int, *shape: int, dtype: Any = np.int32) -> Any:
    return side.jnp.asarray(_rng().integers(low, high, shape).astype(dtype))


@case_each_way("bessel_i0e", "bessel_i0e, 100,000")
def _bessel_i0e(side: Side) -> tuple[Any, ...]:
    x = _normal(side, 100_000) * 10
    return side.lax.bessel_i0e, x


@case_each_way("bessel_i1e", "bessel_i1e, 100,000")
def _bessel_i1e(side: Side) -> tuple[Any, ...]:
    x = _normal(side, 100_000) * 10
    return side.lax.bessel_i1e, x


@case_each_way("gather_pairs", "m[i, j], 1e6 from 1000x1000")
def _gather_pairs(side: Side) -> tuple[Any, ...]:
    m = _normal(side, 1000, 1000)
    i, j = (side.jnp.asarray(_rng().integers(0, 1000, (2, _N)).astype(np.int32)[k]) for k in (0, 1))
    return lambda m, i, j: m[i, j], m, i, j


@case_each_way("take_rows", "m[i], 100,000 rows of 32")
def _take_rows(side: Side) -> tuple[Any, ...]:
    m, i = _normal(side, 10_000, 32), _integers(side, 0, 10_000, 100_000)
    return lambda m, i: m[i], m, i


@case_each_way("scatter_add", "x.at[i].add(v), 1e6", rtol=1e-3, atol=1e-3)
def _scatter_add(side: Side) -> tuple[Any, ...]:
    x, i, v = _normal(side, 1000), _integers(side, 0, 1000, _N), _normal(side, _N)
    return lambda x, i, v: x.at[i].add(v), x, i, v


@case_each_way("associative_scan", "associative_scan of sums, 1e6", rtol=1e-3, atol=0.1)
def _associative_scan(side: Side) -> tuple[Any, ...]:
    x = _normal(side, _N)
    return lambda x: side.lax.associative_scan(lambda a, b: a + b, x), x


@case_each_way("cumsum_large", "running sum of 1e6", rtol=1e-3, atol=0.1)
def _cumsum(side: Side) -> tuple[Any, ...]:
    x = _normal(side, _N)
    return side.jnp.cumsum, x


@case_each_way("histogram", "histogram of 1e6", check=lambda r: [r[1]], atol=1e-4)
def _histogram(side: Side) -> tuple[Any, ...]:
    x = _normal(side, _N)
    return lambda x: side.jnp.histogram(x, bins=50), x


@case_each_way("interp", "interp, 1e6 in 1,000", rtol=1e-3, atol=2e-3)
def _interp(side: Side) -> tuple[Any, ...]:
    jnp = side.jnp
    x = jnp.asarray(_rng().uniform(0, 1, _N).astype(np.float32))
    xp, fp = jnp.linspace(0, 1, 1000), _normal(side, 1000)
    return jnp.interp, x, xp, fp


@case_each_way("searchsorted", "searchsorted, 1e6 in 10,000")
def _searchsorted(side: Side) -> tuple[Any, ...]:
    a, v = side.jnp.sort(_normal(side, 10_000)), _normal(side, _N)
    return side.jnp.searchsorted, a, v


@case_each_way("top_k", "top_k, 100 of 1e6")
def _top_k(side: Side) -> tuple[Any, ...]:
    x = _normal(side, _N)
    return lambda x: side.lax.top_k(x, 100), x


@case_each_way("gcd", "gcd, 1e6")
def _gcd(side: Side) -> tuple[Any, ...]:
    x, y = _integers(side, 1, 1_000_000, 2, _N)
    return side.jnp.gcd, x, y


@case_each_way("lcm", "lcm, 1e6")
def _lcm(side: Side) -> tuple[Any, ...]:
    x, y = _integers(side, 1, 30_000, 2, _N)
    return side.jnp.lcm, x, y


@case_each_way("integer_power", "x ** y, whole numbers, 1e6")
def _integer_power(side: Side) -> tuple[Any, ...]:
    x, y = _integers(side, 0, 20, 2, _N)
    return lambda x, y: x**y, x, y


@case("full", "eager full(2**28, 2, int8)", 1.0)
def _full(side: Side) -> Call:
    return lambda: side.jnp.full(2**28, 2, side.jnp.int8)


@case_each_way("softmax_large", "softmax, 4096x1024", goal=1.5)
def _softmax_large(side: Side) -> tuple[Any, ...]:
    return side.nn.softmax, _normal(side, 4096, 1024)


@case_each_way("layer_norm", "layer norm, 4096x1024", goal=1.8, rtol=1e-3, atol=1e-4)
def _layer_norm(side: Side) -> tuple[Any, ...]:
    x, scale, shift = _normal(side, 4096, 1024), _normal(side, 1024), _normal(side, 1024)

    def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(1, keepdims=True)
        variance = (centred**2).mean(1, keepdims=True)
        return centred * side.jax.lax.rsqrt(variance + 1e-5) * scale + shift

    return layer_norm, x, scale, shift


@case_each_way(
    "cross_entropy", "gradient of cross entropy of 4096 of 1000 classes", rtol=1e-3, atol=1e-6
)
def _cross_entropy(side: Side) -> tuple[Any, ...]:
    logits = _normal(side, 4096, 1000)
    labels = side.jnp.asarray(_rng().integers(0, 1000, 4096))

    def loss(logits: Any, labels: Any) -> Any:
        chosen = side.nn.one_hot(labels, 1000)
        return -(side.nn.log_softmax(logits) * chosen).sum(1).mean()

    return side.jax.grad(loss), logits, labels


@case_each_way("sums_axis_0", "sum over axis 0, 4000x4000", rtol=1e-3, atol=1e-2)
def _sums_axis_0(side: Side) -> tuple[Any, ...]:
    return lambda x: x.sum(0), _normal(side, 4000, 4000)


@case_each_way("layer_norm_gradient", "gradient of layer norm, 4096x1024", rtol=1e-2, atol=1e-2)
def _layer_norm_gradient(side: Side) -> tuple[Any, ...]:
    jax, jnp = side.jax, side.jnp
    x, scale, shift = _normal(side, 4096, 1024), _normal(side, 1024), _normal(side, 1024)

    def loss(x: Any, scale: Any, shift: Any) -> Any:
        centred = x - x.mean(1, keepdims=True)
        normal = centred * jax.lax.rsqrt((centred**2).mean(1, keepdims=True) + 1e-5)
        return jnp.sum(jnp.tanh(normal * scale + shift))

    return jax.grad(loss, argnums=(0, 1, 2)), x, scale, shift


@case_each_way(
    "gradients_mlp", "vmap(grad) of an MLP, 10,000 examples of 100", rtol=1e-3, atol=1e-3
)
def _gradients_mlp(side: Side) -> tuple[Any, ...]:
    jax, jnp = side.jax, side.jnp
    w1, w2 = _normal(side, 100, 32) * 0.1, _normal(side, 32) * 0.1
    xs = _normal(side, 10_000, 100)
    return jax.vmap(jax.grad(lambda x: jnp.tanh(x @ w1) @ w2)), xs


@case_each_way("jet", "jet of order 4", rtol=1e-3, atol=1e-3)
def _jet(side: Side) -> tuple[Any, ...]:
    import importlib

    jet = importlib.import_module(f"{side.name}.experimental.jet").jet
    jnp = side.jnp
    x = jnp.linspace(0, 1, 1000)
    return lambda x: jet(lambda x: jnp.sin(x) * jnp.exp(x), (x,), ((x, x, x, x),)), x


def _complex(side: Side, *shape: int) -> Any:
    rng = _rng()
    x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return side.jnp.asarray(x.astype(np.complex64))


@case_each_way("fft_long", "fft of 2^18", goal=1.6, rtol=1e-3, atol=1e-2)
def _fft_long(side: Side) -> tuple[Any, ...]:
    return side.jnp.fft.fft, _complex(side, 2**18)


@case_each_way("fft_2d", "fft2 of 512x512", goal=1.5, rtol=1e-3, atol=1e-2)
def _fft_2d(side: Side) -> tuple[Any, ...]:
    return side.jnp.fft.fft2, _complex(side, 512, 512)


@case_each_way("fft_rows", "fft of 10,000 rows of 64", rtol=1e-3, atol=1e-2)
def _fft_rows(side: Side) -> tuple[Any, ...]:
    return side.jnp.fft.fft, _complex(side, 10_000, 64)


def _fft_of_rows(n: int) -> None:
    @case(f"fft_rows_{n}", f"fft of 10,000 rows of {n}", 1.0, rtol=1e-3, atol=1e-2)
    def _rows(side: Side) -> Call:
        x, f = _complex(side, 10_000, n), side.jax.jit(side.jnp.fft.fft)
        return lambda: f(x)


for _length in (60, 100, 128):
    _fft_of_rows(_length)


@case("fft_few_rows", "fft of 64 rows of 1024", 1.0, rtol=1e-3, atol=1e-2)
def _fft_few_rows(side: Side) -> Call:
    x, f = _complex(side, 64, 1024), side.jax.jit(side.jnp.fft.fft)
    return lambda: f(x)


@case("fft2_batch", "fft2 of 25x200x200", 1.0, rtol=1e-3, atol=1e-1)
def _fft2_batch(side: Side) -> Call:
    x, f = _complex(side, 25, 200, 200), side.jax.jit(side.jnp.fft.fft2)
    return lambda: f(x)


@case("rfftn_cube", "rfftn of 96^3", 1.0, rtol=1e-3, atol=1.0)
def _rfftn_cube(side: Side) -> Call:
    x, f = _normal(side, 96, 96, 96), side.jax.jit(side.jnp.fft.rfftn)
    return lambda: f(x)


@case_each_way("rfft_long", "rfft of 2^18", rtol=1e-3, atol=1e-2)
def _rfft_long(side: Side) -> tuple[Any, ...]:
    return side.jnp.fft.rfft, _normal(side, 2**18)
