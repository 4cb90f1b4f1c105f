"""`ragged_dot_general`: contractions of groups of rows, where group sizes are data.

One axis of the left operand, the ragged axis, is partitioned into consecutive groups. If the ragged
axis is free, each group has a separate right operand; if it is contracted, each group has a
separate result; if it is a batch axis, the groups have no effect.

The program loops over the groups and, within a group, over blocks of rows, for each of which it
multiplies two matrices. It therefore processes each row once, and at most one additional block for
each group; no operand is expanded by the number of groups. Elements of different groups are never
combined, so an infinity in one group does not affect another group through a product with zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray
from jitney.core.util.thresholds import threshold
from jitney.primitives import rules
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.creation import full, iota
from jitney.primitives.array.out_places import out_place
from jitney.primitives.array.shape import reshape, shape_of, transpose
from jitney.primitives.control.mapping import map as map_rows
from jitney.primitives.control.scan import scan
from jitney.primitives.control.while_loop import while_loop
from jitney.primitives.elementwise import families
from jitney.primitives.elementwise.binary import (
    add,
    bitwise_and,
    max as maximum,
    min as minimum,
    mul,
    sub,
)
from jitney.primitives.elementwise.compare import ge, lt
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.elementwise.select import select
from jitney.primitives.indexing.dynamic_slice import (
    dynamic_slice_in_dim,
    dynamic_update_slice_in_dim,
)
from jitney.primitives.linalg.dot import (
    contraction_dtypes,
    cotangent_of_left,
    cotangent_of_right,
    dot_general,
    dot_type,
)
from jitney.primitives.linalg.precision import canonical_precision
from jitney.primitives.linalg.ragged_dimensions import (
    Axes,
    Mode,
    RaggedDotDimensionNumbers as RaggedDotDimensionNumbers,
    check_axis,
    check_groups,
    prefix_axes,
    remaining,
    roles,
)
from jitney.primitives.reduction.cumulative import cumsum
from jitney.primitives.reduction.reduce import reduce_sum
from jitney.primitives.traced import lower_by
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike
    from jitney.primitives.linalg.precision import PrecisionLike
    from jitney.primitives.rule_types import (
        Cotangent,
        Dims,
        Operand,
        Primals,
        Tangent,
        Tangents,
        Value,
    )

T = TypeVar("T")

_LEAST_BLOCK, _LARGEST_BLOCK = threshold(8, small=2), threshold(256, small=4)  # the number of rows

ragged_dot_general_p = declare("ragged_dot_general")


_MATRICES = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


@ragged_dot_general_p.abstract
def _ragged_dot_general_abstract(
    x: ShapedArray,
    y: ShapedArray,
    sizes: ShapedArray,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike,
    preferred_element_type: np.dtype | None,
    group_offset: None,
    out_sharding: object,
) -> ShapedArray:
    numbers = ragged_dot_dimension_numbers
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError(
            "ragged_dot_general: lhs must have exactly one ragged axis, but lhs_ragged_dimensions is "
            f"{numbers.lhs_ragged_dimensions}"
        )
    check_axis("lhs", "ragged", numbers.lhs_ragged_dimensions[0], x.ndim)
    if not dtypes.issubdtype(sizes.dtype, np.integer) or sizes.ndim == 0:
        raise TypeError(
            "ragged_dot_general: group_sizes must be integers and have at least one axis, but are "
            f"{sizes.str_short()}"
        )
    axes = roles(x.ndim, y.ndim, numbers)
    groups = sizes.shape[-1]
    expected = (*[x.shape[k] for k in prefix_axes(axes, numbers)], groups)
    if sizes.ndim > 1 and sizes.shape != expected:
        raise TypeError(
            f"ragged_dot_general: group_sizes must have shape {expected} or ({groups},), but have "
            f"{sizes.shape}"
        )
    check_groups(y, groups, axes, numbers)
    (cx, cy), (bx, by) = numbers.dot_dimension_numbers
    kept = remaining(y.ndim, numbers.rhs_group_dimensions)
    of_group = y.update(shape=tuple([y.shape[k] for k in kept]))
    place = {axis: k for k, axis in enumerate(kept)}
    of_one = (cx, tuple([place.get(k, k) for k in cy])), (bx, tuple([place.get(k, k) for k in by]))
    out = dot_type(
        x, of_group, dimension_numbers=of_one, precision=precision,
        preferred_element_type=preferred_element_type, out_sharding=None,
    )  # fmt: skip
    return out.update(shape=(groups, *out.shape)) if axes.mode is Mode.CONTRACTED else out


# --- what it computes -----------------------------------------------------------------------------


def _product(x: Array, y: Array, axis_x: int, precision: PrecisionLike, dtype: np.dtype) -> Array:
    """Multiplies matrices, contracting axis `axis_x` of x with the first axis of y."""
    return dot_general(x, y, (((axis_x,), (0,)), ((), ())), precision, dtype)


def _block_size(rows: int, groups: int) -> int:
    """Returns the block size: about half of a group's average size, so that few rows are wasted."""
    half = rows // (2 * groups) + 1
    return min(rows, max(_LEAST_BLOCK, min(_LARGEST_BLOCK, 1 << (half - 1).bit_length())))


