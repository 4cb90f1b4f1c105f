"""`jax.experimental.sparse.bcsr`: batched compressed sparse row (BCSR) matrices.

An array of shape [*batch, rows, columns, *dense] is stored as

    data      [*batch, nse, *dense]
    indices   [*batch, nse]          the column of each block
    indptr    [*batch, rows + 1]     the position at which each row starts

Blocks stored after the last row are padding. Operations are implemented by converting the array to
BCOO.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from jitney import numpy as jnp
from jitney.core.array import Array
from jitney.core.pytree.registry import register_pytree_node_class
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.core.util.lazy import listing, refusing
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo.conversion import bcoo_fromdense_p, extract
from jitney.experimental.sparse.bcoo.dot import bcoo_dot_general
from jitney.experimental.sparse.bcoo.matrix import (
    BCOO,
    bcoo_eliminate_zeros,
    bcoo_sort_indices,
    bcoo_sum_duplicates,
    bcoo_todense,
)
from jitney.experimental.sparse.bcoo.products import dot_type, normalized
from jitney.experimental.sparse.bcoo.structure import bcoo_broadcast_in_dim, bcoo_concatenate
from jitney.experimental.sparse.composed import composed, is_nonzero
from jitney.experimental.sparse.util import (
    Shape,
    SparseInfo,
    count_stored,
    fitted_shape,
    nfold_vmap,
    row_pointers,
    rows_of,
)
from jitney.numpy.promotion import promote_dtypes
from jitney.primitives.rules import zero_tangent

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike, DTypeLike, Value
    from jitney.experimental.sparse.bcoo.products import DotDimensionNumbers
    from jitney.primitives.rule_types import Param, Primals, Tangents
    from jitney.transforms.zero import Tangent

__all__ = [
    "BCSR", "BCSRProperties", "bcsr_broadcast_in_dim", "bcsr_concatenate", "bcsr_dot_general",
    "bcsr_dot_general_p", "bcsr_eliminate_zeros", "bcsr_extract", "bcsr_extract_p",
    "bcsr_fromdense", "bcsr_fromdense_p", "bcsr_sum_duplicates", "bcsr_todense", "bcsr_todense_p",
]  # fmt: skip

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)


class BCSRProperties(NamedTuple):
    """The numbers of batch axes, dense axes and stored blocks."""

    n_batch: int
    n_dense: int
    nse: int


def validate(
    data: Array | ShapedArray,
    indices: Array | ShapedArray,
    indptr: Array | ShapedArray,
    shape: Sequence[int],
) -> BCSRProperties:
    """Returns the properties of an array stored as `data`, `indices` and `indptr`.

    Raises:
      ValueError: if the shapes are inconsistent, or indices are not integers.
    """
    n_batch, n_dense = indptr.ndim - 1, len(shape) - indptr.ndim - 1
    what = (
        f"data: {list(data.shape)}, indices: {list(indices.shape)}, indptr: {list(indptr.shape)}, "
        f"shape: {list(shape)}"
    )
    if not all(dtypes.issubdtype(x.dtype, np.integer) for x in (indices, indptr)):
        raise ValueError(f"BCSR: indices and indptr must be integers, but got {what}")
    if (
        n_batch < 0
        or n_dense < 0
        or indices.ndim != n_batch + 1
        or data.ndim != n_batch + 1 + n_dense
    ):
        raise ValueError(
            f"BCSR: the ranks of data, indices, indptr and the shape must match, but got {what}"
        )
    batch, nse = tuple(shape[:n_batch]), indices.shape[-1]
    if (
        any(
            n not in (1, full)
            for x in (data, indices, indptr)
            for n, full in zip(x.shape, batch, strict=False)
        )
        or data.shape[n_batch] != nse
        or tuple(data.shape[n_batch + 1 :]) != tuple(shape[n_batch + 2 :])
        or indptr.shape[-1] != shape[n_batch] + 1
    ):
        raise ValueError(
            f"BCSR: the sizes of data, indices and indptr must match the shape, but got {what}"
        )
    return BCSRProperties(n_batch, n_dense, nse)


def coordinates(indices: Array, indptr: Array) -> Array:
    """Converts column indices and row pointers to coordinates [*batch, nse, 2]."""

    def of_batch(indices: Array, indptr: Array) -> Array:
        return jnp.stack([rows_of(indptr, indices.shape[0]).astype(indices.dtype), indices], -1)

    return nfold_vmap(of_batch, indptr.ndim - 1)(indices, indptr)


def _pointers(indices: Array, n_rows: int) -> Array:
    """Returns the row pointers of sorted coordinates [*batch, nse, 2]."""

    def of_batch(rows: Array) -> Array:
        return row_pointers(rows, n_rows, rows.dtype)

    return nfold_vmap(of_batch, indices.ndim - 2)(indices[..., 0])


@register_pytree_node_class
class BCSR(JAXSparse):
    """A batch of compressed sparse row matrices.

    Attributes:
      data: blocks [*batch, nse, *dense].
      indices: column indices of the blocks [*batch, nse].
      indptr: row pointers [*batch, rows + 1], the positions at which the rows start.
      shape: shape of the dense array.
      indices_sorted: whether column indices are known to be sorted within each row.
      unique_indices: whether coordinates are known to be unique.

    Example:
      >>> M = sparse.BCSR.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> M @ jnp.ones(2)
      Array([2., 3.], dtype=float32)
    """

    indices: Array
    indptr: Array

    def __init__(
        self,
        args: tuple[Array, Array, Array],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        """Creates an array from `args`, which are (data, indices, indptr).

        Raises:
          ValueError: if the shapes are inconsistent, or indices are not integers.
        """
        super().__init__(args, shape=shape)
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        validate(self.data, self.indices, self.indptr, self.shape)

    @property
    def nse(self) -> int:
        """The number of blocks stored for each batch, including padding."""
        return self.indices.shape[-1]

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return self.indptr.ndim - 1

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes, which is two."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def info(self) -> SparseInfo:
        """The static data of the array."""
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCSR:
        """Converts a dense array; see `bcsr_fromdense`."""
        return bcsr_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Converts a BCOO array. Its indices are sorted first unless they are known to be sorted.

        Raises:
          NotImplementedError: if the array does not have two sparse axes.
        """
        if arr.n_sparse != 2:
            raise NotImplementedError(f"BCSR.from_bcoo: n_sparse must be 2, but got {arr}")
        arr = arr if arr.indices_sorted else bcoo_sort_indices(arr)
        indptr = _pointers(arr.indices, arr.shape[arr.n_batch])
        return cls(
            (arr.data, arr.indices[..., 1], indptr),
            shape=arr.shape,
            indices_sorted=True,
            unique_indices=arr.unique_indices,
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: DTypeLike | None = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """Converts a matrix or two-dimensional array of `scipy.sparse`.

        Raises:
          NotImplementedError: if `n_dense` or `n_batch` is not 0.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCSR.from_scipy_sparse: n_dense and n_batch must be 0")
        csr = mat.tocsr()
        dtype = index_dtype or csr.indices.dtype
        arrays = (
            jnp.asarray(csr.data),
            jnp.asarray(csr.indices, dtype=dtype),
            jnp.asarray(csr.indptr, dtype=dtype),
        )
        return cls(arrays, shape=csr.shape)

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
        nse: int = 0,
    ) -> BCSR:
        """Returns an array of zeros, with storage for `nse` blocks."""
        if len(shape) - n_dense - n_batch != 2:
            raise ValueError(
                f"sparse.empty: BCSR arrays have two sparse axes, but {shape=} with {n_batch=} and "
                f"{n_dense=} has {len(shape) - n_batch - n_dense}"
            )
        return cls.from_bcoo(
            BCOO._empty(
                shape,
                dtype=dtype,
                index_dtype=index_dtype,
                n_dense=n_dense,
                n_batch=n_batch,
                nse=nse,
            )
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
    ) -> BCSR:
        """Returns a matrix [N, M] with ones on the diagonal `k`."""
        return cls.from_bcoo(BCOO._eye(N, M, k, dtype=dtype, index_dtype=index_dtype))

    def to_bcoo(self) -> BCOO:
        """Converts the array to a BCOO array."""
        return BCOO(
            (self.data, coordinates(self.indices, self.indptr)),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def todense(self) -> Array:
        """Converts the array to a dense one."""
        return bcsr_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> BCSR:
        """Not implemented, as in JAX; use `BCSR.from_bcoo(M.to_bcoo().T)`.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            "BCSR.transpose is not implemented; use BCSR.from_bcoo(mat.to_bcoo().transpose(axes))"
        )

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """Sums blocks with equal coordinates; see `BCOO.sum_duplicates`."""
        return bcsr_eliminate_zeros(self, nse) if remove_zeros else bcsr_sum_duplicates(self, nse)

    def tree_flatten(self) -> tuple[tuple[Array, ...], dict[str, object]]:
        return (self.data, self.indices, self.indptr), self.info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: tuple[Any, ...]) -> Self:
        out = object.__new__(cls)
        out.data, out.indices, out.indptr = children
        if aux_data.keys() != {"shape", "indices_sorted", "unique_indices"}:
            raise ValueError(f"BCSR.tree_unflatten: invalid {aux_data=}")
        vars(out).update(aux_data)
        arrays = (out.data, out.indices, out.indptr)
        if all(isinstance(x, Array) for x in arrays) and out.indptr.ndim:
            n_batch = out.n_batch
            if out.n_dense >= 0 and len(out.shape) != n_batch + 2 + out.n_dense:
                batches = [x.shape[:n_batch] for x in arrays]
                out.shape = fitted_shape(out.shape, batches, 2 + out.n_dense)
        return out


