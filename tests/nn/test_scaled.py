"""Products with scales: their meaning, what quantization loses, derivatives, configurations, errors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from tests.helpers.oracle import of_jax

import jitney
from jitney import nn, numpy as jnp

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 32, 64)).astype(np.float32)
Y = RNG.normal(size=(2, 96, 64)).astype(np.float32)
NUMBERS = (((2,), (2,)), ((0,), (0,)))
# The largest error of a product of rounded numbers, relative to the product of their sizes: numbers of
# three bits after the point, of one bit.
ERROR = {"mxfp8": 2**-3, "nvfp4": 2**-1}


def configs(mode, package=nn):
    return [package.get_scaled_dot_general_config(mode)] * 3


def test_scaled_matmul():
    x, y = (z[:, :4].astype(ml_dtypes.float8_e4m3fn) for z in (X, Y))
    scales = [2.0 ** RNG.integers(-3, 4, (2, 4, 2)) for _ in range(2)]
    narrow = [s.astype(ml_dtypes.float8_e8m0fnu) for s in scales]
    left, right = (
        z.astype(np.float64) * np.repeat(s, 32, 2) for z, s in zip((x, y), scales, strict=True)
    )
    for f in (nn.scaled_matmul, jitney.jit(nn.scaled_matmul)):
        np.testing.assert_allclose(
            f(x, y, *narrow), left @ right.swapaxes(1, 2), rtol=1e-5, atol=1e-4
        )


@pytest.mark.parametrize("mode", ERROR)
def test_values_and_derivatives(mode):
    def f(x, y, configs=None):
        return nn.scaled_dot_general(x, y, NUMBERS, configs=configs)

    def close(found, expected, size):
        assert np.abs(found - expected).max() <= ERROR[mode] * size.max()
        assert np.abs(found - expected).mean() <= ERROR[mode] * size.mean() / 4

    quantized = jitney.jit(lambda x, y: f(x, y, configs(mode)))
    close(quantized(X, Y), f(X, Y), f(abs(X), abs(Y)))
    weights = RNG.normal(size=(2, 32, 96)).astype(np.float32)
    found, expected, size = (
        jitney.grad(lambda x, y, g=g, w=w: (g(x, y) * w).sum(), (0, 1))(*operands)
        for g, w, operands in (
            (quantized, weights, (X, Y)), (f, weights, (X, Y)), (f, abs(weights), (abs(X), abs(Y))),
        )
    )  # fmt: skip
    for triple in zip(found, expected, size, strict=True):
        close(*triple)


@pytest.mark.parametrize("mode", ERROR)
def test_numbers_that_need_no_rounding(mode):
    x = 2.0 ** RNG.integers(-1, 2, (3, 2, 32)).astype(np.float32)
    x[0, 0] = 0  # a block of zeros
    x[:, :, ::16] = 6 if mode == "nvfp4" else 448
    x[0, 0] = 0
    y = np.full((32, 5), 6 if mode == "nvfp4" else 1, np.float32)
    out = nn.scaled_dot_general(x, y, (((2,), (0,)), ((), ())), configs=configs(mode))
    np.testing.assert_array_equal(out, x @ y)


def test_clipped_numbers_have_no_slope():
    config = nn.get_scaled_dot_general_config("nvfp4", jnp.array([2.0**-10], jnp.float32))
    slope = jitney.grad(lambda x: nn.scaled_dot_general(x, Y, NUMBERS, configs=[config] * 3).sum())(
        X * 2
    )
    np.testing.assert_array_equal(np.asarray(slope) == 0, abs(X * 2) > 6 * 448 / 1024)


@pytest.mark.parametrize("mode", ERROR)
def test_configurations(mode):
    def facts(j):
        return [
            (
                c.mode, c.block_size, np.dtype(c.data_type), np.dtype(c.scale_type), c.infer_only,
                c.global_scale is None,
            )
            for c in configs(mode, j.nn)
        ]  # fmt: skip

    assert facts(jitney) == of_jax(facts)


def test_without_configurations():
    expected = of_jax(lambda j: j.nn.scaled_dot_general(X, Y, NUMBERS))
    np.testing.assert_allclose(nn.scaled_dot_general(X, Y, NUMBERS), expected, atol=1e-4)
    with pytest.warns(DeprecationWarning):
        nn.scaled_dot_general(X, Y, NUMBERS, implementation="cudnn")


def test_errors():
    ones = np.ones((2, 4, 2))
    for operands in (
        (X[0], Y, ones, ones), (X[:, :4], Y, ones, ones), (X[:, :4], Y[:, :4], ones, ones[:, :, :1]),
        (X[:, :4, :63], Y[:, :4, :63], ones, ones),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="scaled_matmul"):
            nn.scaled_matmul(*operands)
    with pytest.raises(ValueError, match="mode"):
        nn.get_scaled_dot_general_config("other")
    with pytest.raises(ValueError, match="multiples of 32"):
        nn.scaled_dot_general(X[..., :33], Y[..., :33], NUMBERS, configs=configs("mxfp8"))
    with pytest.raises(TypeError, match="float32, bfloat16"):
        nn.scaled_dot_general(X, Y, NUMBERS, np.float64, configs("mxfp8"))
    with pytest.raises(TypeError, match="summed over, so their sizes must be equal"):
        nn.scaled_dot_general(X, Y[..., :32], NUMBERS, configs=configs("mxfp8"))
