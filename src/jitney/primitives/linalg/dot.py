"""Contractions: `dot_general` and its special cases."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.reference import contraction, scalar
from jitney.core.messages import messages
from jitney.core.program import text
from jitney.core.program.jaxpr import JaxprEqn
from jitney.core.sharding.partition_spec import names_of
from jitney.core.sharding_in_types import explicit, sums
from jitney.core.tracing import communication
from jitney.core.tracing.communication import Communication
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import AbstractValue, ShapedArray, shaped_array
from jitney.core.util.thresholds import threshold
from jitney.primitives import calculus, rules, sharding_rules
from jitney.primitives.array.out_places import out_place
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import compiled_rules, families, masks
from jitney.primitives.linalg.precision import (
    Precision as Precision,
    canonical_precision,
    computation_dtype,
)
from jitney.primitives.rule_types import DotDimensionNumbers as DotDimensionNumbers

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike, SupportsDType
    from jitney.primitives.linalg.precision import PrecisionLike
    from jitney.primitives.rule_types import Builder, Dims, Node, Operand, Param, Value

dot_general_p = declare("dot_general")
dot_general_p.linearity = sums.CONTRACTION
dot_general_p.sharding(sharding_rules.dot_general)
dot_general_p.checks_place(sharding_rules.unreduced_product)


@dot_general_p.communication
def _dot_general_communication(
    avals: Sequence[AbstractValue], outs: Sequence[AbstractValue], params: Mapping[str, Any]
) -> list[Communication]:
    (contracted, _), _ = params["dimension_numbers"]
    entries = explicit.entries_of(explicit.sharding_of(avals[0]), len(avals[0].shape))
    axes = frozenset([name for k in contracted for name in names_of(entries[k])])
    summed = Communication(
        axes - communication.unreduced_axes(outs),
        "sums along them, and its result is not unreduced",
    )
    return [*communication.of_types(avals, outs, params), summed]


# The number of integer products for which NumPy's simple loops take as long as compilation.
MANY_PRODUCTS = threshold(1 << 24, small=32)


def _check_axes(
    side: str, aval: ShapedArray, contracting: Sequence[int], batch: Sequence[int]
) -> None:
    if not all(0 <= a < aval.ndim for a in (*contracting, *batch)):
        raise TypeError(
            f"dot_general: {side}_batch {batch} and {side}_contracting {contracting} must name axes of "
            f"{side}, {aval.str_short()}, which has {messages.axes_of_rank(aval.ndim)}"
        )
    for kind, axes in (("batch", batch), ("contracting", contracting)):
        if len(set(axes)) != len(axes):
            raise TypeError(
                f"dot_general requires {side} {kind} dimensions to be distinct, got "
                f"{side}_{kind} {axes}."
            )
    if set(contracting) & set(batch):
        raise TypeError(
            f"dot_general: an axis can be a contracted or a batch axis, but not both; got {side}_batch "
            f"{batch} and {side}_contracting {contracting}"
        )


def _unequal(kind: str, x: ShapedArray, y: ShapedArray, i: int, j: int) -> str:
    """Returns the error message for contracted or batch axes of unequal sizes."""
    why = "they are summed over" if kind == "contracted" else "they are batch axes"
    fits = ""
    if x.ndim == y.ndim == 2 and kind == "contracted":
        if x.shape[i] == y.shape[1 - j]:
            fits = "transpose the right operand"
        elif x.shape[1 - i] == y.shape[j]:
            fits = "transpose the left operand"
    return messages.refusal(
        "dot_general",
        f"axis {i} of the left operand has {messages.counted(x.shape[i], 'element')}, but axis {j} of "
        f"the right operand has {y.shape[j]}; {why}, so their sizes must be equal.",
        (("left", x), ("right", y)),
        fits,
        "unlike-sizes",
    )


@dot_general_p.abstract
def dot_type(
    x: ShapedArray,
    y: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike,
    preferred_element_type: np.dtype | None,
    out_sharding: object,
) -> ShapedArray:
    """Returns the type of a contraction."""
    (cx, cy), (bx, by) = dimension_numbers
    _check_axes("lhs", x, cx, bx)
    _check_axes("rhs", y, cy, by)
    for kind, px, py in (("batch", bx, by), ("contracted", cx, cy)):
        if len(px) != len(py):
            raise TypeError(
                f"dot_general: the numbers of {kind} axes of lhs and rhs must be equal, but they are "
                f"{px} and {py}"
            )
        for i, j in zip(px, py, strict=True):
            if x.shape[i] != y.shape[j]:
                raise TypeError(_unequal(kind, x, y, i, j))
    for aval in (x, y):
        families.check_dtype("dot_general", aval.dtype, (*(families.NUMERIC or ()), np.bool_))
    common = _higher(x.dtype, y.dtype)
    if preferred_element_type is not None:
        _check_preferred(preferred_element_type, common)
    shape = (
        *[x.shape[k] for k in bx],
        *[n for k, n in enumerate(x.shape) if k not in cx and k not in bx],
        *[n for k, n in enumerate(y.shape) if k not in cy and k not in by],
    )
    weak = x.weak_type and y.weak_type
    return shaped_array(shape, preferred_element_type or common, weak)


_KINDS = (np.bool_, np.integer, np.floating, np.complexfloating)


def _higher(a: np.dtype, b: np.dtype) -> np.dtype:
    """Returns the dtype of a product of operands with the dtypes `a` and `b`.

    A dtype of a higher kind is preferred, then one with more bits, then the floating-point dtype
    with the larger range (bfloat16 over float16), and signed over unsigned.
    """
    if a == b:
        return a

    def rank(dtype: np.dtype) -> tuple[int, int, float]:
        (kind,) = [i for i, k in enumerate(_KINDS) if dtypes.issubdtype(dtype, k)]
        is_float = dtypes.issubdtype(dtype, np.floating)
        largest = float(dtypes.finfo(dtype).max) if is_float else 0.0
        preferred = largest or float(dtypes.issubdtype(dtype, np.signedinteger))
        return kind, dtypes.itemsize_bits(dtype), preferred

    return b if rank(b) > rank(a) else a


def _check_preferred(preferred: np.dtype, common: np.dtype) -> None:
    """Raises TypeError if dtype `preferred` would lose bits of integers or complex numbers."""
    bits = dtypes.itemsize_bits(common) // (2 if common.kind == "c" != preferred.kind else 1)
    free = common == families.BOOL or dtypes.issubdtype(common, np.floating)
    if (
        preferred != common
        and not free
        and (preferred == families.BOOL or dtypes.itemsize_bits(preferred) < bits)
    ):
        raise TypeError(
            "dot_general: `preferred_element_type` must have at least as many bits as the dtype of "
            f"the product, {dtypes.long_name(common)}, but is {dtypes.long_name(preferred)}"
        )


def contraction_dtypes(
    x: SupportsDType, y: SupportsDType, precision: PrecisionLike, preferred: np.dtype | None
) -> tuple[np.dtype, np.dtype, np.dtype]:
    """Returns (dtype to which operands are converted, computation dtype, result dtype)."""
    common = _higher(x.dtype, y.dtype)
    result = common if preferred is None else preferred
    if x.dtype != y.dtype:
        common = (
            result  # directly, since the intermediate dtype `common` could lose the sign or digits
        )
    wide = _higher(common, result)
    if {common, result} == {np.dtype(np.float16), np.dtype(dtypes.bfloat16)}:
        wide = np.dtype(np.float32)
    return common, computation_dtype(precision, wide), result


@dot_general_p.eager
def _dot_general_eager(
    x: np.ndarray,
    y: np.ndarray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike,
    preferred_element_type: np.dtype | None,
    out_sharding: object,
) -> np.ndarray:
    contract, batch = dimension_numbers
    common, wide, result = contraction_dtypes(x, y, precision, preferred_element_type)
    if wide.kind in "iu" and _products(x, y, dimension_numbers) >= MANY_PRODUCTS:
        return compiled_rules.compiled(
            dot_general_p, x, y, dimension_numbers=dimension_numbers, precision=precision,
            preferred_element_type=preferred_element_type, out_sharding=out_sharding,
        )  # fmt: skip
    total = masks.sum_of_selected(x, y, dimension_numbers, common)
    if total is not None:
        return scalar.convert(total, result)
    x, y = scalar.convert(x, common), scalar.convert(y, common)
    return scalar.convert(contraction.dot(x, y, contract, batch, wide), result)


def _products(x: np.ndarray, y: np.ndarray, dimension_numbers: DotDimensionNumbers) -> int:
    """Returns the number of products in a contraction."""
    (_, contracted), (_, batch) = dimension_numbers
    shared = {*contracted, *batch}
    return x.size * math.prod([n for k, n in enumerate(y.shape) if k not in shared])


@dot_general_p.lower
def _dot_general_lower(
    b: Builder,
    x: Node,
    y: Node,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike,
    preferred_element_type: np.dtype | None,
    out_sharding: object,
) -> Node:
    (cx, cy), (bx, by) = dimension_numbers
    common, wide, result = contraction_dtypes(x, y, precision, preferred_element_type)
    x, y = (
        masks.note_node(b, b.convert(v, common), v)
        if v.dtype == masks.BOOL
        else b.convert(v, common)
        for v in (x, y)
    )
    total = masks.sum_node(b, x, y, dimension_numbers)
    if total is not None:
        return b.convert(total, result)
    contract = tuple(map(int, cx)), tuple(map(int, cy))
    batch = tuple(map(int, bx)), tuple(map(int, by))
    return b.convert(b.dot(x, y, contract, batch, wide), result)


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Contracts `lhs` with `rhs` over pairs of axes, optionally for each index of batch axes.

    Args:
      lhs: left operand.
      rhs: right operand.
      dimension_numbers: ((contracted axes of lhs, of rhs), (batch axes of lhs, of rhs)).
      precision: see `jitney.primitives.linalg.precision`.
      preferred_element_type: dtype of accumulation and of the result; by default the dtype of the
        products.
      out_sharding: sharding of the result on the context mesh.

    Returns: an array whose axes are the batch axes, the free axes of lhs and the free axes of rhs,
      in this order.

    Raises:
      TypeError: if axes or their sizes are incompatible.

    Example:
      >>> a, b = jnp.arange(6.0).reshape(2, 3), jnp.ones((4, 3))
      >>> lax.dot_general(a, b, (((1,), (1,)), ((), ())))
      Array([[ 3.,  3.,  3.,  3.],
             [12., 12., 12., 12.]], dtype=float32)
      >>> batched = (((2,), (1,)), ((0,), (0,)))
      >>> lax.dot_general(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4)), batched).shape
      (5, 2, 4)
    """
    (cx, cy), (bx, by) = dimension_numbers
    numbers = (
        (_ints(cx), _ints(cy)),
        (_ints(bx), _ints(by)),
    )
    if preferred_element_type is not None:
        dtypes.check_user_dtype_supported(preferred_element_type, "dot_general")
        preferred_element_type = dtypes.requested_dtype(preferred_element_type)
    precision = canonical_precision(precision)
    place = out_place(out_sharding, "dot_general")
    try:
        return dot_general_p.bind(
            lhs,
            rhs,
            dimension_numbers=numbers,
            precision=precision,
            preferred_element_type=preferred_element_type,
            out_sharding=place,
        )
    except TypeError:
        families.check_operands("dot_general", lhs, rhs)
        raise


