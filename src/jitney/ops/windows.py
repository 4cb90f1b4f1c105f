"""Reductions over windows: sums, extremes and folds by any function; the derivatives of the extremes.

Sums and extremes go axis by axis, the last first: windows are folded from shifted slices, long windows
by doubling (`fold_windows`). Any other function is applied in order (`_fold_in_order`). Primitives are
lowered by tracing these. Of several equal extremes the first one has the derivative.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.compiler import lower as lowering
from jitney.compiler.numerics import indexing
from jitney.core import dtypes, pytrees
from jitney.core.avals import ShapedArray, shaped_array
from jitney.core.evaluate import eval_jaxpr
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.primitive import Primitive, declare
from jitney.core.staging import trace_to_jaxpr
from jitney.core.trace import Tracer
from jitney.ops import binary, kit, rules
from jitney.ops.compare import ge, ge_p, le, le_p
from jitney.ops.convert import as_value, convert_element_type
from jitney.ops.creation import iota
from jitney.ops.join import pad
from jitney.ops.reduce import vectorized_program
from jitney.ops.scatter import ScatterDimensionNumbers, scatter_add
from jitney.ops.select import select
from jitney.ops.shape import broadcast_in_dim, canonical_shape, reshape
from jitney.ops.slice import slice as slice_of
from jitney.transforms import jet
from jitney.transforms.jvp import jvp_flat
from jitney.transforms.zero import Zero, instantiate

Shape = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]
_DIRECT = 8  # windows up to this length are folded element by element


# --- shapes -----------------------------------------------------------------------------------------


def _dilated(n: int, dilation: int) -> int:
    return 0 if n == 0 else (n - 1) * dilation + 1


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Any,
) -> list[tuple[int, int]]:
    """The padding in numbers that "VALID", "SAME" or "SAME_LOWER" stands for.

    Raises:
      RuntimeError: if the name is another one.
      TypeError: if `padding` is not a name.
    """
    kind = padding.upper() if isinstance(padding, str) else getattr(padding, "name", None)
    if kind is None:
        raise TypeError(f"padtype_to_pads needs a padding by name, such as 'SAME', got {padding!r}")
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}."
        )
    out: list[tuple[int, int]] = []
    for n, w, s in zip(in_shape, window_shape, window_strides, strict=True):
        total = max(int((-(-n // s) - 1) * s + w - n), 0)
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
    """Shape of the result of a reduction over windows."""
    operand_shape = canonical_shape(operand_shape)
    given = (window_dimensions, window_strides, padding, base_dilation, window_dilation)
    rank = len(operand_shape)
    sequences = [g for g in given if g is not None]
    if not all(isinstance(g, Sequence | np.ndarray) and len(g) == rank for g in sequences):
        raise TypeError(
            f"reduce_window needs sequences with an entry for each axis of shape {operand_shape}, "
            f"got window_dimensions {window_dimensions}, window_strides {window_strides}, "
            f"padding {padding}, base_dilation {base_dilation}, window_dilation {window_dilation}"
        )
    base = base_dilation or (1,) * rank
    spread = window_dilation or (1,) * rank
    out: list[int] = []
    for k in range(rank):
        length = _dilated(operand_shape[k], base[k]) + sum(padding[k])
        window = _dilated(window_dimensions[k], spread[k])
        out.append(0 if length < window else (length - window) // window_strides[k] + 1)
    return tuple(out)


def _result_shape(shape: Shape, params: dict[str, Any]) -> Shape:
    return reduce_window_shape_tuple(
        shape, params["window_dimensions"], params["window_strides"], params["padding"],
        params.get("base_dilation"), params.get("window_dilation"),
    )  # fmt: skip


# --- the fold ---------------------------------------------------------------------------------------


def fold_windows(
    xs: Sequence[Any],
    inits: Sequence[Any],
    combine: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]],
    params: dict[str, Any],
) -> list[Any]:
    """Windows of `xs`, arrays of one shape, folded by the associative `combine`.

    Args:
      xs: operands.
      inits: neutral elements, with which the operands are padded.
      combine: (earlier values, later values) -> values, elementwise.
      params: of the window: dimensions, strides, padding, dilations.
    """
    shape = rules.shape_of(xs[0])
    rank = len(shape)
    out_shape = _result_shape(shape, params)
    if 0 in out_shape:
        return [
            broadcast_in_dim(convert_element_type(i, x.dtype), out_shape, ())
            for x, i in zip(xs, inits, strict=True)
        ]
    base = params.get("base_dilation") or (1,) * rank
    spread = params.get("window_dilation") or (1,) * rank
    config = [(lo, hi, d - 1) for (lo, hi), d in zip(params["padding"], base, strict=True)]
    parts = list(xs)
    if any(c != (0, 0, 0) for c in config):
        parts = [pad(x, i, config) for x, i in zip(xs, inits, strict=True)]
    for k in reversed(range(rank)):
        parts = _fold_axis(
            parts, combine, k, params["window_dimensions"][k], params["window_strides"][k], spread[k],
            out_shape[k],
        )  # fmt: skip
    return parts


def _fold_axis(
    parts: list[Any], combine: Any, axis: int, window: int, stride: int, spread: int, n: int
) -> list[Any]:
    def shifted(values: Sequence[Any], start: int, length: int, step: int) -> list[Any]:
        out: list[Any] = []
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
    # current: folds of `size` neighbours; a window is made of such for the binary digits of its length.
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


def _lower_by(prim: Primitive, meaning: Callable[..., Sequence[Any]]) -> None:
    """Lowers `prim` by tracing `meaning(*arrays, **params)`, which returns a sequence."""

    @prim.lower
    def _(b: Any, *nodes: Any, **params: Any) -> Any:
        avals = [shaped_array(n.shape, n.dtype) for n in nodes]
        info = DebugInfo("lowering", prim.name)
        jaxpr, _, consts = trace_to_jaxpr(lambda *xs: meaning(*xs, **params), avals, info)
        outs = lowering.inline(b, ClosedJaxpr(jaxpr, consts), nodes)
        return outs if prim.multiple_results else outs[0]

    prim.absent(
        "eager", why="evaluated whole, as a compiled program (runtime.eager), not on NumPy arrays"
    )


def _with_axis(params: dict[str, Any], d: int) -> dict[str, Any]:
    """The parameters of windows that do not extend over one more axis, at `d`."""
    neutral = {
        "window_dimensions": 1, "window_strides": 1, "padding": (0, 0), "base_dilation": 1,
        "window_dilation": 1,
    }  # fmt: skip
    return {k: (*v[:d], neutral[k], *v[d:]) if k in neutral else v for k, v in params.items()}


# --- sums and extremes ------------------------------------------------------------------------------


def lowest(dtype: Any) -> Any:
    """The neutral element of the maximum."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.asarray(-np.inf, dtype)
    return np.asarray(False if dtype == np.bool_ else dtypes.iinfo(dtype).min, dtype)