def _bounds(sizes: Array, rows: int) -> tuple[Array, Array]:
    """Returns the first row and the end of each group, clamped to the number of rows."""
    sizes = convert_element_type(sizes, np.int32)
    ends = cumsum(sizes)
    return maximum(sub(ends, sizes), np.int32(0)), minimum(ends, np.int32(rows))


def _over_blocks(
    rows: int, size: int, start: Value, end: Value, step: Callable[[Array, Array, T], T], value: T
) -> T:
    """Folds `step(first row, mask of valid rows, value)` over the rows from `start` to `end`.

    Each step processes a block of `size` rows; `rows` is the number of rows of the array.
    """

    def body(state: tuple[Value, T]) -> tuple[Value, T]:
        row, value = state
        first = minimum(row, np.int32(rows - size))  # the last block must be within the array, too
        index = add(iota(np.int32, size), first)
        own = bitwise_and(ge(index, row), lt(index, end))
        return add(row, np.int32(size)), step(first, own, value)

    return while_loop(lambda state: lt(state[0], end), body, (start, value))[1]


def _only(own: Array, x: Array) -> Array:
    """Replaces the rows of `x` that are not in the mask `own` by zeros."""
    return select(broadcast_in_dim(own, shape_of(x), (0,)), x, rules.zeros_like(x))


def _rows_by_group(
    x: Array, y: Array, sizes: Array, precision: PrecisionLike, dtype: np.dtype
) -> Array:
    """Multiplies each row by its group's matrix: x [M, K], y [G, K, N], sizes [G] -> [M, N]."""
    (rows, _), (groups, _, columns) = shape_of(x), shape_of(y)
    out = full((rows, columns), 0, dtype)
    if 0 in (rows, groups):
        return out
    size = _block_size(rows, groups)

    def of_group(out: Array, group: tuple[Any, Any, Array]) -> tuple[Array, None]:
        start, end, matrix = group

        def step(first: Value, own: Array, out: Array) -> Array:
            new = _product(dynamic_slice_in_dim(x, first, size), matrix, 1, precision, dtype)
            old = dynamic_slice_in_dim(out, first, size)
            new = select(broadcast_in_dim(own, shape_of(new), (0,)), new, old)
            return dynamic_update_slice_in_dim(out, new, first, 0)

        return _over_blocks(rows, size, start, end, step, out), None

    return scan(of_group, out, (*_bounds(sizes, rows), y))[0]


def _sums_by_group(
    x: Array, y: Array, sizes: Array, precision: PrecisionLike, dtype: np.dtype
) -> Array:
    """Sums products over each group's rows: x [M, I], y [M, J], sizes [G] -> [G, I, J]."""
    (rows, n), (_, m), (groups,) = shape_of(x), shape_of(y), shape_of(sizes)
    if 0 in (rows, groups):
        return full((groups, n, m), 0, dtype)
    size = _block_size(rows, groups)

    def of_group(_: None, group: tuple[Any, Any]) -> tuple[None, Array]:
        def step(first: Value, own: Array, total: Array) -> Array:
            left, right = (_only(own, dynamic_slice_in_dim(z, first, size)) for z in (x, y))
            return add(total, _product(left, right, 0, precision, dtype))

        return None, _over_blocks(rows, size, *group, step, full((n, m), 0, dtype))

    return scan(of_group, None, _bounds(sizes, rows))[1]