def _ints(axes: int | Sequence[int]) -> tuple[int, ...]:
    """Returns axes as a tuple of ints; a single axis becomes a tuple of length one."""
    if isinstance(axes, int):
        return (axes,)
    return tuple([operator.index(a) for a in axes])


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Multiplies vectors or matrices; with `dimension_numbers`, calls `dot_general`.

    Args:
      lhs: array with one or two axes.
      rhs: array with one or two axes, whose first size is the last size of `lhs`.
      dimension_numbers: as for `dot_general`; operands may then have any rank.
      precision: as for `dot_general`.
      preferred_element_type: as for `dot_general`.
      out_sharding: sharding of the result on the context mesh.

    Raises:
      ValueError: if shapes are incompatible and `dimension_numbers` is not given.
      TypeError: if shapes are incompatible with `dimension_numbers`.

    Example:
      >>> lax.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    if dimension_numbers is not None:
        return dot_general(
            lhs,
            rhs,
            dimension_numbers,
            precision,
            preferred_element_type,
            out_sharding=out_sharding,
        )
    left, right = shape_of(lhs), shape_of(rhs)
    if not (1 <= len(left) <= 2 and 1 <= len(right) <= 2 and left[-1] == right[0]):
        raise ValueError(
            "lax.dot: without `dimension_numbers` the operands must be matrices or vectors, with "
            "the last axis of `lhs` as long as the first axis of `rhs`, but the shapes are "
            f"lhs_shape={left} rhs_shape={right}"
        )
    numbers = (((len(left) - 1,), (0,)), ((), ()))
    return dot_general(
        lhs, rhs, numbers, precision, preferred_element_type, out_sharding=out_sharding
    )


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: PrecisionLike = None) -> Array:
    """Multiplies the matrices in the last two axes, for each index along the leading axes.

    Args:
      lhs: array of shape [..., n, m].
      rhs: array of shape [..., m, k], with the same leading sizes.
      precision: as for `dot_general`.

    Returns: array of shape [..., n, k].

    Raises:
      ValueError: if the ranks differ or are less than 2.
      TypeError: if sizes are incompatible.

    Example:
      >>> lax.batch_matmul(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
      (5, 2, 4)
    """
    left, right = shape_of(lhs), shape_of(rhs)
    if len(left) < 2 or len(right) < 2:
        raise ValueError(
            f"lax.batch_matmul: the ranks of the operands must be at least 2, but the shapes are "
            f"{left} and "
            f"{right}"
        )
    if len(left) != len(right):
        raise ValueError(
            f"lax.batch_matmul: the operands must have the same rank, but have the shapes {left} "
            f"and {right}"
        )
    rank = len(left)
    batch = tuple(range(rank - 2))
    return dot_general(lhs, rhs, (((rank - 1,), (rank - 2,)), (batch, batch)), precision)


