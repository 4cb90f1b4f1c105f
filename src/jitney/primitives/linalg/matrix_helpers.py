"""Helpers for rules of matrix functions, which operate on the last two axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from jitney.core.types import dtypes
from jitney.primitives.array.broadcasting import broadcast_in_dim
from jitney.primitives.array.creation import broadcasted_iota, full
from jitney.primitives.array.shape import transpose as permute
from jitney.primitives.elementwise import binary, compare, unary
from jitney.primitives.elementwise.convert import convert_element_type
from jitney.primitives.elementwise.select import select_n
from jitney.primitives.indexing.gather import GatherDimensionNumbers, gather
from jitney.primitives.linalg.dot import dot_general
from jitney.primitives.linalg.precision import Precision
from jitney.primitives.reduction.reduce import reduce_sum
from jitney.primitives.rules import aval_of, const, shape_of

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Value

Val = TypeVar("Val", bound="Value")

INT32 = np.dtype(np.int32)


def dtype_of(x: Value) -> np.dtype:
    """Returns the dtype of an operand."""
    return aval_of(x).dtype


def is_complex(x: Value) -> bool:
    """Returns whether an operand is complex."""
    return dtypes.issubdtype(dtype_of(x), np.complexfloating)


def scalar(like: Value, value: complex) -> Value:
    """Returns `value` as a scalar of the dtype of `like`."""
    return np.asarray(value).astype(dtype_of(like))[()]


def matmul(x: Value, y: Value) -> Array:
    """Computes x @ y for operands with equal batch axes."""
    rank = len(shape_of(x))
    batch = tuple(range(rank - 2))
    numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    return dot_general(x, y, numbers, Precision.HIGHEST)


def transpose(x: Value) -> Array:
    """Transposes the last two axes of `x`."""
    rank = len(shape_of(x))
    return permute(x, (*range(rank - 2), rank - 1, rank - 2))


def conj(x: Val) -> Val | Array:
    """Returns the complex conjugate of `x`, or `x` itself if it is real."""
    return unary.conj(x) if is_complex(x) else x


def adjoint(x: Value) -> Array:
    """Computes the conjugate transpose."""
    return conj(transpose(x))


def symmetrize(x: Value, function: str = "symmetrize") -> Array:
    """Computes (x + x^H) / 2; `function` is the name of the public function, for messages.

    Raises:
      ValueError: if the matrices are not square.
    """
    shape = shape_of(x)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        transposed = (*shape[:-2], *shape[:-3:-1])
        raise ValueError(
            f"{function}: the operand must contain square matrices, but has shape {shape}, transposed "
            f"{transposed}"
        )
    return binary.div(binary.add(x, adjoint(x)), const(x, 2))


def _rows(shape: tuple[int, ...]) -> Array:
    return broadcasted_iota(INT32, shape, len(shape) - 2)


def _columns(shape: tuple[int, ...]) -> Array:
    return broadcasted_iota(INT32, shape, len(shape) - 1)


def zeros(shape: tuple[int, ...], like: Value) -> Array:
    """Returns zeros of `shape` with the dtype and weak type of `like`."""
    return full(shape, const(like, 0))


def strong(x: Value) -> Array:
    """Makes `x` strongly typed.

    Weakly typed operands of strongly typed products are converted explicitly, so that their
    cotangents are weakly typed, too.
    """
    return convert_element_type(x, dtype_of(x))


def tril(x: Value, k: int = 0, keep_weak: bool = False) -> Array:
    """Keeps elements on and below diagonal `k`; makes `x` strongly typed unless `keep_weak`."""
    shape = shape_of(x)
    mask = compare.ge(binary.add(_rows(shape), np.int32(k)), _columns(shape))
    return select_n(mask, _zeros_beside(x, keep_weak), x)


def triu(x: Value, k: int = 0, keep_weak: bool = False) -> Array:
    """Keeps elements on and above diagonal `k`; makes `x` strongly typed unless `keep_weak`."""
    shape = shape_of(x)
    mask = compare.ge(binary.add(_rows(shape), np.int32(k - 1)), _columns(shape))
    return select_n(mask, x, _zeros_beside(x, keep_weak))


def _zeros_beside(x: Value, keep_weak: bool) -> Array:
    shape = shape_of(x)
    return zeros(shape, x) if keep_weak else full(shape, scalar(x, 0))


def eye(m: int, n: int, like: Value) -> Array:
    """Returns m x n identity matrices with the batch axes and the dtype of `like`."""
    shape = (*shape_of(like)[:-2], m, n)
    return convert_element_type(compare.eq(_rows(shape), _columns(shape)), dtype_of(like))


def only_diagonal(x: Value) -> Array:
    """Sets the elements off the diagonal to zero."""
    shape = shape_of(x)
    mask = compare.eq(_rows(shape), _columns(shape))
    return select_n(mask, zeros(shape, x), x)


def diagonal(x: Value) -> Array:
    """Returns the diagonals of square matrices."""
    return reduce_sum(only_diagonal(x), (len(shape_of(x)) - 1,))


def as_row(v: Value) -> Array:
    """Returns a vector (*batch, n) as a matrix (*batch, 1, n)."""
    *batch, n = shape_of(v)
    return broadcast_in_dim(v, (*batch, 1, n), (*range(len(batch)), len(batch) + 1))


def as_column(v: Value) -> Array:
    """Returns a vector (*batch, n) as a matrix (*batch, n, 1)."""
    shape = shape_of(v)
    return broadcast_in_dim(v, (*shape, 1), tuple(range(len(shape))))


def take_rows(x: Value, rows: Value) -> Array:
    """Computes x[rows] for each element of a batch; `rows` is an integer array (*batch, m)."""
    shape = shape_of(x)
    rank = len(shape)
    batch = tuple(range(rank - 2))
    if 0 in shape_of(rows):
        return zeros((*shape_of(rows), shape[-1]), x)
    numbers = GatherDimensionNumbers((rank - 1,), (rank - 2,), (rank - 2,), batch, batch)
    return gather(x, as_column(rows), numbers, (1,) * (rank - 1) + shape[-1:])


def window(x: Value, rows: int, columns: int) -> Array:
    """Returns the upper left `rows` x `columns` submatrix."""
    from jitney.primitives.indexing.slice import slice as cut

    shape = shape_of(x)
    return cut(x, (0,) * len(shape), (*shape[:-2], rows, columns), (1,) * len(shape))


def widened(x: Val, rows: int, columns: int) -> Val | Array:
    """Pads a matrix with zeros at the bottom and on the right to `rows` x `columns`."""
    from jitney.primitives.array.concatenation import pad

    *batch, m, n = shape_of(x)
    if (m, n) == (rows, columns):
        return x
    edges = [(0, 0, 0)] * len(batch) + [(0, rows - m, 0), (0, columns - n, 0)]
    return pad(x, scalar(x, 0), edges)