def _merged(x: Array, *groups: Sequence[int]) -> Array:
    """Transposes and reshapes x so that each group of axes becomes one axis."""
    shape = shape_of(x)
    order = [k for axes in groups for k in axes]
    return reshape(transpose(x, order), [math.prod([shape[k] for k in axes]) for axes in groups])


def _each(f: Callable[..., Array], *operands: Array) -> Array:
    """Applies `f` sequentially for each index of the first axis, and stacks the results."""
    if shape_of(operands[0])[0] != 1:
        return map_rows(lambda own: f(*own), operands)
    out = f(*[reshape(x, shape_of(x)[1:]) for x in operands])
    return reshape(out, (1, *shape_of(out)))


def _computed(
    x: Array,
    y: Array,
    sizes: Array,
    *,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike,
    preferred_element_type: np.dtype | None,
    group_offset: None,
    out_sharding: object,
) -> list[Array]:
    numbers, shape_x, shape_y = ragged_dot_dimension_numbers, shape_of(x), shape_of(y)
    (cx, cy), (bx, by) = numbers.dot_dimension_numbers
    axes = roles(len(shape_x), len(shape_y), numbers)
    if axes.mode is Mode.BATCH:
        return [dot_general(x, y, ((cx, cy), (bx, by)), precision, preferred_element_type)]
    _, wide, result = contraction_dtypes(x, y, precision, preferred_element_type)
    free_x, free_y = axes.free
    n_outer = len(axes.outer)
    prefix, groups = [shape_x[k] for k in (*bx, *axes.outer)], shape_of(sizes)[-1]
    if len(shape_of(sizes)) == 1:
        sizes = broadcast_in_dim(sizes, (*prefix, groups), (len(prefix),))
    sizes = reshape(sizes, (math.prod(prefix[: len(bx)]), math.prod(prefix[len(bx) :]), groups))
    # Axes after the ragged axis become additional rows of its groups.
    inner = free_x[n_outer:] if axes.mode is Mode.FREE else cx[n_outer:]
    each = math.prod([shape_x[k] for k in inner[1:]])
    sizes = mul(convert_element_type(sizes, np.int32), np.int32(each))
    free = [shape_x[k] for k in free_x], [shape_y[k] for k in free_y]
    if axes.mode is Mode.FREE:
        left = _merged(x, bx, axes.outer, inner, cx)
        right = _merged(y, by, numbers.rhs_group_dimensions, cy, free_y)

        def of_batch(x: Array, y: Array, sizes: Array) -> Array:
            def of_rows(x: Array, sizes: Array) -> Array:
                return _rows_by_group(x, y, sizes, precision, result)

            return _each(of_rows, x, sizes)

        out = _each(of_batch, left, right, sizes)
        return [reshape(out, (*prefix[: len(bx)], *free[0], *free[1]))]
    left = _merged(x, bx, axes.outer, inner, free_x)
    right = _merged(y, by, cy[:n_outer], cy[n_outer:], free_y)
    wide = np.dtype(np.int32) if wide == np.bool_ else wide

    def of_rows(x: Array, y: Array, sizes: Array) -> Array:
        return _sums_by_group(x, y, sizes, precision, wide)

    out = _each(lambda *operands: _each(of_rows, *operands), left, right, sizes)
    out = convert_element_type(transpose(reduce_sum(out, (1,)), (1, 0, 2, 3)), result)
    return [reshape(out, (groups, *prefix[: len(bx)], *free[0], *free[1]))]


