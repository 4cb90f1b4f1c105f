"""`jax.experimental.sparse.coo`: sparse matrices in coordinate format (COO).

Each element is stored with its row and column. Elements at equal positions are summed; positions
beyond the shape mark padding, which is ignored.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from jitney import numpy as jnp
from jitney.core.pytree.registry import register_pytree_node_class
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.core.typing import DTypeLike as Dtype
from jitney.core.util.lazy import listing, refusing
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo.conversion import bcoo_fromdense_p
from jitney.experimental.sparse.bcoo.layout import is_stored
from jitney.experimental.sparse.composed import composed, is_nonzero
from jitney.experimental.sparse.util import Shape, count_stored, scatter_sum
from jitney.numpy.promotion import promote_dtypes
from jitney.primitives.rules import zero_tangent

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, DTypeLike, Value
    from jitney.primitives.rule_types import Param, Primals, Tangents
    from jitney.transforms.zero import Tangent


Matrix = TypeVar("Matrix", bound=JAXSparse)


class COOInfo(NamedTuple):
    """The static data of a COO matrix.

    Attributes:
      shape: shape of the matrix.
      rows_sorted: whether elements are sorted by rows.
      cols_sorted: whether elements are sorted by columns.
    """

    shape: Shape
    rows_sorted: bool = False
    cols_sorted: bool = False


@register_pytree_node_class
class COO(JAXSparse):
    """A sparse matrix in coordinate format; `BCOO` supports more operations.

    Attributes:
      data, row, col: elements and their positions [nse].
      shape: shape of the matrix.
      rows_sorted, cols_sorted: whether elements are known to be sorted by rows, or by columns.

    Example:
      >>> M = sparse.COO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> M @ jnp.ones(2)
      Array([2., 3.], dtype=float32)
    """

    row: Array
    col: Array

    def __init__(
        self,
        args: tuple[Array, Array, Array],
        *,
        shape: Shape,
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        """Creates a matrix from `args`, which are (data, row, col)."""
        super().__init__(args, shape=shape)
        self.data, self.row, self.col = map(jnp.asarray, args)
        self.rows_sorted = rows_sorted
        self.cols_sorted = cols_sorted

    @property
    def nse(self) -> int:
        """The number of stored elements."""
        return self.data.size

    @property
    def info(self) -> COOInfo:
        """The static data of the matrix."""
        return COOInfo(self.shape, self.rows_sorted, self.cols_sorted)

    @classmethod
    def fromdense(
        cls, mat: Array, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> COO:
        """Converts a dense matrix; see `coo_fromdense`."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> COO:
        """Returns a matrix of zeros."""
        _check_matrix("COO", shape)
        none = jnp.empty(0, index_dtype)
        rows, cols = shape
        return cls(
            (jnp.empty(0, dtype), none, none),
            shape=(rows, cols),
            rows_sorted=True,
            cols_sorted=True,
        )

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> COO:
        """Returns a matrix [N, M] with ones on the diagonal `k`."""
        n = max(0, min(N, N + k, M, M - k))
        row = jnp.arange(n, dtype=index_dtype) + max(0, -k)
        col = jnp.arange(n, dtype=index_dtype) + max(0, k)
        return cls((jnp.ones(n, dtype), row, col), shape=(N, M), rows_sorted=True, cols_sorted=True)

    def todense(self) -> Array:
        """Converts the matrix to a dense one."""
        return coo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> COO:
        """Returns the transpose of the matrix.

        Raises:
          NotImplementedError: if `axes` are given.
        """
        if axes is not None:
            raise NotImplementedError("COO.transpose: `axes` is not supported; omit it")
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self.cols_sorted,
            cols_sorted=self.rows_sorted,
        )

    def tree_flatten(self) -> tuple[tuple[Array, ...], dict[str, object]]:
        return (self.data, self.row, self.col), self.info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: tuple[Any, ...]) -> Self:
        out = object.__new__(cls)
        out.data, out.row, out.col = children
        if aux_data.keys() != set(COOInfo._fields):
            raise ValueError(f"COO.tree_unflatten: invalid {aux_data=}")
        vars(out).update(aux_data)
        return out

    def __matmul__(self, other: JAXSparse | ArrayLike) -> Array:
        return matrix_product("COO", self, other, coo_matvec, coo_matmat)


