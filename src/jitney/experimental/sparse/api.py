"""`jax.experimental.sparse.api`: functions for all sparse formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitney import numpy as jnp
from jitney.core.pytree import pytrees
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.core.util.lazy import listing, refusing
from jitney.experimental.sparse.base import JAXSparse
from jitney.experimental.sparse.bcoo.matrix import BCOO
from jitney.experimental.sparse.bcsr import BCSR
from jitney.experimental.sparse.composed import composed
from jitney.experimental.sparse.coo import COO
from jitney.experimental.sparse.csr import CSC, CSR

if TYPE_CHECKING:
    from jitney.core.typing import Array, DTypeLike

__dir__ = listing(__name__)
if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = refusing(__name__)

_FORMATS: dict[str, Any] = {"bcoo": BCOO, "bcsr": BCSR, "coo": COO, "csr": CSR, "csc": CSC}


def _todense(*arrays: Array, tree: pytrees.PyTreeDef) -> Array:
    mat = pytrees.tree_unflatten(tree, arrays)
    return mat.todense() if isinstance(mat, JAXSparse) else mat


def _todense_type(*avals: ShapedArray, tree: pytrees.PyTreeDef) -> ShapedArray:
    mat = pytrees.tree_unflatten(tree, avals)
    return shaped_array(mat.shape, avals[0].dtype)


todense_p = composed("todense", _todense, _todense_type, linear_in=(0,))


def todense(arr: JAXSparse | Array) -> Array:
    """Converts a sparse array to a dense one; returns other arrays unchanged.

    It can also be called within functions transformed by `sparsify`.

    Example:
      >>> sparse.todense(sparse.eye(2))
      Array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    arrays, tree = pytrees.tree_flatten(arr)
    return todense_p.bind(*map(jnp.asarray, arrays), tree=tree)


def _format(name: str) -> type[BCOO | BCSR | COO | CSR | CSC]:
    if name not in _FORMATS:
        raise ValueError(
            f"jax.experimental.sparse: `sparse_format` must be in {sorted(_FORMATS)}, but got {name!r}"
        )
    return _FORMATS[name]


def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: int,
) -> JAXSparse:
    """Returns a sparse array of zeros.

    Args:
      shape: shape of the array.
      dtype: dtype of its elements; the default floating dtype if None.
      index_dtype: dtype of the indices.
      sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc".
      **kwds: options of the format: `n_batch`, `n_dense` and `nse` for "bcoo" and "bcsr".

    Raises:
      ValueError: if the format is unknown, or does not support the shape.

    Example:
      >>> sparse.empty((2, 3))
      BCOO(float32[2, 3], nse=0)
    """
    return _format(sparse_format)._empty(shape, dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: int,
) -> JAXSparse:
    """Returns a sparse matrix with ones on a diagonal and zeros elsewhere.

    Args:
      N, M: numbers of rows and columns; `M` is `N` by default.
      k: index of the diagonal: 0 for the main diagonal, positive above it.
      dtype, index_dtype, sparse_format, **kwds: as for `empty`.

    Raises:
      ValueError: if the format is unknown.

    Example:
      >>> sparse.eye(3, k=1).todense()
      Array([[0., 1., 0.],
             [0., 0., 1.],
             [0., 0., 0.]], dtype=float32)
    """
    columns = N if M is None else M
    return _format(sparse_format)._eye(N, columns, k, dtype=dtype, index_dtype=index_dtype, **kwds)
