"""Reductions over axes: sums, products, extremes, logic, arg-extremes, and folds by any function."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitney.compiler import lower as lowering
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.numerics import reduction
from jitney.core import dtypes, pytrees, staging
from jitney.core.avals import ShapedArray, get_aval, shaped_array
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo
from jitney.core.primitive import Primitive, declare
from jitney.ops import kit
from jitney.ops.convert import as_value
from jitney.ops.shape import canonical_axes, shape_of

Axes = tuple[int, ...]


def _check_axes(axes: Axes, x: ShapedArray) -> None:
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axes' of reduction: {axes}")
    if not all(0 <= a < x.ndim for a in axes):
        raise ValueError(f"reduction axes {axes} contains out-of-bounds indices for {x.str_short()}.")


def _without(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    return tuple([n for k, n in enumerate(shape) if k not in axes])


def _monoid(
    name: str, fn: Any, accepts: kit.Accepts, doc: str, *, linear: bool = False
) -> tuple[Primitive, Callable[..., Any]]:
    """Declares the reduction `name` by the monoid `fn`; returns it and its public function."""
    prim = declare(name, linear=linear)
    extra = {"out_sharding": None} if name == "reduce_sum" else {}

    @prim.abstract
    def _(x: ShapedArray, *, axes: Axes, **_: Any) -> ShapedArray:
        if fn in ("and", "or", "xor") and x.dtype.kind not in "biu":
            raise TypeError(
                "logical reduction requires operand dtype bool or int, got "
                f"{dtypes.long_name(x.dtype)}."
            )
        if not kit.is_accepted(x.dtype, accepts):
            raise TypeError(
                f"{name} does not accept dtype {dtypes.long_name(x.dtype)}. "
                "Accepted dtypes are subtypes of number."
            )
        _check_axes(axes, x)
        return x.update(shape=_without(x.shape, axes))

    @prim.eager
    def _(x: np.ndarray, *, axes: Axes, **_: Any) -> np.ndarray:
        return reduction.reduce(x, fn, axes)

    @prim.lower
    def _(b: Any, x: Any, *, axes: Axes, **_: Any) -> Any:
        if fn == "add" and x.dtype == np.bool_:
            return b.reduce(x, "or", axes)
        if x.dtype.itemsize == 2 and x.dtype.kind in "fV" and fn in ("add", "mul"):
            wide = b.reduce(b.convert(x, np.float32), fn, axes)
            return b.convert(wide, x.dtype)
        return b.reduce(x, fn, tuple(map(int, axes)))

    def function(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
        axes = tuple([operator.index(a) for a in axes])
        return prim.bind(operand, axes=axes, **extra)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "jax.lax"
    return prim, function


reduce_sum_p, reduce_sum = _monoid(
    "reduce_sum", "add", kit.NUMERIC, "Sum over `axes`; integers wrap.", linear=True
)
reduce_prod_p, reduce_prod = _monoid(
    "reduce_prod", "mul", kit.NUMERIC, "Product over `axes`; integers wrap."
)
reduce_max_p, reduce_max = _monoid(
    "reduce_max", "max", None, "Largest element over `axes`; NaN if there is one."
)
reduce_min_p, reduce_min = _monoid(
    "reduce_min", "min", None, "Smallest element over `axes`; NaN if there is one."
)
reduce_and_p, reduce_and = _monoid("reduce_and", "and", kit.BITS, "Bitwise and over `axes`.")
reduce_or_p, reduce_or = _monoid("reduce_or", "or", kit.BITS, "Bitwise or over `axes`.")
reduce_xor_p, reduce_xor = _monoid(
    "reduce_xor", "xor", kit.BITS, "Bitwise exclusive or over `axes`."
)

# --- arg-extremes -------------------------------------------------------------------------------


def _arg_extreme(name: str, kind: str, doc: str) -> tuple[Primitive, Callable[..., Any]]:
    prim = declare(name)

    @prim.abstract
    def _(x: ShapedArray, *, axes: Axes, index_dtype: Any) -> ShapedArray:
        (axis,) = axes
        if not 0 <= axis < x.ndim:
            raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
        if not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(
                f"index_dtype must be an integer type, but got {dtypes.long_name(index_dtype)}"
            )
        if x.shape[axis] < 1:
            raise ValueError(
                f"argmin and argmax require non-empty reduced dimension. operand.shape={x.shape} "
                f"{axis=}"
            )
        kit.check_dtype("gt" if kind == "max" else "lt", x.dtype, kit.ORDERED, 0)
        return shaped_array(_without(x.shape, axes), np.dtype(index_dtype))

    @prim.eager
    def _(x: np.ndarray, *, axes: Axes, index_dtype: Any) -> np.ndarray:
        return reduction.arg_reduce(x, kind, axes[0], index_dtype)

    @prim.lower
    def _(b: Any, x: Any, *, axes: Axes, index_dtype: Any) -> Any:
        return b.arg_reduce(x, kind, int(axes[0]), np.dtype(index_dtype))

    def function(operand: Any, axis: int, index_dtype: Any) -> Any:
        dtype = dtypes.canonicalize_dtype(np.dtype(index_dtype))
        return prim.bind(operand, axes=(operator.index(axis),), index_dtype=dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = "jax.lax"
    return prim, function


argmax_p, argmax = _arg_extreme(
    "argmax", "max", "Index of the first largest element along `axis`; NaN counts as largest."
)
argmin_p, argmin = _arg_extreme(
    "argmin", "min", "Index of the first smallest element along `axis`; NaN counts as smallest."
)

# --- any fold -----------------------------------------------------------------------------------

reduce_p = declare("reduce", multiple_results=True)


@reduce_p.abstract
def _(
    *avals: ShapedArray, computation: Any, jaxpr: ClosedJaxpr, dimensions: Axes
) -> list[ShapedArray]:
    operands, inits = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    if any(x.shape != operands[0].shape for x in operands):
        raise ValueError(f"reduce operands must have one shape, got {[x.shape for x in operands]}")
    if any(i.shape for i in inits):
        raise ValueError(f"reduce init values must be scalars, got {[i.shape for i in inits]}")
    if any(x.dtype != i.dtype for x, i in zip(operands, inits, strict=True)):
        raise TypeError(
            "reduce operands and init values must have equal dtypes, got "
            f"{[x.str_short() for x in operands]} and {[i.str_short() for i in inits]}"
        )
    _check_axes(dimensions, operands[0])
    shape = _without(operands[0].shape, dimensions)
    return [
        shaped_array(shape, x.dtype, x.weak_type and i.weak_type)
        for x, i in zip(operands, inits, strict=True)
    ]


@reduce_p.lower
def _(b: Any, *nodes: Any, computation: Any, jaxpr: ClosedJaxpr, dimensions: Axes) -> Any:
    xs, inits = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
    types = [TensorType((), x.dtype) for x in (*xs, *xs)]
    body = b.region(types, lambda inner, *args: lowering.inline(inner, jaxpr, args))
    return b.reduce_region(xs, inits, dimensions, body)


reduce_p.absent("eager", why="its fold is a program: evaluated as a compiled one (runtime.eager)")

# Functions that make `reduce` a primitive of its own, by the name of the primitive in the fold.
_MONOIDS: dict[str, tuple[str, Callable[..., Any]]] = {
    "add": ("add", reduce_sum),
    "mul": ("mul", reduce_prod),
    "max": ("max", reduce_max),
    "min": ("min", reduce_min),
    "and": ("and", reduce_and),
    "or": ("or", reduce_or),
    "xor": ("xor", reduce_xor),
}


def _recognised(jaxpr: ClosedJaxpr, operand: Any, init: Any) -> Callable[..., Any] | None:
    """The reduction that a fold by `jaxpr` from `init` is, if there is one."""
    eqns = jaxpr.jaxpr.eqns
    if len(eqns) != 1 or jaxpr.consts or list(eqns[0].invars) != list(jaxpr.jaxpr.invars):
        return None
    if list(jaxpr.jaxpr.outvars) != list(eqns[0].outvars):
        return None
    found = _MONOIDS.get(eqns[0].primitive.name)
    value = getattr(init, "_value", init)
    if found is None or not isinstance(value, np.ndarray | np.generic | int | float | complex | bool):
        return None
    fn, function = found
    dtype: Any = get_aval(operand).dtype  # type: ignore[attr-defined]
    if dtypes.is_extended(dtype) or (dtype == np.bool_ and fn in ("add", "mul")):
        return None
    neutral = reduction.neutral(fn, dtype)
    return function if np.asarray(value).astype(dtype) == neutral else None


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """`operands` (a pytree of arrays of one shape) folded over `dimensions` by `computation`.

    Args:
      operands: arrays of one shape.
      init_values: scalars to start from, in the same structure; neutral for `computation`.
      computation: (accumulators, elements) -> accumulators, associative; on scalars.
      dimensions: axes to fold over.
    """
    xs, tree = pytrees.tree_flatten(operands)
    inits, init_tree = pytrees.tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    xs, inits = [as_value(x) for x in xs], list(inits)
    axes = canonical_axes(tuple(dimensions), len(shape_of(xs[0])))
    avals = [shaped_array((), get_aval(x).dtype) for x in xs]  # type: ignore[attr-defined]

    def flat(*args: Any) -> list[Any]:
        n = len(xs)
        left, right = (pytrees.tree_unflatten(tree, part) for part in (args[:n], args[n:]))
        out, out_tree = pytrees.tree_flatten(computation(left, right))
        if out_tree != tree:
            raise ValueError(f"reduce computation must return {tree}, got {out_tree}")
        return out

    jaxpr, _, consts = staging.trace_to_jaxpr(flat, [*avals, *avals], DebugInfo("reduce", "reduce"))
    closed = ClosedJaxpr(jaxpr, consts)
    if len(xs) == 1:
        monoid = _recognised(closed, xs[0], inits[0])
        if monoid is not None:
            return pytrees.tree_unflatten(tree, [monoid(xs[0], axes)])
    dtyped = [np.asarray(i, a.dtype) if not hasattr(i, "aval") else i for i, a in zip(inits, avals, strict=True)]
    out = reduce_p.bind(*xs, *dtyped, computation=computation, jaxpr=closed, dimensions=axes)
    return pytrees.tree_unflatten(tree, out)


kit.later(
    reduce_sum_p, reduce_prod_p, reduce_max_p, reduce_min_p, reduce_and_p, reduce_or_p,
    reduce_xor_p, argmax_p, argmin_p, reduce_p,
)  # fmt: skip
