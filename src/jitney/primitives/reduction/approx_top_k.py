"""`approx_max_k` and `approx_min_k`: the largest or smallest elements.

An approximation is worthwhile if many elements are compared at once, as on a TPU. In this
implementation, results are exact for any requested recall; their sizes are those of the
approximation.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.reference import order
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.primitives import rules, sharding_rules
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.shape import shape_of
from jitney.primitives.elementwise import families
from jitney.primitives.reduction.sort import chosen_elements
from jitney.transforms import jet
from jitney.transforms.zero import Zero

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import Builder, Node, Primals, Tangent, Tangents, Value

approx_top_k_p = declare("approx_top_k", multiple_results=True)
approx_top_k_p.sharding(sharding_rules.replicated_along("reduction_dimension", "a complete axis"))


def _kept(shape: tuple[int, ...], axis: int, k: int, recall_target: float, size: int) -> int:
    """Returns the number of candidates from which an approximation selects k elements.

    Elements are compared in tiles of 1024 (128 for more than one axis). Tiles are folded in halves
    as long as two of the k elements seldom collide (Chern et al., TPU-KNN: K nearest neighbor
    search at peak FLOP/s, 2022).
    """
    n = shape[axis]
    tile = 1024 if len(shape) == 1 else 128
    logical = n if size < 0 else size
    if n <= tile:
        return n
    if k == 1:
        return tile  # a single element never collides, no matter how often tiles are folded
    places = logical if recall_target == 1 else int((1 - k) / math.log(recall_target))
    places = min(max(places, tile), logical)
    halvings = (logical // places).bit_length() - 1
    if halvings == 0:
        return n
    tiles = -(-n // tile)
    return -(-tiles >> halvings) * tile


def _count(
    shape: tuple[int, ...], k: int, reduction_dimension: int, recall_target: float,
    reduction_input_size_override: int, aggregate_to_topk: bool,
) -> tuple[int, int]:  # fmt: skip
    """Returns the reduced axis, and the size of the result along it."""
    axis = canonical_axis(reduction_dimension, len(shape))
    if aggregate_to_topk:
        return axis, k
    return axis, min(
        shape[axis], _kept(shape, axis, k, recall_target, reduction_input_size_override)
    )


def _extents(shape: tuple[int, ...], params: dict[str, Any]) -> tuple[int, int]:
    return _count(shape, **{name: params[name] for name in params if name != "is_max_k"})


@approx_top_k_p.abstract
def _approx_top_k_abstract(x: ShapedArray, **params: Any) -> list[ShapedArray]:
    name = "approx_max_k" if params["is_max_k"] else "approx_min_k"
    if x.ndim < 1:
        raise TypeError(f"{name}: the operand must not be a scalar, but is {x.str_short()}")
    if not dtypes.issubdtype(x.dtype, np.floating):
        raise ValueError(f"{name}: the operand must be floating, but is {x.str_short()}")
    k, recall = params["k"], params["recall_target"]
    size = params["reduction_input_size_override"]
    axis = canonical_axis(params["reduction_dimension"], x.ndim)
    n = x.shape[axis]
    if not 0 <= k <= n:
        raise ValueError(
            f"{name}: `k` must be between 0 and {n}, the size of the reduced axis, but is {k}"
        )
    if not 0 < recall <= 1:
        raise ValueError(
            f"{name}: `recall_target` must be greater than 0 and at most 1, but is {recall}"
        )
    if 0 <= size < n:
        raise ValueError(
            f"{name}: `reduction_input_size_override` must be negative or at least {n}, but is {size}"
        )
    axis, extent = _extents(x.shape, params)
    shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
    return [shaped_array(shape, dtype, x.weak_type) for dtype in (x.dtype, np.dtype(np.int32))]


@approx_top_k_p.eager
def _approx_top_k_eager(x: np.ndarray, **params: Any) -> list[np.ndarray]:
    axis, extent = _extents(x.shape, params)
    if params["is_max_k"]:
        return list(order.top_k(x, extent, axis))
    values, indices = order.top_k(np.negative(x), extent, axis)
    return [np.negative(values), indices]


@approx_top_k_p.lower
def _approx_top_k_lower(b: Builder, x: Node, **params: Any) -> list[Node]:
    axis, extent = _extents(x.shape, params)
    if params["is_max_k"]:
        return b.top_k(x, extent, axis)
    values, indices = b.top_k(b.apply("neg", x), extent, axis)
    return [b.apply("neg", values), indices]


@approx_top_k_p.jvp
def _approx_top_k_jvp(
    primals: Primals, tangents: Tangents, **params: Any
) -> tuple[list[Value], list[Tangent]]:
    (x,), (t,) = primals, tangents
    values, indices = approx_top_k_p.bind(x, **params)
    no_tangent = rules.zero_tangent(indices)
    if isinstance(t, Zero) or 0 in shape_of(x):
        return [values, indices], [rules.zero_tangent(values), no_tangent]
    axis = canonical_axis(params["reduction_dimension"], len(shape_of(x)))
    return [values, indices], [chosen_elements(t, indices, axis), no_tangent]


@approx_top_k_p.batch
def _approx_top_k_batch(
    args: Primals, dims: Sequence[int], **params: Any
) -> tuple[list[Value], list[int]]:
    (x,), (d,) = args, dims
    axis = canonical_axis(params.pop("reduction_dimension"), len(shape_of(x)) - 1)
    return approx_top_k_p.bind(x, reduction_dimension=axis + (d <= axis), **params), [d, d]


approx_top_k_p.jet(jet.piecewise_linear(approx_top_k_p))
approx_top_k_p.absent("transpose", why="not linear")


def _approx_top_k(
    operand: ArrayLike, k: int, reduction_dimension: int, recall_target: float, size: int,
    aggregate_to_topk: bool, is_max_k: bool,
) -> list[Array]:  # fmt: skip
    families.check_operands("approx_top_k", operand)
    return approx_top_k_p.bind(
        operand,
        k=operator.index(k),
        reduction_dimension=operator.index(reduction_dimension),
        recall_target=float(recall_target),
        is_max_k=is_max_k,
        reduction_input_size_override=operator.index(size),
        aggregate_to_topk=bool(aggregate_to_topk),
    )


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Returns [the k largest elements along an axis, descending; their int32 indices].

    The results are exact: this is `lax.top_k` for floats, with JAX's interface for approximations.

    Args:
      operand: array of floats.
      k: the number of elements, which is static and at most the size of the axis.
      reduction_dimension: the axis along which to search.
      recall_target: the fraction, in (0, 1], of the k largest elements that an approximation finds
        on average.
      reduction_input_size_override: the size of the axis in the complete data, if the operand is
        only a part of it; -1 stands for the size in the operand.
      aggregate_to_topk: whether to return k elements, instead of all candidates from which an
        approximation would select them.

    Returns: two arrays with the operand's shape, except for the size along the axis.

    Raises:
      TypeError: if the operand is a scalar.
      ValueError: if the operand is not an array of floats, if k exceeds the size of the axis, or if
        `recall_target` is out of bounds.

    Example:
      >>> lax.approx_max_k(jnp.array([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
      [Array([5., 4.], dtype=float32), Array([4, 2], dtype=int32)]
    """
    return _approx_top_k(
        operand, k, reduction_dimension, recall_target, reduction_input_size_override,
        aggregate_to_topk, True,
    )  # fmt: skip


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Returns [the k smallest elements along an axis, ascending; their int32 indices].

    Args, Returns, Raises: as for `approx_max_k`.

    Example:
      >>> lax.approx_min_k(jnp.array([3.0, 1.0, 4.0, 1.0, 5.0]), 2)
      [Array([1., 1.], dtype=float32), Array([1, 3], dtype=int32)]
    """
    return _approx_top_k(
        operand, k, reduction_dimension, recall_target, reduction_input_size_override,
        aggregate_to_topk, False,
    )  # fmt: skip