def highest(dtype: Any) -> Any:
    """The neutral element of the minimum."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.asarray(np.inf, dtype)
    return np.asarray(True if dtype == np.bool_ else dtypes.iinfo(dtype).max, dtype)


def _monoid(name: str, op: Any, neutral: Any, linear: bool = False) -> Primitive:
    prim = declare(name, linear=linear)

    @prim.abstract
    def _(x: ShapedArray, **params: Any) -> ShapedArray:
        kit.check_dtype(name, x.dtype, kit.NUMERIC if linear else kit.ORDERED)
        return x.update(shape=_result_shape(x.shape, params))

    def meaning(x: Any, **params: Any) -> Any:
        narrow = linear and x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
        wide = convert_element_type(x, np.float32) if narrow else x
        out = fold_windows([wide], [neutral(wide.dtype)], lambda a, b: [op(a[0], b[0])], params)
        return [convert_element_type(out[0], x.dtype)] if narrow else out

    _lower_by(prim, meaning)

    @prim.batch
    def _(args: Any, dims: Any, **params: Any) -> Any:
        return prim.bind(args[0], **_with_axis(params, dims[0])), dims[0]

    return prim


reduce_window_sum_p = _monoid(
    "reduce_window_sum", binary.add, lambda dtype: np.zeros((), dtype), linear=True
)
reduce_window_max_p = _monoid("reduce_window_max", binary.max, lowest)
reduce_window_min_p = _monoid("reduce_window_min", binary.min, highest)


def _sum_transpose(ct: Any, x: Any, **params: Any) -> Any:
    shape, out_shape = rules.shape_of(x), rules.shape_of(ct)
    config: list[Any] = []
    for k, n in enumerate(shape):
        reach = (params["window_dimensions"][k] - 1) * params["window_dilation"][k]
        stride = params["window_strides"][k]
        low = reach - params["padding"][k][0]
        whole = reach + _dilated(n, params["base_dilation"][k])
        high = whole - low - _dilated(out_shape[k], stride)
        config.append((np.int64(low), np.int64(high), stride - 1))
    padded = pad(ct, np.zeros((), ct.dtype)[()], config)
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


@select_and_gather_add_p.abstract
def _(t: ShapedArray, x: ShapedArray, **params: Any) -> ShapedArray:
    return t.update(shape=_result_shape(x.shape, params))


def _chooser(select_prim: Primitive) -> tuple[Any, Any]:
    """(comparison, neutral element) of a choice."""
    return (ge, lowest) if select_prim is ge_p else (le, highest)


def _choose(x: Any, other: Any, fill: Any, select_prim: Primitive, params: dict[str, Any]) -> Any:
    """For each window, the value of `other` where `x` is extreme first."""
    better, neutral = _chooser(select_prim)

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        keep = better(a[0], b[0])
        return [select(keep, a[0], b[0]), select(keep, a[1], b[1])]

    return fold_windows([x, other], [neutral(x.dtype), fill], combine, params)[1]


_lower_by(
    select_and_gather_add_p,
    lambda t, x, select_prim, **params: [_choose(x, t, np.zeros((), t.dtype), select_prim, params)],
)
rules.defjvp(
    select_and_gather_add_p,
    lambda dt, t, x, **params: select_and_gather_add_p.bind(dt, x, **params),
    None,
)


@select_and_gather_add_p.transpose
def _(
    ct: Any, t: Any, x: Any, *, base_dilation: Shape, window_dilation: Shape, **params: Any
) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(t.aval.to_cotangent_aval()), None]
    if any(d != 1 for d in window_dilation):
        raise NotImplementedError(
            "reverse derivatives of extremes over windows are defined for windows without dilation"
        )
    if all(d == 1 for d in base_dilation):
        return [select_and_scatter_add_p.bind(ct, x, **params), None]
    # What dilation puts between elements is chosen only where a window holds nothing else.
    _, neutral = _chooser(params["select_prim"])
    dilated = pad(x, neutral(x.dtype)[()], [(0, 0, d - 1) for d in base_dilation])
    out = select_and_scatter_add_p.bind(ct, dilated, **params)
    return [slice_of(out, (0,) * out.ndim, out.shape, base_dilation), None]


select_and_scatter_add_p = declare("select_and_scatter_add")


@select_and_scatter_add_p.abstract
def _(source: ShapedArray, x: ShapedArray, **_: Any) -> ShapedArray:
    return source.update(shape=x.shape)


def _scattered(source: Any, x: Any, *, select_prim: Primitive, padding: Pads, **params: Any) -> Any:
    shape = x.shape
    size = math.prod(shape)
    # Padding is chosen only where a window holds nothing else; what goes there is dropped.
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


_lower_by(select_and_scatter_add_p, _scattered)
rules.defjvp(
    select_and_scatter_add_p,
    lambda t, source, x, **params: select_and_scatter_add_p.bind(t, x, **params),
    None,
)


@select_and_scatter_add_p.transpose
def _(ct: Any, source: Any, x: Any, **params: Any) -> list[Any]:
    if type(ct) is Zero:
        return [Zero(source.aval.to_cotangent_aval()), None]
    ones = (1,) * len(rules.shape_of(x))
    out = select_and_gather_add_p.bind(ct, x, base_dilation=ones, window_dilation=ones, **params)
    return [out, None]


for _prim in (select_and_gather_add_p, select_and_scatter_add_p):
    _prim.jet(jet.piecewise_linear(_prim))

    @_prim.batch
    def _(args: Any, dims: Any, _prim: Primitive = _prim, **params: Any) -> Any:
        size = rules.batch_size(args, dims)
        moved = [rules.to_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return _prim.bind(*moved, **_with_axis(params, 0)), 0


# --- any fold ---------------------------------------------------------------------------------------

reduce_window_p = declare("reduce_window", multiple_results=True)


@reduce_window_p.abstract
def _(*avals: ShapedArray, **params: Any) -> list[ShapedArray]:
    return [x.update(shape=_result_shape(x.shape, params)) for x in avals[: len(avals) // 2]]


def _fold_by_program(*values: Any, jaxpr: Any, consts: Any, **params: Any) -> list[Any]:
    n = len(values) // 2
    closed = jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, consts)

    def combine(a: Sequence[Any], b: Sequence[Any]) -> Sequence[Any]:
        whole = vectorized_program(closed, rules.shape_of(a[0]))
        return eval_jaxpr(whole.jaxpr, whole.consts, *a, *b)

    return _fold_in_order(values[:n], values[n:], combine, params)


def _fold_in_order(
    xs: Sequence[Any], inits: Sequence[Any], combine: Any, params: dict[str, Any]
) -> list[Any]:
    """Windows folded element by element, from the initial values on; what is padding is left out."""
    shape = rules.shape_of(xs[0])
    out_shape = _result_shape(shape, params)
    total = [broadcast_in_dim(i, out_shape, ()) for i in inits]
    if 0 in out_shape:
        return total
    config = [
        (lo, hi, d - 1)
        for (lo, hi), d in zip(params["padding"], params["base_dilation"], strict=True)
    ]
    inside: np.ndarray | None = None
    if any(c != (0, 0, 0) for c in config):
        low, high, between = zip(*config, strict=True)
        inside = indexing.pad(np.ones(shape, bool), np.asarray(False), low, high, between)
        xs = [pad(x, i, config) for x, i in zip(xs, inits, strict=True)]
    strides = params["window_strides"]
    for place in itertools.product(*map(range, params["window_dimensions"])):
        starts = [p * d for p, d in zip(place, params["window_dilation"], strict=True)]
        stops = [a + (n - 1) * t + 1 for a, n, t in zip(starts, out_shape, strides, strict=True)]
        new = list(combine(total, [slice_of(x, starts, stops, strides) for x in xs]))
        if inside is not None:
            there = inside[tuple(map(slice, starts, stops, strides))]
            if not there.all():
                new = [select(as_value(there), a, b) for a, b in zip(new, total, strict=True)]
        total = new
    return total


_lower_by(reduce_window_p, _fold_by_program)


@reduce_window_p.jvp
def _(primals: Any, tangents: Any, **params: Any) -> Any:
    if any(not isinstance(t, Zero) for t in tangents[len(primals) // 2 :]):
        tangents = [instantiate(t) for t in tangents]
    return jvp_flat(lambda *xs: _fold_by_program(*xs, **params), primals, tangents)


reduce_window_p.absent("transpose", why="its derivative is made of other operations")


@reduce_window_p.batch
def _(args: Any, dims: Any, **params: Any) -> Any:
    n = len(args) // 2
    if any(d is not None for d in dims[n:]):
        raise NotImplementedError("reduce_window with initial values that are mapped")
    size = rules.batch_size(args, dims)
    moved = [rules.to_front(x, d, size) for x, d in zip(args[:n], dims[:n], strict=True)]
    return reduce_window_p.bind(*moved, *args[n:], **_with_axis(params, 0)), [0] * n


def _is(value: Any, wanted: Any) -> bool:
    return not isinstance(value, Tracer) and bool(np.all(np.asarray(value) == wanted))


def _special(computation: Any, init: Any, dtype: Any) -> Primitive | None:
    if computation is binary.add and _is(init, 0) and dtype != np.bool_:
        return reduce_window_sum_p
    if dtypes.issubdtype(dtype, np.complexfloating):
        return None
    if computation is binary.max and _is(init, lowest(dtype)):
        return reduce_window_max_p
    if computation is binary.min and _is(init, highest(dtype)):
        return reduce_window_min_p
    return None


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[..., Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Any = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Windows of an array, each folded to one element.

    Args:
      operand: an array, or a pytree of arrays of one shape.
      init_value: the neutral element, or a pytree of them.
      computation: the associative function of two elements, or of two pytrees of elements.
      window_dimensions: extents of the window.
      window_strides: how far windows are from each other; 1 by default.
      padding: "VALID", "SAME", "SAME_LOWER", or (low, high) for each axis.
      base_dilation: 1 more than the number of neutral elements put between elements.
      window_dilation: how far elements of a window are from each other.

    Raises:
      TypeError: if lengths or dtypes do not fit.
    """
    leaves, tree = pytrees.tree_flatten(operand)
    init_leaves, init_tree = pytrees.tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(
            f"reduce_window operands and initial values must match in structure: {tree}, {init_tree}"
        )
    xs = [as_value(x) for x in leaves]
    inits = [
        i if isinstance(i, Tracer) else np.asarray(i).astype(x.dtype)[()]
        for i, x in zip(init_leaves, xs, strict=True)
    ]
    if any(i.shape for i in inits):
        raise TypeError(
            "reduce_window expected init_values to be scalars but init_values have shapes "
            f"{[i.shape for i in inits]}."
        )
    shape = xs[0].shape
    rank = len(shape)
    params: dict[str, Any] = {}
    given = {
        "window_dimensions": window_dimensions, "window_strides": window_strides,
        "base_dilation": base_dilation, "window_dilation": window_dilation,
    }  # fmt: skip
    for name, value in given.items():
        params[name] = (1,) * rank if value is None else tuple(int(v) for v in value)
        if len(params[name]) != rank:
            raise TypeError(
                f"reduce_window got the wrong number of {name} for operand: got operand shape {shape} "
                f"with {name} {params[name]}."
            )
        if any(v < 1 for v in params[name]):
            raise TypeError(f"reduce_window {name} must be positive, got {params[name]}")
    if isinstance(padding, str) or not isinstance(padding, Sequence):
        padding = padtype_to_pads(
            [_dilated(n, d) for n, d in zip(shape, params["base_dilation"], strict=True)],
            [
                _dilated(n, d)
                for n, d in zip(params["window_dimensions"], params["window_dilation"], strict=True)
            ],
            params["window_strides"],
            padding,
        )
    params["padding"] = tuple((int(lo), int(hi)) for lo, hi in padding)
    if len(params["padding"]) != rank:
        raise TypeError(
            f"reduce_window got the wrong number of padding entries for operand of shape {shape}: "
            f"{params['padding']}"
        )
    prim = _special(computation, inits[0], xs[0].dtype) if len(xs) == 1 else None
    if prim is not None:
        return pytrees.tree_unflatten(tree, [prim.bind(xs[0], **params)])
    n = len(xs)

    def flat(*values: Any) -> list[Any]:
        out = computation(
            pytrees.tree_unflatten(tree, values[:n]), pytrees.tree_unflatten(tree, values[n:])
        )
        outs, out_tree = pytrees.tree_flatten(out)
        if out_tree != tree:
            raise TypeError(f"reduce_window computation must return {tree}, got {out_tree}")
        return outs

    avals = [shaped_array((), x.dtype) for x in xs]
    jaxpr, out_avals, consts = trace_to_jaxpr(
        flat, [*avals, *avals], DebugInfo("reduce_window", getattr(computation, "__name__", "fold"))
    )
    for aval, found in zip(avals, out_avals, strict=True):
        if found.shape != () or found.dtype != aval.dtype:  # type: ignore[attr-defined]
            raise TypeError(
                "reduce_window computation must return scalars of the operands' dtypes, got "
                f"{found.str_short()}"
            )
    outs = reduce_window_p.bind(*xs, *inits, jaxpr=jaxpr, consts=tuple(consts), **params)
    return pytrees.tree_unflatten(tree, outs)
