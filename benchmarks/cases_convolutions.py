"""Convolutions: images, gradients, single features, transposed ones, nets, pooling, long signals."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness import Call, Side, case

NHWC = ("NHWC", "HWIO", "NHWC")


def _operands(side: Side, *shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [side.jnp.asarray(rng.normal(size=shape).astype(np.float32)) for shape in shapes]


def _convolution(
    side: Side, shape: tuple[int, ...], window: tuple[int, ...], gradient: bool, **options: Any
) -> Call:
    x, w = _operands(side, shape, window)
    options = {"window_strides": (1,) * (len(shape) - 2), "padding": "SAME"} | options

    def f(x: Any, w: Any) -> Any:
        return side.lax.conv_general_dilated(x, w, **options)

    if not gradient:
        g = side.jax.jit(f)
    else:
        g = side.jax.jit(side.jax.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1)))
    return lambda: g(x, w)


IMAGE, WINDOW = (32, 32, 32, 16), (3, 3, 16, 32)


@case("conv2d", "3x3 convolution of 32 images 32x32x16 to 32", goal=1.8, rtol=1e-3, atol=1e-3)
def _conv2d(side: Side) -> Call:
    return _convolution(side, IMAGE, WINDOW, False, dimension_numbers=NHWC)


@case("conv2d_grad", "its gradient by images and windows", goal=2.5, rtol=1e-3, atol=1e-1)
def _conv2d_grad(side: Side) -> Call:
    return _convolution(side, IMAGE, WINDOW, True, dimension_numbers=NHWC)


@case("conv2d_strided_grad", "gradient of a 3x3 convolution of 8x28x28x64 to 128, stride 2",
      rtol=1e-3, atol=1e-1)  # fmt: skip
def _conv2d_strided_grad(side: Side) -> Call:
    shapes = (8, 28, 28, 64), (3, 3, 64, 128)
    return _convolution(side, *shapes, True, dimension_numbers=NHWC, window_strides=(2, 2))


@case("conv2d_depthwise", "3x3 convolution of each of 64 features of 8x56x56", rtol=1e-3, atol=1e-3)
def _conv2d_depthwise(side: Side) -> Call:
    shapes = (8, 56, 56, 64), (3, 3, 1, 64)
    return _convolution(side, *shapes, False, dimension_numbers=NHWC, feature_group_count=64)


@case("conv2d_transposed", "4x4 transposed convolution of 8x16x16x32 to 16, stride 2",
      rtol=1e-3, atol=1e-3)  # fmt: skip
def _conv2d_transposed(side: Side) -> Call:
    x, w = _operands(side, (8, 16, 16, 32), (4, 4, 32, 16))
    f = side.jax.jit(lambda x, w: side.lax.conv_transpose(x, w, (2, 2), "SAME"))
    return lambda: f(x, w)


def _pooled(side: Side, x: Any, extent: int) -> Any:
    """The largest of windows of `extent` by `extent`, two apart."""
    window, strides = (1, extent, extent, 1), (1, 2, 2, 1)
    return side.lax.reduce_window(x, -np.inf, side.lax.max, window, strides, "SAME")


@case("cnn_sgd", "SGD step of two convolutions with pooling, 32 images 32x32x3",
      goal=2.5, rtol=1e-3, atol=1e-3)  # fmt: skip
def _cnn_sgd(side: Side) -> Call:
    shapes = (3, 3, 3, 16), (16,), (3, 3, 16, 32), (32,), (2048, 10), (10,)
    *params, x = _operands(side, *shapes, (32, 32, 32, 3))
    params = [0.1 * p for p in params]
    labels = side.jax.nn.one_hot(side.jnp.arange(32) % 10, 10)

    def loss(params: Any) -> Any:
        y = x
        for w, b in (params[:2], params[2:4]):
            y = side.lax.conv_general_dilated(y, w, (1, 1), "SAME", dimension_numbers=NHWC)
            y = _pooled(side, side.jax.nn.relu(y + b), 2)
        logits = y.reshape(y.shape[0], -1) @ params[4] + params[5]
        return -(side.jax.nn.log_softmax(logits) * labels).sum(1).mean()

    def step(params: Any) -> Any:
        return [p - 0.01 * g for p, g in zip(params, side.jax.grad(loss)(params), strict=True)]

    f = side.jax.jit(step)
    return lambda: f(params)


@case("max_pool", "largest of windows 3x3, 2 apart, of 32x32x32x16")
def _max_pool(side: Side) -> Call:
    (x,) = _operands(side, IMAGE)
    f = side.jax.jit(lambda x: _pooled(side, x, 3))
    return lambda: f(x)


@case("max_pool_grad", "its gradient")
def _max_pool_grad(side: Side) -> Call:
    (x,) = _operands(side, IMAGE)
    f = side.jax.jit(side.jax.grad(lambda x: (_pooled(side, x, 3) ** 2).sum()))
    return lambda: f(x)


@case("convolve", "jnp.convolve of 1,000,000 numbers with 7", rtol=1e-3, atol=1e-4)
def _convolve(side: Side) -> Call:
    x, w = _operands(side, (1_000_000,), (7,))
    f = side.jax.jit(side.jnp.convolve)
    return lambda: f(x, w)


@case("correlate", "jnp.correlate of 1,000,000 numbers with 32", rtol=1e-3, atol=1e-4)
def _correlate(side: Side) -> Call:
    x, w = _operands(side, (1_000_000,), (32,))
    f = side.jax.jit(side.jnp.correlate)
    return lambda: f(x, w)


@case("conv1d", "1,000,000 numbers by a window of 5", rtol=1e-3, atol=1e-3)
def _conv1d(side: Side) -> Call:
    return _convolution(side, (1, 1, 1_000_000), (1, 1, 5), False)
