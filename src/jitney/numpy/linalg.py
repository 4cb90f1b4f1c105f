"""`jax.numpy.linalg`: linear algebra by NumPy's interface; functions of matrices are batched.

Integers become the default float. What is defined by solutions of systems (`inv`, `solve`, `det`)
is differentiated by solutions of systems.
"""

from __future__ import annotations

import math
import operator
from functools import partial
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from jitney.api.custom_jvp import custom_jvp
from jitney.api.jit import jit, jit_when_traced
from jitney.core import dtypes
from jitney.core.typing import Array, ArrayLike
from jitney.lax import linalg as lax
from jitney.numpy import products, promotion
from jitney.numpy.matrix_norms import (
    matrix_norm as matrix_norm,
    norm as norm,
    vector_norm as vector_norm,
)
from jitney.numpy.matrix_products import (
    cross as cross,
    diagonal as diagonal,
    matmul as matmul,
    matrix_transpose as matrix_transpose,
    multi_dot as multi_dot,
    outer as outer,
    tensordot as tensordot,
    trace as trace,
    vecdot as vecdot,
)
from jitney.numpy.selection import where
from jitney.primitives.array.shape import (
    broadcast_shapes,
    broadcast_to,
    expand_dims,
    reshape,
    squeeze,
)
from jitney.primitives.elementwise import binary, unary
from jitney.primitives.elementwise.convert import as_value, convert
from jitney.primitives.elementwise.large import LARGE
from jitney.primitives.linalg import linear_systems, matrix_helpers as mat
from jitney.primitives.reduction.reduce import reduce_prod, reduce_sum


class EigResult(NamedTuple):
    """Eigenvalues, and eigenvectors in columns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Ascending eigenvalues, and eigenvectors in columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Q with orthonormal columns, R upper triangular."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """Singular vectors in columns of U and rows of Vh, singular values S descending."""

    U: Array
    S: Array
    Vh: Array


class SlogdetResult(NamedTuple):
    """Sign (complex: phase) and logarithm of the absolute value of a determinant."""

    sign: Array
    logabsdet: Array


@overload
def _inexact(name: str, operand: ArrayLike, /) -> Array: ...


@overload
def _inexact(name: str, first: ArrayLike, second: ArrayLike, /) -> list[Array]: ...


def _inexact(name: str, /, *operands: ArrayLike) -> Any:
    """Operands checked, of one inexact dtype, as values."""
    promotion.check_arraylike(f"jnp.linalg.{name}", *operands)
    values = [as_value(x) for x in promotion.promote_dtypes_inexact(*operands)]
    return values[0] if len(values) == 1 else values


def _check_square(what: str, a: Array, end: str = "") -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to {what} must have shape [..., n, n], got {a.shape}{end}")


def _of_dtype(value: complex, like: Array) -> Any:
    return np.asarray(value, like.dtype)[()]


# --- factorisations -------------------------------------------------------------------------------


@jit_when_traced(static_argnames=("upper", "symmetrize_input"), compiled_from=LARGE)
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Lower triangular L with a = L @ L^H, or upper triangular U with a = U^H @ U.

    Args:
      a: Hermitian positive definite matrices (..., n, n).
      upper: whether U is returned.
      symmetrize_input: whether (a + a^H) / 2 is taken in place of `a`.

    Returns: an array of the shape of `a`; NaN where `a` is not positive definite, for which NumPy
      raises an error.

    Example:
      >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 0.],
             [1., 2.]], dtype=float32)
    """
    a = _inexact("cholesky", a)
    factor = lax.cholesky(mat.adjoint(a) if upper else a, symmetrize_input=symmetrize_input)
    return mat.adjoint(factor) if upper else factor


def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues and (right) eigenvectors of square matrices.

    Args:
      a: matrices (..., n, n).

    Returns: complex eigenvalues (..., n) and eigenvectors (..., n, n) in columns. They are complex
      even where they have no imaginary parts, unlike in NumPy.

    Example:
      >>> values, vectors = jnp.linalg.eig(jnp.array([[2.0, 0.0], [0.0, 3.0]]))
      >>> values
      Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    values, vectors = lax.eig(_inexact("eig", a), compute_left_eigenvectors=False)
    return EigResult(values, vectors)


