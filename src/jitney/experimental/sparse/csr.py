"""`jax.experimental.sparse.csr`: compressed sparse row (CSR) and column (CSC) matrices.

`indptr[i]` is the position of the first stored element of row i; elements stored after the last row
are padding. A CSC matrix is stored as the CSR matrix of its transpose.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from jitney import numpy as jnp
from jitney.core.pytree.registry import register_pytree_node_class
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.core.util.lazy import listing, refusing
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo.conversion import bcoo_fromdense_p
from jitney.experimental.sparse.composed import composed, is_nonzero
from jitney.experimental.sparse.coo import (
    COO,
    elements_at,
    matrix_product,
    product_by_positions,
    product_type,
    todense_by_positions,
    within,
)
from jitney.experimental.sparse.util import Shape, count_stored, row_pointers, rows_of
from jitney.numpy.promotion import promote_dtypes
from jitney.primitives.rules import zero_tangent

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike, DTypeLike, Value
    from jitney.primitives.rule_types import Param, Primals, Tangents
    from jitney.transforms.zero import Tangent

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


class _Compressed(JAXSparse):
    """The base class of CSR and CSC matrices.

    Attributes:
      data, indices: elements [nse] and their column indices (row indices for CSC) [nse].
      indptr: positions at which rows (columns for CSC) start.
      shape: shape of the matrix.
    """

    indices: Array
    indptr: Array

    def __init__(self, args: tuple[Array, Array, Array], *, shape: Shape) -> None:
        """Creates a matrix from `args`, which are (data, indices, indptr)."""
        super().__init__(args, shape=shape)
        self.data, self.indices, self.indptr = map(jnp.asarray, args)

    @property
    def nse(self) -> int:
        """The number of stored elements."""
        return self.data.size

    def tree_flatten(self) -> tuple[tuple[Array, ...], dict[str, object]]:
        return (self.data, self.indices, self.indptr), {"shape": self.shape}

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: tuple[Any, ...]) -> Self:
        out = object.__new__(cls)
        out.data, out.indices, out.indptr = children
        if aux_data.keys() != {"shape"}:
            raise ValueError(f"{cls.__name__}.tree_unflatten: invalid {aux_data=}")
        vars(out).update(aux_data)
        return out

    def _arrays(self) -> tuple[Array, Array, Array]:
        return self.data, self.indices, self.indptr

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> Self:
        """Returns a matrix of zeros."""
        if len(shape) != 2:
            raise ValueError(
                f"{cls.__name__}: a matrix must have two axes, but the shape is {tuple(shape)}"
            )
        n = shape[cls._compressed]
        arrays = (jnp.empty(0, dtype), jnp.empty(0, index_dtype), jnp.zeros(n + 1, index_dtype))
        return cls(arrays, shape=(shape[0], shape[1]))

    _compressed: int  # the axis that `indptr` compresses


@register_pytree_node_class
class CSR(_Compressed):
    """A compressed sparse row matrix; `BCSR` supports more operations.

    Example:
      >>> M = sparse.CSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> M.indptr
      Array([0, 1, 2], dtype=int32)
    """

    _compressed = 0

    @classmethod
    def fromdense(
        cls, mat: Array, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> CSR:
        """Converts a dense matrix; see `csr_fromdense`."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> CSR:
        """Returns a matrix [N, M] with ones on the diagonal `k`."""
        eye = COO._eye(N, M, k, dtype=dtype, index_dtype=index_dtype)
        indptr = row_pointers(eye.row, N, eye.row.dtype)
        return cls((eye.data, eye.col, indptr), shape=(N, M))

    def todense(self) -> Array:
        """Converts the matrix to a dense one."""
        return csr_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> CSC:
        """Returns the transpose, as a CSC matrix.

        Raises:
          NotImplementedError: if `axes` are given.
        """
        if axes is not None:
            raise NotImplementedError("CSR.transpose: `axes` is not supported; omit it")
        return CSC(self._arrays(), shape=self.shape[::-1])

    def __matmul__(self, other: JAXSparse | ArrayLike) -> Array:
        return matrix_product("CSR", self, other, csr_matvec, csr_matmat)


