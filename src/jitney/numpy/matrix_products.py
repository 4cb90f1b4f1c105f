"""Matrix products with the signatures of `numpy.linalg`, and diagonals of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney.core.typing import Array, ArrayLike, DTypeLike
from jitney.numpy import products, promotion, triangular as shapes
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.linalg import matrix_helpers as mat

if TYPE_CHECKING:
    from jitney.core.sharding.partition_spec import PartitionSpec
    from jitney.core.sharding.sharding import Sharding
    from jitney.primitives.linalg.precision import PrecisionLike


def multi_dot(arrays: Sequence[Any], *, precision: PrecisionLike = None) -> Array:
    """Multiplies a chain of matrices in the cheapest order.

    Args:
      arrays: at least two matrices; the first and the last can be vectors.
      precision: the precision of the contraction; see `matmul`.

    Raises:
      ValueError: if there are fewer than two arrays, or if their ranks are not supported.

    Example:
      >>> a, b, c = jnp.ones((2, 9)), jnp.ones((9, 9)), jnp.ones((9, 3))
      >>> jnp.linalg.multi_dot([a, b, c])
      Array([[81., 81., 81.],
             [81., 81., 81.]], dtype=float32)
    """
    arrays = list(arrays)
    promotion.check_arraylike("jnp.linalg.multi_dot", *arrays)
    if not arrays:
        raise ValueError(
            "jnp.linalg.multi_dot: at least two arrays are required, but there is none"
        )
    operands = [as_value(x) for x in arrays]
    ranks = [x.ndim for x in operands]
    ends = {0, len(ranks) - 1}
    if len(ranks) == 1 or any(r != 2 and not (r == 1 and k in ends) for k, r in enumerate(ranks)):
        raise ValueError(
            "jnp.linalg.multi_dot: operands must be at least two matrices, of which the first and "
            "the last can be vectors, but they have shapes "
            f"{[x.shape for x in operands]}"
        )
    sizes = [1 if ranks[0] == 1 else operands[0].shape[0]]
    sizes += [x.shape[0] for x in operands[1:]]
    sizes.append(1 if ranks[-1] == 1 else operands[-1].shape[-1])
    return _chain(operands, _best_splits(sizes), 0, len(operands) - 1, precision)


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Returns where to split each product of consecutive matrices, for the least total cost.

    Matrix k has shape (sizes[k], sizes[k + 1]). If entry (i, j) of the result is k, the product of
    matrices i to j is computed from the products of matrices i to k and of matrices k + 1 to j.
    """
    n = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(n)}
    splits: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], splits[i, j] = min(options)
    return splits


