"""`scatter`: windows of updates put into an array at computed positions, combined in several ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from jitney.compiler import lower as lowering
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.ir import TensorType
from jitney.compiler.numerics import indexing
from jitney.core import dtypes, staging
from jitney.core.avals import ShapedArray, get_aval, shaped_array
from jitney.core.evaluate import eval_jaxpr
from jitney.core.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr
from jitney.core.primitive import Primitive, declare
from jitney.core.trace import eval_context
from jitney.ops import binary, kit
from jitney.ops.convert import convert
from jitney.ops.creation import full
from jitney.ops.gather import MODES, GatherScatterMode
from jitney.ops.shape import shape_of

Axes = tuple[int, ...]


@dataclass(frozen=True)
class ScatterDimensionNumbers:
    """Axis roles of a scatter: the mirror image of `GatherDimensionNumbers`."""

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


def _dims(d: ScatterDimensionNumbers) -> ir.ScatterDims:
    return ir.ScatterDims(
        tuple(map(int, d.update_window_dims)),
        tuple(map(int, d.inserted_window_dims)),
        tuple(map(int, d.scatter_dims_to_operand_dims)),
        tuple(map(int, d.operand_batching_dims)),
        tuple(map(int, d.scatter_indices_batching_dims)),
    )


def _check(
    name: str, x: ShapedArray, indices: ShapedArray, updates: ShapedArray, d: ScatterDimensionNumbers
) -> None:
    if not dtypes.issubdtype(indices.dtype, np.integer):
        raise ValueError(
            f"{name} indices must have integer dtype, got {dtypes.long_name(indices.dtype)}"
        )
    kit.check_same_dtypes(name, (x, updates))
    if not indices.shape or len(d.scatter_dims_to_operand_dims) != indices.shape[-1]:
        raise TypeError(
            f"Scatter op has {len(d.scatter_dims_to_operand_dims)} elements in "
            "scatter_dims_to_operand_dims and index vectors of "
            f"{indices.shape[-1] if indices.shape else 0} entries. These two numbers must be equal."
        )
    window = len(d.update_window_dims) + len(d.inserted_window_dims) + len(d.operand_batching_dims)
    if window != x.ndim:
        raise TypeError(
            "Scatter op has window of size "
            f"{len(d.update_window_dims)} plus {len(d.inserted_window_dims)} inserted dimensions; "
            f"doesn't match operand of rank {x.ndim}."
        )
    rank = indices.ndim - 1 + len(d.update_window_dims)
    if updates.ndim != rank:
        raise TypeError(f"Updates tensor must be of rank {rank}; got {updates.ndim}.")
    dropped = {*d.inserted_window_dims, *d.operand_batching_dims}
    bounds = [n for k, n in enumerate(x.shape) if k not in dropped]
    for axis, bound in zip(d.update_window_dims, bounds, strict=True):
        if updates.shape[axis] > bound:
            raise TypeError(
                "Bounds of the window dimensions of updates must not exceed the bounds of the "
                f"corresponding dimensions of operand. For dimension {axis}, updates bound is "
                f"{updates.shape[axis]}, operand bound is {bound}."
            )
    batch = tuple(n for k, n in enumerate(updates.shape) if k not in d.update_window_dims)
    if batch != indices.shape[:-1]:
        raise TypeError(
            "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
            f"corresponding dimensions of scatter indices: got {batch} and {indices.shape[:-1]}."
        )


def _declare(name: str, combine: str | None, op: Callable[..., Any] | None) -> Primitive:
    """Declares a scatter that combines by the scalar function `combine` (None: overwrites)."""
    prim = declare(name)

    @prim.abstract
    def _(x: ShapedArray, indices: ShapedArray, updates: ShapedArray, **params: Any) -> ShapedArray:
        _check(name, x, indices, updates, params["dimension_numbers"])
        return shaped_array(x.shape, x.dtype, x.weak_type and updates.weak_type)

    @prim.eager
    def _(x: np.ndarray, indices: np.ndarray, updates: np.ndarray, **params: Any) -> np.ndarray:
        how: Any = combine
        if combine is None and params["update_jaxpr"] is not None:
            how = _scalar_function(ClosedJaxpr(params["update_jaxpr"], params["update_consts"]))
        elif combine == "sub":
            how, updates = "add", np.negative(updates)
        return indexing.scatter(
            x, indices, updates, _dims(params["dimension_numbers"]), how, MODES[params["mode"]]
        )

    @prim.lower
    def _(b: Any, x: Any, indices: Any, updates: Any, **params: Any) -> Any:
        how: Any = combine
        if combine is None and params["update_jaxpr"] is not None:
            closed = ClosedJaxpr(params["update_jaxpr"], params["update_consts"])
            types = [TensorType((), x.dtype)] * 2
            how = b.region(types, lambda inner, *args: lowering.inline(inner, closed, args))
        elif combine == "sub":
            how, updates = "add", b.apply("neg", updates)
        return b.scatter(
            x,
            indices,
            updates,
            _dims(params["dimension_numbers"]),
            how,
            MODES[params["mode"]],
            params["unique_indices"],
        )

    kit.later(prim)
    return prim


def _scalar_function(closed: ClosedJaxpr) -> Callable[[Any, Any], Any]:
    def combine(old: Any, update: Any) -> Any:
        with eval_context():
            return np.asarray(eval_jaxpr(closed.jaxpr, closed.consts, old, update)[0])

    return combine


scatter_p = _declare("scatter", None, None)
scatter_add_p = _declare("scatter-add", "add", binary.add)
scatter_sub_p = _declare("scatter-sub", "sub", binary.sub)
scatter_mul_p = _declare("scatter-mul", "mul", binary.mul)
scatter_min_p = _declare("scatter-min", "min", binary.min)
scatter_max_p = _declare("scatter-max", "max", binary.max)


@lru_cache(maxsize=256)
def _combiner(op: Callable[..., Any], dtype: Any, weak_type: bool) -> Jaxpr:
    """The jaxpr of a combiner on scalars: what equations show."""
    aval = shaped_array((), dtype, weak_type)
    jaxpr, _, _ = staging.trace_to_jaxpr(lambda x, y: [op(x, y)], [aval, aval], DebugInfo("scatter", "scatter"))
    return jaxpr


def _bind(
    prim: Primitive,
    op: Callable[..., Any] | None,
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: Any,
) -> Any:
    jaxpr: Jaxpr | None = None
    if op is not None:
        dtype = get_aval(operand).dtype  # type: ignore[attr-defined]
        jaxpr = _combiner(op, dtype, False)
    return prim.bind(
        operand,
        scatter_indices,
        updates,
        dimension_numbers=dimension_numbers,
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
        update_jaxpr=jaxpr,
        update_consts=(),
    )


def _public(name: str, prim: Primitive, op: Callable[..., Any] | None, doc: str) -> Callable[..., Any]:
    def function(
        operand: Any,
        scatter_indices: Any,
        updates: Any,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
    ) -> Any:
        return _bind(
            prim, op, operand, scatter_indices, updates, dimension_numbers,
            indices_are_sorted, unique_indices, mode,
        )  # fmt: skip

    function.__name__ = function.__qualname__ = name
    function.__module__ = "jax.lax"
    function.__doc__ = f"""{doc}

    Args:
      operand: any array.
      scatter_indices: integers; the last axis holds index vectors.
      updates: windows, of the operand's dtype.
      dimension_numbers: roles of axes.
      indices_are_sorted: promises that indices ascend.
      unique_indices: promises that no two windows overlap.
      mode: "fill" or "drop" (out of bounds changes nothing), "clip", or "promise_in_bounds".
    """
    return function


scatter = _public("scatter", scatter_p, None, "`operand` with windows replaced by `updates`.")
scatter_add = _public(
    "scatter_add", scatter_add_p, binary.add, "`operand` with `updates` added to windows."
)
scatter_sub = _public(
    "scatter_sub", scatter_sub_p, binary.sub, "`operand` with `updates` taken from windows."
)
scatter_mul = _public(
    "scatter_mul", scatter_mul_p, binary.mul, "`operand` with windows multiplied by `updates`."
)
scatter_min = _public(
    "scatter_min", scatter_min_p, binary.min, "`operand` with the lesser of windows and `updates`."
)
scatter_max = _public(
    "scatter_max", scatter_max_p, binary.max, "`operand` with the greater of windows and `updates`."
)


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Any = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` with the elementwise function `func` applied to windows of shape `update_shape`."""
    dtype = get_aval(operand).dtype  # type: ignore[attr-defined]
    aval = shaped_array((), dtype)

    def apply(old: Any, _: Any) -> list[Any]:
        new = func(old)
        if shape_of(new) != ():
            raise TypeError(f"scatter_apply: func must map scalars to scalars, got shape {shape_of(new)}")
        return [convert(new, dtype)]

    jaxpr, _, consts = staging.trace_to_jaxpr(apply, [aval, aval], DebugInfo("scatter_apply", "scatter_apply"))
    updates = full(update_shape, 0, dtype)
    return scatter_p.bind(
        operand,
        scatter_indices,
        updates,
        dimension_numbers=dimension_numbers,
        indices_are_sorted=bool(indices_are_sorted),
        unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode),
        update_jaxpr=jaxpr,
        update_consts=tuple(consts),
    )
