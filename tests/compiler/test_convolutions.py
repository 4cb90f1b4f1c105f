"""Convolutions by native code: with all sets of instructions, and which programs use it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import jitney
from jitney import lax
from jitney.compiler import convolutions, library
from jitney.compiler.convolutions import Window
from jitney.compiler.cost import COSTS
from jitney.compiler.dims import dilated
from jitney.compiler.tensor_type import TensorType
from jitney.core.util.record import replace
from jitney.runtime.compilation import lazy_compiler
from jitney.runtime.native import _convolve

lazy_compiler.linker()  # tells the compiler where the machine code is

NHWC = ("NHWC", "HWIO", "NHWC")
TYPES = {np.float32: 0, np.float64: 1, np.int32: 2, np.uint32: 2, np.int64: 3}

# (batch, channels, features, groups, extents, window, strides, dilation, low, high)
IMAGES = [
    (2, 3, 5, 1, (1, 6, 7), (1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 1, 1), (0, 1, 1)),
    (1, 4, 40, 1, (1, 9, 30), (1, 3, 2), (1, 2, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0)),
    (2, 6, 36, 2, (3, 5, 14), (2, 2, 3), (1, 1, 2), (1, 2, 2), (1, 0, 2), (0, 1, 3)),
    (1, 1, 33, 1, (1, 1, 26), (1, 1, 4), (1, 1, 1), (1, 1, 1), (0, 0, -3), (0, 0, -2)),
    (3, 17, 8, 1, (4, 4, 1), (3, 2, 1), (2, 1, 1), (1, 1, 1), (2, 3, 0), (1, 1, 0)),
    (1, 5, 65, 1, (1, 2, 25), (1, 2, 3), (1, 1, 1), (1, 1, 3), (0, 5, 1), (0, 5, 1)),
]  # fmt: skip


def whole(rng, dtype, shape):
    return rng.integers(0 if dtype == np.uint32 else -4, 5, shape).astype(dtype)


def window_of(extents, window, strides, dilation, low, high):
    out = [
        (n + lo + hi - dilated(k, d)) // s + 1
        for n, k, s, d, lo, hi in zip(extents, window, strides, dilation, low, high, strict=True)
    ]
    return Window(extents, window, tuple(out), strides, dilation, low)


def run(routine, kind, level, operands):
    """What machine code gives, its items in two calls; and the reference implementation."""
    types = tuple([TensorType(x.shape, x.dtype) for x in operands])
    results = library.result_types(routine, types)
    native = library.native_call(library.Call(routine, types, results))
    assert native is not None
    f = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
    )(_convolve.address(kind, TYPES[operands[0].dtype.type], level))
    out = np.full(results[0].shape, 99, results[0].dtype)
    room = np.full(native.workspace + 64, 255, np.uint8)
    arrays = [native.options, *operands, out, room]
    slots = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
    half = native.batch // 2
    assert f(None, slots, half, native.batch) == f(None, slots, 0, half) == 1
    assert (room[native.workspace :] == 255).all()
    (wanted,) = library.find(routine.name).reference(*operands, **dict(routine.params))
    return out, wanted


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("case", range(len(IMAGES)))
def test_images(case, dtype, level, monkeypatch):
    monkeypatch.setattr(convolutions, "COSTS", replace(COSTS, convolution_item=100))
    rng = np.random.default_rng(case)
    batch, channels, features, groups, *rest = IMAGES[case]
    window = window_of(*rest)
    x = whole(rng, dtype, (batch, *window.extents, channels))
    width = convolutions.panel_width(x.dtype)
    per_group = features // groups
    count = -(-per_group // width)
    panels = np.zeros((groups, count * width, np.prod(window.window) * channels // groups), dtype)
    panels[:, :per_group] = whole(rng, dtype, panels[:, :per_group].shape)
    panels = panels.reshape(groups * count, width, -1).transpose(0, 2, 1).copy()
    type_ = TensorType(x.shape, x.dtype)
    routine = convolutions.forward(type_, features, window, groups)
    found, wanted = run(routine, 0, level, [x, panels])
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("case", range(len(IMAGES)))
def test_gradients_of_windows(case, dtype, level, monkeypatch):
    """Roles exchanged: the result of an image is the window here."""
    monkeypatch.setattr(convolutions, "COSTS", replace(COSTS, convolution_item=100))
    rng = np.random.default_rng(case)
    batch, channels, features, groups, *rest = IMAGES[case]
    forward = window_of(*rest)
    window = Window(
        forward.extents, forward.out, forward.window, forward.dilation, forward.strides, forward.low
    )
    x = whole(rng, dtype, (batch, *window.extents, channels))
    ct = whole(rng, dtype, (batch, *window.window, features))
    types = [TensorType(v.shape, v.dtype) for v in (x, ct)]
    routine = convolutions.filter_gradient(types[0], types[1], window, groups)
    found, wanted = run(routine, 1, level, [x, ct])
    assert found.shape[0] > 1 or batch * window.window[0] * window.window[1] == 1
    np.testing.assert_array_equal(found, wanted)


def ones(shape):
    return np.ones(shape, np.float32)


def convolved(x, w, **options):
    options = {"window_strides": (1,) * (x.ndim - 2), "padding": "SAME"} | options
    return lambda: (lambda x, w: lax.conv_general_dilated(x, w, **options), x, w)


USED = {
    "image": (convolved(ones((2, 8, 8, 4)), ones((3, 3, 4, 8)), dimension_numbers=NHWC), "forward"),
    "strides": (
        convolved(
            ones((2, 8, 8, 4)), ones((3, 3, 4, 8)), dimension_numbers=NHWC, window_strides=(2, 2)
        ), "forward",
    ),
    "channels first": (convolved(ones((2, 4, 8, 8)), ones((8, 4, 3, 3))), "forward"),
    "large window": (
        convolved(ones((2, 4, 9, 9)), ones((8, 4, 8, 8)), padding="VALID"), "filter",
    ),
    "enlarged": (
        convolved(
            ones((1, 4, 8)), ones((8, 4, 4)), padding=((2, 2),), lhs_dilation=(2,)
        ), "forward",
    ),
    "long signal": (convolved(ones((1, 1, 999)), ones((1, 1, 5))), None),
    "long window": (convolved(ones((1, 1, 999)), ones((1, 1, 50))), "forward"),
    "each feature": (
        convolved(
            ones((2, 8, 8, 4)), ones((3, 3, 1, 4)), dimension_numbers=NHWC, feature_group_count=4
        ), None,
    ),
    "one element": (convolved(ones((2, 4, 8, 8)), ones((8, 4, 1, 1))), None),
    "four axes": (convolved(ones((1, 2, 3, 4, 5, 6)), ones((2, 2, 2, 2, 2, 2))), "forward"),
}  # fmt: skip


@pytest.mark.parametrize("name", USED)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "complex64"])
def test_no_python_is_called(name, dtype):
    (f, x, w), kind = USED[name][0](), USED[name][1]
    text = jitney.jit(f).lower(x.astype(dtype), w.astype(dtype)).as_text("kernels")
    assert "reference." not in text and "host_call" not in text
    assert (f"library_call convolution.{kind}" in text) == (kind is not None)


def test_gradients_call_no_python():
    f, x, w = USED["strides"][0]()
    grad = jitney.grad(lambda x, w: f(x, w).sum(), (0, 1))
    text = jitney.jit(grad).lower(x, w).as_text("kernels")
    assert "reference." not in text
    assert "convolution.forward" in text and "convolution.filter" in text


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int8", "uint16"])
def test_narrow_integers_wrap_around(dtype):
    rng = np.random.default_rng(0)
    x, w = (jitney.numpy.asarray(rng.integers(0, 4, (2, 3, 9))).astype(dtype) for _ in range(2))
    f = convolved(np.asarray(x), np.asarray(w))()[0]
    np.testing.assert_array_equal(jitney.jit(f)(x, w).astype(int), f(x, w).astype(int))


@pytest.mark.parametrize("images", [1, 2])
def test_large_windows_of_groups_of_the_batch(images):
    """One image for each group takes a way of its own; here space and groups are equally many."""
    groups = features = 4
    rng = np.random.default_rng(0)
    x = whole(rng, np.float32, (images * groups, 3, groups, groups))
    w = whole(rng, np.float32, (features, 3, groups, groups))

    def f(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "VALID", batch_group_count=groups)

    by_group = x.reshape(groups, images, 3, groups, groups)
    want = np.einsum("gnchw,gchw->ng", by_group, w)
    np.testing.assert_array_equal(jitney.jit(f)(x, w)[..., 0, 0], want)