lower_by(ragged_dot_general_p, _computed)


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Computes a contraction in which an axis of `lhs` is partitioned into consecutive groups.

    Group sizes are data, so one compiled program works for all group sizes. Let B stand for batch
    axes, K for contracted axes, M and N for free axes, G for the number of groups, and X for the
    axes that precede the ragged axis and have the same role. Then:

    - If the ragged axis is free: lhs [B, M, K], rhs [G, B, K, N], sizes [B, X, G] -> [B, M, N]; each
      group of rows is multiplied by its slice of rhs. Rows of the result after the last group are
      zero.
    - If it is contracted: lhs [B, M, K], rhs [B, K, N], sizes [B, X, G] -> [G, B, M, N]; each group
      has a separate result.
    - If it is a batch axis: lhs [B, M, K], rhs [B, K, N], sizes [X, G] -> [B, M, N]; the result is
      that of `dot_general`.

    Args:
      lhs: left operand.
      rhs: right operand.
      group_sizes: nonnegative integers, with the shape stated above or [G]. If they add up to more
        than the size of the axis, groups are cut off at the end of the axis.
      ragged_dot_dimension_numbers: roles of the axes, which may be in any order.
      precision: as for `dot_general`.
      preferred_element_type: as for `dot_general`.
      group_offset: must be None; JAX does not implement this option, either.
      out_sharding: sharding of the result on the context mesh.

    Returns: an array with the axes of the result of `dot_general`, preceded by a group axis if the
      ragged axis is contracted.

    Raises:
      TypeError: if axes or sizes are incompatible.
      NotImplementedError: if `group_offset` is not None.

    Derivatives of all modes and orders use this operation, too. JAX supports derivatives of the
    first mode only, and `vmap` only along the first axes of all three operands; in this
    implementation, any batch dimensions are supported.

    Example:
      >>> rows, matrices = jnp.ones((4, 2)), jnp.stack([jnp.eye(2), 3 * jnp.eye(2)])
      >>> numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
      >>> lax.ragged_dot_general(rows, matrices, jnp.array([1, 2]), numbers)[:, 0]
      Array([1., 3., 3., 0.], dtype=float32)
    """
    families.check_operands("ragged_dot_general", lhs, rhs, group_sizes)
    if not isinstance(ragged_dot_dimension_numbers, RaggedDotDimensionNumbers):  # pyright: ignore[reportUnnecessaryIsInstance]  # users may err
        raise TypeError(
            "ragged_dot_general: ragged_dot_dimension_numbers must be a RaggedDotDimensionNumbers, "
            f"got {type(ragged_dot_dimension_numbers).__name__}"
        )
    if group_offset is not None:
        raise NotImplementedError(
            "ragged_dot_general: as in JAX, group_offset is not supported; slice rhs instead"
        )
    if preferred_element_type is not None:
        dtypes.check_user_dtype_supported(preferred_element_type, "ragged_dot_general")
        preferred_element_type = dtypes.requested_dtype(preferred_element_type)
    return ragged_dot_general_p.bind(
        lhs,
        rhs,
        group_sizes,
        ragged_dot_dimension_numbers=ragged_dot_dimension_numbers,
        precision=canonical_precision(precision),
        preferred_element_type=preferred_element_type,
        group_offset=None,
        out_sharding=out_place(out_sharding, "ragged_dot_general"),
    )


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Multiplies rows in consecutive groups by one matrix per group.

    Args:
      lhs: the rows, an array [m, k].
      rhs: a matrix for each group, an array [g, k, n].
      group_sizes: the number of rows of each group, nonnegative integers [g].
      precision: as for `dot_general`.
      preferred_element_type: as for `dot_general`.
      group_offset: must be None; JAX does not implement this option, either.
      out_sharding: sharding of the result on the context mesh.

    Returns: an array [m, n]; rows after the last group are zero.

    Raises:
      TypeError: if shapes are incompatible.
      NotImplementedError: if `group_offset` is not None.

    Example:
      >>> rows, matrices = jnp.ones((4, 2)), jnp.stack([jnp.eye(2), 3 * jnp.eye(2)])
      >>> lax.ragged_dot(rows, matrices, jnp.array([1, 3]))
      Array([[1., 1.],
             [3., 3.],
             [3., 3.],
             [3., 3.]], dtype=float32)
    """
    return ragged_dot_general(
        lhs,
        rhs,
        group_sizes,
        _MATRICES,
        precision,
        preferred_element_type,
        group_offset,
        out_sharding,
    )


# --- derivatives and batching ---------------------------------------------------------------------


