"""The function `pad`, in all its modes.

Axes are padded in sequence. In modes that read elements, the padding of later axes
reads that of earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.numpy.creation import array, empty
from jitney.numpy.flips import flip
from jitney.numpy.manipulation import repeat
from jitney.numpy.ranges import linspace
from jitney.primitives.array import concatenation
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.shape import shape_of, squeeze
from jitney.primitives.elementwise.convert import as_value, convert, scalar_operand
from jitney.primitives.indexing.slice import slice_in_dim

__all__ = ["pad"]

_STATISTICS = ("maximum", "mean", "median", "minimum")
# The modes and the options of each.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "constant": ("constant_values",),
    "edge": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
    "empty": (),
}

Widths = tuple[tuple[int, int], ...]
# One width for all axes, a pair (before, after), or such a pair for each axis.
PadWidth = int | Sequence[int] | Sequence[Sequence[int]] | np.ndarray


def pad(
    array: ArrayLike,
    pad_width: PadWidth,
    mode: str | Callable[..., Any] = "constant",
    **kwargs: Any,
) -> Array:
    """Pads `array` along each axis.

    Args:
      array: an array.
      pad_width: the number of elements to add: an integer, a pair (before, after), or such a pair
        for each axis.
      mode: "constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
        "symmetric", "wrap" or "empty"; or a function of (vector, widths, axis, options) that
        returns a padded vector.
      **kwargs: for "constant": `constant_values`; for "linear_ramp": `end_values`; for "maximum",
        "mean", "median" and "minimum": `stat_length`, the number of elements at the edge to
        include; for "reflect" and "symmetric": `reflect_type`, "even" or "odd". Values and lengths
        have the same forms as `pad_width`.

    Raises:
      ValueError: if an option does not apply to the mode, or a width is negative.
      TypeError: if a width is not an integer.
      NotImplementedError: if `mode` is unknown.

    Example:
      >>> jnp.pad(jnp.array([1, 2, 3]), (1, 2))
      Array([0, 1, 2, 3, 0, 0], dtype=int32)
      >>> jnp.pad(jnp.array([1, 2, 3]), 2, mode="reflect")
      Array([3, 2, 1, 2, 3, 2, 1], dtype=int32)
    """
    promotion.check_arraylike("pad", array)
    x = as_value(array)
    widths = _pairs(_integers(pad_width), x.ndim, "pad_width")
    if any(n < 0 for pair in widths for n in pair):
        raise ValueError(
            f"jnp.pad: `pad_width` must not be negative, but it is {pad_width}; use a slice to "
            "remove elements"
        )
    if callable(mode):
        return _by_function(x, widths, mode, kwargs)
    if mode not in _OPTIONS:
        raise NotImplementedError(
            f"jnp.pad: `mode` must be a function or one of {list(_OPTIONS)}, but it is {mode!r}"
        )
    unknown = set(kwargs) - set(_OPTIONS[mode])
    if unknown:
        raise ValueError(
            f"jnp.pad: mode {mode!r} accepts {list(_OPTIONS[mode]) or 'no options'}, but also got "
            f"{sorted(unknown)}"
        )
    stat_length = kwargs.get("stat_length")
    if stat_length is not None:
        stat_length = _pairs(_integers(stat_length, "stat_length"), x.ndim, "stat_length")
    return _pad(
        x,
        kwargs.get("constant_values", 0),
        kwargs.get("end_values"),
        widths=widths,
        mode=mode,
        stat_length=stat_length,
        reflect_type=kwargs.get("reflect_type", "even"),
    )


def _integers(value: object, name: str = "pad_width") -> np.ndarray:
    value = concrete_or_error(None, value, f"`{name}` of jnp.pad must be static")
    integers = np.asarray(value)
    if integers.dtype.kind not in "iu":
        raise TypeError(f"jnp.pad: `{name}` must have an integer dtype, but it is {integers.dtype}")
    return integers


def _pairs(value: np.ndarray, rank: int, name: str) -> Widths:
    """Returns a (before, after) pair for each axis."""
    if value.shape == (1, 2) or value.shape == (2,):
        value = np.broadcast_to(value.reshape(1, 2), (rank, 2))
    elif value.shape in ((), (1,)):
        value = np.broadcast_to(value.reshape(1, 1), (rank, 2))
    elif value.shape != (rank, 2):
        raise ValueError(
            f"jnp.pad: `{name}` must contain (before, after) for each of the {rank} axes, in shape "
            f"({rank}, 2), or for all axes, in shape (1, 2), (2,), (1,) or (), but it has shape "
            f"{value.shape}"
        )
    return tuple((low, high) for low, high in value)


@partial(
    jit_when_traced,
    name="_pad",
    static_argnames=("widths", "mode", "stat_length", "reflect_type"),
)
def _pad(
    x: Array,
    constant_values: ArrayLike | list[Any] | tuple[Any, ...],
    end_values: ArrayLike | list[Any] | tuple[Any, ...] | None,
    *,
    widths: Widths,
    mode: str,
    stat_length: Widths | None,
    reflect_type: str,
) -> Array:
    if mode == "constant":
        return _constant(x, widths, constant_values)
    if mode == "wrap":
        return _each(x, widths, _wrapped, mode)
    if mode in ("reflect", "symmetric"):
        return _each(x, widths, partial(_mirrored, mode=mode, kind=reflect_type), mode)
    if mode == "edge":
        return _each(x, widths, _edges, mode)
    if mode == "linear_ramp":
        ends = _values(0 if end_values is None else end_values, x, "end_values")
        return _each(x, widths, partial(_ramp, ends=ends), "")
    if mode == "empty":
        return _each(x, widths, _empty, "")
    return _each(x, widths, partial(_statistic, mode=mode, lengths=stat_length), "")


def _each(x: Array, widths: Widths, function: Callable[..., Any], name: str) -> Array:
    """Pads `x` along each axis with `function(x, axis, low, high)`.

    `name` is the mode if it requires elements along the padded axes, and "" otherwise.
    """
    for axis, (low, high) in enumerate(widths):
        if not low and not high:
            continue
        if name and x.shape[axis] == 0:
            raise ValueError(
                f"jnp.pad: mode {name!r} needs elements along each padded axis, but axis {axis} of "
                f"shape {x.shape} has none"
            )
        x = function(x, axis, low, high)
    return x


def _values(
    value: ArrayLike | list[Any] | tuple[Any, ...], x: Array, name: str
) -> Callable[[int, int], ArrayLike]:
    """Returns a function that maps (axis, side) to the value by which `x` is padded there.

    A scalar `value` is returned as it is; several values are converted to the dtype of `x`.
    """
    if isinstance(value, list | tuple):
        value = array(value)
    if not shape_of(value):
        return lambda axis, side: value
    value = convert(value, x.dtype)
    shape = shape_of(value)
    if shape == (1,):
        return lambda axis, side: value[0]
    if shape == (2,):
        return lambda axis, side: value[side]
    if shape == (1, 2):
        return lambda axis, side: value[0, side]
    if shape != (x.ndim, 2):
        raise ValueError(
            f"jnp.pad: `{name}` must contain (before, after) for each of the {x.ndim} axes, in shape "
            f"({x.ndim}, 2), or for all axes, in shape (1, 2), (2,), (1,) or (), but it has shape "
            f"{shape}"
        )
    return lambda axis, side: value[axis, side]


# --- modes ----------------------------------------------------------------------------------------


def _constant(x: Array, widths: Widths, value: ArrayLike | list[Any] | tuple[Any, ...]) -> Array:
    if not isinstance(value, list | tuple) and shape_of(value) == ():
        fill = convert(value, x.dtype, x.weak_type)
        return concatenation.pad(x, fill, tuple([(low, high, 0) for low, high in widths]))
    values = _values(value, x, "constant_values")
    nothing = (0, 0, 0)
    for axis, (low, high) in enumerate(widths):
        for side, width in enumerate((low, high)):
            if width:
                config: list[tuple[int, int, int]] = [nothing] * x.ndim
                config[axis] = (0, width, 0) if side else (width, 0, 0)
                x = concatenation.pad(x, convert(values(axis, side), x.dtype), config)
    return x


def _empty(x: Array, axis: int, low: int, high: int) -> Array:
    parts = [empty((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype) for n in (low, high)]
    return concatenate([parts[0], x, parts[1]], axis)


def _edges(x: Array, axis: int, low: int, high: int) -> Array:
    n = x.shape[axis]
    first = repeat(slice_in_dim(x, 0, 1, axis=axis), low, axis=axis)
    last = repeat(slice_in_dim(x, n - 1, n, axis=axis), high, axis=axis)
    return concatenate([first, x, last], axis)


def _wrapped(x: Array, axis: int, low: int, high: int) -> Array:
    n = x.shape[axis]
    low_times, low_rest = divmod(low, n)
    high_times, high_rest = divmod(high, n)
    parts = [slice_in_dim(x, n - low_rest, n, axis=axis)] if low_rest else []
    parts += [x] * (low_times + 1 + high_times)
    parts += [slice_in_dim(x, 0, high_rest, axis=axis)] if high_rest else []
    return concatenate(parts, axis)


def _mirrored(x: Array, axis: int, low: int, high: int, *, mode: str, kind: str) -> Array:
    # "reflect" omits the edge element from its mirror image, "symmetric" repeats it.
    offset = 1 if mode == "reflect" else 0
    if kind not in ("even", "odd"):
        raise ValueError(f"jnp.pad: `reflect_type` must be 'even' or 'odd', but it is {kind!r}")
    for before, width in ((True, low), (False, high)):
        n = x.shape[axis]
        if n == 1 and offset:
            edge = repeat(x, width, axis=axis)
            x = concatenate([edge, x] if before else [x, edge], axis)
            continue
        while width > 0:
            size = x.shape[axis]
            step = min(width, size - offset)
            edge_at = 0 if before else size - 1
            edge = slice_in_dim(x, edge_at, edge_at + 1, axis=axis)
            start = offset if before else size - offset - step
            image = flip(slice_in_dim(x, start, start + step, axis=axis), axis)
            if kind == "odd":
                image = edge * 2 - image
            x = concatenate([image, x] if before else [x, image], axis)
            width -= step
    return x


def _ramp(x: Array, axis: int, low: int, high: int, *, ends: Callable[[int, int], Any]) -> Array:
    n = x.shape[axis]
    first = slice_in_dim(x, 0, 1, axis=axis)
    last = slice_in_dim(x, n - 1, n, axis=axis)
    before, after = (
        linspace(
            ends(axis, side),
            squeeze(edge, (axis,)),
            width,
            endpoint=False,
            dtype=x.dtype,
            axis=axis,
        )
        for side, edge, width in ((0, first, low), (1, last, high))
    )
    return concatenate([before, x, flip(after, axis)], axis)


def _statistic(
    x: Array, axis: int, low: int, high: int, *, mode: str, lengths: Widths | None
) -> Array:
    from jitney.numpy import averages, quantiles, reductions
    from jitney.numpy.rounding import round as round_to

    functions: dict[str, Callable[..., Any]] = {
        "maximum": reductions.max,
        "minimum": reductions.min,
        "mean": averages.mean,
        "median": quantiles.median,
    }
    function = functions[mode]

    def edge(part: ArrayLike, width: int) -> Array:
        value = function(part, axis=axis, keepdims=True)
        if mode in ("mean", "median") and promotion.is_integer(x.dtype):
            value = round_to(value)
        return repeat(convert(value, x.dtype), width, axis=axis)

    n = x.shape[axis]
    if lengths is None:
        value = function(x, axis=axis, keepdims=True)
        if mode in ("mean", "median") and promotion.is_integer(x.dtype):
            value = round_to(value)
        value = convert(value, x.dtype)
        before, after = repeat(value, low, axis=axis), repeat(value, high, axis=axis)
    else:
        first, last = (min(length, n) for length in lengths[axis])
        if n == 0:
            raise ValueError(
                f"jnp.pad: mode {mode!r} with `stat_length` needs elements along each padded axis, "
                f"but axis {axis} of shape {x.shape} has none"
            )
        if first < 1 or last < 1:
            raise ValueError(
                f"jnp.pad: `stat_length` must be 1 or more in mode {mode!r}, but along axis "
                f"{axis} it is {min(lengths[axis])}"
            )
        before = edge(slice_in_dim(x, 0, first, axis=axis), low)
        after = edge(slice_in_dim(x, n - last, n, axis=axis), high)
    return concatenate([before, x, after], axis)


def _by_function(
    x: Array, widths: Widths, function: Callable[..., Any], options: dict[str, Any]
) -> Array:
    from jitney.numpy.apply import apply_along_axis

    x = concatenation.pad(
        x, scalar_operand(0, x.dtype, False), tuple([(low, high, 0) for low, high in widths])
    )
    for axis, pair in enumerate(widths):
        x = apply_along_axis(function, axis, x, pair, axis, options)
    return x


pad.__module__ = "jax.numpy"
