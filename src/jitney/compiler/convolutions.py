"""Declares two library functions for convolutions by register tiles, implemented in native code.

`runtime/native/convolve.h` contains and describes them: one computes convolutions of images, the
other gradients with respect to windows. This module determines their options, their workspace, and
the division of their work into items. The division depends only on sizes, so that results do not
depend on the number of threads. The functions have three spatial axes. `hlo/convolutions.py`
extends one or two axes to three, and handles other layouts and all other cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, TypedDict, Unpack

import numpy as np

from jitney.compiler import library
from jitney.compiler.cost import COSTS
from jitney.compiler.dims import ConvolutionDims, dilated
from jitney.compiler.library import LibraryFunction, NativeCode, Param
from jitney.compiler.reference import convolution
from jitney.compiler.tensor_type import TensorType
from jitney.core.util.record import record

SPACE = 3  # number of spatial axes
_TYPES = {
    np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.int32): 2, np.dtype(np.uint32): 2,
    np.dtype(np.int64): 3, np.dtype(np.uint64): 3,
}  # fmt: skip
DTYPES = tuple(_TYPES)

# Constants of `convolve.h`: bytes of a panel's row, and of rows that are read repeatedly.
_PANEL_ROW, _FILTER_ROWS = 128, 1 << 17
_LEVEL = 2  # the highest instruction set level


@record(frozen=True)
class Window:
    """A window that moves over three spatial axes, outermost first.

    Attributes:
      extents: the sizes of the array that it moves over.
      window: the sizes of the window.
      out: the sizes of the result.
      strides, dilation: the distances between consecutive windows, and between elements of a
        window.
      low: the number of zeros before the first element; negative numbers remove elements.
    """

    extents: tuple[int, ...]
    window: tuple[int, ...]
    out: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    low: tuple[int, ...]

    @property
    def high(self) -> tuple[int, ...]:
        """The number of zeros after the last element; negative numbers remove elements."""
        padding: list[int] = []
        for n, k, o, s, d, low in zip(
            self.extents, self.window, self.out, self.strides, self.dilation, self.low, strict=True
        ):
            padding.append((o - 1) * s + dilated(k, d) - n - low)
        return tuple(padding)


def _round(n: int) -> int:
    """Returns `n` bytes rounded up to whole cache lines."""
    return -(-n // 64) * 64


def panel_width(dtype: np.dtype) -> int:
    """Returns the number of features of a group in a panel."""
    return _PANEL_ROW // dtype.itemsize


def forward(x: TensorType, features: int, window: Window, groups: int) -> library.Routine:
    """Returns the library function that convolves [N, space, C] to [N, space, features].

    Its second operand contains the windows, packed into panels: [panels of a group times groups,
    depth, width]. Depth is the number of elements of a window times the number of input features of
    a group. Width is `panel_width`; the last panel of a group is padded with zeros.
    """
    batch, *_, channels = x.shape
    size, rows = x.dtype.itemsize, batch * window.out[0] * window.out[1]
    taps = math.prod(window.window)
    products = rows * window.out[2] * taps * channels * features // groups
    items = max(min(products // COSTS.convolution_item, COSTS.convolution_items, rows), 1)
    line = (window.out[2] - 1) * window.strides[2] + dilated(window.window[2], window.dilation[2])
    lines = window.window[0] * dilated(window.window[1], window.dilation[1])
    room = (lines + 1) * line * channels * size + 8 * lines + 32 * taps + 64
    return _routine("forward", batch, channels, features, groups, window, -(-rows // items), room)


def filter_gradient(x: TensorType, w: TensorType, window: Window, groups: int) -> library.Routine:
    """Returns the library function that computes the gradient with respect to windows.

    Its operands are [N, space, C] and [N, space, F]. Its result, [parts, space, C of a group, F],
    contains partial sums, which the caller has to add up.
    """
    (batch, *_, channels), features = x.shape, w.shape[-1]
    size = x.dtype.itemsize
    rows = batch * window.window[0] * window.window[1]
    results = math.prod(window.out) * channels // groups * features
    products = results * rows * window.window[2]
    most = min(
        max(COSTS.convolution_partial_bytes // (results * size), 2), COSTS.convolution_partial_sums
    )
    items = max(min(products // COSTS.convolution_item, most, rows), 1)
    in_item = -(-rows // items)
    room = 16 * in_item + max(_FILTER_ROWS, window.window[2] * _PANEL_ROW) + 64
    return _routine("filter", batch, channels, features, groups, window, in_item, room)


def _routine(
    name: str, batch: int, channels: int, features: int, groups: int, window: Window, rows: int,
    room: int,
) -> library.Routine:  # fmt: skip
    return library.routine(
        f"convolution.{name}", batch=batch, channels=channels, features=features, groups=groups,
        extents=window.extents, window=window.window, out=window.out, strides=window.strides,
        dilation=window.dilation, low=window.low, rows=rows, room=_round(room),
    )  # fmt: skip


class _Params(TypedDict):
    """The parameters of a call, as `_routine` creates them."""

    batch: int
    channels: int
    features: int
    groups: int
    extents: tuple[int, ...]
    window: tuple[int, ...]
    out: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    low: tuple[int, ...]
    rows: int
    room: int


_Along: TypeAlias = Literal["window", "out"]


def _items(params: _Params, along: _Along) -> int:
    """Returns the number of work items, among which the rows of the axes `along` are divided."""
    rows = params["batch"] * params[along][0] * params[along][1]
    return -(-rows // params["rows"])


def _options(along: _Along, params: _Params) -> list[int]:
    """Returns the options as defined in `convolve.h`.

    In the terms of that file, the window is the array that moves, and the image is the array that
    is contracted.
    """
    inner = params["window" if along == "out" else "out"]
    return [
        params["batch"], params["channels"], params["features"], params["groups"],
        *params["extents"], *inner, *params[along], *params["strides"], *params["dilation"],
        *params["low"], params["rows"], params["room"],
    ]  # fmt: skip


def _window(params: _Params) -> Window:
    return Window(
        params["extents"], params["window"], params["out"], params["strides"], params["dilation"],
        params["low"],
    )  # fmt: skip


def _forward_types(x: TensorType, w: TensorType, **params: Unpack[_Params]) -> list[TensorType]:
    return [TensorType((params["batch"], *params["out"], params["features"]), x.dtype)]


def _filter_types(x: TensorType, w: TensorType, **params: Unpack[_Params]) -> list[TensorType]:
    per_group = params["channels"] // params["groups"]
    parts = _items(params, "window")
    return [TensorType((parts, *params["out"], per_group, params["features"]), x.dtype)]


def _forward(x: np.ndarray, panels: np.ndarray, **params: Unpack[_Params]) -> list[np.ndarray]:
    window, groups, features = _window(params), params["groups"], params["features"]
    w = panels.reshape(groups, -1, *panels.shape[1:]).transpose(2, 0, 1, 3)
    w = w.reshape(*w.shape[:2], -1)[..., : features // groups]
    w = w.reshape(*window.window, -1, features)
    dims = ConvolutionDims(
        (0, 4, 1, 2, 3), (4, 3, 0, 1, 2), (0, 4, 1, 2, 3), window.strides, window.low, window.high,
        (1, 1, 1), window.dilation, groups,
    )  # fmt: skip
    return [convolution.convolution(x, w, dims)]


def _filter(x: np.ndarray, w: np.ndarray, **params: Unpack[_Params]) -> list[np.ndarray]:
    window, rows = _window(params), params["rows"]
    dims = ConvolutionDims(
        (4, 0, 1, 2, 3), (4, 0, 1, 2, 3), (3, 4, 0, 1, 2), window.strides, window.low, window.high,
        (1, 1, 1), window.dilation, 1, params["groups"],
    )  # fmt: skip
    flat = w.reshape(-1, *w.shape[3:])
    parts: list[np.ndarray] = []
    for i in range(_items(params, "window")):
        own = np.zeros_like(flat)
        own[i * rows : (i + 1) * rows] = flat[i * rows : (i + 1) * rows]
        parts.append(convolution.convolution(x, own.reshape(w.shape), dims))
    return [np.stack(parts)]


def _work(x: TensorType, w: TensorType, **params: Unpack[_Params]) -> int:
    """Returns the work of an item in vector operations, each of which computes eight products."""
    taps = math.prod(params["window"]) * math.prod(params["out"][2:])
    per_group = params["channels"] // params["groups"]
    return max(params["rows"] * taps * per_group * params["features"] // 8, 1)


def _operations(x: TensorType, w: TensorType, **params: Unpack[_Params]) -> float:
    results = params["batch"] * math.prod(params["out"]) * params["features"]
    return 2.0 * results * math.prod(params["window"]) * params["channels"] / params["groups"]


def _room(x: TensorType, w: TensorType, **params: Unpack[_Params]) -> int:
    """Returns the workspace of an item in bytes."""
    return params["room"]


# --- the native functions -------------------------------------------------------------------------


class _Native:
    """The runtime's machine code: its addresses by kind, dtype and instruction set level."""

    address: Callable[[int, int, int], int] | None = None


def use_native(address: Callable[[int, int, int], int]) -> None:
    """Sets the function that returns addresses of machine code; see `_convolve.pyi`."""
    _Native.address = address


def _computes(x: TensorType, w: TensorType, **params: Param) -> bool:
    return _Native.address is not None and x.dtype in _TYPES


def _declare(
    kind: int, name: str, types: Callable[..., Sequence[TensorType]],
    reference: library.Implementation, along: _Along,
) -> None:  # fmt: skip
    def address(dtype: np.dtype) -> int:
        assert _Native.address is not None
        return _Native.address(kind, _TYPES[dtype], _LEVEL)

    def options(**params: Unpack[_Params]) -> list[int]:
        return _options(along, params)

    def items(x: TensorType, w: TensorType, **params: Unpack[_Params]) -> int:
        return _items(params, along)

    native = NativeCode(address, _computes, options, items=items, workspace=_room)
    library.declare(
        LibraryFunction(f"convolution.{name}", types, reference, native, _work, _operations)
    )


_declare(0, "forward", _forward_types, _forward, "out")
_declare(1, "filter", _filter_types, _filter, "window")