@register_pytree_node_class
class CSC(_Compressed):
    """A compressed sparse column matrix.

    Example:
      >>> M = sparse.CSC.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> M.data
      Array([3., 2.], dtype=float32)
    """

    _compressed = 1

    @classmethod
    def fromdense(
        cls, mat: Array, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> CSC:
        """Converts a dense matrix; see `csr_fromdense` for the arguments."""
        rows = csr_fromdense(jnp.asarray(mat).T, nse=nse, index_dtype=index_dtype)
        return rows.transpose()

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> CSC:
        """Returns a matrix [N, M] with ones on the diagonal `k`."""
        return CSR._eye(M, N, -k, dtype=dtype, index_dtype=index_dtype).transpose()

    def todense(self) -> Array:
        """Converts the matrix to a dense one."""
        return csr_todense(self.transpose()).T

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """Returns the transpose, as a CSR matrix.

        Raises:
          NotImplementedError: if `axes` are given.
        """
        if axes is not None:
            raise NotImplementedError("CSC.transpose: `axes` is not supported; omit it")
        return CSR(self._arrays(), shape=self.shape[::-1])

    def __matmul__(self, other: JAXSparse | ArrayLike) -> Array:
        def by(product: Callable[..., Array]) -> Callable[[CSC, Array], Array]:
            return lambda mat, x: product(mat.transpose(), x, transpose=True)

        return matrix_product("CSC", self, other, by(csr_matvec), by(csr_matmat))


# --- conversions --------------------------------------------------------------------------------


def _todense(data: Array, indices: Array, indptr: Array, *, shape: Shape) -> Array:
    return todense_by_positions(data, rows_of(indptr, data.size), indices, shape)


def _todense_type(
    data: ShapedArray, indices: ShapedArray, indptr: ShapedArray, *, shape: Shape
) -> ShapedArray:
    del indices, indptr
    return shaped_array(shape, data.dtype)


csr_todense_p = composed("csr_todense", _todense, _todense_type, linear_in=(0,))


def csr_todense(mat: CSR) -> Array:
    """Converts a CSR matrix to a dense one."""
    return csr_todense_p.bind(mat.data, mat.indices, mat.indptr, shape=mat.shape)


def _fromdense(mat: Array, *, nse: int, index_dtype: np.dtype) -> Sequence[Array]:
    data, at = bcoo_fromdense_p.bind(mat, nse=nse, n_batch=0, n_dense=0, index_dtype=index_dtype)
    indptr = row_pointers(at[:, 0], mat.shape[0], index_dtype)
    return [data, within(at, mat.shape)[:, 1], indptr]


def _fromdense_type(mat: ShapedArray, *, nse: int, index_dtype: np.dtype) -> list[ShapedArray]:
    return [
        shaped_array((nse,), mat.dtype),
        shaped_array((nse,), index_dtype),
        shaped_array((mat.shape[0] + 1,), index_dtype),
    ]


csr_fromdense_p = composed(
    "csr_fromdense", _fromdense, _fromdense_type, linear_in=(), multiple_results=True
)
csr_fromdense_p.absent("transpose", why="which elements are stored depends on the operand")


@csr_fromdense_p.jvp
def _csr_fromdense_jvp(
    primals: Primals, tangents: Tangents, **params: Param
) -> tuple[list[Value], list[Tangent]]:
    data, indices, indptr = csr_fromdense_p.bind(*primals, **params)
    (t,) = tangents
    dot = zero_tangent(data)
    if is_nonzero(t):
        dot = elements_at(t, rows_of(indptr, data.size), indices)
    return [data, indices, indptr], [dot, zero_tangent(indices), zero_tangent(indptr)]


def csr_fromdense(mat: Array, *, nse: int | None = None, index_dtype: DTypeLike = np.int32) -> CSR:
    """Converts a dense matrix to a CSR matrix that stores its nonzero elements.

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
    if mat.ndim != 2:
        raise ValueError(f"CSR: a matrix must have two axes, but the shape is {mat.shape}")
    if nse is None:
        nse = count_stored(mat, 0, 0, "csr_fromdense")
    arrays = csr_fromdense_p.bind(
        mat, nse=operator.index(nse), index_dtype=dtypes.canonicalize_dtype(index_dtype)
    )
    data, indices, indptr = arrays
    return CSR((data, indices, indptr), shape=mat.shape)


# --- products -----------------------------------------------------------------------------------


def _product(
    data: Array, indices: Array, indptr: Array, x: Array, *, shape: Shape, transpose: bool
) -> Array:
    rows = rows_of(indptr, data.size)
    return product_by_positions(data, rows, indices, x, shape, transpose)


def _matvec_type(
    data: ShapedArray,
    indices: ShapedArray,
    indptr: ShapedArray,
    x: ShapedArray,
    *,
    shape: Shape,
    transpose: bool,
) -> ShapedArray:
    del indices, indptr
    return product_type("csr_matvec", 1, data, x, shape, transpose)


def _matmat_type(
    data: ShapedArray,
    indices: ShapedArray,
    indptr: ShapedArray,
    x: ShapedArray,
    *,
    shape: Shape,
    transpose: bool,
) -> ShapedArray:
    del indices, indptr
    return product_type("csr_matmat", 2, data, x, shape, transpose)


csr_matvec_p = composed("csr_matvec", _product, _matvec_type, linear_in=(0, 3))
csr_matmat_p = composed("csr_matmat", _product, _matmat_type, linear_in=(0, 3))


def csr_matvec(mat: CSR, v: Array, transpose: bool = False) -> Array:
    """Multiplies a matrix, or its transpose, by a dense vector.

    Raises:
      TypeError: if shapes or dtypes do not match.
    """
    data, v = promote_dtypes(mat.data, v)
    return csr_matvec_p.bind(
        data, mat.indices, mat.indptr, v, shape=mat.shape, transpose=bool(transpose)
    )


def csr_matmat(mat: CSR, B: Array, *, transpose: bool = False) -> Array:
    """Multiplies a matrix, or its transpose, by a dense matrix.

    Raises:
      TypeError: if shapes or dtypes do not match.
    """
    data, B = promote_dtypes(mat.data, B)
    return csr_matmat_p.bind(
        data, mat.indices, mat.indptr, B, shape=mat.shape, transpose=bool(transpose)
    )
