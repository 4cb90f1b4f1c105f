"""Products of vectors, matrices and tensors: `dot`, `matmul`, `tensordot`, `kron` and the like.

Operands are promoted to a common dtype; sums of float16 and bfloat16 are accumulated in float32.
`preferred_element_type` is the dtype of the accumulation and the result.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.numpy import promotion
from jitney.numpy.arithmetic import multiply
from jitney.numpy.contractions import Contraction, DimensionNumbers, contraction
from jitney.primitives.array import placement, resharding
from jitney.primitives.array.broadcasting import (
    broadcast_in_dim,
    broadcast_shapes,
    broadcast_to,
    expand_dims,
)
from jitney.primitives.array.canonical import canonical_axis
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.shape import reshape, shape_of, squeeze, transpose
from jitney.primitives.elementwise import binary, convert, unary
from jitney.primitives.linalg import dot as lax_dot
from jitney.primitives.linalg.precision import PrecisionLike

if TYPE_CHECKING:
    from jitney.core.sharding.named import NamedSharding, ShardingLike


def _operands(
    name: str, a: ArrayLike, b: ArrayLike, preferred: DTypeLike | None
) -> tuple[Array, Array, np.dtype, bool]:
    """Returns both operands as arrays, the dtype of the result, and whether it is weakly typed."""
    promotion.check_arraylike(name, a, b)
    if preferred is not None:
        dtype, weak = convert.user_dtype(preferred, name), False
        return convert.as_value(a), convert.as_value(b), dtype, weak
    dtype, weak = dtypes.common_type((promotion.type_of(a), promotion.type_of(b)))
    return (
        _not_wider(convert.as_value(a), dtype),
        _not_wider(convert.as_value(b), dtype),
        dtype,
        weak,
    )


def _not_wider(x: Array, dtype: np.dtype[Any]) -> Array:
    """Converts `x` if it is a Python complex number that is wider than the result's `dtype`."""
    is_wider = dtype == np.complex64 and promotion.dtype_of(x) == np.complex128
    return convert.convert(x, dtype) if is_wider else x


def _contract(
    a: Array,
    b: Array,
    numbers: DimensionNumbers,
    precision: PrecisionLike,
    dtype: np.dtype[Any],
    weak: bool,
    place: object = None,
) -> Array:
    out = lax_dot.dot_general(
        a, b, numbers, precision, preferred_element_type=dtype,
        out_sharding=None if place is None else resharding.as_named(place, "dot"),
    )  # fmt: skip
    return convert.convert(out, promotion.dtype_of(out), weak)


def dot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Contracts the last axis of `a` with the second-to-last axis of `b`; scalars are multiplied.

    For two vectors this is the inner product, for two matrices the matrix product.

    Args:
      a: an array of shape (*batch, n).
      b: an array of shape (n,) or (*other, n, m).
      precision: the precision of the contraction; on CPUs, only algorithm presets have an effect.
      preferred_element_type: the dtype of the accumulation and the result.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: an array of the common dtype and of shape (*batch, *other, m), or (*batch,) if `b` is a
      vector.

    Example:
      >>> jnp.dot(jnp.array([1, 2, 3]), jnp.array([4, 5, 6]))
      Array(32, dtype=int32)
    """
    a, b, dtype, weak = _operands("dot", a, b, preferred_element_type)
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    if rank_a == 0 or rank_b == 0:
        numbers: DimensionNumbers = (((), ()), ((), ()))
    elif rank_b == 1:
        numbers = (((rank_a - 1,), (0,)), ((), ()))
    else:
        numbers = (((rank_a - 1,), (rank_b - 2,)), ((), ()))
    return _contract(a, b, numbers, precision, dtype, weak, out_sharding)


def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Multiplies the matrices in the last two axes; leading axes are broadcast.

    Args:
      a: an array of shape (*batch, n, k), or a vector of shape (k,).
      b: an array of shape (*batch, k, m), or a vector of shape (k,).
      precision: the precision of the contraction; on CPUs, only algorithm presets have an effect.
      preferred_element_type: the dtype of the accumulation and the result.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: an array of shape (*batch, n, m), without n if `a` is a vector and without m if `b` is
      one.

    Raises:
      ValueError: if an operand is a scalar, or the batch axes do not broadcast.
      TypeError: if the contracted sizes differ.

    Example:
      >>> jnp.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([[0, 1], [1, 0]]))
      Array([[2, 1],
             [4, 3]], dtype=int32)
    """
    promotion.check_arraylike("matmul", a, b)
    for i, x in enumerate((a, b)):
        if not shape_of(x):
            raise ValueError(
                f"jnp.matmul: operands must have at least one axis, but `{'ab'[i]}` is a scalar of "
                f"type {promotion.dtype_of(x)}; use * to multiply by a scalar"
            )
    return _batched(
        "matmul", a, b, len(shape_of(a)) > 1, len(shape_of(b)) > 1, precision,
        preferred_element_type, out_sharding,
    )  # fmt: skip


