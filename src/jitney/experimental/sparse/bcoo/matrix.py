"""`BCOO`: sparse arrays in batched coordinate format (`layout.py`), and changes of layout."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from jitney import numpy as jnp
from jitney.core.array import Array
from jitney.core.pytree.registry import register_pytree_node_class
from jitney.core.source.user_warnings import warn
from jitney.core.tracing.trace import Tracer
from jitney.core.types import dtypes
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo import conversion, order, relayout
from jitney.experimental.sparse.bcoo.layout import BCOOProperties, padding, validate
from jitney.experimental.sparse.util import (
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    SparseInfo,
    check_permutation,
    count_stored,
    fitted_shape,
)

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike, DTypeLike


@register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array in batched coordinate format: blocks and their indices.

    The axes of the array are batch axes, sparse axes and dense axes, in this order. Blocks with
    equal indices are summed; indices beyond the shape mark padding, whose data are ignored.

    Attributes:
      data: blocks [*batch, nse, *dense].
      indices: integer indices [*batch, nse, n_sparse] of the blocks along the sparse axes.
      shape: shape of the dense array.
      indices_sorted: whether indices are known to be in lexicographic order.
      unique_indices: whether indices are known to be unique.

    Example:
      >>> M = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> M
      BCOO(float32[2, 2], nse=2)
      >>> M @ jnp.ones(2)
      Array([2., 3.], dtype=float32)
    """

    indices: Array

    def __init__(
        self,
        args: tuple[Array, Array],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        """Creates an array from `args`, which are (data, indices).

        Raises:
          ValueError: if the shapes are inconsistent, or indices are not integers.
        """
        super().__init__(args, shape=shape)
        self.data, self.indices = map(jnp.asarray, args)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        validate(self.data, self.indices, self.shape)

    @property
    def nse(self) -> int:
        """The number of blocks stored for each batch, including padding."""
        return self.indices.shape[-2]

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes."""
        return self.indices.shape[-1]

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def info(self) -> SparseInfo:
        """The static data of the array."""
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    @property
    def properties(self) -> BCOOProperties:
        """The numbers of batch, sparse and dense axes, and of stored blocks."""
        return BCOOProperties(self.n_batch, self.n_sparse, self.n_dense, self.nse)

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The sizes of the sparse axes."""
        return self.shape[self.n_batch : self.n_batch + self.n_sparse]

    @classmethod
    def fromdense(
        cls,
        mat: Array,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """Converts a dense array; see `bcoo_fromdense`."""
        return bcoo_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: DTypeLike | None = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """Converts a matrix or two-dimensional array of `scipy.sparse`.

        Raises:
          NotImplementedError: if `n_dense` or `n_batch` is not 0.
        """
        if n_dense or n_batch:
            raise NotImplementedError("BCOO.from_scipy_sparse: n_dense and n_batch must be 0")
        coo = mat.tocoo()
        indices = np.stack([coo.row, coo.col], axis=1)
        indices = jnp.asarray(indices, dtype=index_dtype or coo.row.dtype)
        return cls((jnp.asarray(coo.data), indices), shape=coo.shape)

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
    ) -> BCOO:
        """Returns an array of zeros, with storage for `nse` blocks."""
        shape = tuple(shape)
        n_sparse = len(shape) - n_dense - n_batch
        if min(n_sparse, n_dense, n_batch, nse) < 0:
            raise ValueError(
                "sparse.empty: `n_batch`, `n_dense` and `nse` must be 0 or more, and `n_batch` + "
                f"`n_dense` at most the rank, but got {n_batch=}, {n_dense=}, {nse=} and {shape=}"
            )
        batch, sparse = shape[:n_batch], shape[n_batch : n_batch + n_sparse]
        data = jnp.zeros((*batch, nse, *shape[n_batch + n_sparse :]), dtype)
        indices = padding((*batch, nse, n_sparse), sparse, index_dtype)
        return cls((data, indices), shape=shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
        n_batch: int = 0,
        n_dense: int = 0,
    ) -> BCOO:
        """Returns a matrix [N, M] with ones on the diagonal `k`."""
        n = max(0, min(N, N + k, M, M - k))
        rows = np.arange(n) + max(0, -k)
        columns = np.arange(n) + max(0, k)
        indices = jnp.asarray(np.stack([rows, columns], axis=1), dtype=index_dtype)
        eye = cls(
            (jnp.ones(n, dtype), indices), shape=(N, M), indices_sorted=True, unique_indices=True
        )
        if not n_batch and not n_dense:
            return eye
        if n_batch + n_dense > 2:
            raise ValueError(
                f"eye: at most 2 axes can be batch or dense axes, but got {n_batch=} and {n_dense=}"
            )
        out = bcoo_update_layout(eye, n_batch=n_batch, n_dense=n_dense, on_inefficient=None)
        # Each row, or column, has at most one nonzero block.
        return bcoo_sum_duplicates(out, nse=1) if n_batch == 1 and n else out

    def update_layout(
        self,
        *,
        n_batch: int | None = None,
        n_dense: int | None = None,
        on_inefficient: str | None = "error",
    ) -> BCOO:
        """Returns the array with a different layout; see `bcoo_update_layout`."""
        return bcoo_update_layout(
            self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
        )

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """Returns the array with sorted, unique indices; blocks with equal indices are summed.

        Args:
          nse: number of blocks to store; further blocks are dropped. By default, it is the number
            of distinct indices, which is unknown if the array is traced.
          remove_zeros: whether to remove blocks of zeros.

        Raises:
          ValueError: if `nse` is None and the array is traced.
        """
        return bcoo_eliminate_zeros(self, nse) if remove_zeros else bcoo_sum_duplicates(self, nse)

    def sort_indices(self) -> BCOO:
        """Returns the array with sorted indices; see `bcoo_sort_indices`."""
        return bcoo_sort_indices(self)

    def todense(self) -> Array:
        """Converts the array to a dense one."""
        return bcoo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """Returns the array with its axes permuted; see `bcoo_transpose`.

        Args:
          axes: permutation of the axes; by default, their order is reversed.
        """
        return bcoo_transpose(self, permutation=range(self.ndim)[::-1] if axes is None else axes)

    def tree_flatten(self) -> tuple[tuple[Array, ...], dict[str, object]]:
        return (self.data, self.indices), self.info._asdict()

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: tuple[Any, ...]) -> Self:
        # Leaves may be of any type, since transformations use placeholders.
        out = object.__new__(cls)
        out.data, out.indices = children
        if aux_data.keys() != {"shape", "indices_sorted", "unique_indices"}:
            raise ValueError(f"BCOO.tree_unflatten: invalid {aux_data=}")
        vars(out).update(aux_data)
        if isinstance(out.data, Array) and isinstance(out.indices, Array) and out.indices.ndim > 1:
            n_batch = out.n_batch
            batches = out.data.shape[:n_batch], out.indices.shape[:n_batch]
            if out.n_dense >= 0 and len(out.shape) != n_batch + out.n_sparse + out.n_dense:
                out.shape = fitted_shape(out.shape, batches, out.n_sparse + out.n_dense)
        return out