def _check_matrix(name: str, shape: Sequence[int]) -> None:
    if len(shape) != 2:
        raise ValueError(f"{name}: a matrix must have two axes, but the shape is {tuple(shape)}")


def matrix_product(
    name: str,
    mat: Matrix,
    other: JAXSparse | ArrayLike,
    by_vector: Callable[[Matrix, Array], Array],
    by_matrix: Callable[[Matrix, Array], Array],
) -> Array:
    """Computes `mat @ other` by `by_vector` or `by_matrix`, depending on the rank of `other`.

    Raises:
      NotImplementedError: if `other` is sparse, or its rank is neither 1 nor 2.
    """
    if isinstance(other, JAXSparse):
        raise NotImplementedError(
            f"{name}: the other operand of `@` must be a dense array, but got a sparse "
            f"{type(other).__name__}; use BCOO for products of sparse operands"
        )
    other = jnp.asarray(other)
    if other.ndim not in (1, 2):
        raise NotImplementedError(
            f"{name}: the other operand of `@` must be a vector or a matrix, but got shape "
            f"{other.shape}"
        )
    return (by_vector if other.ndim == 1 else by_matrix)(mat, other)


# --- conversions --------------------------------------------------------------------------------


def todense_by_positions(data: Array, row: Array, col: Array, shape: Shape) -> Array:
    """Returns the dense matrix of elements; elements at positions beyond the shape are ignored."""
    return scatter_sum(shape, (row, col), data)


def _todense(data: Array, row: Array, col: Array, *, spinfo: COOInfo) -> Array:
    return todense_by_positions(data, row, col, spinfo.shape)


def _todense_type(
    data: ShapedArray, row: ShapedArray, col: ShapedArray, *, spinfo: COOInfo
) -> ShapedArray:
    del row, col
    return shaped_array(spinfo.shape, data.dtype)


coo_todense_p = composed("coo_todense", _todense, _todense_type, linear_in=(0,))


def coo_todense(mat: COO) -> Array:
    """Converts a COO matrix to a dense one."""
    return coo_todense_p.bind(mat.data, mat.row, mat.col, spinfo=mat.info)


def _fromdense(mat: Array, *, nse: int, index_dtype: np.dtype) -> Sequence[Array]:
    data, at = bcoo_fromdense_p.bind(mat, nse=nse, n_batch=0, n_dense=0, index_dtype=index_dtype)
    at = within(at, mat.shape)
    return [data, at[:, 0], at[:, 1]]


def within(at: Array, shape: Shape) -> Array:
    """Returns positions [nse, 2], with padding moved to the first element, to which it adds 0."""
    return jnp.where(is_stored(at, shape)[:, None], at, jnp.zeros((), at.dtype))


def _fromdense_type(mat: ShapedArray, *, nse: int, index_dtype: np.dtype) -> list[ShapedArray]:
    at = shaped_array((nse,), index_dtype)
    return [shaped_array((nse,), mat.dtype), at, at]


coo_fromdense_p = composed(
    "coo_fromdense", _fromdense, _fromdense_type, linear_in=(), multiple_results=True
)
coo_fromdense_p.absent("transpose", why="which elements are stored depends on the operand")


@coo_fromdense_p.jvp
def _coo_fromdense_jvp(
    primals: Primals, tangents: Tangents, **params: Param
) -> tuple[list[Value], list[Tangent]]:
    data, row, col = coo_fromdense_p.bind(*primals, **params)
    (t,) = tangents
    dot = zero_tangent(data)
    if is_nonzero(t):
        stored = jnp.arange(data.size) < jnp.count_nonzero(jnp.asarray(primals[0]))
        dot = jnp.where(stored, elements_at(t, row, col), jnp.zeros((), data.dtype))
    return [data, row, col], [dot, zero_tangent(row), zero_tangent(col)]


def elements_at(mat: Array, row: Array, col: Array) -> Array:
    """Returns the elements of a dense matrix at positions; zeros beyond its shape."""
    return mat.at[row, col].get(mode="fill", fill_value=0)