def _print_dot(eqn: JaxprEqn, context: text.Context, settings: text.Settings) -> text.Doc:
    params = eqn.params
    contract, batch = params["dimension_numbers"]
    numbers = tuple(tuple(list(axes) for axes in pair) for pair in (contract, batch))
    shown: list[tuple[str, Any]] = [("dimension_numbers", numbers)]
    for name in ("precision", "preferred_element_type", "out_sharding"):
        if params[name] is not None:
            shown.append((name, params[name]))
    return text.eqn_with_params(eqn, shown, context, settings)


text.printing_rules["dot_general"] = _print_dot

# --- derivatives and batching ---------------------------------------------------------------------


def _transposed(
    ct: Value,
    x: Operand,
    y: Value,
    numbers: DotDimensionNumbers,
    precision: PrecisionLike,
    preferred: np.dtype | None,
    swapped: bool,
) -> Array:
    """Returns the cotangent of x in the contraction of x with y, or of y with x if `swapped`."""
    (cx, cy), (bx, by) = numbers
    rank_x, rank_y = len(rules.shape_of(x)), len(rules.shape_of(y))
    free_x = [k for k in range(rank_x) if k not in cx and k not in bx]
    free_y = [k for k in range(rank_y) if k not in cy and k not in by]
    n_batch = len(bx)
    if swapped:
        ct_free_y = tuple(range(n_batch, n_batch + len(free_y)))
    else:
        ct_free_y = tuple(range(n_batch + len(free_x), n_batch + len(free_x) + len(free_y)))
    batch = tuple(range(n_batch))
    aval = rules.aval_of(x)
    dtype = aval.dtype
    place = explicit.place_of_cotangent(aval, rules.aval_of(ct), rules.aval_of(y))
    # Axes of `out`: batch axes, free axes of x, contracted axes in the order of y's axes.
    order = sorted(range(len(cy)), key=lambda k: cy[k])
    axes = [*bx, *free_x, *(cx[k] for k in order)]
    out = dot_general_p.bind(
        ct,
        y,
        dimension_numbers=((ct_free_y, tuple(free_y)), (batch, tuple(by))),
        precision=precision,
        preferred_element_type=None if preferred is None else dtype,
        out_sharding=explicit.permuted(place, axes),
    )
    permutation = tuple(int(k) for k in np.argsort(axes))
    if permutation != tuple(range(len(permutation))):
        out = calculus.transpose(out, permutation=permutation)
    if rules.aval_of(out).dtype != dtype:
        out = calculus.convert_element_type(out, new_dtype=dtype)
    return out