def bcoo_todense(mat: BCOO) -> Array:
    """Converts a BCOO array to a dense one.

    Example:
      >>> sparse.bcoo_todense(sparse.eye(2))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    return conversion.dense(mat.data, mat.indices, mat.info)


def bcoo_fromdense(
    mat: Array,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCOO:
    """Converts a dense array to a BCOO array that stores its nonzero blocks.

    Args:
      mat: a dense array.
      nse: number of blocks to store for each batch; further blocks are dropped. By default, all
        nonzero blocks are stored.
      n_batch: number of leading axes that are batch axes.
      n_dense: number of trailing axes that are dense axes.
      index_dtype: dtype of the indices.

    Raises:
      ConcretizationTypeError: if `nse` is not given and `mat` is traced.
      ValueError: if `n_batch` or `n_dense` is negative, or their sum exceeds the rank of the array.

    Example:
      >>> sparse.bcoo_fromdense(jnp.array([0.0, 5.0, 0.0, 7.0])).indices.ravel()
      Array([1, 3], dtype=int32)
    """
    mat = jnp.asarray(mat)
    n_batch, n_dense = operator.index(n_batch), operator.index(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(
            "bcoo_fromdense: `n_batch` and `n_dense` must be 0 or more, and their sum at most the "
            f"rank, but got {n_batch=} and {n_dense=} for shape {mat.shape}"
        )
    if nse is None:
        nse = count_stored(mat, n_batch, n_dense, "bcoo_fromdense")
    data, indices = conversion.bcoo_fromdense_p.bind(
        mat,
        nse=operator.index(nse),
        n_batch=n_batch,
        n_dense=n_dense,
        index_dtype=dtypes.canonicalize_dtype(index_dtype),
    )
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_extract(sparr: BCOO, arr: ArrayLike, *, assume_unique: bool | None = None) -> BCOO:
    """Extracts the blocks of a dense array at the indices of a sparse array.

    Args:
      sparr: sparse array whose indices are used; its data are ignored.
      arr: dense array of the same shape.
      assume_unique: whether indices are unique; by default `sparr.unique_indices`. If they are not,
        the block is extracted at the first of several equal indices, and zeros at the others.

    Raises:
      TypeError: if `sparr` is not a BCOO array.
      ValueError: if the shapes differ.
    """
    if not isinstance(sparr, BCOO):
        raise TypeError(f"bcoo_extract: sparr must be a BCOO array, but got {type(sparr)}")
    mat = jnp.asarray(arr)
    if mat.shape != sparr.shape:
        raise ValueError(
            f"bcoo_extract: shapes must be equal, but got {sparr.shape} and {mat.shape}"
        )
    data = conversion.extract(sparr.indices, mat)
    unique = sparr.unique_indices if assume_unique is None else assume_unique
    if not unique:
        first = order.first_of_equals(sparr.indices)
        mask = first.reshape(*first.shape, *(1,) * sparr.n_dense)
        data = jnp.where(mask, data, jnp.zeros((), data.dtype))
    return _with(sparr, data)


def _with(mat: BCOO, data: Array) -> BCOO:
    """Returns a sparse array with the indices of `mat` and other data."""
    return BCOO(
        (data, mat.indices),
        shape=mat.shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """Returns the array with indices in lexicographic order; the sort is stable."""
    data, indices = order.bcoo_sort_indices_p.bind(mat.data, mat.indices, spinfo=mat.info)
    return BCOO(
        (data, indices), shape=mat.shape, indices_sorted=True, unique_indices=mat.unique_indices
    )


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Returns the array with sorted, unique indices; blocks with equal indices are summed.

    Args:
      mat: the array.
      nse: number of blocks to store for each batch; further blocks are dropped. By default, it is
        the largest number of distinct indices in a batch.

    Raises:
      ValueError: if `nse` is not given and the array is traced.
    """
    if nse is None:
        if is_traced(mat.indices):
            raise ValueError(
                "bcoo_sum_duplicates: the number of distinct indices is unknown, because they are "
                "traced; pass an upper bound as `nse`"
            )
        nse = order.count_unique(mat.indices, mat.shape)
    data, indices = order.bcoo_sum_duplicates_p.bind(
        mat.data, mat.indices, spinfo=mat.info, nse=operator.index(nse)
    )
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """Removes blocks of zeros, after summing duplicates as in `bcoo_sum_duplicates`."""
    data, indices = mat.data, mat.indices
    nonzero = data != 0
    if mat.n_dense:
        nonzero = jnp.any(nonzero, axis=tuple(range(mat.n_batch + 1, data.ndim)))
    empty = padding((mat.n_sparse,), mat.sparse_shape, indices.dtype)
    indices = jnp.where(nonzero[..., None], indices, empty)
    return bcoo_sum_duplicates(BCOO((data, indices), shape=mat.shape), nse)


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """Returns the array with its axes permuted.

    Batch, sparse and dense axes can each be permuted only among themselves.

    Raises:
      ValueError: if `permutation` is not a permutation of the axes.
      NotImplementedError: if the permutation would mix axes of different kinds.
    """
    axes = check_permutation("bcoo_transpose", permutation, mat.ndim)
    if axes == tuple(range(mat.ndim)):
        return mat
    data, indices = order.bcoo_transpose_p.bind(
        mat.data, mat.indices, permutation=axes, spinfo=mat.info
    )
    shape = tuple(mat.shape[k] for k in axes)
    sparse = axes[mat.n_batch : mat.n_batch + mat.n_sparse]
    in_order = sparse == tuple(sorted(sparse))
    return BCOO(
        (data, indices),
        shape=shape,
        indices_sorted=mat.indices_sorted and in_order,
        unique_indices=mat.unique_indices,
    )


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """Returns the array with different numbers of batch and dense axes.

    A layout with more batch axes or more dense axes may take much more storage.

    Args:
      mat: the array.
      n_batch: number of batch axes; unchanged by default.
      n_dense: number of dense axes; unchanged by default.
      on_inefficient: reaction if either number increases: "error", "warn", or None.

    Raises:
      ValueError: if a number is negative, their sum exceeds the rank of the array, or
        `on_inefficient` is unknown.
      SparseEfficiencyError: if either number increases and `on_inefficient` is "error".
    """
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(
            "bcoo_update_layout: on_inefficient must be 'error', 'warn' or None, but got "
            f"{on_inefficient!r}"
        )
    n_batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    n_dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > mat.ndim:
        raise ValueError(
            "bcoo_update_layout: `n_batch` and `n_dense` must be 0 or more, and their sum at most "
            f"the rank, but got {n_batch=} and {n_dense=} for shape {mat.shape}"
        )
    if n_batch > mat.n_batch or n_dense > mat.n_dense:
        message = (
            f"bcoo_update_layout: changing the layout from {mat.n_batch} batch and {mat.n_dense} dense "
            f"axes to {n_batch} and {n_dense} may take much more storage; pass on_inefficient=None to "
            "allow it"
        )
        if on_inefficient == "error":
            raise SparseEfficiencyError(message)
        if on_inefficient == "warn":
            warn(message, SparseEfficiencyWarning)
    data, indices, shape = mat.data, mat.indices, mat.shape
    if n_dense < mat.n_dense:
        data, indices = relayout.dense_to_sparse(data, indices, mat.n_dense - n_dense)
    if n_batch < mat.n_batch:
        data, indices = relayout.batch_to_sparse(data, indices, shape, mat.n_batch - n_batch)
    if n_dense > mat.n_dense:
        data, indices = relayout.sparse_to_dense(data, indices, shape, n_dense - mat.n_dense)
    if n_batch > mat.n_batch:
        data, indices = relayout.sparse_to_batch(data, indices, shape, n_batch - mat.n_batch)
    # Indices stay unique if the numbers of batch and dense axes do not increase.
    stays_unique = n_dense <= mat.n_dense and n_batch <= mat.n_batch
    return BCOO(
        (data, indices),
        shape=shape,
        indices_sorted=mat.indices_sorted and n_dense == mat.n_dense and n_batch == mat.n_batch,
        unique_indices=mat.unique_indices and stays_unique,
    )


def is_traced(x: Array) -> bool:
    """Returns whether the elements of an array are unknown, because it is traced."""
    return isinstance(x, Tracer) and not x.is_concrete()