# --- conversions --------------------------------------------------------------------------------


def _todense(data: Array, indices: Array, indptr: Array, *, spinfo: SparseInfo) -> Array:
    at = coordinates(indices, indptr)
    return bcoo_todense(BCOO((data, at), shape=spinfo.shape))


def _todense_type(
    data: ShapedArray, indices: ShapedArray, indptr: ShapedArray, *, spinfo: SparseInfo
) -> ShapedArray:
    validate(data, indices, indptr, spinfo.shape)
    return shaped_array(spinfo.shape, data.dtype)


bcsr_todense_p = composed("bcsr_todense", _todense, _todense_type, linear_in=(0,))


def bcsr_todense(mat: BCSR) -> Array:
    """Converts a BCSR array to a dense one."""
    return bcsr_todense_p.bind(mat.data, mat.indices, mat.indptr, spinfo=mat.info)


def _fromdense(
    mat: Array, *, nse: int, n_batch: int, n_dense: int, index_dtype: np.dtype
) -> Sequence[Array]:
    data, at = bcoo_fromdense_p.bind(
        mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
    )
    return [data, at[..., 1], _pointers(at, mat.shape[n_batch])]


def _fromdense_type(
    mat: ShapedArray, *, nse: int, n_batch: int, n_dense: int, index_dtype: np.dtype
) -> list[ShapedArray]:
    batch, dense = mat.shape[:n_batch], mat.shape[mat.ndim - n_dense :]
    return [
        shaped_array((*batch, nse, *dense), mat.dtype),
        shaped_array((*batch, nse), index_dtype),
        shaped_array((*batch, mat.shape[n_batch] + 1), index_dtype),
    ]


