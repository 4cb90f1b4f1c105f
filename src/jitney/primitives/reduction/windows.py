"""Sums, maxima and minima over windows, and the derivatives of maxima and minima.

Axes are reduced one after another, starting with the last one: windows are folded from shifted
slices, and long windows by doubling (`fold_windows`). The primitives are lowered by tracing this
computation. The first of several equal extrema has the derivative. For reductions by other
functions, see `reduce_window`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.dims import dilated as dilated
from jitney.core.messages import messages
from jitney.core.symbolic.expressions import index, max_dim
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.core.util.thresholds import threshold
from jitney.primitives import rules, sharding_rules
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.canonical import canonical_shape
from jitney.primitives.array.concatenation import pad
from jitney.primitives.array.creation import iota
from jitney.primitives.array.shape import reshape
from jitney.primitives.elementwise import binary, families
from jitney.primitives.elementwise.compare import ge, ge_p, le, le_p
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.elementwise.select import select
from jitney.primitives.indexing.scatter import ScatterDimensionNumbers, scatter_add
from jitney.primitives.indexing.slice import slice as slice_of
from jitney.primitives.traced import lower_by
from jitney.transforms import jet
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import BatchDim, Cotangent, Dims, Operand, Primals, Value
    from jitney.transforms.transpose import UndefinedPrimal

Shape = tuple[int, ...]
Combine = Callable[[Sequence["Value"], Sequence["Value"]], Sequence["Value"]]
"""A combining function: (earlier values, later values) -> values."""
Pads = tuple[tuple[int, int], ...]
_DIRECT = threshold(8, small=2)  # windows of at most this size are folded element by element


# --- shapes -----------------------------------------------------------------------------------------


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: object,
) -> list[tuple[int, int]]:
    """Converts "VALID", "SAME" or "SAME_LOWER" to numeric padding.

    Raises:
      RuntimeError: if `padding` is another string.
      TypeError: if `padding` is not a string.

    Example:
      >>> lax.padtype_to_pads((5,), (4,), (2,), "SAME")
      [(1, 2)]
    """
    kind = padding.upper() if isinstance(padding, str) else getattr(padding, "name", None)
    if kind is None:
        raise TypeError(
            f"padtype_to_pads takes the name of a padding, such as 'SAME', got {padding!r}"
        )
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            messages.at_expression(
                f"`padding` must be 'VALID', 'SAME' or 'SAME_LOWER', but is {padding!r}"
            )
        )
    out: list[tuple[int, int]] = []
    for n, w, s in zip(in_shape, window_shape, window_strides, strict=True):
        total = max_dim(index((-(-n // s) - 1) * s + w - n), 0)
        half = total // 2
        out.append((half, total - half) if kind == "SAME" else (total - half, half))
    return out


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Shape:
    """Returns the shape of the result of a reduction over windows."""
    operand_shape = canonical_shape(operand_shape)
    options = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    rank = len(operand_shape)
    sequences: list[Sequence[object] | int] = [g for g in options if g is not None]
    if not all(isinstance(g, Sequence | np.ndarray) and len(g) == rank for g in sequences):
        raise TypeError(
            f"reduce_window: options must have one entry for each axis of shape {operand_shape}, "
            f"got window_dimensions {window_dimensions}, window_strides {window_strides}, "
            f"padding {padding}, base_dilation {base_dilation}, window_dilation {window_dilation}"
        )
    base = base_dilation or (1,) * rank
    spread = window_dilation or (1,) * rank
    out: list[int] = []
    for k in range(rank):
        length = dilated(operand_shape[k], base[k]) + sum(padding[k])
        window = dilated(window_dimensions[k], spread[k])
        out.append(0 if length < window else (length - window) // window_strides[k] + 1)
    return tuple(out)


def result_shape(shape: Shape, params: dict[str, Any]) -> Shape:
    """Returns the shape of a reduction over windows of an array of `shape`."""
    return reduce_window_shape_tuple(
        shape, params["window_dimensions"], params["window_strides"], params["padding"],
        params.get("base_dilation"), params.get("window_dilation"),
    )  # fmt: skip


# --- the fold ---------------------------------------------------------------------------------------


def fold_windows(
    xs: Sequence[Array],
    inits: Primals,
    combine: Combine,
    params: dict[str, Any],
) -> list[Value]:
    """Folds the windows of the tuple of arrays `xs` by the associative function `combine`.

    Args:
      xs: operands of the same shape.
      inits: neutral elements, with which the operands are padded.
      combine: an elementwise function (earlier values, later values) -> values.
      params: the parameters of the windows: dimensions, strides, padding, dilations.
    """
    shape = rules.shape_of(xs[0])
    rank = len(shape)
    out_shape = result_shape(shape, params)
    if 0 in out_shape:
        return [
            broadcast_in_dim(convert_element_type(i, x.dtype), out_shape, ())
            for x, i in zip(xs, inits, strict=True)
        ]
    base = params.get("base_dilation") or (1,) * rank
    spread = params.get("window_dilation") or (1,) * rank
    config = [(lo, hi, d - 1) for (lo, hi), d in zip(params["padding"], base, strict=True)]
    parts: list[Value] = list(xs)
    if any(c != (0, 0, 0) for c in config):
        parts = [pad(x, i, config) for x, i in zip(xs, inits, strict=True)]
    for k in reversed(range(rank)):
        parts = _fold_axis(
            parts, combine, k, params["window_dimensions"][k], params["window_strides"][k], spread[k],
            out_shape[k],
        )  # fmt: skip
    return parts


def _fold_axis(
    parts: list[Value], combine: Combine, axis: int, window: int, stride: int, spread: int, n: int
) -> list[Value]:
    def shifted(values: Primals, start: int, length: int, step: int) -> list[Value]:
        out: list[Value] = []
        for v in values:
            s = rules.shape_of(v)
            starts = [start if k == axis else 0 for k in range(len(s))]
            stops = [start + (length - 1) * step + 1 if k == axis else m for k, m in enumerate(s)]
            steps = [step if k == axis else 1 for k in range(len(s))]
            out.append(slice_of(v, starts, stops, steps))
        return out

    if window <= _DIRECT:
        total = shifted(parts, 0, n, stride)
        for i in range(1, window):
            total = list(combine(total, shifted(parts, i * spread, n, stride)))
        return total
    # `current` has folds of `size` neighbors; the binary digits of the window size select the ones
    # to combine.
    total, done, size, current = None, 0, 1, parts
    while True:
        if window & size:
            piece = shifted(current, done * spread, n, stride)
            total = piece if total is None else list(combine(total, piece))
            done += size
        if 2 * size > window:
            assert total is not None
            return total
        length = rules.shape_of(current[0])[axis] - size * spread
        current = list(
            combine(shifted(current, 0, length, 1), shifted(current, size * spread, length, 1))
        )
        size *= 2


def with_axis(params: dict[str, Any], d: int) -> dict[str, object]:
    """Adds to the parameters an axis at `d` along which windows have size 1."""
    neutral = {
        "window_dimensions": 1, "window_strides": 1, "padding": (0, 0), "base_dilation": 1,
        "window_dilation": 1,
    }  # fmt: skip
    return {k: (*v[:d], neutral[k], *v[d:]) if k in neutral else v for k, v in params.items()}


# --- sums and extremes ------------------------------------------------------------------------------


def lowest(dtype: np.dtype) -> np.ndarray:
    """Returns the neutral element of the maximum."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.asarray(-np.inf, dtype)
    return np.asarray(False if dtype == np.bool_ else dtypes.iinfo(dtype).min, dtype)