def _chain(
    xs: Sequence[Array],
    splits: dict[tuple[int, int], int],
    i: int,
    j: int,
    precision: PrecisionLike,
) -> Array:
    if i == j:
        return xs[i]
    k = splits[i, j]
    left, right = _chain(xs, splits, i, k, precision), _chain(xs, splits, k + 1, j, precision)
    return products.dot(left, right, precision=precision)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Computes the cross product of vectors of 3 elements.

    Args:
      x1: an array with an axis of size 3.
      x2: an array, broadcast against `x1`.
      axis: the axis of the vectors.

    Raises:
      ValueError: if the size of that axis is not 3.

    Example:
      >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    x1, x2 = promotion.ensure_arraylike("jnp.linalg.cross", x1, x2)
    first, second = canonical_axis(axis, x1.ndim), canonical_axis(axis, x2.ndim)
    if x1.shape[first] != 3 or x2.shape[second] != 3:
        raise ValueError(
            f"jnp.linalg.cross: vectors must have 3 components, but along axis {axis} `x1` has "
            f"{x1.shape[axis]} and `x2` has {x2.shape[axis]}; their shapes are {x1.shape} and "
            f"{x2.shape}"
        )
    return products.cross(x1, x2, axis=axis)


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Computes the outer product of two vectors.

    Args:
      x1: a vector of shape (m,).
      x2: a vector of shape (n,).

    Returns: a matrix of shape (m, n).

    Raises:
      ValueError: if an operand is not a vector.

    Example:
      >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
      Array([[3, 4],
             [6, 8]], dtype=int32)
    """
    x1, x2 = promotion.ensure_arraylike("jnp.linalg.outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            "jnp.linalg.outer: operands must be vectors, but they have shapes "
            f"{x1.shape} and {x2.shape}; use jnp.outer to flatten them"
        )
    return products.outer(x1, x2)


def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Multiplies the matrices in the last two axes: x1 @ x2.

    Args:
      x1: an array of shape (..., m, k), or a vector of shape (k,).
      x2: an array of shape (..., k, n), or a vector of shape (k,).
      precision: the precision of the contraction; on CPUs, only algorithm presets have an effect.
      preferred_element_type: the dtype of the accumulation and the result; the common dtype by
        default.

    Raises:
      TypeError: if the contracted sizes differ.

    Example:
      >>> jnp.linalg.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    return products.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: Sharding | PartitionSpec | None = None,
) -> Array:
    """Contracts several axes of `x1` with axes of `x2`.

    Args:
      x1: an array.
      x2: an array.
      axes: the number of last axes of `x1` to contract with the first axes of `x2`, or two lists of
        axes.
      precision: the precision of the contraction; see `matmul`.
      preferred_element_type: the dtype of the accumulation and the result; the common dtype by
        default.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: an array with the remaining axes of `x1`, followed by those of `x2`.

    Example:
      >>> jnp.linalg.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5)), axes=2).shape
      (2, 5)
    """
    return products.tensordot(
        x1, x2, axes=axes, precision=precision, preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )  # fmt: skip


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Computes the sum of conj(x1) * x2 along `axis`.

    Args:
      x1: an array.
      x2: an array, broadcast against `x1`.
      axis: the axis to contract.
      precision: the precision of the contraction; see `matmul`.
      preferred_element_type: the dtype of the accumulation and the result; the common dtype by
        default.

    Example:
      >>> jnp.linalg.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1]))
      Array([3, 7], dtype=int32)
    """
    return products.vecdot(
        x1, x2, axis=axis, precision=precision, preferred_element_type=preferred_element_type
    )


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Computes the sum of the diagonal in the last two axes.

    Args:
      x: an array of shape (..., m, n).
      offset: the offset of the diagonal: positive above the main diagonal, negative below.
      dtype: the dtype of the sum; by default that of `x`, or the default integer of the same
        signedness for narrower integers.

    Example:
      >>> jnp.linalg.trace(jnp.array([[1, 2], [3, 4]]))
      Array(5, dtype=int32)
    """
    return shapes.trace(
        promotion.ensure_arraylike("jnp.linalg.trace", x), offset, axis1=-2, axis2=-1, dtype=dtype
    )


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Returns the diagonals of the matrices in the last two axes.

    Args:
      x: an array of shape (..., m, n).
      offset: the offset of the diagonal: positive above the main diagonal, negative below.

    Returns: an array whose last axis is the diagonal.

    Example:
      >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]))
      Array([1, 4], dtype=int32)
    """
    return shapes.diagonal(
        promotion.ensure_arraylike("jnp.linalg.diagonal", x), offset, axis1=-2, axis2=-1
    )


def matrix_transpose(x: ArrayLike, /) -> Array:
    """Exchanges the last two axes of `x`.

    Args:
      x: an array of rank 2 or more.

    Raises:
      ValueError: if the rank is less than 2.

    Example:
      >>> jnp.linalg.matrix_transpose(jnp.array([[1, 2], [3, 4]]))
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    x = promotion.ensure_arraylike("jnp.linalg.matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(
            f"jnp.linalg.matrix_transpose: `x` must have at least two axes, but it has shape {x.shape}"
        )
    return mat.transpose(x)