bcsr_fromdense_p = composed(
    "bcsr_fromdense", _fromdense, _fromdense_type, linear_in=(), multiple_results=True
)
bcsr_fromdense_p.absent("transpose", why="which elements are stored depends on the operand")


@bcsr_fromdense_p.jvp
def _bcsr_fromdense_jvp(
    primals: Primals, tangents: Tangents, **params: Param
) -> tuple[list[Value], list[Tangent]]:
    data, indices, indptr = bcsr_fromdense_p.bind(*primals, **params)
    (t,) = tangents
    dot = bcsr_extract(indices, indptr, t) if is_nonzero(t) else zero_tangent(data)
    return [data, indices, indptr], [dot, zero_tangent(indices), zero_tangent(indptr)]


def bcsr_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCSR:
    """Converts a dense array to a BCSR array; see `bcoo_fromdense` for the arguments.

    Raises:
      ConcretizationTypeError: if `nse` is not given and `mat` is traced.
      ValueError: if the number of remaining axes, which are sparse, is not two.
    """
    mat = jnp.asarray(mat)
    if mat.ndim - n_batch - n_dense != 2:
        raise ValueError(
            f"bcsr_fromdense: the array must have 2 sparse axes, but got shape {mat.shape} with "
            f"{n_batch=} and {n_dense=}"
        )
    if nse is None:
        nse = count_stored(mat, n_batch, n_dense, "bcsr_fromdense")
    data, indices, indptr = bcsr_fromdense_p.bind(
        mat,
        nse=operator.index(nse),
        n_batch=operator.index(n_batch),
        n_dense=operator.index(n_dense),
        index_dtype=dtypes.canonicalize_dtype(index_dtype),
    )
    return BCSR((data, indices, indptr), shape=mat.shape, indices_sorted=True, unique_indices=True)


def _extract(indices: Array, indptr: Array, mat: Array) -> Array:
    return extract(coordinates(indices, indptr), mat)


