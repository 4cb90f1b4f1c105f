"""Factorizations and solutions of linear systems, by NumPy and SciPy.

The last two axes are those of matrices; leading axes are batch axes. float16 and bfloat16 are
computed in float32. If a factorization does not exist (a matrix that is not positive definite,
iterations that do not converge, operands that are not finite), all elements of its results are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from jitney.compiler import blas
from jitney.core.util import float_errors

Array: TypeAlias = np.ndarray
Spec: TypeAlias = tuple[tuple[int, ...], "np.dtype"]
Found: TypeAlias = Sequence[Array] | None  # None stands for results of NaN

_REAL = {"F": np.dtype(np.float32), "D": np.dtype(np.float64)}
_COMPLEX = {"f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}


def real_dtype(dtype: np.dtype) -> np.dtype:
    """Returns the dtype of the singular values of matrices of `dtype`."""
    return _REAL.get(dtype.char, dtype)


def complex_dtype(dtype: np.dtype) -> np.dtype:
    """Returns the dtype of the eigenvalues of matrices of `dtype`."""
    return _COMPLEX.get(dtype.char, np.dtype(np.complex64) if dtype.itemsize < 4 else dtype)


def wide_dtype(dtype: np.dtype) -> np.dtype:
    """Returns the dtype in which arrays of `dtype` are computed.

    The dtypes of integer arrays, such as pivots, are unchanged.
    """
    return dtype if dtype.char in "fdFD" or dtype.kind in "iu" else np.dtype(np.float32)


def wide(x: Array) -> Array:
    """Returns `x` converted to the dtype in which it is computed."""
    return x.astype(wide_dtype(x.dtype), copy=False)


def _lapack(name: str, x: Array) -> Callable[..., tuple[Array, ...]]:
    from scipy.linalg.lapack import get_lapack_funcs

    return get_lapack_funcs((name,), (x,))[0]


def _mapped(
    fn: Callable[..., Found], outs: Sequence[Spec], ranks: Sequence[int], *xs: Array
) -> list[Array]:
    """Applies `fn` to each item of a batch and returns the stacked results.

    Args:
      fn: a function that returns a sequence of arrays; None, or a LinAlgError, stands for NaN.
      outs: the (shape, dtype) of each result of a call.
      ranks: the number of trailing axes of each operand that are passed to a call.
      xs: the operands, which have equal batch axes.
    """
    batch = xs[0].shape[: xs[0].ndim - ranks[0]]
    results = [np.empty((*batch, *shape), dtype) for shape, dtype in outs]
    xs = tuple(map(wide, xs))
    with blas.for_work(_work(*xs)):
        for index in np.ndindex(*batch):
            try:
                arrays = fn(*[x[index] for x in xs])
            except np.linalg.LinAlgError:
                arrays = None
            for k, out in enumerate(results):
                nothing = math.nan if out.dtype.kind in "fcV" else 0
                out[index] = nothing if arrays is None else arrays[k]
    return results


def _work(*xs: Array) -> int:
    """Returns the approximate number of operations of a factorization, or of a solve with it."""
    sizes = [n for x in xs for n in x.shape[-2:]]
    return math.prod(sorted(sizes)[-3:])


def _guarded(fn: Callable[[Array], Sequence[Array]], outs: Sequence[Spec], x: Array) -> list[Array]:
    """Applies a batched NumPy function to matrices, one by one if the batched call fails."""
    batch, matrices = x.shape[:-2], wide(x)
    try:
        with float_errors.ignored(), blas.for_work(_work(matrices)):
            values = fn(matrices)
    except np.linalg.LinAlgError:
        return _mapped(fn, outs, (2,), x)
    return [
        np.ascontiguousarray(v, dtype).reshape((*batch, *shape))
        for v, (shape, dtype) in zip(values, outs, strict=True)
    ]


# --- factorizations -------------------------------------------------------------------------------


def cholesky(x: Array) -> Array:
    """Returns the lower triangular L with x = L @ L^H, reading only the lower triangle of `x`."""
    return _guarded(lambda a: (np.linalg.cholesky(a),), [(x.shape[-2:], x.dtype)], x)[0]


def lu(x: Array) -> list[Array]:
    """Returns [L below the diagonal and U, int32 pivots, int32 permutation].

    They satisfy x[permutation] = L @ U.
    """
    m, n = x.shape[-2:]
    k = min(m, n)
    getrf = _lapack("getrf", wide(x[..., :0, :0]))
    int32 = np.dtype(np.int32)

    def one(a: Array) -> Found:
        if k == 0:
            return a, np.zeros(0, int32)
        factors, pivots, _ = getrf(a)
        return factors, pivots

    factors, pivots = _mapped(one, [((m, n), x.dtype), ((k,), int32)], (2,), x)
    return [factors, pivots, pivots_to_permutation(pivots, m)]


def pivots_to_permutation(pivots: Array, size: int) -> Array:
    """Returns the permutation that exchanges rows i and pivots[i], for ascending i."""
    batch = pivots.shape[:-1]
    out = np.empty((*batch, size), np.int32)
    for index in np.ndindex(*batch):
        rows = list(range(size))
        for i, p in enumerate(pivots[index].tolist()):
            if 0 <= p < size:
                rows[i], rows[p] = rows[p], rows[i]
        out[index] = rows
    return out


def eigh(x: Array, lower: bool = True) -> list[Array]:
    """Returns [eigenvectors in columns, ascending real eigenvalues] of a Hermitian matrix."""
    n = x.shape[-1]
    uplo = "L" if lower else "U"

    def compute(a: Array) -> Sequence[Array]:
        values, vectors = np.linalg.eigh(a, uplo)
        return vectors, values

    return _guarded(compute, [((n, n), x.dtype), ((n,), real_dtype(x.dtype))], x)


def _is_finite(x: Array) -> bool:
    """Returns whether all elements of a matrix are finite."""
    return bool(np.isfinite(wide(x)).all())


def eig(x: Array, left: bool, right: bool) -> list[Array]:
    """Returns [eigenvalues, left eigenvectors if `left`, right ones if `right`], all complex."""
    n, dtype = x.shape[-1], complex_dtype(x.dtype)
    outs = [((n,), dtype)] + [((n, n), dtype)] * (left + right)

    def one(a: Array) -> Found:
        if n == 0:
            return (np.zeros(0, dtype),) + (np.zeros((0, 0), dtype),) * (left + right)
        if not _is_finite(a):
            return None
        from scipy import linalg

        a, exponent = _brought_near_one(a)
        decomposition = linalg.eig(a, left=left, right=right, check_finite=False)
        values, *vectors = decomposition if isinstance(decomposition, tuple) else (decomposition,)
        return _times_power(values, exponent), *vectors

    return _mapped(one, outs, (2,), x)


def _brought_near_one(a: Array) -> tuple[Array, int]:
    """Returns (matrix, exponent): the matrix is scaled by 2^-exponent if elements are extreme.

    LAPACK's `geev` scales matrices as well, but some versions return the eigenvalues of the scaled
    matrix.
    """
    parts = np.ascontiguousarray(a).view(real_dtype(a.dtype))
    exponent = int(np.frexp(np.abs(parts).max())[1])
    if abs(exponent) <= (30 if parts.dtype == np.float32 else 400):
        return a, 0
    return _times_power(a, -exponent), exponent


def _times_power(x: Array, exponent: int) -> Array:
    """Returns the real or complex array `x` times 2^exponent."""
    parts = np.ascontiguousarray(x).view(real_dtype(x.dtype))
    return np.ldexp(parts, exponent).view(x.dtype)


def qr(x: Array, pivoting: bool = False, full_matrices: bool = True) -> list[Array]:
    """Returns [Q, R], followed by the int32 permutation of columns if `pivoting`.

    Q is square if `full_matrices`.
    """
    m, n = x.shape[-2:]
    k = m if full_matrices else min(m, n)
    outs: list[Spec] = [((m, k), x.dtype), ((k, n), x.dtype)]
    if not pivoting:
        mode = "complete" if full_matrices else "reduced"
        return _guarded(lambda a: np.linalg.qr(a, mode), outs, x)

    def one(a: Array) -> Found:
        if m == 0 or n == 0:
            return np.eye(m, k), np.zeros((k, n)), np.arange(n)
        from scipy import linalg

        mode = "full" if full_matrices else "economic"
        return linalg.qr(a, mode=mode, pivoting=True, check_finite=False)

    return _mapped(one, [*outs, ((n,), np.dtype(np.int32))], (2,), x)


def geqrf(x: Array) -> list[Array]:
    """Returns [R with the Householder vectors below it, the factors of the reflections]."""
    m, n = x.shape[-2:]
    k = min(m, n)

    def one(a: Array) -> Found:
        if k == 0:
            return a, np.zeros(0)
        factors, taus, _, _ = _lapack("geqrf", a)(a)
        return factors, taus

    return _mapped(one, [((m, n), x.dtype), ((k,), x.dtype)], (2,), x)


def householder_product(x: Array, taus: Array) -> Array:
    """Returns the first columns of the product of the reflections I - taus[i] v v^H.

    The vector v is stored in column i of `x`, below the diagonal.
    """
    m, n = x.shape[-2:]
    k = taus.shape[-1]

    def one(a: Array, factors: Array) -> Found:
        out = np.eye(m, n, dtype=a.dtype)
        for i in reversed(range(k)):
            v = np.concatenate([np.zeros(i), np.ones(1), a[i + 1 :, i]]).astype(a.dtype)
            out -= factors[i] * np.outer(v, v.conj() @ out)
        return (out,)

    return _mapped(one, [((m, n), x.dtype)], (2, 1), x, taus)[0]


def ormqr(x: Array, taus: Array, c: Array, left: bool, transpose: bool) -> Array:
    """Returns Q @ c if `left`, else c @ Q; Q is replaced by its adjoint if `transpose`.

    Q is the complete product of the reflections.
    """
    m, k = x.shape[-2], min(x.shape[-2:])
    full = np.zeros((*x.shape[:-1], m), x.dtype)
    full[..., :k] = x[..., :k]
    q = householder_product(full, taus)
    if transpose:
        q = np.swapaxes(q, -1, -2).conj()
    return (q @ c if left else c @ q).astype(c.dtype)


def svd(x: Array, full_matrices: bool = True, compute_uv: bool = True) -> list[Array]:
    """Returns [singular values in descending order], followed by [U, V^H] if `compute_uv`."""
    m, n = x.shape[-2:]
    k = min(m, n)
    outs: list[Spec] = [((k,), real_dtype(x.dtype))]
    if not compute_uv:
        return _guarded(lambda a: (np.linalg.svd(a, compute_uv=False),), outs, x)
    rows, columns = (m, n) if full_matrices else (k, k)
    outs += [((m, rows), x.dtype), ((columns, n), x.dtype)]

    def compute(a: Array) -> Sequence[Array]:
        u, s, vh = np.linalg.svd(a, full_matrices)
        return s, u, vh

    return _guarded(compute, outs, x)


def schur(x: Array, vectors: bool = True) -> list[Array]:
    """Returns [T], or [T, Z] if `vectors`, with x = Z @ T @ Z^H; a real T is quasi-triangular."""
    n = x.shape[-1]

    def one(a: Array) -> Found:
        if n == 0:
            return a, a
        if not _is_finite(a):
            return None
        from scipy import linalg

        output = "complex" if a.dtype.kind == "c" else "real"
        return linalg.schur(a, output=output, check_finite=False)

    return _mapped(one, [((n, n), x.dtype)] * (1 + vectors), (2,), x)


def hessenberg(x: Array) -> list[Array]:
    """Returns [H with Householder vectors below its subdiagonal, factors of the reflections]."""
    n = x.shape[-1]
    k = max(n - 1, 0)

    def one(a: Array) -> Found:
        if n == 0:
            return a, np.zeros(0)
        factors, taus, _ = _lapack("gehrd", a)(a)
        return factors, taus[:k]

    return _mapped(one, [((n, n), x.dtype), ((k,), x.dtype)], (2,), x)


def tridiagonal(x: Array, lower: bool = True) -> list[Array]:
    """Returns the tridiagonal form of a Hermitian matrix.

    The results are [factored matrix, diagonal, off-diagonal, factors].
    """
    n, real = x.shape[-1], real_dtype(x.dtype)

    def one(a: Array) -> Found:
        name = "hetrd" if a.dtype.kind == "c" else "sytrd"
        factors, d, e, taus, _ = _lapack(name, a)(a, lower=int(lower))
        return factors, d, e, taus

    outs = [((n, n), x.dtype), ((n,), real), ((n - 1,), real), ((n - 1,), x.dtype)]
    return _mapped(one, outs, (2,), x)


# --- systems ------------------------------------------------------------------------------------


def triangular_solve(
    a: Array, b: Array, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
    conjugate_a: bool = False, unit_diagonal: bool = False,
) -> Array:  # fmt: skip
    """Solves op(a) @ X = b if `left_side`, else X @ op(a) = b, for X; `a` is triangular."""
    if not b.size:
        return b.copy()
    from scipy.linalg.blas import get_blas_funcs

    if conjugate_a and a.dtype.kind == "c":
        if not transpose_a:
            a = a.conj()
    else:
        conjugate_a = False
    trans = (2 if conjugate_a else 1) if transpose_a else 0
    trsm = get_blas_funcs("trsm", (wide(b[..., :0, :0]),))

    # A row-major matrix is its transpose in column-major order, so this solves X^T op(a)^T = b^T.
    def one(m: Array, rhs: Array) -> Found:
        with float_errors.ignored():
            return (
                trsm(
                    1, m.T, rhs.T, side=left_side, lower=not lower, trans_a=trans,
                    diag=unit_diagonal,
                ).T,
            )  # fmt: skip

    return _mapped(one, [(b.shape[-2:], b.dtype)], (2, 2), a, b)[0]


def tridiagonal_solve(
    dl: Array, d: Array, du: Array, b: Array, perturb_singular: bool = False
) -> Array:
    """Solves T @ X = b for X, where T has the diagonals dl[1:], d, du[:-1].

    With `perturb_singular`, pivots close to 0 are replaced by a rounding error of T's largest
    element.
    """
    n = d.shape[-1]

    def one(low: Array, mid: Array, up: Array, rhs: Array) -> Found:
        if n == 0 or rhs.size == 0:
            return (rhs,)
        if perturb_singular:
            return (_perturbed_solution(low[1:], mid, up[:-1], rhs),)
        if n == 1:
            with float_errors.ignored():
                return (rhs / mid,)
        out, info = _lapack("gtsv", rhs)(low[1:], mid, up[:-1], rhs)[3:]
        return None if info > 0 else (out,)

    return _mapped(one, [(b.shape[-2:], b.dtype)], (1, 1, 1, 2), dl, d, du, b)[0]


def _perturbed_solution(low: Array, mid: Array, up: Array, rhs: Array) -> Array:
    """Solves a system by elimination with exchanges of adjacent rows.

    Each row of U has three elements.
    """
    n = len(mid)
    greatest = max(np.abs(x).max() if x.size else 0 for x in (low, mid, up))
    least = mid.dtype.type(np.finfo(mid.dtype).eps * (greatest or 1))
    rows = [[mid[i], up[i] if i + 1 < n else 0, 0] for i in range(n)]
    out = rhs.copy()
    for i in range(n):
        if i + 1 < n and abs(low[i]) > abs(rows[i][0]):
            below = [low[i], rows[i + 1][0], rows[i + 1][1]]
            eliminated = rows[i]
            rows[i] = below
            out[[i, i + 1]] = out[[i + 1, i]]
        elif i + 1 < n:
            eliminated = [low[i], *rows[i + 1][:2]]
        else:
            eliminated = None
        if abs(rows[i][0]) < least:
            rows[i][0] = least
        if eliminated is not None:
            factor = eliminated[0] / rows[i][0]
            rows[i + 1] = [
                eliminated[1] - factor * rows[i][1],
                eliminated[2] - factor * rows[i][2],
                0,
            ]
            out[i + 1] -= factor * out[i]
    for i in reversed(range(n)):
        for k in range(1, min(3, n - i)):
            out[i] -= rows[i][k] * out[i + k]
        out[i] /= rows[i][0]
    return out


def cholesky_update(r: Array, w: Array) -> Array:
    """Returns the upper triangular S with S^T @ S = r^T @ r + w w^T."""
    n = r.shape[-1]

    def one(factor: Array, vector: Array) -> Found:
        out, v = factor.copy(), vector.copy()
        for k in range(n):
            if out.dtype.kind == "c":
                length = np.sqrt(out[k, k] ** 2 + v[k] ** 2)
            else:
                length = np.hypot(out[k, k], v[k])
            c, s = (out[k, k] / length, v[k] / length) if length else (1, 0)
            row = out[k].copy()
            out[k] = c * row + s * v
            v = c * v - s * row
        return (np.triu(out),)

    return _mapped(one, [((n, n), r.dtype)], (2, 1), r, w)[0]