@jit_when_traced
def eigvals(a: ArrayLike) -> Array:
    """Eigenvalues of square matrices.

    Args:
      a: matrices (..., n, n).

    Returns: a complex array (..., n), in no special order.

    Example:
      >>> jnp.linalg.eigvals(jnp.array([[2.0, 0.0], [0.0, 3.0]]))
      Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    a = _inexact("eigvals", a)
    return lax.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


@jit_when_traced(static_argnames=("UPLO", "symmetrize_input"))
def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: matrices (..., n, n).
      UPLO: which triangle counts, "L" (also if None) or "U".
      symmetrize_input: whether (a + a^H) / 2 is taken.

    Returns: real eigenvalues (..., n), ascending, and eigenvectors (..., n, n) in columns.

    Raises:
      ValueError: for another `UPLO`.

    Example:
      >>> values, vectors = jnp.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
      >>> values.round(4)
      Array([1., 3.], dtype=float32)
    """
    a = _inexact("eigh", a)
    if UPLO not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {UPLO}")
    vectors, values = lax.eigh(a, lower=UPLO != "U", symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


@jit_when_traced(static_argnames=("UPLO", "symmetrize_input"))
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """Eigenvalues of Hermitian matrices.

    Args:
      a: matrices (..., n, n).
      UPLO: which triangle counts, "L" (also if None) or "U".
      symmetrize_input: whether (a + a^H) / 2 is taken.

    Returns: a real array (..., n), ascending.

    Raises:
      ValueError: for another `UPLO`.

    Example:
      >>> jnp.linalg.eigvalsh(jnp.array([[2.0, 1.0], [1.0, 2.0]])).round(4)
      Array([1., 3.], dtype=float32)
    """
    return eigh(_inexact("eigvalsh", a), UPLO, symmetrize_input).eigenvalues


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
    """Q with orthonormal columns and upper triangular R such that a = Q @ R.

    Args:
      a: matrices (..., m, n).
      mode: "reduced": Q is (..., m, k) with k = min(m, n); "complete": Q is square; "r": R alone;
        "raw": Householder vectors and their factors.

    Returns: a `QRResult`, or an array for mode "r".

    Raises:
      ValueError: for other modes.

    Example:
      >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
      >>> q, r = jnp.linalg.qr(a)
      >>> jnp.allclose(q @ r, a, atol=1e-5)
      Array(True, dtype=bool)
    """
    a = _inexact("qr", a)
    if mode == "raw":
        factors, taus = lax_geqrf(a)
        return QRResult(mat.transpose(factors), taus)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"Unsupported QR decomposition mode '{mode}'")
    q, r = lax.qr(a, full_matrices=mode in ("full", "complete"))
    return r if mode == "r" else QRResult(q, r)


def lax_geqrf(a: Array) -> tuple[Array, Array]:
    """(R with Householder vectors below it, their factors)."""
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
    """Singular value decomposition: a = U @ diag(S) @ Vh.

    Args:
      a: matrices (..., m, n).
      full_matrices: whether U and Vh are square.
      compute_uv: whether vectors are wanted.
      hermitian: whether `a` is known to be Hermitian.
      subset_by_index: the half-open range of singular values wanted, of reduced size.

    Returns: an `SVDResult`, its S (..., min(m, n)) descending; or S alone unless `compute_uv`.

    Raises:
      ValueError: if `subset_by_index` comes with `full_matrices` and vectors.

    Example:
      >>> jnp.linalg.svd(jnp.array([[3.0, 0.0], [0.0, -4.0]]), compute_uv=False)
      Array([4., 3.], dtype=float32)
    """
    a = _inexact("svd", a)
    if subset_by_index is not None and full_matrices and compute_uv:
        raise ValueError("full_matrices and subset_by_index cannot both be set")
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
    """Singular values.

    Args:
      x: matrices (..., m, n).

    Returns: a real array (..., min(m, n)), descending.

    Example:
      >>> jnp.linalg.svdvals(jnp.array([[3.0, 0.0], [0.0, -4.0]]))
      Array([4., 3.], dtype=float32)
    """
    return svd(x, compute_uv=False)


# --- systems --------------------------------------------------------------------------------------


@jit  # eager, too: the program of the system's solution is to be compiled once
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """X with a @ X = b.

    Args:
      a: matrices (..., n, n).
      b: right sides: a vector (n,), or matrices (..., n, k).

    Returns: an array (n,) or (..., n, k); without meaning, but without an error, where `a` is
      singular.

    Raises:
      ValueError: if `a` is not square or shapes do not go together.

    Example:
      >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
      Array([1. , 0.5], dtype=float32)
    """
    a, b = _inexact("solve", a, b)
    return _solve(a, b)