@ragged_dot_general_p.jvp
def _ragged_dot_general_jvp(
    primals: Primals, tangents: Tangents, **params: Any
) -> tuple[Value, Tangent]:
    (x, y, sizes), (dx, dy, _) = primals, tangents
    out = ragged_dot_general_p.bind(x, y, sizes, **params)
    terms: list[Any] = []
    if not isinstance(dx, Zero):
        terms.append(ragged_dot_general_p.bind(dx, y, sizes, **params))
    if not isinstance(dy, Zero):
        terms.append(ragged_dot_general_p.bind(x, dy, sizes, **params))
    if not terms:
        return out, rules.zero_tangent(out)
    return out, terms[0] if len(terms) == 1 else add(*terms)


def _ordered(out: Array, axes: Sequence[int], like: Operand) -> Array:
    """Sorts the axes of a cotangent, and converts it to the dtype of `like`.

    Axis k of `out` is axis `axes[k]` of the result.
    """
    out = transpose(out, tuple(map(int, np.argsort(axes))))
    dtype = rules.aval_of(like).dtype
    return out if rules.aval_of(out).dtype == dtype else convert_element_type(out, dtype)


def _ranges(*groups: Sequence[int]) -> list[tuple[int, ...]]:
    """Returns the positions of groups of axes that are arranged one after another."""
    positions: list[tuple[int, ...]] = []
    first = 0
    for axes in groups:
        positions.append(tuple(range(first, first + len(axes))))
        first += len(axes)
    return positions


def _in_order_of(axes: Sequence[int], others: Sequence[int]) -> list[int]:
    """Sorts `others` by the corresponding entries of `axes`."""
    return [k for _, k in sorted(zip(axes, others, strict=True))]


def _cotangents_of_free(
    ct: Value, x: Operand, y: Operand, sizes: Value, axes: Axes, params: dict[str, Any]
) -> list[Cotangent | None]:
    """Returns cotangents for a free ragged axis, which is contracted in the cotangent of rhs."""
    numbers: RaggedDotDimensionNumbers = params["ragged_dot_dimension_numbers"]
    (cx, cy), (bx, by) = numbers.dot_dimension_numbers
    (free_x, free_y), group = axes.free, numbers.rhs_group_dimensions
    batch, rows, columns = _ranges(bx, free_x, free_y)
    if rules.is_linear(x):
        assert not rules.is_linear(y)
        own = RaggedDotDimensionNumbers(
            ((columns, free_y), (batch, by)), [len(bx) + len(axes.outer)], group
        )
        out = ragged_dot_general_p.bind(
            ct, y, sizes, **{**params, "ragged_dot_dimension_numbers": own}
        )
        return [_ordered(out, (*bx, *free_x, *_in_order_of(cy, cx)), x), None, None]
    own = RaggedDotDimensionNumbers(((free_x, rows), (bx, batch)), [axes.ragged], [])
    out = ragged_dot_general_p.bind(x, ct, sizes, **{**params, "ragged_dot_dimension_numbers": own})
    return [None, _ordered(out, (*group, *by, *_in_order_of(cx, cy), *free_y), y), None]


def _cotangents_of_contracted(
    ct: Value, x: Operand, y: Operand, sizes: Value, axes: Axes, params: dict[str, Any]
) -> list[Cotangent | None]:
    """Returns cotangents for a contracted ragged axis.

    They are products of the rows of the other operand with the cotangent of their group.
    """
    numbers: RaggedDotDimensionNumbers = params["ragged_dot_dimension_numbers"]
    (cx, cy), (bx, by) = numbers.dot_dimension_numbers
    free_x, free_y = axes.free
    _, ct_batch, ct_x, ct_y = _ranges((0,), bx, free_x, free_y)

    def of(
        wanted: Operand, own_axes: tuple[int, ...], other: Value, other_axes: tuple[int, ...],
        free: tuple[int, ...], in_ct: tuple[int, ...],
    ) -> Array:  # fmt: skip
        # Contracted axes in order, so that those before the ragged axis precede it.
        ordered = transpose(other, other_axes)
        batch, rows, columns = _ranges(bx, cx, free)
        own = RaggedDotDimensionNumbers(
            ((columns, in_ct), (batch, ct_batch)), [rows[len(axes.outer)]], [0]
        )
        out = ragged_dot_general_p.bind(
            ordered, ct, sizes, **{**params, "ragged_dot_dimension_numbers": own}
        )
        return _ordered(out, own_axes, wanted)

    axes_x, axes_y = (*bx, *cx, *free_x), (*by, *cy, *free_y)
    if rules.is_linear(x):
        assert not rules.is_linear(y)
        return [of(x, axes_x, y, axes_y, free_y, ct_y), None, None]
    return [None, of(y, axes_y, x, axes_x, free_x, ct_x), None]


