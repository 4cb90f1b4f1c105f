"""`jax.experimental.sparse.linalg`: linear systems and eigenvectors of sparse matrices.

`spsolve` factorizes the matrix on the host, by SuperLU (SciPy). `lobpcg_standard` uses a matrix
only in products with vectors (A. V. Knyazev, "Toward the optimal preconditioned eigensolver", SIAM
J. Sci. Comput. 23, 2001).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit
from jitney.compiler import library
from jitney.core.tracing.primitive import declare
from jitney.core.types import dtypes
from jitney.core.types.avals import ShapedArray, shaped_array
from jitney.core.util.lazy import listing
from jitney.experimental.sparse.coo import product_by_positions
from jitney.experimental.sparse.util import row_pointers, rows_of
from jitney.primitives.rules import aval_of, is_linear, zero_tangent
from jitney.transforms.zero import Zero, add_tangents

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.experimental.sparse.base import JAXSparse
    from jitney.primitives.rule_types import (
        BatchDim,
        Builder,
        Cotangent,
        Dims,
        Node,
        Operand,
        Param,
        Tangents,
        Value,
    )
    from jitney.transforms.zero import Tangent

__dir__ = listing(__name__)

spsolve_p = declare("spsolve")


@spsolve_p.abstract
def _spsolve_abstract(
    data: ShapedArray,
    indices: ShapedArray,
    indptr: ShapedArray,
    b: ShapedArray,
    *,
    tol: float,
    reorder: int,
) -> ShapedArray:
    del tol, reorder
    if data.dtype != b.dtype or not dtypes.issubdtype(b.dtype, np.inexact):
        raise ValueError(
            f"spsolve: data and b must have the same floating or complex dtype, but got {data} and {b}"
        )
    if (
        any(x.ndim != 1 for x in (data, indices, indptr, b))
        or indices.shape != data.shape
        or indptr.shape[0] != b.shape[0] + 1
    ):
        raise ValueError(
            "spsolve: expected data [nse], indices [nse], indptr [n + 1] and b [n], but got "
            f"{data}, {indices}, {indptr}, {b}"
        )
    return shaped_array(b.shape, b.dtype)


def _by_superlu(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, b: np.ndarray, **params: Param
) -> np.ndarray:
    """Solves a system by SuperLU in at least double precision.

    Returns: the solution; NaN if the matrix is singular.
    """
    import warnings

    import scipy.sparse
    import scipy.sparse.linalg

    del params
    if not b.size:
        return np.zeros_like(b)
    wide = np.result_type(b.dtype, np.float64)
    n = b.shape[0]
    matrix = scipy.sparse.csr_matrix((data.astype(wide), indices, indptr), shape=(n, n))
    with warnings.catch_warnings():  # about singular matrices, and the conversion to CSC
        warnings.simplefilter("ignore")
        out = scipy.sparse.linalg.spsolve(matrix.tocsc(), b.astype(wide))
    return np.asarray(out).astype(b.dtype)


spsolve_p.eager(_by_superlu)

library.declare(
    library.LibraryFunction(
        "scipy.spsolve",
        result_types=lambda data, indices, indptr, b: [b],
        reference=lambda data, indices, indptr, b: [_by_superlu(data, indices, indptr, b)],
    )
)


@spsolve_p.lower
def _spsolve_lower(
    b: Builder, data: Node, indices: Node, indptr: Node, rhs: Node, *, tol: float, reorder: int
) -> Node:
    (out,) = b.library_call("scipy.spsolve", (), [data, indices, indptr, rhs])
    return out


def _product(data: Value, indices: Value, indptr: Value, x: Value) -> Array:
    """Computes A x for a square CSR matrix A."""
    n = np.shape(x)[0]
    rows = rows_of(jnp.asarray(indptr), np.shape(data)[0])
    return product_by_positions(
        jnp.asarray(data), rows, jnp.asarray(indices), jnp.asarray(x), (n, n), False
    )


def _transposed(data: Value, indices: Value, indptr: Value) -> tuple[Array, Array, Array]:
    """Returns the transpose of a square CSR matrix, as a CSR matrix."""
    columns = jnp.asarray(indices)
    n = np.shape(indptr)[0] - 1
    rows = rows_of(jnp.asarray(indptr), np.shape(data)[0]).astype(columns.dtype)
    # Elements stored after the last row are padding.
    columns = jnp.where(rows < n, columns, n)
    order = jnp.lexsort((rows, columns))
    return jnp.asarray(data)[order], rows[order], row_pointers(columns, n, columns.dtype)


@spsolve_p.jvp
def _spsolve_jvp(
    primals: Sequence[Value], tangents: Tangents, **params: Param
) -> tuple[Value, Tangent]:
    data, indices, indptr, _ = primals
    d_data, _, _, d_b = tangents
    x = spsolve_p.bind(*primals, **params)
    total: Any = None if isinstance(d_b, Zero) else d_b
    if not isinstance(d_data, Zero):  # A dx = db - dA x
        part = -_product(d_data, indices, indptr, x)
        total = part if total is None else add_tangents(total, part)
    if total is None:
        return x, zero_tangent(x)
    return x, spsolve_p.bind(data, indices, indptr, total, **params)


@spsolve_p.transpose
def _spsolve_transpose(
    ct: Cotangent, data: Value, indices: Value, indptr: Value, b: Operand, **params: Param
) -> list[Cotangent | None]:
    if not is_linear(b) or any(map(is_linear, (data, indices, indptr))):
        raise NotImplementedError("spsolve can be transposed only with respect to b")
    if isinstance(ct, Zero):
        return [None, None, None, Zero(aval_of(b).to_cotangent_aval())]
    return [None, None, None, spsolve_p.bind(*_transposed(data, indices, indptr), ct, **params)]


@spsolve_p.batch
def _spsolve_batch(args: Sequence[Value], dims: Dims, **params: Param) -> tuple[Value, BatchDim]:
    mapped = [jnp.moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True) if d is not None]

    def one(slices: Sequence[Value]) -> Value:
        parts = iter(slices)
        operands = [x if d is None else next(parts) for x, d in zip(args, dims, strict=True)]
        return spsolve_p.bind(*operands, **params)

    return lax.map(one, mapped), 0


def spsolve(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    b: ArrayLike,
    tol: float = 1e-6,
    reorder: int = 1,
) -> Array:
    """Solves A x = b for a sparse matrix A by SuperLU, on the host.

    Args:
      data, indices, indptr: the CSR matrix A [n, n].
      b: right-hand side [n], of the dtype of `data`.
      tol, reorder: accepted for compatibility; they are options of GPU solvers.

    Returns: x [n]; NaN if A is singular.

    Raises:
      ValueError: if shapes do not match, or dtypes differ or are not floating.

    Derivatives: the solution can be differentiated with respect to `b` and `data`.

    Example:
      >>> M = sparse.CSR.fromdense(jnp.array([[2.0, 0.0], [1.0, 4.0]]))
      >>> sparse.linalg.spsolve(M.data, M.indices, M.indptr, jnp.array([2.0, 5.0]))
      Array([1., 1.], dtype=float32)
    """
    arrays = [jnp.asarray(x) for x in (data, indices, indptr, b)]
    return spsolve_p.bind(*arrays, tol=tol, reorder=reorder)


def lobpcg_standard(
    A: Array | Callable[[Array], Array],
    X: Array,
    m: int = 100,
    tol: Array | float | None = None,
) -> tuple[Array, Array, Array]:
    """Computes the largest eigenvalues of a symmetric matrix, and their eigenvectors, by LOBPCG.

    Each iteration finds the best approximations (Rayleigh-Ritz) in the span of the current vectors,
    their residuals, and the search directions of the previous iteration.

    Args:
      A: a symmetric matrix [n, n], dense or sparse, or a function that maps X [n, k] to A X [n, k].
      X: k linearly independent initial vectors [n, k]; 5 k must be less than n.
      m: maximum number of iterations.
      tol: an eigenpair (l, v) has converged if |A v - l v| <= 10 n tol (l + |A v|); by default the
        machine epsilon of the dtype.

    Returns: (eigenvalues [k], in descending order; eigenvectors [n, k]; number of iterations).

    Raises:
      ValueError: if the shapes do not match.
      TypeError: if the dtype of `X` is neither float32 nor float64.

    Example:
      >>> A = jnp.diag(jnp.arange(1.0, 31.0))
      >>> theta, U, steps = sparse.linalg.lobpcg_standard(A, jnp.eye(30)[:, 10:12] + 0.1)
      >>> theta.round(2)
      Array([30., 29.], dtype=float32)
    """
    X = jnp.asarray(X)
    if X.ndim != 2 or 5 * X.shape[1] >= X.shape[0] or not X.shape[1]:
        raise ValueError(
            "lobpcg_standard: X must be [n, k] with 0 < 5 k < n (expected search dim * 5 < matrix "
            f"dim), but got shape {X.shape}"
        )
    if X.dtype not in (np.float32, np.float64):
        raise TypeError(f"lobpcg_standard: X must be float32 or float64, but got {X.dtype}")
    product = A if callable(A) else functools.partial(_matrix_product, A)
    image = product(X)
    if image.shape != X.shape or image.dtype != X.dtype:
        raise ValueError(
            f"lobpcg_standard: A X must have the shape and dtype of X, {X.shape} and {X.dtype}, but "
            f"got {image.shape} and {image.dtype}"
        )
    tol = jnp.finfo(X.dtype).eps if tol is None else tol
    return jit(functools.partial(_lobpcg, product, m))(X, jnp.asarray(tol, X.dtype))


def _matrix_product(A: JAXSparse | Array, X: Array) -> Array:
    return A @ X


def _orthonormal(X: Array) -> Array:
    """Returns an orthonormal basis of the columns of X; linearly dependent columns become zero."""
    for _ in range(2):  # a second pass restores orthogonality lost to rounding
        norms = jnp.linalg.norm(X, axis=0)
        X = X / jnp.where(norms > 0, norms, 1)
        values, vectors = jnp.linalg.eigh(X.T @ X)
        least = values[-1] * X.shape[1] * jnp.finfo(X.dtype).eps
        scale = jnp.where(values > least, 1 / jnp.sqrt(jnp.maximum(values, least)), 0)
        X = X @ (vectors * scale)
    return X


def _without(X: Array, basis: Array) -> Array:
    """Removes the span of an orthonormal basis from the columns of X, and orthonormalizes them."""
    for _ in range(2):
        X = _orthonormal(X - basis @ (basis.T @ X))
    return X


def _lobpcg(
    product: Callable[[Array], Array], m: int, X: Array, tol: Array
) -> tuple[Array, Array, Array]:
    n, k = X.shape
    X = _orthonormal(X)
    AX = product(X)
    theta = jnp.sum(X * AX, axis=0)

    def residual(X: Array, AX: Array, theta: Array) -> Array:
        return AX - X * theta

    def unfinished(theta: Array, AX: Array, R: Array) -> Array:
        bound = 10 * n * tol * (jnp.abs(theta) + jnp.linalg.norm(AX, axis=0))
        return jnp.any(jnp.linalg.norm(R, axis=0) > bound)

    def going_on(state: tuple[Any, ...]) -> Array:
        step, theta, _, AX, _, R = state
        return (step < m) & unfinished(theta, AX, R)

    def improve(state: tuple[Any, ...]) -> tuple[Array, ...]:
        step, theta, X, AX, P, R = state
        R = _without(R, X)
        P = _without(P, jnp.concatenate([X, R], axis=1))
        S = jnp.concatenate([X, R, P], axis=1)
        AS = product_of_basis(S)
        small = S.T @ AS
        # Columns of zeros must not be mistaken for eigenvectors with eigenvalue 0.
        empty = jnp.sum(S * S, axis=0) < 0.5
        low = -jnp.linalg.norm(small) - 1
        small = jnp.where(jnp.diag(empty), low, (small + small.T) / 2)
        values, vectors = jnp.linalg.eigh(small)
        best = vectors[:, ::-1][:, :k]
        theta = values[::-1][:k]
        X, AX = S @ best, AS @ best
        # The search directions of this iteration, without components along the previous vectors.
        P = S[:, k:] @ best[k:]
        return step + 1, theta, X, AX, P, residual(X, AX, theta)

    def product_of_basis(S: Array) -> Array:
        return jnp.concatenate([product(S[:, j : j + k]) for j in range(0, 3 * k, k)], axis=1)

    start: tuple[Any, ...] = (0, theta, X, AX, jnp.zeros_like(X), residual(X, AX, theta))
    step, theta, X, _, _, _ = lax.while_loop(going_on, improve, start)
    return theta, X, step