def cotangent_of_left(ct: Value, x: Operand, y: Value, **params: Param) -> Array:
    """Returns the cotangent of the first operand of a contraction."""
    return _transposed(
        ct, x, y, params["dimension_numbers"], params["precision"],
        params["preferred_element_type"], False,
    )  # fmt: skip


def cotangent_of_right(ct: Value, x: Value, y: Operand, **params: Param) -> Array:
    """Returns the cotangent of the second operand of a contraction."""
    (cx, cy), (bx, by) = params["dimension_numbers"]
    return _transposed(
        ct, y, x, ((cy, cx), (by, bx)), params["precision"], params["preferred_element_type"], True
    )


rules.defbilinear(dot_general_p, cotangent_of_left, cotangent_of_right)


@dot_general_p.batch
def _dot_general_batch(
    args: Sequence[Value], dims: Dims, *, dimension_numbers: DotDimensionNumbers, **params: object
) -> tuple[Value, int]:
    (x, y), (dx, dy) = args, dims
    (cx, cy), (bx, by) = dimension_numbers
    n_batch = len(bx)

    def moved(axes: Sequence[int], d: int | None) -> tuple[int, ...]:
        return tuple(axes) if d is None else tuple(map(int, rules.shifted_axes(axes, d)))

    contract = moved(cx, dx), moved(cy, dy)
    batch = moved(bx, dx), moved(by, dy)
    if dx is not None and dy is not None:
        batch = (dx, *batch[0]), (dy, *batch[1])
        position = 0
    elif dx is not None:
        free = [k for k in range(len(rules.shape_of(x))) if k not in contract[0] + batch[0]]
        position = n_batch + free.index(dx)
    else:
        assert dy is not None
        n_free = len(rules.shape_of(x)) - len(cx) - n_batch
        free = [k for k in range(len(rules.shape_of(y))) if k not in contract[1] + batch[1]]
        position = n_batch + n_free + free.index(dy)
    if params["out_sharding"] is not None:
        names = explicit.names_along(rules.aval_of(x), dx)
        names = names or explicit.names_along(rules.aval_of(y), dy)
        params["out_sharding"] = explicit.batched(params["out_sharding"], position, names)
    out = dot_general_p.bind(x, y, dimension_numbers=(contract, batch), **params)
    return out, position