def _solve(a: Array, b: Array) -> Array:
    _check_square("solve", a, ".")
    n = a.shape[-1]
    if b.ndim == 0 or (1 < b.ndim == a.ndim - 1 and b.shape[-2] != n):
        raise ValueError(
            f"Invalid shapes for solve: {a.shape}, {b.shape}. Prior to JAX v0.5.0, this would have "
            "been treated as a batched 1-dimensional solve. To recover this behavior, use "
            "solve(a, b[..., None]).squeeze(-1)."
        )
    vector = b.ndim == 1
    right = expand_dims(b, (1,)) if vector else b
    if right.shape[-2] != n:
        core = "(m,m),(m)->(m)" if vector else "(m,m),(m,n)->(m,n)"
        raise ValueError(
            f"inconsistent size for core dimension 'm': {right.shape[-2]} vs {n} on vectorized "
            f"function with excluded=frozenset() and signature='{core}'"
        )
    batch = broadcast_shapes(a.shape[:-2], right.shape[:-2])
    out = linear_systems.solve(
        broadcast_to(a, (*batch, n, n)), broadcast_to(right, (*batch, *right.shape[-2:]))
    )
    return squeeze(out, (out.ndim - 1,)) if vector else out


@jit  # eager, too: the program of the system's solution is to be compiled once
def inv(a: ArrayLike) -> Array:
    """The inverse of square matrices; to solve systems, `solve` is faster and more exact.

    Args:
      a: matrices (..., n, n).

    Returns: an array of the shape of `a`; infinities and NaN where `a` is singular, for which NumPy
      raises an error.

    Raises:
      ValueError: if `a` is not square.

    Example:
      >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    a = _inexact("inv", a)
    _check_square("inv", a, ".")
    n = a.shape[-1]
    return _solve(a, mat.eye(n, n, a))


def _parity(pivots: Array) -> Array:
    """Number of exchanges of rows."""
    from jitney.primitives.array.creation import broadcasted_iota

    places = broadcasted_iota(pivots.dtype, pivots.shape, pivots.ndim - 1)
    return reduce_sum(convert(pivots != places, np.dtype(np.int32)), (pivots.ndim - 1,))


def _diagonal_and_sign(a: Array) -> tuple[Array, Array, Array, Array]:
    """(factors, order, diagonal of U, sign of the permutation in the dtype of `a`)."""
    factors, pivots, order = lax.lu(a)
    even = 1 - 2 * (_parity(pivots) & 1)
    return factors, order, mat.diagonal(factors), convert(even, a.dtype)


@custom_jvp
def _det(a: Array) -> Array:
    _, _, d, sign = _diagonal_and_sign(a)
    return sign * reduce_prod(d, (d.ndim - 1,))


@_det.defjvp
def _det_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    """The derivative is the trace of det(a) a^-1 @ t; it exists for singular `a`, too.

    The last row of a system by U is multiplied by the other diagonal elements instead of divided.
    """
    (a,), (t,) = primals, tangents
    factors, order, d, sign = _diagonal_and_sign(a)
    n = a.shape[-1]
    value = sign * reduce_prod(d, (d.ndim - 1,))
    if n == 0:
        return value, value
    others = sign * reduce_prod(d[..., :-1], (d.ndim - 1,))
    right = lax.triangular_solve(
        factors, mat.take_rows(t, order), left_side=True, lower=True, unit_diagonal=True
    )
    last = broadcast_to(np.arange(n) == n - 1, d.shape)
    weights = where(last, others[..., None], value[..., None])
    nonzero = where(last | (d == 0), _of_dtype(1, a), d)
    unit = broadcast_to(np.eye(n, dtype=bool), factors.shape)
    upper = where(unit, nonzero[..., None], factors)
    x = lax.triangular_solve(upper, weights[..., None] * right, left_side=True)
    d_x = mat.diagonal(x)
    return value, reduce_sum(d_x, (d_x.ndim - 1,))


@jit  # eager, too, as `inv`
def det(a: ArrayLike) -> Array:
    """The determinant of square matrices.

    Args:
      a: matrices (..., n, n).

    Returns: an array (...) of inexact dtype.

    Raises:
      ValueError: if `a` is not square.

    Example:
      >>> jnp.linalg.det(jnp.array([[1.0, 2.0], [3.0, 5.0]])).round(4)
      Array(-1., dtype=float32)
    """
    a = _inexact("det", a)
    _check_square("_det()", a)
    return _det(a)


@partial(jit, static_argnames=("method",))  # eager, too, as `inv`
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Sign and logarithm of the absolute value of the determinant.

    Args:
      a: matrices (..., n, n).
      method: "lu" (also if None) or "qr".

    Returns: two arrays (...): signs (of complex matrices phases; 0 where the determinant is 0), and
      logarithms (-inf there).

    Raises:
      ValueError: if `a` is not square, or for other methods.

    Example:
      >>> sign, logarithm = jnp.linalg.slogdet(jnp.array([[0.0, 1.0], [1.0, 0.0]]))
      >>> sign
      Array(-1., dtype=float32)
    """
    a = _inexact("slogdet", a)
    _check_square("slogdet()", a)
    if method not in (None, "lu", "qr"):
        raise ValueError(
            f"Unknown slogdet method '{method}'. Supported methods are 'lu' (`None`), and 'qr'."
        )
    return SlogdetResult(*_slogdet(a))


