"""Lowers convolutions to calls of native code or to simpler nodes, depending on their shapes:

    window of one element          a contraction
    dilated operand                one convolution per index modulo the dilation, interleaved
    one feature in, one out        a sum of shifted products
    one feature out                `convolution.forward` with shifted copies of the window as
                                   features, if its results contain no NaN
    few results of large windows   `convolution.filter`, the gradient with respect to a window
    all others                     `convolution.forward`

The native code vectorizes over features, so they must be the last axis. Operands with other layouts
are transposed; the transpose is fused into the kernel that computes the operand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from jitney.compiler import convolutions
from jitney.compiler.convolutions import SPACE, Window
from jitney.compiler.cost import COSTS
from jitney.compiler.dims import ConvolutionDims, dilated
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.core.types import dtypes
from jitney.core.util.record import replace


def is_written(node: ir.Convolution) -> bool:
    """Returns whether `convolution` can lower `node`."""
    dims = node.dims
    window = [node.w.shape[k] for k in dims.w_axes[2:]]
    fits = dims.rank <= SPACE or math.prod(window[: dims.rank - SPACE]) <= COSTS.written_out_places
    return carrier(node.dtype) in convolutions.DTYPES and fits


def convolution(b: Builder, x: ir.Node, w: ir.Node, dims: ConvolutionDims) -> ir.Node:
    """Returns a convolution of real elements in terms of other nodes; see `is_written`."""
    shape = dims.result_shape(x.shape, w.shape)
    if 0 in shape or 0 in w.shape:
        return b.full(shape, 0, x.dtype)
    if _is_pointwise(w, dims):
        return _contraction(b, x, w, dims)
    if any(d > 1 for d in dims.x_dilation):
        return _remainders(b, x, w, dims)
    window = math.prod(w.shape[k] for k in dims.w_axes[2:])
    places = math.prod(shape[k] for k in dims.out_axes[2:])
    if window > places and dims.groups == 1 and dims.rank <= SPACE:
        return _filter(b, x, w, dims)
    # Spatial axes come first, so that groups of the batch can become groups of features.
    image = b.transpose(x, (dims.x_axes[0], *dims.x_axes[2:], dims.x_axes[1]))
    filters = b.transpose(w, (*dims.w_axes[2:], dims.w_axes[1], dims.w_axes[0]))
    groups = dims.groups
    if dims.batch_groups > 1:
        groups = dims.batch_groups
        n, *space, c = image.shape
        image = b.reshape(image, (groups, n // groups, *space, c))
        image = b.transpose(image, (1, *range(2, len(space) + 2), 0, len(space) + 2))
        image = b.reshape(image, (n // groups, *space, groups * c))
    out = [shape[k] for k in dims.out_axes[2:]]
    result = _images(b, image, filters, _moving(image, filters, out, dims), groups)
    return _transposed_to(b, result, (dims.out_axes[0], *dims.out_axes[2:], dims.out_axes[1]))


def _moving(x: ir.Node, w: ir.Node, out: Sequence[int], dims: ConvolutionDims) -> Window:
    """Returns the window for operands in the layouts `x` [N, space, C] and `w` [space, C, F]."""
    return Window(x.shape[1:-1], w.shape[:-2], tuple(out), dims.strides, dims.w_dilation, dims.low)


def _transposed_to(b: Builder, x: ir.Node, axes: Sequence[int]) -> ir.Node:
    """Returns `x` transposed: its axis k becomes axis `axes[k]`."""
    return b.transpose(x, [axes.index(k) for k in range(len(axes))])


# --- simpler convolutions -------------------------------------------------------------------------


def _is_pointwise(w: ir.Node, dims: ConvolutionDims) -> bool:
    """Returns whether each result is a contraction over the features of a single position."""
    single = all(w.shape[k] == 1 for k in dims.w_axes[2:])
    is_plain = not any((*dims.low, *dims.high)) and all(d == 1 for d in dims.x_dilation)
    return single and is_plain and dims.groups == dims.batch_groups == 1


def _contraction(b: Builder, x: ir.Node, w: ir.Node, dims: ConvolutionDims) -> ir.Node:
    space = dims.x_axes[2:]
    steps = [1] * len(x.shape)
    for axis, stride in zip(space, dims.strides, strict=True):
        steps[axis] = stride
    x = b.slice(x, [0] * len(steps), x.shape, steps)
    features = sorted(dims.w_axes[:2])
    w = b.reshape(w, [w.shape[k] for k in features])
    result = b.dot(x, w, ((dims.x_axes[1],), (features.index(dims.w_axes[1]),)), ((), ()))
    # The result's axes: those of x without its features, in x's order, then the new features.
    left = [k for k in range(len(x.shape)) if k != dims.x_axes[1]]
    places = dict(
        zip((dims.x_axes[0], *space), (dims.out_axes[0], *dims.out_axes[2:]), strict=True)
    )
    return _transposed_to(b, result, [*[places[k] for k in left], dims.out_axes[1]])


def _remainders(b: Builder, x: ir.Node, w: ir.Node, dims: ConvolutionDims) -> ir.Node:
    """Returns a convolution of a dilated operand, decomposed along the first dilated axis.

    With dilation d, the results p, p + d, p + 2 d ... all use the same subset of the window, every
    d-th element, and multiply it with contiguous elements of the undilated operand. Each residue p
    is therefore an undilated convolution.
    """
    j = next(k for k, d in enumerate(dims.x_dilation) if d > 1)
    step, axis, w_axis, out_axis = (
        dims.x_dilation[j], dims.x_axes[j + 2], dims.w_axes[j + 2], dims.out_axes[j + 2]
    )  # fmt: skip
    if dims.strides[j] > 1 or dims.w_dilation[j] > 1 or step > COSTS.written_out_places:
        between = [0] * len(x.shape)
        between[axis] = step - 1
        none = [0] * len(x.shape)
        x = b.pad(x, b.full((), 0, x.dtype), none, none, between)
        return convolution(b, x, w, replace(dims, x_dilation=_with(dims.x_dilation, j, 1)))
    shape = dims.result_shape(x.shape, w.shape)
    count = -(-shape[out_axis] // step)
    parts: list[ir.Node] = []
    for place in range(step):
        first = (dims.low[j] - place) % step
        part_shape = _with(shape, out_axis, count)
        if first >= w.shape[w_axis]:
            parts.append(b.full(part_shape, 0, x.dtype))
            continue
        part = _sliced(b, w, w_axis, first, step)
        low = -((place + first - dims.low[j]) // step)
        high = count - 1 + part.shape[w_axis] - x.shape[axis] - low
        inner = replace(
            dims, x_dilation=_with(dims.x_dilation, j, 1), low=_with(dims.low, j, low),
            high=_with(dims.high, j, high),
        )  # fmt: skip
        parts.append(convolution(b, x, part, inner))
    spread = [b.reshape(p, (*shape[:out_axis], count, 1, *shape[out_axis + 1 :])) for p in parts]
    whole = b.reshape(b.concatenate(spread, out_axis + 1), _with(shape, out_axis, count * step))
    return b.slice(whole, [0] * len(shape), shape, [1] * len(shape))


def _with(values: Sequence[int], at: int, value: int) -> tuple[int, ...]:
    """Returns `values` with `value` at index `at`."""
    return (*values[:at], value, *values[at + 1 :])


def _sliced(
    b: Builder, x: ir.Node, axis: int, start: int, step: int = 1, count: int | None = None
) -> ir.Node:
    """Returns the elements start, start + step ... along `axis`: `count` of them, or all."""
    starts, limits, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    starts[axis], steps[axis] = start, step
    if count is not None:
        limits[axis] = start + dilated(count, step)
    return b.slice(x, starts, limits, steps)


# --- images ---------------------------------------------------------------------------------------


def _images(b: Builder, x: ir.Node, w: ir.Node, window: Window, groups: int) -> ir.Node:
    """Convolves [N, space, C] with [space, C of a group, F] to [N, space, F]."""
    is_each = w.shape[-2] == 1 and w.shape[-1] == groups
    if is_each and math.prod(window.window) <= COSTS.written_out_places:
        return _shifted_products(b, x, w, window)
    if all(k == 1 for k in window.window) and not any((*window.low, *window.high)):
        return _products_of_groups(b, x, w, window, groups)
    is_dense = window.strides[-1] == window.dilation[-1] == 1
    if w.shape[-1] == 1 and is_dense and window.out[-1] >= convolutions.panel_width(w.dtype) // 4:
        return _unless_nan(b, x, w, window)
    return _of_library(b, x, w, window, groups)


def _of_library(b: Builder, x: ir.Node, w: ir.Node, window: Window, groups: int) -> ir.Node:
    """Computes `_images` with the library function `convolution.forward`."""
    if len(window.out) > SPACE:
        return _outermost(b, x, w, window, groups)
    shape = (x.shape[0], *window.out, w.shape[-1])
    x, w, window = _three(b, x, w, window)
    routine = convolutions.forward(x.tensor_type, w.shape[-1], window, groups)
    (out,) = b.library_call(routine.name, routine.params, [x, _panels(b, w, groups)])
    return b.reshape(out, shape)


def _panels(b: Builder, w: ir.Node, groups: int) -> ir.Node:
    """Returns [space, C of a group, F] packed into panels of neighboring features.

    Native code expects this layout.
    """
    depth, per_group = math.prod(w.shape[:-1]), w.shape[-1] // groups
    width = convolutions.panel_width(w.dtype)
    count = -(-per_group // width)
    w = b.reshape(w, (depth, groups, per_group))
    none = (0, 0, 0)
    w = b.pad(w, b.full((), 0, w.dtype), none, (0, 0, count * width - per_group), none)
    return b.transpose(b.reshape(w, (depth, groups * count, width)), (1, 0, 2))


def _padded(b: Builder, x: ir.Node, window: Window) -> ir.Node:
    """Returns `x` [N, space, C] with its padding."""
    low, high = (0, *window.low, 0), (0, *window.high, 0)
    if not any((*low, *high)):
        return x
    return b.pad(x, b.full((), 0, x.dtype), low, high, [0] * len(x.shape))


def _window_of(b: Builder, x: ir.Node, place: Sequence[int], window: Window) -> ir.Node:
    """Returns the elements of a padded `x` that are multiplied with one element of the window.

    `place` is the index of that element in the window. The result has the shape [N, space of the
    result, C].
    """
    starts = [k * d for k, d in zip(place, window.dilation, strict=True)]
    spans = zip(starts, window.out, window.strides, strict=True)
    limits = [start + dilated(n, step) for start, n, step in spans]
    return b.slice(x, (0, *starts, 0), (x.shape[0], *limits, x.shape[-1]), (1, *window.strides, 1))


def _shifted_products(b: Builder, x: ir.Node, w: ir.Node, window: Window) -> ir.Node:
    """Computes a depthwise convolution as a sum over the elements of the window."""
    x = _padded(b, x, window)
    terms: list[ir.Node] = []
    for place in itertools.product(*map(range, window.window)):
        seen = _window_of(b, x, place, window)
        factor = b.slice(
            w, (*place, 0, 0), (*[k + 1 for k in place], *w.shape[-2:]), [1] * len(w.shape)
        )
        factor = b.reshape(factor, (w.shape[-1],))
        terms.append(b.apply("mul", seen, b.broadcast(factor, seen.shape, (len(seen.shape) - 1,))))
    return reduce(lambda total, term: b.apply("add", total, term), terms)


def _products_of_groups(b: Builder, x: ir.Node, w: ir.Node, window: Window, groups: int) -> ir.Node:
    """Convolves with a window of one element, which is a matrix product for each group."""
    rank = len(window.out)
    x = _window_of(b, x, (0,) * rank, window)
    x = b.reshape(x, (*x.shape[:-1], groups, x.shape[-1] // groups))
    w = b.reshape(w, (w.shape[-2], groups, w.shape[-1] // groups))
    products = b.dot(x, w, ((rank + 2,), (0,)), ((rank + 1,), (1,)))
    products = b.transpose(products, (*range(1, rank + 2), 0, rank + 2))
    return b.reshape(products, (*products.shape[:-2], products.shape[-2] * products.shape[-1]))


def _unless_nan(b: Builder, x: ir.Node, w: ir.Node, window: Window) -> ir.Node:
    """Computes a convolution with one output feature by `_shifted_windows`, unless that yields NaN.

    Shifted windows contain zeros, and the product of a zero with an infinity or NaN is NaN. A NaN
    would spread to results whose own windows contain neither, so the library function then
    recomputes all results.
    """
    shifted = _shifted_windows(b, x, w, window)
    if not dtypes.issubdtype(shifted.dtype, np.floating):
        return shifted

    def by_library(inner: Builder, x: ir.Node, w: ir.Node, _: ir.Node) -> list[ir.Node]:
        return [_of_library(inner, x, w, window, 1)]

    def unchanged(_: Builder, x: ir.Node, w: ir.Node, result: ir.Node) -> list[ir.Node]:
        return [result]

    is_nan = b.reduce(b.apply("ne", shifted, shifted), "or", tuple(range(len(shifted.shape))))
    args = [x, w, shifted]
    types = [node.tensor_type for node in args]
    cases = [b.region(types, unchanged), b.region(types, by_library)]
    return b.cond(b.convert(is_nan, np.int32), cases, args)[0]


def _shifted_windows(b: Builder, x: ir.Node, w: ir.Node, window: Window) -> ir.Node:
    """Computes a convolution with one output feature by treating adjacent results as features."""
    shifts = convolutions.panel_width(w.dtype) // 2
    length, count = window.window[-1], -(-window.out[-1] // shifts)
    # In a sequence in which the zero-padded window repeats with period `longer` + 1, consecutive
    # rows of length `longer` are shifted by one element each.
    longer = length + shifts - 1
    lead = (*window.window[:-1], w.shape[-2])
    rank = len(lead)
    row = b.transpose(w, (*range(rank - 1), rank, rank - 1, rank + 1))
    none = (0,) * (rank + 2)
    row = b.pad(row, b.full((), 0, w.dtype), none, _with(none, rank, shifts), none)
    row = b.reshape(row, (*lead, longer + 1))
    several = b.broadcast(row, (*lead, shifts, longer + 1), (*range(rank), rank + 1))
    flat = b.reshape(several, (*lead, shifts * (longer + 1)))
    shifted = b.reshape(_sliced(b, flat, rank, 0, 1, shifts * longer), (*lead, shifts, longer))
    shifted = b.transpose(shifted, (*range(rank - 1), rank + 1, rank - 1, rank))
    moving = replace(
        window, window=(*window.window[:-1], longer), out=(*window.out[:-1], count),
        strides=(*window.strides[:-1], shifts),
    )  # fmt: skip
    result = _of_library(b, x, shifted, moving, 1)
    result = b.reshape(result, (x.shape[0], *window.out[:-1], count * shifts, 1))
    return _sliced(b, result, len(result.shape) - 2, 0, 1, window.out[-1])


def _outermost(b: Builder, x: ir.Node, w: ir.Node, window: Window, groups: int) -> ir.Node:
    """Returns the convolution as a sum over the first spatial axis of the window.

    In each term the first spatial axis of the result is merged into the batch.
    """
    n, *_ = x.shape
    edge = [0] * len(x.shape)
    x = b.pad(
        x,
        b.full((), 0, x.dtype),
        _with(edge, 1, window.low[0]),
        _with(edge, 1, window.high[0]),
        edge,
    )
    inner = Window(*[v[1:] for v in (
        window.extents, window.window, window.out, window.strides, window.dilation, window.low
    )])  # fmt: skip
    total: ir.Node | None = None
    for k in range(window.window[0]):
        seen = _sliced(b, x, 1, k * window.dilation[0], window.strides[0], window.out[0])
        seen = b.reshape(seen, (n * window.out[0], *seen.shape[2:]))
        part = b.reshape(_sliced(b, w, 0, k, 1, 1), w.shape[1:])
        term = _images(b, seen, part, inner, groups)
        total = term if total is None else b.apply("add", total, term)
    assert total is not None
    return b.reshape(total, (n, window.out[0], *total.shape[1:]))


def _three(b: Builder, x: ir.Node, w: ir.Node, window: Window) -> tuple[ir.Node, ir.Node, Window]:
    """Returns the same convolution with three spatial axes; the added axes have size 1."""
    ones = (1,) * (SPACE - len(window.out))
    zeros = (0,) * len(ones)
    return (
        b.reshape(x, (x.shape[0], *ones, *x.shape[1:])),
        b.reshape(w, (*ones, *w.shape)),
        Window(
            ones + window.extents, ones + window.window, ones + window.out, ones + window.strides,
            ones + window.dilation, zeros + window.low,
        ),
    )  # fmt: skip


# --- gradients of windows -------------------------------------------------------------------------


def _filter(b: Builder, x: ir.Node, w: ir.Node, dims: ConvolutionDims) -> ir.Node:
    """Computes a convolution with a large window and few results as the gradient of another one.

    In that convolution's gradient with respect to its window, the batch is contracted; it
    corresponds to the contracted features here.
    """
    shape = dims.result_shape(x.shape, w.shape)
    # Axes: feature, space, batch; feature, space, feature of the result.
    image = b.transpose(x, (dims.x_axes[1], *dims.x_axes[2:], dims.x_axes[0]))
    cotangent = b.transpose(w, (dims.w_axes[1], *dims.w_axes[2:], dims.w_axes[0]))
    out = tuple([shape[k] for k in dims.out_axes[2:]])
    window = Window(
        image.shape[1:-1], cotangent.shape[1:-1], out, dims.strides, dims.w_dilation, dims.low
    )
    groups, features = dims.batch_groups, cotangent.shape[-1]
    if image.shape[-1] == features == groups and math.prod(out) <= COSTS.written_out_places:
        result = _sums_of_products(b, image, cotangent, window)
    else:
        added_axes = SPACE - dims.rank
        ones, zeros = (1,) * added_axes, (0,) * added_axes
        image = b.reshape(image, (image.shape[0], *ones, *image.shape[1:]))
        cotangent = b.reshape(cotangent, (cotangent.shape[0], *ones, *cotangent.shape[1:]))
        window = Window(
            ones + window.extents, ones + window.window, ones + out, ones + window.strides,
            ones + window.dilation, zeros + window.low,
        )  # fmt: skip
        types = image.tensor_type, cotangent.tensor_type
        routine = convolutions.filter_gradient(*types, window, groups)
        (result,) = b.library_call(routine.name, routine.params, [image, cotangent])
        result = b.reduce(result, "add", (0,))
        result = b.reshape(result, (*out, *result.shape[-2:]))
    return _transposed_to(b, result, (*dims.out_axes[2:], *dims.out_axes[:2]))


def _sums_of_products(b: Builder, x: ir.Node, w: ir.Node, window: Window) -> ir.Node:
    """Returns the gradient of a depthwise convolution with respect to its windows.

    Each element is the sum of the products of the shifted image and the cotangent.
    """
    x = _padded(b, x, window)
    of_gradient = replace(
        window, window=window.out, out=window.window, strides=window.dilation,
        dilation=window.strides,
    )  # fmt: skip
    sums: list[ir.Node] = []
    for place in itertools.product(*map(range, window.out)):
        products = b.apply("mul", _window_of(b, x, place, of_gradient), w)
        total = b.reduce(products, "add", tuple(range(len(w.shape) - 1)))
        sums.append(b.reshape(total, (1, *total.shape)))
    result = b.concatenate(sums, 0)
    return b.reshape(result, (*window.out, 1, result.shape[-1]))


def real_and_imaginary(
    b: Builder, x: tuple[ir.Node, ir.Node], w: tuple[ir.Node, ir.Node], dims: ConvolutionDims
) -> tuple[ir.Node, ir.Node]:
    """Returns the real and imaginary parts of a complex convolution."""
    (a, c), (u, v) = x, w
    rr, ii, ri, im = (b.convolution(*pair, dims) for pair in ((a, u), (c, v), (a, v), (c, u)))
    return b.apply("sub", rr, ii), b.apply("add", ri, im)


_INT32, _FLOAT32 = np.dtype(np.int32), np.dtype(np.float32)


def carrier(dtype: np.dtype) -> np.dtype:
    """Returns the dtype in which products of elements of `dtype` are summed."""
    if dtype.itemsize < 4 and dtypes.issubdtype(dtype, np.integer):
        return _INT32
    if dtype.itemsize < 4 and dtypes.issubdtype(dtype, np.floating):
        return _FLOAT32
    return dtype
