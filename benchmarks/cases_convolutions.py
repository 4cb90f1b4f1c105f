"""Convolutions: images, gradients, each feature by itself, transposed ones, long signals."""

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


@case("conv2d", "3x3 convolution of 32 images 32x32x16 to 32", rtol=1e-3, atol=1e-3)
def _conv2d(side: Side) -> Call:
    return _convolution(side, IMAGE, WINDOW, False, dimension_numbers=NHWC)


@case("conv2d_grad", "its gradient by images and windows", rtol=1e-3, atol=1e-1)
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


@case("conv1d", "1,000,000 numbers by a window of 5", rtol=1e-3, atol=1e-3)
def _conv1d(side: Side) -> Call:
    return _convolution(side, (1, 1, 1_000_000), (1, 1, 5), False)