def coo_fromdense(mat: Array, *, nse: int | None = None, index_dtype: DTypeLike = np.int32) -> COO:
    """Converts a dense matrix to a COO matrix that stores its nonzero elements.

    Args:
      mat: a dense matrix.
      nse: number of elements to store; further elements are dropped. By default, all nonzero
        elements are stored.
      index_dtype: dtype of the indices.

    Raises:
      ConcretizationTypeError: if `nse` is not given and `mat` is traced.
      ValueError: if `mat` is not a matrix.
    """
    mat = jnp.asarray(mat)
    _check_matrix("COO", mat.shape)
    if nse is None:
        nse = count_stored(mat, 0, 0, "coo_fromdense")
    data, row, col = coo_fromdense_p.bind(
        mat, nse=operator.index(nse), index_dtype=dtypes.canonicalize_dtype(index_dtype)
    )
    return COO((data, row, col), shape=mat.shape, rows_sorted=True)


# --- products -----------------------------------------------------------------------------------


def product_by_positions(
    data: Array, row: Array, col: Array, x: Array, shape: Shape, transpose: bool
) -> Array:
    """Multiplies a matrix, or its transpose, by a dense vector or matrix `x`."""
    n = shape[1] if transpose else shape[0]
    source, target = (row, col) if transpose else (col, row)
    gathered = x.at[source].get(mode="fill", fill_value=0)
    terms = data.reshape(-1, *(1,) * (x.ndim - 1)) * gathered
    return scatter_sum((n, *x.shape[1:]), (target,), terms)


def _product(
    data: Array, row: Array, col: Array, x: Array, *, spinfo: COOInfo, transpose: bool
) -> Array:
    return product_by_positions(data, row, col, x, spinfo.shape, transpose)


def product_type(
    name: str, ndim: int, data: ShapedArray, x: ShapedArray, shape: Shape, transpose: bool
) -> ShapedArray:
    """Returns the type of the product of a matrix, or its transpose, and an array of rank `ndim`.

    Raises:
      TypeError: if the rank, the size or the dtype of `x` does not match.
    """
    n, m = shape[::-1] if transpose else shape
    if x.ndim != ndim or x.shape[0] != m:
        raise TypeError(
            f"{name}: a {'transposed ' if transpose else ''}matrix of shape {shape} cannot be "
            f"multiplied by an array of shape {x.shape}"
        )
    if data.dtype != x.dtype:
        raise TypeError(f"{name}: dtypes must be equal, but got {data.dtype} and {x.dtype}")
    return shaped_array((n, *x.shape[1:]), data.dtype)


def _matvec_type(
    data: ShapedArray,
    row: ShapedArray,
    col: ShapedArray,
    x: ShapedArray,
    *,
    spinfo: COOInfo,
    transpose: bool,
) -> ShapedArray:
    del row, col
    return product_type("coo_matvec", 1, data, x, spinfo.shape, transpose)


def _matmat_type(
    data: ShapedArray,
    row: ShapedArray,
    col: ShapedArray,
    x: ShapedArray,
    *,
    spinfo: COOInfo,
    transpose: bool,
) -> ShapedArray:
    del row, col
    return product_type("coo_matmat", 2, data, x, spinfo.shape, transpose)


coo_matvec_p = composed("coo_matvec", _product, _matvec_type, linear_in=(0, 3))
coo_matmat_p = composed("coo_matmat", _product, _matmat_type, linear_in=(0, 3))


def coo_matvec(mat: COO, v: Array, transpose: bool = False) -> Array:
    """Multiplies a matrix, or its transpose, by a dense vector.

    Raises:
      TypeError: if shapes or dtypes do not match.
    """
    data, v = promote_dtypes(mat.data, v)
    return coo_matvec_p.bind(data, mat.row, mat.col, v, spinfo=mat.info, transpose=bool(transpose))


def coo_matmat(mat: COO, B: Array, *, transpose: bool = False) -> Array:
    """Multiplies a matrix, or its transpose, by a dense matrix.

    Raises:
      TypeError: if shapes or dtypes do not match.
    """
    data, B = promote_dtypes(mat.data, B)
    return coo_matmat_p.bind(data, mat.row, mat.col, B, spinfo=mat.info, transpose=bool(transpose))


__all__ = [
    "COO", "COOInfo", "Dtype", "Shape", "coo_fromdense", "coo_fromdense_p", "coo_matmat",
    "coo_matmat_p", "coo_matvec", "coo_matvec_p", "coo_todense", "coo_todense_p",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)