def _extract_type(indices: ShapedArray, indptr: ShapedArray, mat: ShapedArray) -> ShapedArray:
    n_batch = indptr.ndim - 1
    if mat.ndim < n_batch + 2 or any(
        n not in (1, full)
        for x in (indices, indptr)
        for n, full in zip(x.shape[:n_batch], mat.shape, strict=False)
    ):
        raise ValueError(
            f"bcsr_extract: indices {indices.shape} and indptr {indptr.shape} do not match an "
            f"array of shape {mat.shape}; their batch axes must have size 1 or the sizes of the "
            "leading axes of the array"
        )
    dense = mat.shape[n_batch + 2 :]
    return shaped_array((*mat.shape[:n_batch], indices.shape[-1], *dense), mat.dtype)


bcsr_extract_p = composed("bcsr_extract", _extract, _extract_type, linear_in=(2,))


def bcsr_extract(indices: ArrayLike, indptr: ArrayLike, mat: ArrayLike) -> Array:
    """Extracts the blocks of a dense array at the stored coordinates, and zeros at padding."""
    return bcsr_extract_p.bind(*map(jnp.asarray, (indices, indptr, mat)))


# --- products and other operations --------------------------------------------------------------


def _dot_general(
    lhs_data: Array,
    lhs_indices: Array,
    lhs_indptr: Array,
    rhs: Array,
    *,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype | None,
    lhs_spinfo: SparseInfo,
) -> Array:
    lhs = BCOO((lhs_data, coordinates(lhs_indices, lhs_indptr)), shape=lhs_spinfo.shape)
    out = bcoo_dot_general(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
    )
    assert not isinstance(out, BCOO)
    return out


def _dot_general_type(
    lhs_data: ShapedArray,
    lhs_indices: ShapedArray,
    lhs_indptr: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: np.dtype | None,
    lhs_spinfo: SparseInfo,
) -> ShapedArray:
    p = validate(lhs_data, lhs_indices, lhs_indptr, lhs_spinfo.shape)
    return dot_type(
        "bcsr_dot_general", dimension_numbers, lhs_spinfo.shape, p.n_batch, lhs_data, rhs,
        preferred_element_type,
    )  # fmt: skip


bcsr_dot_general_p = composed("bcsr_dot_general", _dot_general, _dot_general_type, linear_in=(0, 3))


def bcsr_dot_general(
    lhs: BCSR | Array,
    rhs: Array,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: None = None,
) -> Array:
    """Computes `lax.dot_general` of a BCSR array and a dense array.

    Args: as for `bcoo_dot_general`.

    Raises:
      TypeError: if the sizes of paired axes differ.
      NotImplementedError: if `lhs` is not a BCSR array, or `rhs` is sparse.
    """
    del precision, out_sharding
    if not isinstance(lhs, BCSR) or isinstance(rhs, JAXSparse):
        raise NotImplementedError(
            "bcsr_dot_general: lhs must be a BCSR array and rhs an array, but got "
            f"{type(lhs).__name__} and {type(rhs).__name__}"
        )
    data, rhs = promote_dtypes(lhs.data, rhs)
    return bcsr_dot_general_p.bind(
        data,
        lhs.indices,
        lhs.indptr,
        rhs,
        dimension_numbers=normalized(dimension_numbers),
        preferred_element_type=None
        if preferred_element_type is None
        else dtypes.requested_dtype(preferred_element_type),
        lhs_spinfo=lhs.info,
    )


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """Sums blocks with equal coordinates; see `bcoo_sum_duplicates`."""
    return BCSR.from_bcoo(bcoo_sum_duplicates(mat.to_bcoo(), nse))


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """Removes blocks of zeros; see `bcoo_eliminate_zeros`."""
    return BCSR.from_bcoo(bcoo_eliminate_zeros(mat.to_bcoo(), nse))


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Shape, broadcast_dimensions: Sequence[int], sharding: None = None
) -> BCSR:
    """Broadcasts an array along new axes, and along axes of size 1; see `bcoo_broadcast_in_dim`.

    Raises:
      NotImplementedError: if the result would have more than two sparse axes.
    """
    del sharding
    out = bcoo_broadcast_in_dim(
        mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions
    )
    return BCSR.from_bcoo(out)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Concatenates arrays along an axis; see `bcoo_concatenate`."""
    return BCSR.from_bcoo(
        bcoo_concatenate([mat.to_bcoo() for mat in operands], dimension=dimension)
    )