@ragged_dot_general_p.transpose
def _ragged_dot_general_transpose(
    ct: Cotangent, x: Operand, y: Operand, sizes: Value, **params: Any
) -> list[Cotangent | None]:
    if isinstance(ct, Zero):
        return [None, None, None]
    numbers: RaggedDotDimensionNumbers = params["ragged_dot_dimension_numbers"]
    axes = roles(len(rules.shape_of(x)), len(rules.shape_of(y)), numbers)
    if axes.mode is Mode.FREE:
        return _cotangents_of_free(ct, x, y, sizes, axes, params)
    if axes.mode is Mode.CONTRACTED:
        return _cotangents_of_contracted(ct, x, y, sizes, axes, params)
    of_dot = {
        "dimension_numbers": numbers.dot_dimension_numbers,
        "precision": params["precision"],
        "preferred_element_type": params["preferred_element_type"],
    }
    if rules.is_linear(x):
        assert not rules.is_linear(y)
        return [cotangent_of_left(ct, x, y, **of_dot), None, None]
    return [None, cotangent_of_right(ct, x, y, **of_dot), None]


@ragged_dot_general_p.batch
def _ragged_dot_general_batch(
    args: Sequence[Value], dims: Dims, **params: Any
) -> tuple[Value, int]:
    (x, y, sizes), (dx, dy, ds) = args, dims
    numbers: RaggedDotDimensionNumbers = params["ragged_dot_dimension_numbers"]
    rank_x, rank_y = (
        len(rules.shape_of(z)) - (d is not None) for z, d in zip(args[:2], dims[:2], strict=True)
    )
    axes = roles(rank_x, rank_y, numbers)
    n_batch = len(numbers.dot_dimension_numbers[1][0])
    groups_first = int(axes.mode is Mode.CONTRACTED)
    if ds is None and (dx is None or dy is None):
        # An additional free axis after all others, for rows or columns of the same groups.
        if dx is not None:
            x = rules.move_axis(x, dx, rank_x)
        else:
            assert dy is not None
            y = rules.move_axis(y, dy, rank_y)
        out = ragged_dot_general_p.bind(x, y, sizes, **params)
        position = groups_first + n_batch + len(axes.free[0])
        return out, position + (0 if dx is not None else len(axes.free[1]))
    size = rules.batch_size(args, dims)
    shape = rules.shape_of(x)
    prefix = [shape[k if dx is None else k + (k >= dx)] for k in prefix_axes(axes, numbers)]
    x, y = rules.to_front(x, dx, size), rules.to_front(y, dy, size)
    if ds is not None or len(rules.shape_of(sizes)) > 1:
        sizes = rules.to_front(sizes, ds, size)
        shape = rules.shape_of(sizes)
        if len(shape) == 2 and prefix:
            sizes = broadcast_in_dim(sizes, (size, *prefix, shape[-1]), (0, len(prefix) + 1))
    (cx, cy), (bx, by) = numbers.dot_dimension_numbers
    batched = RaggedDotDimensionNumbers(
        (
            ([k + 1 for k in cx], [k + 1 for k in cy]),
            ([0, *[k + 1 for k in bx]], [0, *[k + 1 for k in by]]),
        ),
        [k + 1 for k in numbers.lhs_ragged_dimensions],
        [k + 1 for k in numbers.rhs_group_dimensions],
    )
    params["ragged_dot_dimension_numbers"] = batched
    return ragged_dot_general_p.bind(x, y, sizes, **params), groups_first
