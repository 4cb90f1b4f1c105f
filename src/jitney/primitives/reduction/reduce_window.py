"""Reductions over windows by any associative function; for sums and extrema, see `windows`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from jitney.compiler.reference import indexing
from jitney.core.program.evaluate import eval_jaxpr
from jitney.core.program.jaxpr import DebugInfo, Jaxpr
from jitney.core.pytree import pytrees
from jitney.core.recording.flat_function import FlatFunction
from jitney.core.recording.function_traces import traced_once
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.symbolic.expressions import index
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import rules, sharding_rules
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.concatenation import pad
from jitney.primitives.elementwise import binary, compare
from jitney.primitives.elementwise.compare import ge_p, le_p
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.elementwise.families import BinaryFunction
from jitney.primitives.elementwise.select import select
from jitney.primitives.indexing.slice import slice as slice_of
from jitney.primitives.reduction.reduce import vectorized_program
from jitney.primitives.reduction.windows import (
    Combine,
    dilated,
    highest,
    lowest,
    padtype_to_pads,
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
    result_shape,
    select_and_gather_add_p,
    with_axis,
)
from jitney.primitives.traced import lower_by
from jitney.transforms.jvp import jvp_flat
from jitney.transforms.zero import Zero, instantiate

if TYPE_CHECKING:
    from jitney.core.program.jaxpr import Jaxpr
    from jitney.core.typing import Array, ArrayLike, PyTree
    from jitney.primitives.elementwise.families import Shape
    from jitney.primitives.rule_types import Dims, Primals, Tangent, Tangents, Value

_Tree = TypeVar("_Tree")  # a pytree of arrays

reduce_window_p = declare("reduce_window", multiple_results=True)
reduce_window_p.sharding(sharding_rules.cut)


@reduce_window_p.abstract
def _reduce_window_abstract(*avals: ShapedArray, **params: object) -> list[ShapedArray]:
    operands = avals[: len(avals) // 2]
    return [shaped_array(result_shape(x.shape, params), x.dtype, False) for x in operands]


def _fold_by_program(
    *values: Value, jaxpr: Jaxpr, consts: Primals, **params: object
) -> list[Value]:
    n = len(values) // 2
    closed = Jaxpr(jaxpr, consts) if consts else jaxpr

    def combine(a: Primals, b: Primals) -> Primals:
        whole = vectorized_program(closed, rules.shape_of(a[0]))
        return eval_jaxpr(whole.jaxpr, whole.consts, *a, *b)

    return _fold_in_order(values[:n], values[n:], combine, params)


def _fold_in_order(
    xs: Primals, inits: Primals, combine: Combine, params: dict[str, Any]
) -> list[Value]:
    """Folds windows element by element, starting from the initial values and skipping padding."""
    shape = rules.shape_of(xs[0])
    out_shape = result_shape(shape, params)
    total: list[Value] = [broadcast_in_dim(i, out_shape, ()) for i in inits]
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
        new: list[Value] = list(combine(total, [slice_of(x, starts, stops, strides) for x in xs]))
        if inside is not None:
            there = inside[tuple(map(slice, starts, stops, strides))]
            if not there.all():
                new = [select(as_value(there), a, b) for a, b in zip(new, total, strict=True)]
        total = new
    return total


lower_by(reduce_window_p, _fold_by_program)


@reduce_window_p.jvp
def _reduce_window_jvp(
    primals: Primals, tangents: Tangents, **params: Any
) -> tuple[list[Value], list[Tangent]]:
    extreme = _extreme_of(params["jaxpr"])
    t, *of_inits = tangents
    if extreme is not None and isinstance(of_inits[0], Zero) and not isinstance(t, Zero):
        return _extreme_jvp(extreme, primals, t, params)
    if any(not isinstance(t, Zero) for t in tangents[len(primals) // 2 :]):
        tangents = [instantiate(t) for t in tangents]
    return jvp_flat(lambda *xs: _fold_by_program(*xs, **params), primals, tangents)


_Extreme = tuple[Primitive, Primitive, BinaryFunction]
_EXTREMES: dict[str, _Extreme] = {
    "max": (reduce_window_max_p, ge_p, binary.max),
    "min": (reduce_window_min_p, le_p, binary.min),
}


def _extreme_of(program: Jaxpr) -> _Extreme | None:
    """Returns (primitive, comparison, function) if the fold is an extremum, otherwise None."""
    jaxpr = program.jaxpr
    if len(jaxpr.eqns) != 1 or [*jaxpr.eqns[0].invars] != [*jaxpr.invars]:
        return None
    if dtypes.issubdtype(jaxpr.invars[0].aval.dtype, np.complexfloating):
        return None
    return _EXTREMES.get(jaxpr.eqns[0].primitive.name)


def _extreme_jvp(
    extreme: _Extreme, primals: Primals, tangent: Value, params: dict[str, Any]
) -> tuple[list[Value], list[Tangent]]:
    """Differentiates a maximum or minimum over windows.

    The first of several equal extrema has the derivative. The derivative is zero where only the
    initial value is the extremum.
    """
    (prim, chosen_by, of_two), (x, init) = extreme, primals
    window = {name: value for name, value in params.items() if name not in ("jaxpr", "consts")}
    extremes = prim.bind(x, **window)
    out = of_two(broadcast_in_dim(init, rules.shape_of(extremes), ()), extremes)
    moved = select_and_gather_add_p.bind(tangent, x, select_prim=chosen_by, **window)
    is_chosen = binary.bitwise_or(compare.eq(out, extremes), compare.ne(out, out))
    return [out], [select(is_chosen, moved, rules.zeros_like(moved))]


reduce_window_p.absent("transpose", why="its derivative consists of other operations")


@reduce_window_p.batch
def _reduce_window_batch(
    args: Primals, dims: Dims, **params: object
) -> tuple[list[Value], list[int]]:
    n = len(args) // 2
    if any(d is not None for d in dims[n:]):
        raise NotImplementedError("reduce_window: under vmap, initial values must not be mapped")
    size = rules.batch_size(args, dims)
    moved = [rules.to_front(x, d, size) for x, d in zip(args[:n], dims[:n], strict=True)]
    return reduce_window_p.bind(*moved, *args[n:], **with_axis(params, 0)), [0] * n


def _is(value: Value, wanted: Value) -> bool:
    return not isinstance(value, Tracer) and bool(np.all(np.asarray(value) == wanted))


def _special(computation: object, init: Value, dtype: np.dtype) -> Primitive | None:
    if computation is binary.add and _is(init, 0) and dtype != np.bool_:
        return reduce_window_sum_p
    if dtypes.issubdtype(dtype, np.complexfloating):
        return None
    if computation is binary.max and _is(init, lowest(dtype)):
        return reduce_window_max_p
    if computation is binary.min and _is(init, highest(dtype)):
        return reduce_window_min_p
    return None


@overload
def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[[Array, Array], ArrayLike],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = ...,
    padding: str | Sequence[tuple[int, int]] = ...,
    base_dilation: Sequence[int] | None = ...,
    window_dilation: Sequence[int] | None = ...,
) -> Array: ...
@overload
def reduce_window(
    operand: _Tree,
    init_value: object,
    computation: Callable[..., object],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = ...,
    padding: str | Sequence[tuple[int, int]] = ...,
    base_dilation: Sequence[int] | None = ...,
    window_dilation: Sequence[int] | None = ...,
) -> _Tree: ...
def reduce_window(
    operand: _Tree,
    init_value: object,
    computation: Callable[..., object],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> _Tree | Array:
    """Reduces each window of an array to one element by an associative function.

    Args:
      operand: an array, or a pytree of arrays of the same shape.
      init_value: the neutral element of `computation`, or a pytree of neutral elements.
      computation: an associative function of two elements, or of two pytrees of elements.
      window_dimensions: the sizes of the window.
      window_strides: the distance between windows along each axis; 1 by default.
      padding: "VALID", "SAME", "SAME_LOWER", or a pair (low, high) for each axis.
      base_dilation: dilation of the operand; a dilation of d inserts d - 1 neutral elements between
        elements.
      window_dilation: the distance between the elements of a window.

    Raises:
      TypeError: if an option does not have one entry for each axis, if a size, stride or dilation
        is not positive, or if dtypes are incompatible.
      ValueError: if the structures of `operand` and `init_value` differ.

    Example:
      >>> lax.reduce_window(jnp.array([1, 5, 2, 4, 3]), 0, lax.max, (3,))
      Array([5, 5, 4], dtype=int32)
    """
    leaves, tree = pytrees.tree_flatten(operand)
    init_leaves, init_tree = pytrees.tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(
            f"reduce_window: the operands and the initial values must have the same structure, but "
            f"have {tree} and {init_tree}"
        )
    xs = [as_value(x) for x in leaves]
    inits = [
        i if isinstance(i, Tracer) else np.asarray(i).astype(x.dtype)[()]
        for i, x in zip(init_leaves, xs, strict=True)
    ]
    if any(i.shape for i in inits):
        raise TypeError(
            "reduce_window: `init_values` must be scalars, but have the shapes "
            f"{[i.shape for i in inits]}"
        )
    params = _window_params(
        xs[0].shape,
        padding,
        window_dimensions=window_dimensions,
        window_strides=window_strides,
        base_dilation=base_dilation,
        window_dilation=window_dilation,
    )
    prim = _special(computation, inits[0], xs[0].dtype) if len(xs) == 1 else None
    if prim is not None:
        return pytrees.tree_unflatten(tree, [prim.bind(xs[0], **params)])
    avals = [shaped_array((), x.dtype) for x in xs]
    jaxpr, consts = traced_once(
        computation,
        ("reduce_window", tree, tuple(avals)),
        lambda: _traced(computation, tree, avals),
        lambda traced: traced[1],
    )
    outs = reduce_window_p.bind(*xs, *inits, jaxpr=jaxpr, consts=tuple(consts), **params)
    return pytrees.tree_unflatten(tree, outs)


def _window_params(
    shape: Shape,
    padding: str | Sequence[tuple[int, int]] | None,
    **window_options: Sequence[int] | None,
) -> dict[str, object]:
    """Validates the parameters of windows over an operand of shape `shape`.

    Args:
      shape: shape of the operand.
      padding: padding in any form that `reduce_window` accepts.
      **window_options: the other parameters, for which None stands for ones.

    Returns: the parameters of the equation, each with one entry per axis.

    Raises:
      TypeError: if a parameter does not have one entry per axis, or one of `window_options` has an
        entry that is not positive.
    """
    rank = len(shape)
    params: dict[str, Any] = {}
    for name, value in window_options.items():
        params[name] = (1,) * rank if value is None else tuple(index(v) for v in value)
        if len(params[name]) != rank:
            raise TypeError(
                f"reduce_window: `{name}` must have one entry for each axis of the operand, of shape "
                f"{shape}, but is {params[name]}"
            )
        if any(v < 1 for v in params[name]):
            raise TypeError(
                f"reduce_window: all elements of `{name}` must be positive, got {params[name]}"
            )
    if isinstance(padding, str) or not isinstance(padding, Sequence):
        padding = padtype_to_pads(
            [dilated(n, d) for n, d in zip(shape, params["base_dilation"], strict=True)],
            [
                dilated(n, d)
                for n, d in zip(params["window_dimensions"], params["window_dilation"], strict=True)
            ],
            params["window_strides"],
            padding,
        )
    params["padding"] = tuple((index(lo), index(hi)) for lo, hi in padding)
    if len(params["padding"]) != rank:
        raise TypeError(
            f"reduce_window: `padding` must have one pair for each axis of the operand, of shape "
            f"{shape}, but is {params['padding']}"
        )
    return params


def _traced(
    computation: Callable[..., PyTree], tree: pytrees.PyTreeDef, avals: Sequence[ShapedArray]
) -> tuple[Jaxpr, list[Value]]:
    """Traces `computation` of two elements of types `avals`; returns (program, its constants)."""
    flat = FlatFunction(computation, pytrees.treedef_tuple((tree, tree)))
    jaxpr, out_avals, consts = trace_to_jaxpr(
        flat, [*avals, *avals], DebugInfo("reduce_window", getattr(computation, "__name__", "fold"))
    )
    if flat.out_tree != tree:
        raise ValueError(
            f"reduce_window: `computation` must return a pytree with the structure of the operands, "
            f"{tree}, but returned one with structure {flat.out_tree}"
        )
    for aval, out_aval in zip(avals, out_avals, strict=True):
        if out_aval.shape != () or out_aval.dtype != aval.dtype:
            raise TypeError(
                "reduce_window: `computation` must return scalars of the operands' dtypes, got "
                f"{out_aval.str_short()}"
            )
    return jaxpr, consts
