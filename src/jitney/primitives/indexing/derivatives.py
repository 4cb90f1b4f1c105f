"""Derivatives of gathers and scatters.

Gathers are linear in the operand; their transposes are scatters that add. Scatters that add or
subtract are linear in the operand and the updates; the derivatives of other scatters depend on
which update determines an element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core.tracing.primitive import Primitive
from jitney.primitives import calculus, rules
from jitney.primitives.array.broadcasting import broadcast
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import binary
from jitney.primitives.elementwise.compare import eq
from jitney.primitives.indexing.gather import (
    GatherDimensionNumbers,
    GatherScatterMode,
    gather,
    gather_p,
)
from jitney.primitives.indexing.scatter import (
    ScatterDimensionNumbers,
    scatter_add,
    scatter_add_p,
    scatter_max_p,
    scatter_min_p,
    scatter_mul_p,
    scatter_p,
    scatter_sub_p,
)
from jitney.transforms import jet
from jitney.transforms.transpose import UndefinedPrimal
from jitney.transforms.zero import Zero, add_tangents, instantiate

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Cotangent, Operand, Primals, Tangent, Tangents, Value

# --- gather ---------------------------------------------------------------------------------------


@gather_p.jvp
def _gather_jvp(
    primals: Primals, tangents: Tangents, *, fill_value: object, **params: object
) -> tuple[Value, Tangent]:
    x, indices = primals
    out = gather_p.bind(x, indices, fill_value=fill_value, **params)
    if isinstance(tangents[0], Zero):
        return out, rules.zero_tangent(out)
    # The fill value is constant.
    fill = 0 if params["mode"] is GatherScatterMode.FILL_OR_DROP else None
    return out, gather_p.bind(tangents[0], indices, fill_value=fill, **params)


gather_p.jet(jet.piecewise_linear(gather_p))


@gather_p.transpose
def _gather_transpose(
    ct: Cotangent,
    x: Operand,
    indices: Value,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    fill_value: object,
) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [Zero(rules.aval_of(x)), None]
    offset, collapsed, index_map, batching, index_batching = dimension_numbers
    out = scatter_add(
        # Strongly typed zeros prevent a weakly typed sum, even if the cotangent is weakly typed.
        rules.zeros_for(ct, x, strong=True),
        indices,
        ct,
        ScatterDimensionNumbers(offset, collapsed, index_map, batching, index_batching),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
    return [out, None]


# --- scatter --------------------------------------------------------------------------------------


def _windows(
    x: Value,
    indices: Value,
    numbers: ScatterDimensionNumbers,
    updates_shape: tuple[int, ...],
    **params: Any,
) -> Value:
    """Gathers the elements of `x` that are the targets of updates, in the shape of the updates."""
    window, inserted, index_map, batching, index_batching = numbers
    extents = iter([updates_shape[axis] for axis in window])
    dropped = {*inserted, *batching}
    sizes = tuple([1 if k in dropped else next(extents) for k in range(len(shape_of(x)))])
    return gather(
        x,
        indices,
        GatherDimensionNumbers(window, inserted, index_map, batching, index_batching),
        sizes,
        **params,
    )


def _full(shape: tuple[int, ...], value: float, dtype: np.dtype) -> Array:
    return broadcast(np.asarray(value).astype(dtype)[()], shape)


def _linear_updates(prim: Primitive, signed: Callable[[Value], Value]) -> None:
    """Sets the derivative rules of a scatter that adds `signed(updates)`."""

    @prim.jvp
    def jvp_rule(primals: Primals, tangents: Tangents, **params: object) -> tuple[Value, Tangent]:
        x, indices, updates = primals
        out = prim.bind(x, indices, updates, **params)
        t, _, u = tangents
        if type(t) is Zero and type(u) is Zero:
            return out, rules.zero_tangent(out)
        return out, prim.bind(instantiate(t), indices, instantiate(u), **params)

    @prim.transpose
    def transpose_rule(
        ct: Cotangent,
        x: Operand,
        indices: Value,
        updates: Operand,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        **_: object,
    ) -> list[Cotangent | None]:
        if isinstance(ct, Zero):
            return [ct, None, Zero(rules.aval_of(updates))]
        of_updates = None
        if rules.is_linear(updates):
            shape = rules.shape_of(updates)
            of_updates = signed(
                _windows(ct, indices, dimension_numbers, shape, mode=mode, fill_value=0)
            )
        return [ct if rules.is_linear(x) else None, None, of_updates]


_linear_updates(scatter_add_p, lambda ct: ct)
_linear_updates(scatter_sub_p, lambda ct: calculus.neg(ct))


@scatter_mul_p.jvp
def _scatter_mul_jvp(
    primals: Primals,
    tangents: Tangents,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
    **params: object,
) -> tuple[Value, Tangent]:
    params.update(
        dimension_numbers=dimension_numbers, indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices, mode=mode,
    )  # fmt: skip
    x, indices, updates = primals
    t, _, u = tangents
    out = scatter_mul_p.bind(x, indices, updates, **params)
    total: Tangent = Zero(rules.zero_tangent(out).aval)
    if not isinstance(t, Zero):
        total = scatter_mul_p.bind(t, indices, updates, **params)
    if not isinstance(u, Zero):
        if not unique_indices:
            raise NotImplementedError(
                "the derivative of scatter_mul with respect to its updates is only "
                "defined for unique_indices=True"
            )
        moved = scatter_add(
            rules.zeros_like(x), indices, u, dimension_numbers,
            indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
        )  # fmt: skip
        total = add_tangents(total, binary.mul(x, moved))
    return out, total


@scatter_mul_p.transpose
def _scatter_mul_transpose(
    ct: Cotangent,
    x: Operand,
    indices: Value,
    updates: Operand,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    unique_indices: bool,
    mode: GatherScatterMode,
    **params: object,
) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [ct, None, Zero(rules.aval_of(updates))]
    if not isinstance(updates, UndefinedPrimal):
        of_x = scatter_mul_p.bind(
            ct, indices, updates, dimension_numbers=dimension_numbers,
            unique_indices=unique_indices, mode=mode, **params,
        )  # fmt: skip
        return [of_x, None, None]
    if isinstance(x, UndefinedPrimal):
        raise TypeError("scatter_mul: a product of two linear values is not linear")
    if not unique_indices:
        raise NotImplementedError("scatter_mul can be transposed only for unique_indices=True")
    shape = rules.shape_of(updates)
    of_updates = _windows(
        binary.mul(x, ct), indices, dimension_numbers, shape, mode=mode, fill_value=0
    )
    return [None, None, of_updates]


def _extreme_jvp(prim: Primitive) -> None:
    """Sets the JVP rule of scatter-min or -max: equal extrema share the derivative."""

    @prim.jvp
    def jvp_rule(
        primals: Primals,
        tangents: Tangents,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
        **params: object,
    ) -> tuple[Value, Tangent]:
        x, indices, updates = primals
        out = prim.bind(
            x, indices, updates, dimension_numbers=dimension_numbers,
            indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
            **params,
        )  # fmt: skip
        t, _, u = tangents
        if type(t) is Zero and type(u) is Zero:
            return out, rules.zero_tangent(out)
        t, u = instantiate(t), instantiate(u)

        def windows(of: Value) -> Value:
            return _windows(of, indices, dimension_numbers, shape_of(updates), mode=mode)

        # Clipped updates are counted at their clipped target; other modes drop updates out of
        # range.
        counted = mode if mode is GatherScatterMode.CLIP else None

        def count(which: Callable[[], Value]) -> Value:
            zeros = _full(shape_of(x), 0, rules.aval_of(out).dtype)
            counts = scatter_add(zeros, indices, which(), dimension_numbers, mode=counted)
            return windows(counts)

        old_share, update_share = _extreme_shares(windows(x), windows(out), updates, count)
        change = binary.add(binary.mul(windows(t), old_share), binary.mul(u, update_share))
        tangent = scatter_add(
            t, indices, change, dimension_numbers,
            indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
        )  # fmt: skip
        return out, tangent

    prim.absent("transpose", why="not linear")


def _extreme_shares(
    old: Value, new: Value, updates: Value, count: Callable[[Callable[[], Value]], Value]
) -> tuple[Array, Array]:
    """Returns the factors of the tangents of old elements and of updates.

    Args:
      old, new: for each update, its target element before and after the scatter.
      updates: the updates.
      count: a function that is called with another function, which returns one number per update.
        `count` returns, for each update, the sum of the numbers of all updates with its target.

    Returns: a pair of arrays with the shape of the updates: (factor of the old element's tangent,
      share of the update). The products with both are added to the old tangent once per update, so
      the factor for an element with n updates is (share of the old element - 1) / n.
    """
    shape, dtype = shape_of(updates), rules.aval_of(new).dtype
    one = np.asarray(1).astype(dtype)[()]
    hits, kept = eq(updates, new), eq(old, new)

    def marked() -> Value:
        ones = _full(shape, 1, dtype)
        return calculus.select_n(hits, _full(shape, 0, dtype), ones)

    n_hits = count(marked)
    n_all = count(lambda: _full(shape, 1, dtype))
    with_old = binary.div(one, binary.add(n_hits, one))
    share = calculus.select_n(kept, binary.div(one, n_hits), with_old)
    update_share = calculus.select_n(hits, _full(shape, 0, dtype), share)
    with_old = binary.div(one, binary.add(n_hits, one))
    old_share = calculus.select_n(kept, _full(shape, 0, dtype), with_old)
    old_share = binary.div(binary.add(np.asarray(-1).astype(dtype)[()], old_share), n_all)
    return old_share, update_share


_extreme_jvp(scatter_min_p)
_extreme_jvp(scatter_max_p)


for _prim in (scatter_p, scatter_add_p, scatter_sub_p, scatter_min_p, scatter_max_p):
    _prim.jet(jet.piecewise_linear(_prim))


@scatter_p.jvp
def _scatter_jvp(primals: Primals, tangents: Tangents, **params: Any) -> tuple[Value, Tangent]:
    x, indices, updates = primals
    t, _, u = tangents
    if type(t) is Zero and type(u) is Zero:
        out = scatter_p.bind(x, indices, updates, **params)
        return out, rules.zero_tangent(out)
    if params["update_jaxpr"] is not None:
        raise NotImplementedError("scatter_apply has no derivative")
    t, u = instantiate(t), instantiate(u)
    if params["unique_indices"]:
        out = scatter_p.bind(x, indices, updates, **params)
        return out, scatter_p.bind(t, indices, u, **params)
    # If several updates have the same target, one of them wins, and the tangents must choose the
    # same one: number the updates, scatter the numbers, and replace all updates that did not win by
    # 0, so that the scatter can add.
    numbers: ScatterDimensionNumbers = params["dimension_numbers"]
    shape = shape_of(updates)
    ids_shape = tuple([1 if k in numbers.update_window_dims else n for k, n in enumerate(shape)])
    u32 = np.dtype(np.uint32)
    count = int(np.prod(ids_shape, dtype=np.int64))
    row = calculus.iota(dtype=u32, shape=(count,), dimension=0)
    ids = calculus.reshape(row, new_sizes=ids_shape)
    ids = binary.add(ids, _full(shape, 1, u32))
    winners = scatter_p.bind(_full(shape_of(x), 0, u32), indices, ids, **params)
    winner = _windows(winners, indices, numbers, shape)

    def added(x: Value, updates: Value) -> tuple[Value, Value]:
        dtype = rules.aval_of(x).dtype
        left = eq(winners, _full(shape_of(x), 0, u32))
        x = calculus.select_n(left, _full(shape_of(x), 0, dtype), x)
        wins = eq(ids, winner)
        return x, calculus.select_n(wins, _full(shape, 0, dtype), updates)

    pairs = added(x, updates), added(t, u)
    flags = {k: params[k] for k in ("indices_are_sorted", "unique_indices", "mode")}
    out, tangent = [scatter_add(x, indices, u, numbers, **flags) for x, u in pairs]
    return out, tangent


@scatter_p.transpose
def _scatter_transpose(
    ct: Cotangent,
    x: Operand,
    indices: Value,
    updates: Operand,
    *,
    dimension_numbers: ScatterDimensionNumbers,
    unique_indices: bool,
    mode: GatherScatterMode,
    **params: object,
) -> list[Cotangent | None]:
    assert unique_indices, "a linear scatter has unique indices: see its forward derivative"
    if isinstance(ct, Zero):
        return [ct, None, Zero(rules.aval_of(updates))]
    of_x = of_updates = None
    shape = rules.shape_of(updates)
    if rules.is_linear(x):
        nothing = rules.zeros_for(ct, updates)
        of_x = scatter_p.bind(
            ct, indices, nothing, dimension_numbers=dimension_numbers,
            unique_indices=unique_indices, mode=mode, **params,
        )  # fmt: skip
    if rules.is_linear(updates):
        of_updates = _windows(ct, indices, dimension_numbers, shape, mode=mode, fill_value=0)
    return [of_x, None, of_updates]
