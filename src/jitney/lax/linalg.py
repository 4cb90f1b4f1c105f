"""`jax.lax.linalg`: matrix factorizations and linear solvers, batched over leading axes."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitney.core.util.lazy import listing
from jitney.primitives import rules
from jitney.primitives.array.broadcasting import expand_dims
from jitney.primitives.array.shape import squeeze
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.linalg import matrix_helpers as mat
from jitney.primitives.linalg.eig import eig_p as eig_p
from jitney.primitives.linalg.factorizations import (
    cholesky_p as cholesky_p,
    cholesky_update_p as cholesky_update_p,
    eigh_p as eigh_p,
    hessenberg_p as hessenberg_p,
    householder_product_p as householder_product_p,
    lu_p as lu_p,
    lu_pivots_to_permutation_p as lu_pivots_to_permutation_p,
    qr_p as qr_p,
    schur_p as schur_p,
    svd_p as svd_p,
    triangular_solve_p as triangular_solve_p,
    tridiagonal_p as tridiagonal_p,
)
from jitney.primitives.linalg.linear_systems import (
    ormqr_p as ormqr_p,
    symmetric_product_p as symmetric_product_p,
    tridiagonal_solve_p as tridiagonal_solve_p,
)

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike

__dir__ = listing(__name__)


class EigImplementation(enum.Enum):
    """Implementations of `eig`; accepted for compatibility."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """Implementations of `eigh`; accepted for compatibility."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """Algorithms of `svd`; accepted for compatibility."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Array:
    """Computes the lower triangular Cholesky factor L of x = L @ L^H.

    L is NaN where `x` is not positive definite.

    Args:
      x: Hermitian matrices (..., n, n), floating or complex.
      symmetrize_input: whether to factorize (x + x^H) / 2; otherwise only the lower triangle of x
        is read.

    Returns: array of the shape and dtype of x.

    Example:
      >>> lax.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    if symmetrize_input:
        x = mat.symmetrize(x, "cholesky")
    return mat.tril(cholesky_p.bind(x), keep_weak=True)


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> Array:
    """Computes a rank-one update: the upper triangular S with S^T @ S = R^T @ R + w w^T.

    Args:
      r_matrix: upper triangular matrix R (n, n).
      w_vector: vector w (n,).
    """
    return cholesky_update_p.bind(r_matrix, w_vector)


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:
    """Computes eigenvalues and eigenvectors of general square matrices.

    Args:
      x: matrices (..., n, n), floating or complex.
      compute_left_eigenvectors: whether to return left eigenvectors.
      compute_right_eigenvectors: whether to return right eigenvectors.
      enable_eigvec_derivs: whether to allow differentiation of eigenvectors.
      implementation: accepted for compatibility.
      use_magma: accepted for compatibility.

    Returns: [eigenvalues, left eigenvectors, right eigenvectors], without eigenvectors that are not
      requested; all arrays are complex. Eigenvectors are columns of length 1.
    """
    return eig_p.bind(
        x, compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=compute_right_eigenvectors,
        enable_eigvec_derivs=enable_eigvec_derivs, implementation=implementation,
    )  # fmt: skip


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:
    """Computes eigenvectors and ascending eigenvalues of Hermitian matrices.

    Args:
      x: matrices (..., n, n), floating or complex.
      lower: whether to read only the lower triangle; otherwise only the upper triangle is read.
      symmetrize_input: whether to decompose (x + x^H) / 2, which uses both triangles.
      sort_eigenvalues: accepted for compatibility; eigenvalues are always sorted.
      subset_by_index: half-open range of the eigenvalues to return.
      implementation: accepted for compatibility.

    Returns: (eigenvectors in columns, eigenvalues).

    Example:
      >>> vectors, values = lax.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
      >>> values
      Array([1., 2.], dtype=float32)
    """
    if symmetrize_input:
        x = mat.symmetrize(x, "eigh")
    vectors, values = eigh_p.bind(
        x, algorithm=implementation, lower=lower, sort_eigenvalues=sort_eigenvalues,
        subset_by_index=subset_by_index,
    )  # fmt: skip
    return vectors, values


def hessenberg(a: ArrayLike) -> tuple[Array, Array]:
    """Reduces square matrices to upper Hessenberg form by Householder reflections.

    Args:
      a: matrices (..., n, n), floating or complex.

    Returns: (matrices, taus): the Hessenberg form, with the Householder vectors stored below the
      subdiagonal, and the scalar factors tau of the reflections, (..., n - 1).
    """
    form, taus = hessenberg_p.bind(a)
    return form, taus


def householder_product(a: ArrayLike, taus: ArrayLike) -> Array:
    """Computes the first columns of a product of Householder reflections.

    Args:
      a: Householder vectors below the diagonal of matrices (..., m, n) with m >= n, as in LAPACK.
      taus: scalar factors of the reflections, (..., k) with k <= n.

    Returns: array of the shape and dtype of a.
    """
    return householder_product_p.bind(a, taus)


def lu(x: ArrayLike) -> tuple[Array, Array, Array]:
    """Computes the LU decomposition with partial pivoting, x[permutation] = L @ U.

    Args:
      x: matrices (..., m, n), floating or complex.

    Returns: (factors, pivots, permutation): matrices that hold L below the diagonal and U on and
      above it, row exchanges, and the permutation of the rows. The unit diagonal of L is not
      stored.

    Example:
      >>> factors, pivots, permutation = lax.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> factors
      Array([[4.  , 4.  ],
             [0.25, 1.  ]], dtype=float32)
      >>> permutation
      Array([1, 0], dtype=int32)
    """
    factors, pivots, order = lu_p.bind(x)
    return factors, pivots, order


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> Array:
    """Converts the row exchanges that `lu` returns to a permutation of `permutation_size` rows."""
    return lu_pivots_to_permutation_p.bind(pivots, permutation_size=permutation_size)


def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> Array:
    """Multiplies `c` by the unitary matrix Q of a QR decomposition without forming Q.

    Args:
      a: Householder vectors below the diagonal, as in LAPACK.
      taus: scalar factors of the reflections.
      c: matrices to be multiplied.
      left: whether to compute Q @ c; otherwise c @ Q.
      transpose: whether to multiply by Q^H instead of Q.
    """
    return ormqr_p.bind(a, taus, c, left=left, transpose=transpose)


def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[Array, ...]:
    """Computes the QR decomposition x = Q @ R, or x[:, P] = Q @ R with column pivoting.

    Args:
      x: matrices (..., m, n), floating or complex.
      pivoting: whether columns are permuted so that the diagonal of R descends in absolute value.
      full_matrices: whether Q is (..., m, m); otherwise it is (..., m, min(m, n)).
      use_magma: accepted for compatibility.

    Returns: (Q, R), or (Q, R, P) if `pivoting`.
    """
    return tuple(qr_p.bind(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma))


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> tuple[Array, ...]:
    """Computes the Schur decomposition x = Z @ T @ Z^H.

    Args:
      x: matrices (..., n, n), floating or complex.
      compute_schur_vectors: whether Z is returned.
      sort_eig_vals: must be False.
      select_callable: accepted for compatibility.

    Returns: (T, Z), or (T,) without Schur vectors. T is upper triangular; for real x it is
      quasi-triangular: pairs of complex conjugate eigenvalues are 2 x 2 blocks on its diagonal.

    Raises:
      NotImplementedError: if `sort_eig_vals` is true.
    """
    if sort_eig_vals:
        raise NotImplementedError("schur: eigenvalues cannot be sorted on CPU")
    return tuple(
        schur_p.bind(
            x, compute_schur_vectors=compute_schur_vectors, sort_eig_vals=sort_eig_vals,
            select_callable=select_callable,
        )
    )  # fmt: skip


def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Computes the singular value decomposition x = U @ diag(s) @ V^H, with s in descending order.

    Args:
      x: matrices (..., m, n), floating or complex.
      full_matrices: whether U and V^H are square; otherwise their inner size is min(m, n).
      compute_uv: whether to compute U and V^H.
      subset_by_index: half-open range of the singular values to return.
      algorithm: accepted for compatibility.

    Returns: (U, s, V^H), or s alone if `compute_uv` is False.

    Example:
      >>> lax.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    values, *vectors = svd_p.bind(
        x, algorithm=algorithm, compute_uv=compute_uv, full_matrices=full_matrices,
        subset_by_index=subset_by_index,
    )  # fmt: skip
    return (vectors[0], values, vectors[1]) if compute_uv else values


def symmetric_product(
    a_matrix: ArrayLike, c_matrix: ArrayLike, *, alpha: float = 1.0, beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Array:  # fmt: skip
    """Computes alpha * A @ A^T + beta * C for symmetric C.

    Args:
      a_matrix: matrices A (..., n, k).
      c_matrix: symmetric matrices C (..., n, n).
      alpha: factor of the product.
      beta: factor of C.
      symmetrize_output: accepted for compatibility; both triangles are always computed.
    """
    return symmetric_product_p.bind(a_matrix, c_matrix, alpha=alpha, beta=beta)


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solves op(a) @ X = b for X if `left_side`, otherwise X @ op(a) = b.

    Args:
      a: triangular matrices (..., n, n), of which only the lower or upper triangle is read.
      b: right-hand sides; a single vector can have one axis fewer than `a`.
      left_side: whether `a` is on the left of X; otherwise it is on the right.
      lower: whether `a` is lower triangular; otherwise it is upper triangular.
      transpose_a: whether op transposes `a`.
      conjugate_a: whether op conjugates `a`.
      unit_diagonal: whether to assume ones on the diagonal of `a`, without reading it.

    Returns: array of the shape and dtype of b.

    Example:
      >>> a = jnp.array([[2.0, 0.0], [1.0, 4.0]])
      >>> lax.linalg.triangular_solve(a, jnp.array([2.0, 9.0]), left_side=True, lower=True)
      Array([1., 2.], dtype=float32)
    """
    conjugate_a = conjugate_a and mat.is_complex(as_value(a))
    rank = len(rules.shape_of(b))
    vector = rank == len(rules.shape_of(a)) - 1
    axis = rank if left_side else rank - 1
    if vector:
        b = expand_dims(b, (axis,))
    out = triangular_solve_p.bind(
        a, b, conjugate_a=conjugate_a, left_side=left_side, lower=lower, transpose_a=transpose_a,
        unit_diagonal=unit_diagonal,
    )  # fmt: skip
    return squeeze(out, (axis,)) if vector else out


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """Reduces Hermitian matrices to tridiagonal form by Householder reflections.

    Args:
      a: matrices (..., n, n), floating or complex, with n >= 1.
      lower: whether to read only the lower triangle; otherwise only the upper triangle is read.

    Returns: (matrices, d, e, taus): matrices that hold the Householder vectors, the real diagonal
      (..., n), the real off-diagonal (..., n - 1), and the scalar factors tau of the reflections,
      (..., n - 1).
    """
    factors, d, e, taus = tridiagonal_p.bind(a, lower=lower)
    return factors, d, e, taus


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Solves T @ X = b for X, where T is tridiagonal with diagonals dl[1:], d and du[:-1].

    Args:
      dl: subdiagonal (..., n); the first element is not read.
      d: main diagonal (..., n).
      du: superdiagonal (..., n); the last element is not read.
      b: right-hand sides (..., n, k).
      perturb_singular: whether to replace pivots close to 0 by a rounding error of the largest
        element of T. The solution for a singular T is then large but finite, as required for inverse
        iteration (Golub and Van Loan, Matrix Computations, 7.6.1). By default, it is not finite.
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=perturb_singular)


def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Computes the polar decomposition x = U @ H, where H is positive semidefinite.

    It is computed from the singular value decomposition, without iterations.

    Args:
      x: matrices (..., m, n), floating or complex.
      is_hermitian: accepted for compatibility.
      max_iterations: accepted for compatibility.
      eps: accepted for compatibility.
      dynamic_shape: accepted for compatibility.

    Returns: (U, H, number of iterations, whether the iteration converged). The last two are always
      0 and True.
    """
    u, s, vh = svd(x, full_matrices=False)
    unitary = mat.matmul(u, vh)
    from jitney.primitives.elementwise import binary
    from jitney.primitives.elementwise.convert import convert_element_type

    scaled = binary.mul(mat.as_column(convert_element_type(s, mat.dtype_of(vh))), vh)
    hermitian = mat.symmetrize(mat.matmul(mat.adjoint(vh), scaled))
    return unitary, hermitian, as_value(0), as_value(True)


for _name, _value in list(globals().items()):
    if getattr(_value, "__module__", None) == __name__ and not _name.startswith("_"):
        _value.__module__ = "jax.lax.linalg"