def _batched(
    name: str,
    a: ArrayLike,
    b: ArrayLike,
    row: bool,
    column: bool,
    precision: PrecisionLike = None,
    preferred: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Contracts the last axis of `a` with the last axis of `b` (the second-to-last if `column`).

    Args:
      name: the name of the function, for error messages.
      a: an array of shape (*batch, row, n), or (*batch, n) if `row` is False.
      b: an array of shape (*batch, n, column), or (*batch, n) if `column` is False.

    Returns: an array of shape (*batch, row, column), without axes that the operands do not have.
    """
    x, y, dtype, weak = _operands(name, a, b, preferred)
    try:
        plan = contraction(shape_of(x), shape_of(y), row, column, out_sharding is not None)
    except ValueError:
        shown = " and ".join(get_aval(v).str_short() for v in (x, y))
        raise ValueError(
            f"jnp.{name}: contracted axes must have equal size, and batch axes must broadcast, but "
            f"operands are {shown}"
        ) from None
    if plan.squeezed_a:
        x = squeeze(x, plan.squeezed_a)
    if plan.squeezed_b:
        y = squeeze(y, plan.squeezed_b)
    place = None if out_sharding is None else _before(plan, out_sharding, name)
    out = _contract(x, y, plan.numbers, precision, dtype, weak, place)
    if plan.perm is not None:
        out = transpose(out, plan.perm)
    if not plan.ones:
        return out
    out = expand_dims(out, plan.ones)
    return out if place is None else placement.placed(out, None, out_sharding)


def _before(plan: Contraction, out_sharding: ShardingLike, name: str) -> NamedSharding:
    """Returns the sharding that the contraction of `plan` must produce.

    With this sharding, the final result is sharded as `out_sharding` after its axes have been
    permuted and axes of size 1 have been inserted.
    """
    place = resharding.as_named(out_sharding, name)
    entries = [entry for k, entry in enumerate(place.spec) if k not in plan.ones]
    if plan.perm is not None:
        entries += [None] * (len(plan.perm) - len(entries))
        moved = sorted(zip(plan.perm, entries, strict=True), key=lambda pair: pair[0])
        entries = [entry for _, entry in moved]
    return place.update(spec=place.spec.update(partitions=tuple(entries)))


@partial(jit_when_traced, static_argnames=("precision", "preferred_element_type"), inline=True)
def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Computes the inner product of the flattened arrays: the sum of conj(a) * b.

    Args:
      a: an array; flattened.
      b: an array of the same size; flattened.
      precision: the precision of the contraction; on CPUs, only algorithm presets have an effect.
      preferred_element_type: the dtype of the accumulation and the result.

    Returns: a scalar of the common dtype.

    Example:
      >>> jnp.vdot(jnp.array([1, 2]), jnp.array([3, 4]))
      Array(11, dtype=int32)
    """
    promotion.check_arraylike("vdot", a, b)
    if promotion.is_complex(promotion.dtype_of(a)):
        a = unary.conj(a)
    flat = [reshape(convert.as_value(x), (math.prod(shape_of(x)),)) for x in (a, b)]
    return dot(*flat, precision=precision, preferred_element_type=preferred_element_type)


def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axis: int = -1,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Computes the sum of conj(x1) * x2 along an axis; other axes are broadcast.

    Args:
      x1: an array of rank 1 or more.
      x2: an array with the same size along `axis`.
      axis: the axis to contract, which is resolved in each array separately.
      precision: the precision of the contraction; on CPUs, only algorithm presets have an effect.
      preferred_element_type: the dtype of the accumulation and the result.

    Raises:
      IndexError: if an operand is a scalar.
      ValueError: if the sizes along `axis` differ, or other axes do not broadcast.

    Example:
      >>> jnp.vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
      Array([21, 43], dtype=int32)
    """
    promotion.check_arraylike("vecdot", x1, x2)
    x, y = convert.as_value(x1), convert.as_value(x2)
    if not x.ndim or not y.ndim:
        raise IndexError(
            "jnp.vecdot: operands must have at least one axis, but their shapes are "
            f"{x.shape} and {y.shape}"
        )
    if x.shape[axis] != y.shape[axis]:
        raise ValueError(
            "jnp.vecdot: contracted axes must have equal size, but the shapes are "
            f"{x.shape} and {y.shape}, and `axis` is {axis}"
        )
    if promotion.is_complex(x.dtype):
        x = unary.conj(x)
    return _batched(
        "vecdot", _last(x, axis), _last(y, axis), False, False, precision, preferred_element_type
    )


def _last(x: Array, axis: int) -> Array:
    axis = canonical_axis(axis, len(shape_of(x)))
    other_axes = [k for k in range(len(shape_of(x))) if k != axis]
    return transpose(x, (*other_axes, axis))


def _check_rank(name: str, position: int, x: ArrayLike, rank: int) -> None:
    if len(shape_of(x)) < rank:
        raise ValueError(
            f"jnp.{name}: `x{position + 1}` must have at least {messages.counted(rank, 'axis')}, but "
            f"it has shape {shape_of(x)}"
        )


@jit_when_traced
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiplies matrices by vectors; leading axes are broadcast.

    Args:
      x1: an array of shape (*batch, n, k).
      x2: an array of shape (*batch, k).

    Returns: an array of shape (*batch, n).

    Raises:
      ValueError: if the ranks are too low, or the batch axes do not broadcast.
      TypeError: if the contracted sizes differ.

    Example:
      >>> jnp.matvec(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
      Array([21, 43], dtype=int32)
    """
    promotion.check_arraylike("matvec", x1, x2)
    _check_rank("matvec", 0, x1, 2)
    _check_rank("matvec", 1, x2, 1)
    return _batched("matvec", x1, x2, True, False)


@jit_when_traced
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Multiplies conjugated vectors by matrices; leading axes are broadcast.

    Args:
      x1: an array of shape (*batch, k).
      x2: an array of shape (*batch, k, m).

    Returns: an array of shape (*batch, m).

    Example:
      >>> jnp.vecmat(jnp.array([1, 10]), jnp.array([[1, 2], [3, 4]]))
      Array([31, 42], dtype=int32)
    """
    promotion.check_arraylike("vecmat", x1, x2)
    _check_rank("vecmat", 0, x1, 1)
    _check_rank("vecmat", 1, x2, 2)
    if promotion.is_complex(promotion.dtype_of(x1)):
        x1 = unary.conj(x1)
    return _batched("vecmat", x1, x2, False, True)


def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Contracts the last axes of `a` and `b`, without conjugation.

    Args:
      a: an array of shape (*left, k), or a scalar.
      b: an array of shape (*right, k), or a scalar.
      precision: the precision of the contraction; on CPUs, only algorithm presets have an effect.
      preferred_element_type: the dtype of the accumulation and the result.

    Returns: an array of shape (*left, *right).

    Example:
      >>> jnp.inner(jnp.array([1, 2]), jnp.array([3, 4]))
      Array(11, dtype=int32)
    """
    promotion.check_arraylike("inner", a, b)
    rank_a, rank_b = len(shape_of(a)), len(shape_of(b))
    if not rank_a or not rank_b:
        out = multiply(a, b)
        if preferred_element_type is None:
            return out
        return convert.convert(out, convert.user_dtype(preferred_element_type, "inner"))
    return tensordot(a, b, (rank_a - 1, rank_b - 1), precision=precision,
                     preferred_element_type=preferred_element_type)  # fmt: skip


def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> Array:
    """Computes the outer product of `a` and `b`, which are flattened.

    Args:
      a: an array of n elements.
      b: an array of m elements.
      out: must be None.

    Returns: a matrix of shape (n, m), of the common dtype.

    Example:
      >>> jnp.outer(jnp.array([1, 2]), jnp.array([1, 2, 3]))
      Array([[1, 2, 3],
             [2, 4, 6]], dtype=int32)
    """
    promotion.check_no_out("outer", out)
    promotion.check_arraylike("outer", a, b)
    a, b = (convert.as_value(x) for x in promotion.promote_dtypes(a, b))
    a, b = (x if len(shape_of(x)) == 1 else reshape(x, (math.prod(shape_of(x)),)) for x in (a, b))
    n, m = shape_of(a)[0], shape_of(b)[0]
    column, row = broadcast_in_dim(a, (n, 1), (0,)), broadcast_in_dim(b, (1, m), (1,))
    return multiply(column, row)


def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: int | Sequence[int] | Sequence[Sequence[int]] = 2,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Contracts pairs of axes of `a` and `b`.

    Args:
      a: an array.
      b: an array.
      axes: an integer n, to contract the last n axes of `a` with the first n of `b`; or two lists
        of axes, which are paired in order.
      precision: the precision of the contraction; on CPUs, only algorithm presets have an effect.
      preferred_element_type: the dtype of the accumulation and the result.
      out_sharding: the sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: an array with the remaining axes of `a`, followed by those of `b`.

    Raises:
      TypeError: if `axes` has another form, or does not match the ranks or the sizes.

    Example:
      >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=1)
      Array([[3., 3.],
             [3., 3.]], dtype=float32)
    """
    a, b, dtype, weak = _operands("tensordot", a, b, preferred_element_type)
    left, right = _tensordot_axes(axes, (shape_of(a), shape_of(b)))
    return _contract(a, b, ((left, right), ((), ())), precision, dtype, weak, out_sharding)


def _tensordot_axes(
    axes: int | Sequence[int] | Sequence[Sequence[int]], shapes: Sequence[tuple[int, ...]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank_a, rank_b = map(len, shapes)
    if isinstance(axes, list | tuple) and len(axes) == 2:
        if any(isinstance(x, str) for x in axes):
            raise TypeError(
                "jnp.tensordot: each of the two `axes` must be an integer or a sequence of integers, "
                f"but they are {axes[0]!r} and {axes[1]!r}"
            )
        pairs = [(x,) if not isinstance(x, list | tuple | np.ndarray) else tuple(x) for x in axes]
        if len(pairs[0]) != len(pairs[1]):
            raise TypeError(
                "jnp.tensordot: the same number of axes of `a` and `b` must be contracted, but "
                f"`axes` are {axes[0]} and {axes[1]}"
            )
        left = tuple(canonical_axis(k, rank_a) for k in pairs[0])
        right = tuple(canonical_axis(k, rank_b) for k in pairs[1])
        return left, right
    number: Any = axes
    try:
        n = operator.index(number)
    except TypeError:
        raise TypeError(
            "jnp.tensordot: `axes` must be a number of axes, or a pair of the axes of `a` and the "
            f"axes of `b`, but it is {axes!r}"
        ) from None
    if n > min(rank_a, rank_b):
        raise TypeError(
            f"jnp.tensordot: the number of axes to be contracted is {n}, but the operands have "
            f"shapes {shapes[0]} and {shapes[1]}"
        )
    return tuple(range(rank_a - n, rank_a)), tuple(range(n))


# --- others -------------------------------------------------------------------------------------


@jit_when_traced
def kron(a: ArrayLike, b: ArrayLike) -> Array:
    """Computes the Kronecker product: each element of `a` is replaced by its product with `b`.

    Args:
      a: an array.
      b: an array; leading axes of size 1 are prepended to the operand of lower rank.

    Returns: an array whose sizes are the products of the operands' sizes.

    Example:
      >>> jnp.kron(jnp.array([1, 10]), jnp.array([1, 2, 3]))
      Array([ 1,  2,  3, 10, 20, 30], dtype=int32)
    """
    promotion.check_arraylike("kron", a, b)
    x, y = (convert.as_value(v) for v in promotion.promote_dtypes(a, b))
    rank = max(x.ndim, y.ndim)
    x = expand_dims(x, tuple(range(rank - x.ndim)))
    y = expand_dims(y, tuple(range(rank - y.ndim)))
    left = expand_dims(x, tuple(range(1, 2 * rank, 2)))
    right = expand_dims(y, tuple(range(0, 2 * rank, 2)))
    product = binary.mul(left, right)
    return reshape(product, tuple(n * m for n, m in zip(x.shape, y.shape, strict=True)))


@partial(jit_when_traced, static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    """Computes the cross product of vectors of 3 components along an axis.

    Args:
      a: an array; other axes are broadcast.
      b: an array.
      axisa: the axis of the components in `a`.
      axisb: the axis of the components in `b`.
      axisc: the axis of the components in the result.
      axis: overrides `axisa`, `axisb` and `axisc` if it is passed.

    Returns: an array of vectors of 3 components, along `axisc`.

    Raises:
      ValueError: if an operand does not have 3 components; NumPy also allows 2.

    Example:
      >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
      Array([0, 0, 1], dtype=int32)
    """
    promotion.check_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = (convert.as_value(x) for x in promotion.promote_dtypes(a, b))
    a, b = _last(a, axisa), _last(b, axisb)
    n, m = shape_of(a)[-1], shape_of(b)[-1]
    if n != 3 or m != 3:
        raise ValueError(
            f"jnp.cross: vectors must have 3 components, but those of `a` have {n} along axis "
            f"{axisa}, and those of `b` have {m} along axis {axisb}. JAX 0.12 removed products of "
            "vectors of 2 components; use a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0] for them"
        )
    mul, sub = _broadcasting(binary.mul), _broadcasting(binary.sub)
    (ax, ay, az), (bx, by, bz) = ([x[..., k] for k in range(3)] for x in (a, b))
    x = sub(mul(ay, bz), mul(az, by))
    y = sub(mul(az, bx), mul(ax, bz))
    z = sub(mul(ax, by), mul(ay, bx))
    strong = [convert.convert(part, promotion.dtype_of(part)) for part in (x, y, z)]
    out = concatenate([expand_dims(part, (0,)) for part in strong], 0)
    axisc = canonical_axis(axisc, out.ndim)
    return transpose(out, (*range(1, axisc + 1), 0, *range(axisc + 1, out.ndim)))


def _broadcasting(op: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
    def apply(x: ArrayLike, y: ArrayLike) -> Array:
        shape = broadcast_shapes(shape_of(x), shape_of(y))
        return op(broadcast_to(x, shape), broadcast_to(y, shape))

    return apply


for _function in (cross, dot, inner, kron, matmul, matvec, outer, tensordot, vdot, vecdot, vecmat):
    _function.__module__ = "jax.numpy"