def highest(dtype: np.dtype) -> np.ndarray:
    """Returns the neutral element of the minimum."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.asarray(np.inf, dtype)
    return np.asarray(True if dtype == np.bool_ else dtypes.iinfo(dtype).max, dtype)


def _monoid(
    name: str,
    op: families.BinaryFunction,
    neutral: Callable[[np.dtype], np.ndarray],
    linear: bool = False,
) -> Primitive:
    prim = declare(name, linear=linear)
    prim.sharding(sharding_rules.cut)

    @prim.abstract
    def abstract_rule(x: ShapedArray, **params: object) -> ShapedArray:
        families.check_dtype(name, x.dtype, families.NUMERIC if linear else families.ORDERED)
        return x.update(shape=result_shape(x.shape, params))

    def meaning(x: Array, **params: object) -> list[Value]:
        narrow = linear and x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        wide = convert_element_type(x, np.float32) if narrow else x
        out = fold_windows([wide], [neutral(wide.dtype)], lambda a, b: [op(a[0], b[0])], params)
        return [convert_element_type(out[0], x.dtype)] if narrow else out

    lower_by(prim, meaning)

    @prim.batch
    def batch_rule(args: Primals, dims: Sequence[int], **params: object) -> tuple[Value, BatchDim]:
        return prim.bind(args[0], **with_axis(params, dims[0])), dims[0]

    return prim


reduce_window_sum_p = _monoid(
    "reduce_window_sum", binary.add, lambda dtype: np.zeros((), dtype), linear=True
)
reduce_window_max_p = _monoid("reduce_window_max", binary.max, lowest)
reduce_window_min_p = _monoid("reduce_window_min", binary.min, highest)


def _sum_transpose(ct: Value, x: Operand, **params: Any) -> Value:
    shape, out_shape = rules.shape_of(x), rules.shape_of(ct)
    config: list[Any] = []
    for k, n in enumerate(shape):
        reach = (params["window_dimensions"][k] - 1) * params["window_dilation"][k]
        stride = params["window_strides"][k]
        low = reach - params["padding"][k][0]
        whole = reach + dilated(n, params["base_dilation"][k])
        high = whole - low - dilated(out_shape[k], stride)
        config.append((np.int64(low), np.int64(high), stride - 1))
    padded = pad(ct, rules.const(ct, 0), config)
    ones = (1,) * len(shape)
    return reduce_window_sum_p.bind(
        padded, base_dilation=ones, padding=((0, 0),) * len(shape),
        window_dilation=params["window_dilation"], window_dimensions=params["window_dimensions"],
        window_strides=params["base_dilation"],
    )  # fmt: skip


rules.deflinear(reduce_window_sum_p, _sum_transpose)


def _extreme_jvp(prim: Primitive, chosen_by: Primitive) -> None:
    rules.defjvp(
        prim,
        lambda t, x, **params: select_and_gather_add_p.bind(t, x, select_prim=chosen_by, **params),
    )
    prim.jet(jet.piecewise_linear(prim))
    prim.absent("transpose", why="not linear")


_extreme_jvp(reduce_window_max_p, ge_p)
_extreme_jvp(reduce_window_min_p, le_p)

# --- tangents and cotangents of extremes --------------------------------------------------------------

select_and_gather_add_p = declare("select_and_gather_add")
select_and_gather_add_p.sharding(sharding_rules.cut)


@select_and_gather_add_p.abstract
def _select_and_gather_add_abstract(
    t: ShapedArray, x: ShapedArray, **params: object
) -> ShapedArray:
    return t.update(shape=result_shape(x.shape, params))


def _chooser(
    select_prim: Primitive,
) -> tuple[families.BinaryFunction, Callable[[np.dtype], np.ndarray]]:
    """Returns the comparison and the neutral element of a selection."""
    return (ge, lowest) if select_prim is ge_p else (le, highest)


def _choose(
    x: Array, other: Array, fill: Value, select_prim: Primitive, params: dict[str, Any]
) -> Value:
    """Returns for each window the element of `other` at the first extreme element of `x`."""
    better, neutral = _chooser(select_prim)

    def combine(a: Primals, b: Primals) -> list[Value]:
        keep = better(a[0], b[0])
        return [select(keep, a[0], b[0]), select(keep, a[1], b[1])]

    return fold_windows([x, other], [neutral(x.dtype), fill], combine, params)[1]


def _gathered(t: Array, x: Array, *, select_prim: Primitive, **params: object) -> list[Value]:
    return [_choose(x, t, np.zeros((), t.dtype), select_prim, params)]


lower_by(select_and_gather_add_p, _gathered)
rules.defjvp(
    select_and_gather_add_p,
    lambda dt, t, x, **params: select_and_gather_add_p.bind(dt, x, **params),
    None,
)


@select_and_gather_add_p.transpose
def _select_and_gather_add_transpose(
    ct: Cotangent,
    t: UndefinedPrimal,
    x: Array,
    *,
    base_dilation: Shape,
    window_dilation: Shape,
    **params: Any,
) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [Zero(t.aval.to_cotangent_aval()), None]
    if any(d != 1 for d in window_dilation):
        raise NotImplementedError(
            "reverse-mode derivatives of extrema over windows are defined only for windows without "
            f"dilation, but window_dilation is {window_dilation}"
        )
    if all(d == 1 for d in base_dilation):
        return [select_and_scatter_add_p.bind(ct, x, **params), None]
    # Elements that dilation inserts are selected only in windows without other elements.
    _, neutral = _chooser(params["select_prim"])
    dilated = pad(x, neutral(x.dtype)[()], [(0, 0, d - 1) for d in base_dilation])
    out = select_and_scatter_add_p.bind(ct, dilated, **params)
    return [slice_of(out, (0,) * out.ndim, out.shape, base_dilation), None]


select_and_scatter_add_p = declare("select_and_scatter_add")
select_and_scatter_add_p.sharding(sharding_rules.as_operand(1))


@select_and_scatter_add_p.abstract
def _select_and_scatter_add_abstract(
    source: ShapedArray, x: ShapedArray, **_: object
) -> ShapedArray:
    return source.update(shape=x.shape, weak_type=source.weak_type and x.weak_type)


def _scattered(
    source: Array, x: Array, *, select_prim: Primitive, padding: Pads, **params: object
) -> list[Array]:
    shape = x.shape
    size = math.prod(shape)
    # Padding is selected only in windows without other elements; values that are scattered to it
    # are dropped.
    places = reshape(iota(np.int32, size), shape)
    chosen = _choose(
        x, places, np.asarray(size, np.int32), select_prim, {**params, "padding": padding}
    )
    zeros = broadcast_in_dim(np.zeros((), source.dtype), (size + 1,), ())
    n = math.prod(source.shape)
    numbers = ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    flat = scatter_add(zeros, reshape(chosen, (n, 1)), reshape(source, (n,)), numbers)
    return [reshape(slice_of(flat, (0,), (size,)), shape)]


lower_by(select_and_scatter_add_p, _scattered)
rules.defjvp(
    select_and_scatter_add_p,
    lambda t, source, x, **params: select_and_scatter_add_p.bind(t, x, **params),
    None,
)


@select_and_scatter_add_p.transpose
def _select_and_scatter_add_transpose(
    ct: Cotangent, source: UndefinedPrimal, x: Array, **params: object
) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [Zero(source.aval.to_cotangent_aval()), None]
    ones = (1,) * len(rules.shape_of(x))
    out = select_and_gather_add_p.bind(ct, x, base_dilation=ones, window_dilation=ones, **params)
    return [out, None]


for _prim in (select_and_gather_add_p, select_and_scatter_add_p):
    _prim.jet(jet.piecewise_linear(_prim))

    @_prim.batch
    def _prim_batch(
        args: Primals, dims: Dims, _prim: Primitive = _prim, **params: object
    ) -> tuple[Value, BatchDim]:
        size = rules.batch_size(args, dims)
        moved = [rules.to_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return _prim.bind(*moved, **with_axis(params, 0)), 0
