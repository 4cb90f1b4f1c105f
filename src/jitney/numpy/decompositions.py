"""Matrix decompositions of `numpy.linalg`: Cholesky, eigenvalues, QR, singular values."""

from __future__ import annotations

from typing import Literal, NamedTuple, overload

from jitney.api.jit.jit import jit_when_traced
from jitney.core.typing import Array, ArrayLike
from jitney.lax import linalg as lax
from jitney.numpy.matrix_operands import check_square, inexact
from jitney.primitives.array.shape import (
    squeeze,
)
from jitney.primitives.elementwise import binary, unary
from jitney.primitives.elementwise.compiled_rules import LARGE
from jitney.primitives.elementwise.convert import convert
from jitney.primitives.linalg import matrix_helpers as mat


class EigResult(NamedTuple):
    """The result of `eig`: eigenvalues, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """The result of `eigh`: eigenvalues in ascending order, and eigenvectors as columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """The result of `qr`: Q with orthonormal columns, and upper triangular R."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """The result of `svd`: singular vectors U and Vh, and singular values S in descending order."""

    U: Array
    S: Array
    Vh: Array


@jit_when_traced(static_argnames=("upper", "symmetrize_input"), compiled_from=LARGE)
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Computes the Cholesky factor L with a = L @ L^H (lower), or U with a = U^H @ U (upper).

    Args:
      a: Hermitian positive definite matrices of shape (..., n, n).
      upper: whether to return U instead of L.
      symmetrize_input: whether to factor (a + a^H) / 2 instead of `a`.

    Returns: an array of the shape of `a`; NaN for matrices that are not positive definite (NumPy
      raises an error).

    Example:
      >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    a = inexact("cholesky", a)
    if symmetrize_input:
        check_square("cholesky", a)
    factor = lax.cholesky(mat.adjoint(a) if upper else a, symmetrize_input=symmetrize_input)
    return mat.adjoint(factor) if upper else factor


def eig(a: ArrayLike) -> EigResult:
    """Computes the eigenvalues and right eigenvectors of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Returns: complex eigenvalues of shape (..., n), and complex eigenvectors of shape (..., n, n) as
      columns. They are complex even if all imaginary parts are zero, unlike in NumPy.

    Example:
      >>> values, vectors = jnp.linalg.eig(jnp.array([[2.0, 0.0], [0.0, 3.0]]))
      >>> values
      Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    values, vectors = lax.eig(inexact("eig", a), compute_left_eigenvectors=False)
    return EigResult(values, vectors)


