"""Scatter: updates of windows of an array at computed positions.

Six primitives differ in how they combine an update with the old value; `scatter` overwrites the old
value, or, for `scatter_apply`, calls a function. The combining function is recorded as a program of
two scalars, `update_jaxpr`. Updates of the same element are combined one after another, in the
order of the indices.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from jitney.compiler import lower as lowering
from jitney.compiler.dims import ScatterDims
from jitney.compiler.reference import indexing
from jitney.core.messages import messages
from jitney.core.program.jaxpr import ClosedJaxpr, DebugInfo, Jaxpr
from jitney.core.program.key_reuse import uses_keys
from jitney.core.recording.jaxpr_trace import trace_to_jaxpr
from jitney.core.settings import caches
from jitney.core.sharding_in_types import sums
from jitney.core.source import source_info
from jitney.core.tracing.primitive import Primitive, declare
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.primitives import rules, sharding_rules
from jitney.primitives.array.broadcasting import broadcast
from jitney.primitives.array.canonical import canonical_shape
from jitney.primitives.elementwise import binary, families
from jitney.primitives.elementwise.convert import convert
from jitney.primitives.indexing.gather import (
    MODES,
    Axes,
    GatherScatterMode,
    after_batch_axis,
    check_axes,
    check_batching,
    check_disjoint,
    check_index_map,
    check_indices,
)

if TYPE_CHECKING:
    from jitney.compiler.hlo.build import Region
    from jitney.core.types.dtypes import DType
    from jitney.core.typing import Array, ArrayLike, Shape
    from jitney.primitives.rule_types import Builder, Dims, Node, Primals, Value


class ScatterDimensionNumbers(NamedTuple):
    """The roles of the axes in a scatter; the mirror image of `GatherDimensionNumbers`.

    Attributes:
      update_window_dims: the axes of the updates that correspond to axes of a window; the others
        correspond to axes of the indices.
      inserted_window_dims: the axes of the operand that the updates do not have; the size of
        windows along these axes is 1.
      scatter_dims_to_operand_dims: for each entry of an index vector, the operand axis that the
        entry indexes.
      operand_batching_dims: the batch axes of the operand, which are paired with axes of the
        indices.
      scatter_indices_batching_dims: the paired axes of the indices, in the same order.
    """

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


def _scatter_type(
    name: str,
    x: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **_: object,
) -> ShapedArray:
    """Checks the types of the operands; returns the type of the result, which is that of `x`.

    Args:
      name: the name of the public function, for messages.
      x, indices, updates, dimension_numbers: as in `scatter`.

    Raises:
      TypeError: if the types are incompatible.
      ValueError: if the indices are not integers.
    """
    check_indices(name, indices)
    families.check_same_dtypes(name, (x, updates))
    window, inserted, index_map, batching, index_batching = dimension_numbers
    rank = len(window) + indices.ndim - 1
    if updates.ndim != rank:
        raise TypeError(
            f"{name}: `updates` must have rank {rank}, with {len(window)} axes in update_window_dims "
            f"and {indices.ndim - 1} for the indices, but has shape {updates.shape}"
        )
    check_axes(name, "update_window_dims", window, updates.ndim)
    check_axes(name, "inserted_window_dims", inserted, x.ndim)
    named = ("operand_batching_dims", batching)
    check_disjoint(name, ("inserted_window_dims", inserted), named)
    check_disjoint(name, ("scatter_dims_to_operand_dims", index_map), named)
    check_batching(name, x, indices, batching, index_batching, "scatter_indices_batching_dims")
    size = len(window) + len(inserted) + len(batching)
    if size != x.ndim:
        raise TypeError(
            f"{name}: the operand has {x.ndim} axes, but update_window_dims, inserted_window_dims and "
            f"operand_batching_dims together name {size} axes: {window}, {inserted}, "
            f"{batching}"
        )
    check_index_map(name, "scatter_dims_to_operand_dims", index_map, x, indices)
    _check_bounds(name, x, indices, updates, dimension_numbers)
    return x


def _check_bounds(
    name: str,
    x: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    numbers: ScatterDimensionNumbers,
) -> None:
    """Raises TypeError if windows exceed the operand, or do not correspond to index vectors."""
    window = numbers.update_window_dims
    dropped = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    bounds = [n for k, n in enumerate(x.shape) if k not in dropped]
    for axis, bound in zip(window, bounds, strict=True):
        if updates.shape[axis] > bound:
            raise TypeError(
                f"{name}: axis {axis} of the updates, of shape {updates.shape}, is an axis of the "
                "window, which must not be longer than the corresponding axis of the operand, with "
                f"{messages.counted(bound, 'element')}"
            )
    batch_axes = [k for k in range(updates.ndim) if k not in window]
    for axis, extent in zip(batch_axes, indices.shape[:-1], strict=True):
        if updates.shape[axis] != extent:
            raise TypeError(
                f"{name}: axis {axis} of the updates, of shape {updates.shape}, must be as long as "
                "the corresponding axis of the indices, which has "
                f"{messages.counted(extent, 'element')}"
            )


def _dims(numbers: ScatterDimensionNumbers) -> ScatterDims:
    return ScatterDims(*[tuple(map(int, axes)) for axes in numbers])


def _region(update_jaxpr: Jaxpr, update_consts: Primals, dtype: np.dtype) -> Region:
    """Lowers the combining program to a region of tensor IR."""
    closed = ClosedJaxpr(update_jaxpr, update_consts)
    return lowering.scalar_region(closed, (dtype, dtype))


def batch_scatter(
    prim: Primitive,
    args: Primals,
    dims: Dims,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    **params: object,
) -> tuple[Value, int]:
    """Batches a scatter into a single scatter; batch axes become batching axes."""
    (x, indices, updates), (x_dim, indices_dim, updates_dim) = args, dims
    size = rules.batch_size(args, dims)
    x, updates = rules.to_front(x, x_dim, size), rules.to_front(updates, updates_dim, size)
    window, inserted, index_map, batching, index_batching = dimension_numbers
    window, inserted, index_map, batching = map(
        after_batch_axis, (window, inserted, index_map, batching)
    )
    if indices_dim is None:
        window = (0, *window)
    else:
        indices = rules.move_axis(indices, indices_dim, 0)
        batching, index_batching = (0, *batching), (0, *after_batch_axis(index_batching))
    numbers = ScatterDimensionNumbers(window, inserted, index_map, batching, index_batching)
    return prim.bind(x, indices, updates, dimension_numbers=numbers, **params), 0


def _declare(name: str, fn: str | None) -> Primitive:
    """Declares a scatter that combines values by the scalar function `fn`.

    If `fn` is None, the scatter combines values by its parameter `update_jaxpr`.
    """
    prim = declare(name)
    prim.sharding(sharding_rules.scatter)
    prim.abstract(functools.partial(_scatter_type, name.replace("-", "_")))

    @prim.eager
    def eager_rule(
        x: np.ndarray,
        indices: np.ndarray,
        updates: np.ndarray,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        update_jaxpr: Jaxpr | None,
        update_consts: Primals,
        **_: object,
    ) -> np.ndarray:
        combine: Any = fn
        if fn is None and update_jaxpr is not None:
            region = _region(update_jaxpr, update_consts, x.dtype)
            combine = lowering.elementwise_function(region)
        dims = _dims(dimension_numbers)
        return indexing.scatter(x, indices, updates, dims, combine, MODES[mode])

    @prim.lower
    def lower_rule(
        b: Builder,
        x: Node,
        indices: Node,
        updates: Node,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        unique_indices: bool,
        update_jaxpr: Jaxpr | None,
        update_consts: Primals,
        **_: object,
    ) -> Node:
        combine: Any = fn
        if fn == "sub":
            combine, updates = "add", b.apply("neg", updates)
        elif fn is None and update_jaxpr is not None:
            combine = _region(update_jaxpr, update_consts, x.dtype)
        dims = _dims(dimension_numbers)
        return b.scatter(x, indices, updates, dims, combine, MODES[mode], unique_indices)

    prim.batch(functools.partial(batch_scatter, prim))
    return prim


scatter_p = _declare("scatter", None)
scatter_add_p = _declare("scatter-add", "add")
scatter_add_p.linearity = sums.SCATTERED_SUM
scatter_sub_p = _declare("scatter-sub", "sub")
scatter_mul_p = _declare("scatter-mul", "mul")
scatter_min_p = _declare("scatter-min", "min")
scatter_max_p = _declare("scatter-max", "max")


# --- public functions -----------------------------------------------------------------------------


@caches.memoized("programs of combining functions", "the function, the dtype", 256)
def _combining_program(fn: Callable[[Any, Any], Any], dtype: DType) -> Jaxpr:
    """Traces `fn` of two scalars to a program, which is the same object for the same arguments."""
    scalar = shaped_array((), dtype)
    info = DebugInfo("reduction_jaxpr", source_info.fun_sourceinfo(fn), ("x", "y"))

    def combined(x: Value, y: Value) -> list[Value]:
        return [fn(x, y)]

    return trace_to_jaxpr(combined, [scalar, scalar], info)[0]


def _bind(
    prim: Primitive,
    operand: Value,
    indices: Value,
    updates: Value,
    numbers: ScatterDimensionNumbers,
    update_jaxpr: Jaxpr | None,
    update_consts: Primals,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: str | GatherScatterMode | None,
) -> Array:
    try:
        return prim.bind(
            operand,
            indices,
            updates,
            update_jaxpr=update_jaxpr,
            update_consts=update_consts,
            dimension_numbers=ScatterDimensionNumbers(*map(tuple, numbers)),
            indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices),
            mode=GatherScatterMode.from_any(mode),
        )
    except TypeError:
        families.check_operands(prim.name, operand, indices, updates)
        raise


class ScatterFunction(Protocol):
    """A public scatter function."""

    def __call__(
        self,
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Array: ...


def _public(
    name: str, prim: Primitive, fn: Callable[[Any, Any], Any] | None, doc: str
) -> ScatterFunction:
    def function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterDimensionNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: str | GatherScatterMode | None = None,
    ) -> Array:
        program: Jaxpr | None = None
        if fn is not None:
            families.check_operands(prim.name, operand, scatter_indices, updates)
            dtype = get_aval(operand).dtype
            program = _combining_program(fn, dtype)
        return _bind(
            prim, operand, scatter_indices, updates, dimension_numbers, program, (),
            indices_are_sorted, unique_indices, mode,
        )  # fmt: skip

    function.__name__ = function.__qualname__ = name
    function.__module__ = "jax.lax"
    function.__doc__ = f"""{doc}

    Args:
      operand: any array.
      scatter_indices: integer array, whose last axis contains the index vectors.
      updates: the windows, an array with the operand's dtype.
      dimension_numbers: roles of the axes.
      indices_are_sorted: a promise that index vectors are in ascending order.
      unique_indices: a promise that no two windows overlap.
      mode: how windows that are out of range are treated: "fill" or "drop" ignores them (the
        default), "clip" moves them into bounds, "promise_in_bounds" promises that there are none.

    Raises:
      TypeError: if dtypes differ, or if shapes and dimension numbers are incompatible.
      ValueError: if indices are not integers, or if the mode does not exist.
    """
    return function


scatter = _public("scatter", scatter_p, None, "Replaces windows of `operand` by `updates`.")
scatter_add = _public(
    "scatter_add", scatter_add_p, binary.add, "Adds `updates` to windows of `operand`."
)
scatter_sub = _public(
    "scatter_sub", scatter_sub_p, binary.sub, "Subtracts `updates` from windows of `operand`."
)
scatter_mul = _public(
    "scatter_mul", scatter_mul_p, binary.mul, "Multiplies windows of `operand` by `updates`."
)
scatter_min = _public(
    "scatter_min",
    scatter_min_p,
    binary.min,
    "Computes the minimum of windows of `operand` and `updates`.",
)
scatter_max = _public(
    "scatter_max",
    scatter_max_p,
    binary.max,
    "Computes the maximum of windows of `operand` and `updates`.",
)


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Array], ArrayLike],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Shape = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """Applies `func` to elements of `operand`, once for each window that contains the element.

    Args:
      operand: any array.
      scatter_indices: integer array, whose last axis contains the index vectors.
      func: function from a scalar of the operand's dtype to a scalar of the same dtype.
      dimension_numbers: roles of the axes.
      update_shape: the shape that `updates` of `scatter` would have.
      indices_are_sorted: a promise that index vectors are in ascending order.
      unique_indices: a promise that no two windows overlap.
      mode: as for `scatter`.

    Raises:
      ValueError: if `func` returns a container or None instead of an array.
      TypeError: if `func` returns an array of another shape or dtype.
      NotImplementedError: if `func` closes over tracers.
    """
    families.check_operands("scatter_apply", operand)
    dtype = get_aval(operand).dtype
    program, consts = _applying_program(func, dtype)
    updates = broadcast(convert(0, dtype), canonical_shape(update_shape))
    return _bind(
        scatter_p, operand, scatter_indices, updates, dimension_numbers, program, consts,
        indices_are_sorted, unique_indices, mode,
    )  # fmt: skip


def _applying_program(func: Callable[[Any], Any], dtype: DType) -> tuple[Jaxpr, Primals]:
    """Traces (old, update) -> func(old); returns the program and its constants."""
    scalar = shaped_array((), dtype)
    info = DebugInfo("reduction_jaxpr", source_info.fun_sourceinfo(func), ("x", "_"))

    def apply(old: Value, _: Value) -> list[Value]:
        new: Value = func(old)
        if isinstance(new, list | tuple | dict | None.__class__):
            raise ValueError(
                f"scatter_apply: `func` must return an array, but has returned a {type(new)}: {new}"
            )
        return [new]

    program, results, consts = trace_to_jaxpr(apply, [scalar, scalar], info)
    if any(isinstance(c, Tracer) for c in consts):
        raise NotImplementedError(
            "scatter_apply: `func` must depend on its argument only, but closes over a traced "
            "array; use a concrete array, created outside of the transformation"
        )
    result: Any = results[0]
    if result.shape != () or result.dtype != dtype:
        raise TypeError(
            "scatter_apply: `func` must return a scalar of the operand's dtype "
            f"{dtypes.long_name(dtype)}, got {result.str_short()}"
        )
    return program, tuple(consts)


uses_keys(scatter_p, consumes=(2,), forwards=True)