@custom_jvp
def _slogdet(a: Array) -> tuple[Array, Array]:
    _, _, d, sign = _diagonal_and_sign(a)
    axis = (d.ndim - 1,)
    zero = reduce_sum(convert(d == 0, np.dtype(np.int32)), axis) > 0
    size = unary.abs(d)
    phase = d / convert(size, d.dtype) if mat.is_complex(d) else unary.sign(d)
    sign = where(zero, _of_dtype(0, a), sign * reduce_prod(phase, axis))
    total = reduce_sum(unary.log(size), axis)
    return sign, where(zero, _of_dtype(-math.inf, total), total)


@_slogdet.defjvp
def _slogdet_jvp(
    primals: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    (a,), (t,) = primals, tangents
    sign, size = _slogdet(a)
    change = mat.diagonal(_solve(a, t))
    total = reduce_sum(change, (change.ndim - 1,))
    if not mat.is_complex(a):
        return (sign, size), (sign * _of_dtype(0, a), total)
    turn = convert(unary.imag(total), a.dtype) * _of_dtype(1j, a)
    return (sign, size), (sign * turn, unary.real(total))


@partial(custom_jvp, nondiff_argnums=(2,))
def _pinv(a: Array, rtol: Array, hermitian: bool) -> Array:
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    limit = (rtol[..., None] * s[..., :1]) if s.shape[-1] else s
    kept = s > limit
    reciprocal = where(kept, 1 / where(kept, s, _of_dtype(1, s)), _of_dtype(0, s))
    return mat.matmul(mat.adjoint(vh), convert(reciprocal, a.dtype)[..., None] * mat.adjoint(u))


@_pinv.defjvp
def _pinv_jvp(
    hermitian: bool, primals: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[Array, Array]:
    a, rtol = primals
    t = tangents[0]
    p = _pinv(a, rtol, hermitian)
    m, n = a.shape[-2:]
    mm, adj = mat.matmul, mat.adjoint
    left = mat.eye(n, n, a) - mm(p, a)
    right = mat.eye(m, m, a) - mm(a, p)
    out = -mm(p, mm(t, p)) + mm(mm(p, adj(p)), mm(adj(t), right))
    return p, out + mm(mm(left, adj(t)), mm(adj(p), p))


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """The Moore-Penrose inverse.

    Args:
      a: matrices (..., m, n).
      rtol: singular values up to this times the greatest count as 0; 10 max(m, n) eps by default.
      hermitian: whether `a` is known to be Hermitian.
      rcond: an older name for `rtol`.

    Returns: an array (..., n, m).

    Example:
      >>> jnp.linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]]))
      Array([[0.5, 0. ],
             [0. , 0. ]], dtype=float32)
    """
    a = _inexact("pinv", a)
    m, n = a.shape[-2:]
    real = dtypes.finfo(a.dtype).dtype
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 10.0 * max(m, n) * float(dtypes.finfo(a.dtype).eps)
    rtol = broadcast_to(convert(as_value(np.asarray(rtol) if isinstance(rtol, float | int) else rtol),
                                real), a.shape[:-2])  # fmt: skip
    return _pinv(a, rtol, hermitian)


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """The least squares problem: x such that the norm of a @ x - b is minimal.

    Args:
      a: a matrix (m, n).
      b: right sides (m,) or (m, k).
      rcond: singular values up to this times the greatest count as 0; max(m, n) eps by default.
      numpy_resid: whether residuals are empty where NumPy's are.

    Returns: (solution, residuals, rank of `a`, singular values of `a`).

    Raises:
      TypeError: for other ranks.
      ValueError: if `a` and `b` differ in length.

    Example:
      >>> a = jnp.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
      >>> x, _, rank, _ = jnp.linalg.lstsq(a, jnp.array([1.0, 3.0, 5.0]))
      >>> x.round(3)
      Array([1., 2.], dtype=float32)
    """
    a, b = _inexact("lstsq", a, b)
    if a.shape[:1] != b.shape[:1]:
        raise ValueError("Leading dimensions of input arrays must match")
    if a.ndim != 2:
        raise TypeError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if b.ndim not in (1, 2):
        raise TypeError(f"{b.ndim}-dimensional array given. Array must be one or two-dimensional")
    vector = b.ndim == 1
    right = expand_dims(b, (1,)) if vector else b
    m, n = a.shape
    if a.size == 0:
        s = mat.zeros((0,), a)
        squares = _squares_of_columns(right) if m else s
        return mat.zeros((n, *b.shape[1:]), a), squares, as_value(np.int32(0)), s
    eps = float(dtypes.finfo(a.dtype).eps)
    cutoff = eps * max(n, m) if rcond is None else where(rcond < 0, eps, rcond)
    u, s, vt = svd(a, full_matrices=False)
    mask = (s > 0) & (s >= convert(as_value(cutoff), s.dtype) * s[0])
    rank = reduce_sum(convert(mask, np.dtype(np.int32)), (0,))
    inverse = where(mask, 1 / where(mask, s, _of_dtype(1, s)), _of_dtype(0, s))
    inner = mat.matmul(mat.adjoint(u), right)
    x = mat.matmul(mat.adjoint(vt), convert(inverse, a.dtype)[:, None] * inner)
    if numpy_resid and (m <= n or int(rank) < n):
        residuals = mat.zeros((0,), s)
    else:
        residuals = _squares_of_columns(right - mat.matmul(a, x))
    return (squeeze(x, (1,)) if vector else x), residuals, rank, s


def _squares_of_columns(x: Array) -> Array:
    size = unary.abs(x)
    return reduce_sum(size * size, (0,))


# --- numbers --------------------------------------------------------------------------------------


@jit_when_traced(static_argnames=("p",))
def cond(x: ArrayLike, p: int | float | str | None = None) -> Array:
    """The condition number of matrices.

    Args:
      x: matrices (..., m, n), square unless `p` is None, 2 or -2.
      p: the order of the norm; see `norm`. None is 2: the quotient of the extreme singular values.

    Returns: an array (...) of a float dtype.

    Raises:
      ValueError: if `x` has no elements, a lower rank, or is not square.

    Example:
      >>> jnp.linalg.cond(jnp.array([[4.0, 0.0], [0.0, 2.0]]))
      Array(2., dtype=float32)
    """
    promotion.check_arraylike("cond", x)
    x = _inexact("cond", x)
    if x.ndim < 2:
        raise ValueError(
            f"jnp.linalg.cond: input array must be at least 2D; got arr.shape={x.shape}"
        )
    if x.size == 0:
        raise ValueError(f"jnp.linalg.cond: input array must not be empty; got arr.shape={x.shape}")
    if p is None or p in (2, -2):
        s = svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"jnp.linalg.cond: for {p=}, array must be square; got arr.shape={x.shape}"
        )
    out = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    has_nan = reduce_sum(convert(x != x, np.dtype(np.int32)), (x.ndim - 2, x.ndim - 1)) > 0
    return where((out != out) & ~has_nan, _of_dtype(math.inf, out), out)


def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """The rank of matrices: the number of singular values that do not count as 0.

    Args:
      M: matrices (..., m, n); of a vector the rank is whether it has a nonzero element.
      rtol: singular values up to this times the greatest count as 0; max(m, n) eps by default.
      hermitian: whether `M` is known to be Hermitian.
      tol: an older name for `rtol`.

    Returns: an array (...) of dtype int32.

    Raises:
      ValueError: if both `rtol` and `tol` are given.

    Example:
      >>> jnp.linalg.matrix_rank(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
      Array(1, dtype=int32)
    """
    if rtol is not None and tol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    m = _inexact("matrix_rank", M)
    if m.ndim < 2:
        return convert(reduce_sum(convert(m != 0, np.dtype(np.int32)), tuple(range(m.ndim))) > 0,
                       np.dtype(np.int32))  # fmt: skip
    s = svd(m, full_matrices=False, compute_uv=False, hermitian=hermitian)
    rtol = tol if rtol is None else rtol
    if s.shape[-1] == 0:
        return reduce_sum(convert(s, np.dtype(np.int32)), (s.ndim - 1,))
    if rtol is None:
        rtol = max(m.shape[-2:]) * float(dtypes.finfo(s.dtype).eps)
    limit = s[..., 0] * convert(as_value(rtol), s.dtype)
    return reduce_sum(convert(s > limit[..., None], np.dtype(np.int32)), (s.ndim - 1,))


@jit_when_traced(static_argnames=("n",))
def matrix_power(a: ArrayLike, n: int) -> Array:
    """`a` to the integer power `n`, by repeated squares.

    Args:
      a: matrices (..., n, n).
      n: the exponent; a negative one is of the inverse. It must be known.

    Raises:
      TypeError: if `a` is not square or `n` no integer.

    Example:
      >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [1, 0]]), 5)
      Array([[8, 5],
             [5, 3]], dtype=int32)
    """
    promotion.check_arraylike("jnp.linalg.matrix_power", a)
    x = as_value(a)
    if x.ndim < 2:
        raise TypeError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if x.shape[-2] != x.shape[-1]:
        raise TypeError("Last 2 dimensions of the array must be square")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError(f"exponent must be an integer, got {n}") from error
    if n == 0:
        return mat.eye(x.shape[-2], x.shape[-2], x)
    if n < 0:
        x, n = inv(x), -n
    out: Any = None
    while True:
        if n & 1:
            out = x if out is None else products.matmul(out, x)
        n >>= 1
        if not n:
            return out
        x = products.matmul(x, x)


# --- tensors ---------------------------------------------------------------------------------------


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """The inverse of `tensordot(a, ., ind)`.

    Args:
      a: an array; the product of its first `ind` extents is that of the others.
      ind: how many axes are of the result of the product.

    Returns: an array of shape a.shape[ind:] + a.shape[:ind].

    Raises:
      ValueError: if the products differ, or if `ind` is not positive.

    Example:
      >>> jnp.linalg.tensorinv(jnp.eye(4).reshape(2, 2, 4), ind=2).shape
      (4, 2, 2)
    """
    a = promotion.ensure_arraylike("tensorinv", a)
    ind = operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got ind={ind}")
    front, back = a.shape[:ind], a.shape[ind:]
    if math.prod(front) != math.prod(back):
        raise ValueError(
            f"product of dimensions of a.shape[:{ind}]={front} must equal that of "
            f"a.shape[{ind}:]={back}"
        )
    square = reshape(a, (math.prod(front), math.prod(back)))
    return reshape(inv(square), (*back, *front))


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Array:
    """X with tensordot(a, X, X.ndim) = b.

    Args:
      a: an array whose first axes are those of `b`.
      b: the right side.
      axes: axes of `a` that are moved to its end first.

    Returns: an array of shape a.shape[b.ndim:].

    Raises:
      ValueError: if the shapes do not go together.

    Example:
      >>> jnp.linalg.tensorsolve(2 * jnp.eye(4).reshape(2, 2, 4), jnp.ones((2, 2)))
      Array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """
    a, b = promotion.ensure_arraylike("tensorsolve", a, b)
    if axes is not None:
        import jitney.numpy as jnp

        a = jnp.moveaxis(a, axes, tuple(range(a.ndim - len(axes), a.ndim)))
    shape = a.shape[b.ndim :]
    if a.shape[: b.ndim] != b.shape or math.prod(shape) != b.size:
        raise ValueError("After moving axes to end, leading shape of a must match shape of b.")
    out = solve(reshape(a, (b.size, b.size)), reshape(b, (b.size,)))
    return reshape(out, shape)


for _name in list(globals()):
    _value = globals()[_name]
    if not _name.startswith("_") and str(getattr(_value, "__module__", "")).startswith(
        "jitney.numpy."
    ):
        _value.__module__ = "jax.numpy.linalg"