@jit_when_traced
def eigvals(a: ArrayLike) -> Array:
    """Computes the eigenvalues of square matrices.

    Args:
      a: matrices of shape (..., n, n).

    Returns: a complex array of shape (..., n), in no particular order.

    Example:
      >>> jnp.linalg.eigvals(jnp.array([[2.0, 0.0], [0.0, 3.0]]))
      Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    a = inexact("eigvals", a)
    return lax.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@jit_when_traced(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Computes the eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: matrices of shape (..., n, n).
      UPLO: the triangle of `a` to read: "L" (also if None) for the lower, "U" for the upper one.
      symmetrize_input: whether to decompose (a + a^H) / 2 instead of `a`.

    Returns: real eigenvalues in ascending order, of shape (..., n), and eigenvectors as columns, of
      shape (..., n, n).

    Raises:
      ValueError: if `UPLO` is another string.

    Example:
      >>> values, vectors = jnp.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> values.round(4)
      Array([1., 3.], dtype=float32)
    """
    a = inexact("eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(
            "jnp.linalg.eigh: `UPLO`, the triangle that is read, must be 'L' or 'U', but it is "
            f"{UPLO!r}"
        )
    if symmetrize_input:
        check_square("eigh", a)
    vectors, values = lax.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@jit_when_traced(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Computes the eigenvalues of Hermitian matrices.

    Args:
      a: matrices of shape (..., n, n).
      UPLO: the triangle of `a` to read: "L" (also if None) for the lower, "U" for the upper one.
      symmetrize_input: whether to decompose (a + a^H) / 2 instead of `a`.

    Returns: a real array of shape (..., n), in ascending order.

    Raises:
      ValueError: if `UPLO` is another string.

    Example:
      >>> jnp.linalg.eigvalsh(jnp.array([[2.0, 1.0], [1.0, 2.0]])).round(4)
      Array([1., 3.], dtype=float32)
    """
    return eigh(inexact("eigvalsh", a), UPLO, symmetrize_input).eigenvalues


@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...


@overload
def qr(
    a: ArrayLike, mode: Literal["reduced", "complete", "full", "raw"] = "reduced"
) -> QRResult: ...


@overload
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult: ...


@jit_when_traced(static_argnames=("mode",))
def qr(a: ArrayLike, mode: str = "reduced") -> Array | QRResult:
    """Computes the QR decomposition a = Q @ R: Q has orthonormal columns, R is upper triangular.

    Args:
      a: matrices of shape (..., m, n).
      mode: "reduced" (or its legacy alias "full"): Q has shape (..., m, k) with k = min(m, n);
        "complete": Q is square; "r": R alone; "raw": the Householder vectors and their scalar
        factors.

    Returns: a `QRResult`, or an array for mode "r".

    Raises:
      ValueError: for other modes.

    Example:
      >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
      >>> q, r = jnp.linalg.qr(a)
      >>> (q @ r).round(3)
      Array([[3., 1.],
             [4., 2.]], dtype=float32)
    """
    a = inexact("qr", a)
    if mode == "raw":
        factors, taus = lax_geqrf(a)
        return QRResult(mat.transpose(factors), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(
            f"jnp.linalg.qr: `mode` must be 'reduced', 'complete', 'r' or 'raw', but it is {mode!r}"
        )
    q, r = lax.qr(a, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def lax_geqrf(a: Array) -> tuple[Array, Array]:
    """Returns R with the Householder vectors below its diagonal, and their scalar factors."""
    from jitney.primitives.linalg.factorizations import geqrf_p

    return geqrf_p.bind(a)


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult: ...


@jit_when_traced(static_argnames=("full_matrices", "compute_uv", "hermitian", "subset_by_index"))
def svd(
    a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array | SVDResult:  # fmt: skip
    """Computes the singular value decomposition: a = U @ diag(S) @ Vh.

    Args:
      a: matrices of shape (..., m, n).
      full_matrices: whether U and Vh are square; otherwise, U has min(m, n) columns, and Vh has
        min(m, n) rows.
      compute_uv: whether to compute U and Vh.
      hermitian: whether `a` is known to be Hermitian.
      subset_by_index: the half-open range of the singular values to return, with their singular
        vectors; by default, all of them.

    Returns: an `SVDResult`, where S has shape (..., min(m, n)) and is in descending order; S alone
      if `compute_uv` is False.

    Raises:
      ValueError: if `subset_by_index` is combined with `full_matrices` and `compute_uv`.

    Example:
      >>> jnp.linalg.svd(jnp.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    a = inexact("svd", a)
    if subset_by_index is not None and full_matrices and compute_uv:
        raise ValueError(
            "jnp.linalg.svd: `full_matrices` must be False if `subset_by_index` is passed, as "
            f"the vectors of singular values {subset_by_index} do not form square matrices"
        )
    if not hermitian:
        out = lax.svd(
            a, full_matrices=full_matrices, compute_uv=compute_uv, subset_by_index=subset_by_index
        )
        return SVDResult(*out) if compute_uv else out
    vectors, values = lax.eigh(a)
    sizes = unary.abs(values)
    from jitney.numpy.sorting import argsort

    order = argsort(sizes, axis=-1, descending=True)
    if subset_by_index is not None:
        order = order[..., subset_by_index[0] : subset_by_index[1]]
    sizes = squeeze(mat.take_rows(mat.as_column(sizes), order), (sizes.ndim,))
    if not compute_uv:
        return sizes
    rows = mat.take_rows(mat.transpose(vectors), order)
    signs = mat.take_rows(mat.as_column(unary.sign(values)), order)
    right = binary.mul(unary.conj(rows) if mat.is_complex(rows) else rows, convert(signs, a.dtype))
    return SVDResult(mat.transpose(rows), sizes, right)


@jit_when_traced
def svdvals(x: ArrayLike, /) -> Array:
    """Computes the singular values of matrices.

    Args:
      x: matrices of shape (..., m, n).

    Returns: a real array of shape (..., min(m, n)), in descending order.

    Example:
      >>> jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, -4.0]]))
      Array([4., 3.], dtype=float32)
    """
    return svd(x, compute_uv=False)
