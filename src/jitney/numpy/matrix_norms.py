"""Norms of vectors and matrices: `norm`, `vector_norm`, `matrix_norm`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from jitney.api.jit.jit import jit_when_traced
from jitney.core.typing import Array, ArrayLike
from jitney.numpy import promotion
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.canonical import canonical_axes
from jitney.primitives.array.shape import transpose
from jitney.primitives.elementwise import unary
from jitney.primitives.elementwise.convert import as_value, convert
from jitney.primitives.reduction.reduce import reduce_max, reduce_min, reduce_sum

Order: TypeAlias = "int | float | str | None"


def _operand(name: str, x: ArrayLike) -> Array:
    promotion.check_arraylike(f"jnp.linalg.{name}", x)
    return as_value(promotion.promote_dtypes_inexact(x)[0])


def _restore_axes(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    return expand_dims(x, tuple(sorted(axes))) if keepdims and axes else x


def _squares(x: Array) -> Array:
    """Returns the squared absolute values, which are real."""
    return unary.real(x * unary.conj(x)) if promotion.is_complex(x.dtype) else x * x


def _sum(x: Array, axes: tuple[int, ...]) -> Array:
    return reduce_sum(convert(x, x.dtype), axes)  # never weakly typed


def _root_of_squares(x: Array, axes: tuple[int, ...]) -> Array:
    return unary.sqrt(_sum(_squares(x), axes))


def _vector(x: Array, order: Order, axes: tuple[int, ...]) -> Array:
    """Computes the vector norm of order `order` over `axes`."""
    if isinstance(order, str):
        raise ValueError(
            f"jnp.linalg.norm: `ord` of a vector must be a number or None, but it is {order!r}"
        )
    if order is None or order == 2:
        return _root_of_squares(x, axes)
    size = unary.abs(x)
    if order in (math.inf, -math.inf):
        return _extreme(size, axes, largest=order > 0)
    if order == 0:
        return _sum(convert(x != 0, size.dtype), axes)
    if order == 1:  # the derivative of the absolute value at 0 is 1
        return _sum(size, axes)
    powers = _sum(size**order, axes)
    return powers ** (1.0 / order)


def _extreme(x: Array, axes: tuple[int, ...], largest: bool) -> Array:
    """Returns the largest or smallest of nonnegative elements; the maximum of no elements is 0."""
    if 0 not in [x.shape[axis] for axis in axes]:
        return (reduce_max if largest else reduce_min)(convert(x, x.dtype), axes)
    if not largest:
        raise ValueError("jnp.linalg.norm: the minimum of an empty array is not defined")
    return _sum(x, axes)


def _matrix(x: Array, order: Order, row: int, column: int) -> Array:
    """Computes the norm of order `order` of the matrices in axes `row` and `column`."""
    if order is None or order in ("f", "fro"):
        return _root_of_squares(x, (row, column))
    if order in (1, -1, math.inf, -math.inf):
        inner, outer = (row, column) if abs(order) == 1 else (column, row)
        sums = _sum(unary.abs(x), (inner,))
        outer -= outer > inner
        return _extreme(sums, (outer,), largest=order > 0)
    if order in (2, -2, "nuc"):
        from jitney.lax.linalg import svd

        others = [k for k in range(x.ndim) if k not in (row, column)]
        values = svd(transpose(x, (*others, row, column)), compute_uv=False)
        last = (values.ndim - 1,)
        if order == "nuc":
            return _sum(values, last)
        return _extreme(values, last, largest=order == 2)
    raise ValueError(
        "jnp.linalg.norm: `ord` of a matrix must be 'fro', 'nuc', 1, 2, inf, their negatives, or "
        f"None, but it is {order!r}"
    )


@jit_when_traced(static_argnames=("ord", "axis", "keepdims"))
def norm(
    x: ArrayLike, ord: Order = None, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Array:
    """Computes norms of vectors (over one axis) or of matrices (over two axes).

    Args:
      x: an array; integers are promoted to the default float.
      ord: the order. None is the square root of the sum of squares. For vectors, p is the p-th root
        of the sum of p-th powers of absolute values, inf and -inf are the largest and smallest
        absolute value, and 0 is the count of nonzero elements. For matrices: "fro" (Frobenius),
        "nuc" (the sum of singular values), 2 and -2 (the largest and smallest singular value), 1
        and -1 (the largest and smallest sum of absolute values in a column), inf and -inf (the
        largest and smallest sum in a row).
      axis: an axis, a pair of axes, or None for all axes of `x`, which then must have rank 1 or 2
        unless `ord` is None.
      keepdims: whether the axes are kept, with size 1.

    Returns: an array of a float dtype.

    Raises:
      ValueError: if the order is unknown, or there are more than two axes.

    Example:
      >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
      Array(5., dtype=float32)
      >>> jnp.linalg.norm(jnp.array([[3.0, -4.0], [1.0, 0.0]]), ord=1, axis=1)
      Array([7., 1.], dtype=float32)
    """
    x = _operand("norm", x)
    rank = x.ndim
    if axis is None:
        axes = tuple(range(rank))
        if ord is None:
            return _restore_axes(_root_of_squares(x, axes), axes, keepdims)
    else:
        axes = canonical_axes(axis, rank)
    if len(axes) == 1:
        return _restore_axes(_vector(x, ord, axes), axes, keepdims)
    if len(axes) == 2:
        if axes[0] == axes[1]:
            raise ValueError(
                f"jnp.linalg.norm: `axis` must be two different axes, of rows and columns, but it is "
                f"{axis}"
            )
        return _restore_axes(_matrix(x, ord, *axes), axes, keepdims)
    raise ValueError(
        f"jnp.linalg.norm: `axis` must name one axis, for vectors, or two, for matrices, but there "
        f"are {len(axes)}, {axes}; use jnp.linalg.vector_norm for any number of axes"
    )


def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: Order = 2,
) -> Array:
    """Computes norms of vectors.

    Args:
      x: an array; integers are promoted to the default float.
      axis: an axis, or a tuple of axes that are treated as one; None treats all elements as one
        vector.
      keepdims: whether the axes are kept, with size 1.
      ord: the order; see `norm`.

    Returns: an array of a float dtype.

    Raises:
      ValueError: if the order is unknown.

    Example:
      >>> jnp.linalg.vector_norm(jnp.array([[3.0, 4.0], [5.0, 12.0]]), axis=1)
      Array([ 5., 13.], dtype=float32)
    """
    x = _operand("vector_norm", x)
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = canonical_axes(axis, x.ndim)
    return _restore_axes(_vector(x, ord, axes), axes, keepdims)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Order = "fro") -> Array:
    """Computes norms of the matrices in the last two axes.

    Args:
      x: an array of shape (..., m, n); integers are promoted to the default float.
      keepdims: whether the axes are kept, with size 1.
      ord: the order; see `norm`.

    Returns: an array of a float dtype.

    Raises:
      ValueError: if the order is unknown.

    Example:
      >>> jnp.linalg.matrix_norm(jnp.array([[1.0, -2.0], [4.0, 2.0]]))
      Array(5., dtype=float32)
    """
    x = _operand("matrix_norm", x)
    return norm(x, ord, (-2, -1), keepdims)
