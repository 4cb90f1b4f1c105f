"""Matrix exponential, square root and general matrix functions; the Sylvester equation."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.autodiff import jvp
from jitney.api.jit.jit import jit, jit_when_traced
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import is_complex, promote_dtypes_inexact
from jitney.numpy.vectorization import vectorize
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.linalg.arguments import arrays
from jitney.scipy.linalg.factorizations import schur

# Degree -> largest norm for which the Pade approximant is accurate to working precision (Higham,
# The scaling and squaring method for the matrix exponential revisited, SIAM Journal on Matrix
# Analysis and Applications 26 (2005), 1179-1193, table 2.3; single precision: last column)
_PADE_DOUBLE = {
    3: 1.495585217958292e-2, 5: 2.539398330063230e-1, 7: 9.504178996162932e-1,
    9: 2.097847961257068, 13: 5.371920351148152,
}  # fmt: skip
_PADE_SINGLE = {3: 4.258730016922831e-1, 5: 1.880152677804762, 7: 3.925724783138660}


def _pade_coefficients(degree: int) -> list[float]:
    """Returns the numerator of the diagonal Pade approximant of exp, lowest power first.

    The coefficients are scaled to be integers.
    """
    coefficients = [
        math.factorial(2 * degree - k)
        * math.factorial(degree)
        // (math.factorial(k) * math.factorial(degree - k))
        for k in range(degree + 1)
    ]
    scale = coefficients[-1]
    return [float(value // scale) for value in coefficients]


def _pade(degree: int, a: Array) -> tuple[Array, Array]:
    """Returns the even and odd parts of the numerator; the denominator is their difference."""
    c = _pade_coefficients(degree)
    identity = jnp.eye(a.shape[-1], dtype=a.dtype)
    square = a @ a
    if degree == 13:
        fourth = square @ square
        sixth = fourth @ square
        odd = sixth @ (c[13] * sixth + c[11] * fourth + c[9] * square)
        odd = odd + c[7] * sixth + c[5] * fourth + c[3] * square + c[1] * identity
        even = sixth @ (c[12] * sixth + c[10] * fourth + c[8] * square)
        even = even + c[6] * sixth + c[4] * fourth + c[2] * square + c[0] * identity
        return even, a @ odd
    power, even, odd = identity, c[0] * identity, c[1] * identity
    for k in range(2, degree, 2):
        power = power @ square
        even, odd = even + c[k] * power, odd + c[k + 1] * power
    return even, a @ odd


def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Computes the matrix exponential by scaling and squaring a Pade approximant.

    Args:
      A: square matrices [..., n, n].
      upper_triangular: whether the matrices are upper triangular; the approximant is then computed
        by a triangular solve.
      max_squarings: maximum number of squarings; the result is NaN for matrices that need more,
        whose norms exceed about 2**max_squarings.

    Returns: array of the shape of A, of inexact dtype.

    Raises:
      ValueError: if the matrices are not square.

    Example:
      >>> jax.scipy.linalg.expm(jnp.array([[0.0, 1.0], [0.0, 0.0]]))
      Array([[1., 1.],
             [0., 1.]], dtype=float32)
    """
    a = as_value(promote_dtypes_inexact(A)[0])
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"expm: `A` must be square in its last two axes, but it has shape {a.shape}"
        )
    return _expm(a, upper_triangular=upper_triangular, max_squarings=max_squarings)


@partial(jit_when_traced, static_argnames=("upper_triangular", "max_squarings"), name="expm")
def _expm(a: Array, *, upper_triangular: bool, max_squarings: int) -> Array:
    one = partial(_expm_of_one, upper_triangular=upper_triangular, max_squarings=max_squarings)
    return vectorize(one, signature="(n,n)->(n,n)")(a)


def _expm_of_one(a: Array, *, upper_triangular: bool, max_squarings: int) -> Array:
    if a.size == 0:
        return a
    if a.dtype.itemsize == 2:  # factorizations do not support 16-bit floats
        return _expm_of_one(
            a.astype(np.float32), upper_triangular=upper_triangular, max_squarings=max_squarings
        ).astype(a.dtype)
    is_double = np.dtype(a.dtype) in (np.float64, np.complex128)
    table = _PADE_DOUBLE if is_double else _PADE_SINGLE
    degrees, limits = list(table), list(table.values())
    norm = lax.stop_gradient(jnp.linalg.norm(a, 1))
    squarings = jnp.maximum(0, jnp.ceil(jnp.log2(norm / limits[-1])))
    squarings = jnp.where(norm > 0, squarings, 0.0)
    scaled = a / jnp.exp2(squarings).astype(a.dtype)
    index = jnp.sum(norm >= jnp.asarray(np.array(limits[:-1], norm.dtype))).astype(np.int32)
    even, odd = lax.switch(index, [partial(_pade, degree) for degree in degrees], scaled)
    if upper_triangular:
        start = lax.linalg.triangular_solve(even - odd, even + odd, left_side=True, lower=False)
    else:
        start = jnp.linalg.solve(even - odd, even + odd)
    count = squarings.astype(np.int32)

    def square(k: Array, r: Array) -> Array:
        return lax.cond(k < count, lambda r: r @ r, lambda r: r, r)

    result = lax.fori_loop(0, max_squarings, square, start)
    return jnp.where(count > max_squarings, jnp.nan, result)


def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool = True
) -> Array | tuple[Array, Array]:
    """Computes the Frechet derivative of `expm` at A in the direction E.

    Args:
      A: square matrices [..., n, n].
      E: directions, of the shape of A.
      method: accepted for compatibility; no effect.
      compute_expm: whether to return the exponential as well.

    Returns: (expm(A), derivative), or the derivative alone.

    Raises:
      ValueError: if A and E are not square matrices of equal shape.

    Example:
      >>> jax.scipy.linalg.expm_frechet(jnp.zeros((1, 1)), jnp.ones((1, 1)), compute_expm=False)
      Array([[1.]], dtype=float32)
    """
    del method
    a, e = arrays(A, E)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"expm_frechet: `A` must be square in its last two axes, but it has shape {a.shape}"
        )
    if e.ndim < 2 or e.shape[-1] != e.shape[-2]:
        raise ValueError(
            f"expm_frechet: `E` must be square in its last two axes, but it has shape {e.shape}"
        )
    if a.shape != e.shape:
        raise ValueError(
            f"expm_frechet: `A` and `E` must have the same shape, but got {a.shape} and {e.shape}"
        )
    value, slope = jvp(expm, (a,), (e,))
    return (value, slope) if compute_expm else slope


def _upper_columns(n: int, entry: Callable[[Array, Array, Array], Array], start: Array) -> Array:
    """Fills an upper triangular matrix by columns, from the diagonal upwards.

    Args:
      n: size of the matrix.
      entry: function of the matrix so far, i and j that returns entry (i, j); it can use the
        entries to the left and below.
      start: matrix that holds the diagonal, and is 0 elsewhere.
    """

    def column(j: Array, matrix: Array) -> Array:
        def row(k: Array, matrix: Array) -> Array:
            i = j - 1 - k
            return matrix.at[i, j].set(entry(matrix, i, j))

        return lax.fori_loop(0, j, row, matrix)

    return lax.fori_loop(1, max(n, 1), column, start)


def _quotient(top: Array, bottom: Array) -> Array:
    """Returns top / bottom, and `top` where bottom is 0."""
    zero = bottom == 0
    return top / jnp.where(zero, 1, bottom)


def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Computes the principal square root of matrices from their Schur forms.

    The recurrence for the triangular factor is due to Bjorck and Hammarling (1983), Linear Algebra
    and its Applications 52/53, pages 127 to 140.

    Args:
      A: square matrices [..., n, n].
      blocksize: must be 1.

    Returns: complex array of the shape of A.

    Raises:
      NotImplementedError: if `blocksize` is greater than 1.
      TypeError: if A has fewer than two axes.
      ValueError: if the matrices are not square.

    Example:
      >>> jax.scipy.linalg.sqrtm(jnp.array([[4.0, 0.0], [0.0, 9.0]])).real
      Array([[2., 0.],
             [0., 3.]], dtype=float32)
    """
    if blocksize > 1:
        raise NotImplementedError("sqrtm: blocksize must be 1, since blocks are not supported")
    matrix = as_value(promote_dtypes_inexact(A)[0])
    if matrix.ndim < 2:
        raise TypeError(
            f"sqrtm: `A` must be square matrices [..., n, n], but it has shape {matrix.shape}"
        )
    if matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(
            f"sqrtm: `A` must be square in its last two axes, but it has shape {matrix.shape}"
        )
    return _sqrtm(matrix)


@jit
@partial(vectorize, signature="(n,n)->(n,n)")
def _sqrtm(a: Array) -> Array:
    t, z = schur(a, output="complex")
    root = lax.sqrt(jnp.diagonal(t))

    def entry(r: Array, i: Array, j: Array) -> Array:
        return _quotient(t[i, j] - r[i] @ r[:, j], root[i] + root[j])

    r = _upper_columns(t.shape[0], entry, jnp.diag(root))
    return z @ r @ jnp.conj(z.T)


def funm(
    A: ArrayLike, func: Callable[[Array], Array], disp: bool = True
) -> Array | tuple[Array, Array]:
    """Computes a function of a matrix from its Schur form, by Parlett's recurrence.

    Source: Golub and Van Loan, Matrix Computations, algorithm 9.1.1. The result is inaccurate where
    eigenvalues are close to each other.

    Args:
      A: square matrix [n, n].
      func: elementwise function of a complex vector.
      disp: whether to return the matrix alone, without an error estimate.

    Returns: complex matrix [n, n]; with disp=False, a pair of the matrix and an estimate of its
      relative error.

    Raises:
      ValueError: if A is not a square matrix.
    """
    a = as_value(promote_dtypes_inexact(A)[0])
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"funm: `A` must be a square matrix, but it has shape {a.shape}")
    t, z = schur(a, output="complex")
    n = t.shape[0]
    values = jnp.asarray(func(jnp.diagonal(t))).astype(t.dtype)

    def entry(f: Array, i: Array, j: Array) -> Array:
        # Solves T F = F T for entry (i, j), where F is still 0.
        return _quotient(t[i] @ f[:, j] - f[i] @ t[:, j], t[j, j] - t[i, i])

    f = _upper_columns(n, entry, jnp.diag(values))
    result = z @ f @ jnp.conj(z.T)
    if disp:
        return result
    diagonal = jnp.diagonal(t)
    gaps = jnp.abs(diagonal[:, None] - diagonal[None])
    gaps = jnp.where(jnp.triu(jnp.ones((n, n), bool), 1), gaps, jnp.inf)
    smallest = jnp.min(gaps, initial=jnp.abs(t[0, 0]))
    smallest = jnp.where(smallest == 0, 1.0, smallest)
    epsilon = float(dtypes.finfo(t.dtype).eps)
    spread = jnp.linalg.norm(jnp.triu(t, 1), 1)
    error = jnp.minimum(1, jnp.maximum(epsilon, epsilon / smallest * spread))
    return result, jnp.where(jnp.all(jnp.isfinite(result)), error, jnp.inf)


def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """Solves A @ X + X @ B = C for X.

    Args:
      A: square matrices [..., m, m].
      B: square matrices [..., n, n].
      C: matrices [..., m, n].
      method: "schur" uses Schur forms (Bartels and Stewart, Communications of the ACM 15 (1972),
        820-826), "eigen" uses eigenvectors.
      tol: threshold for the magnitudes of the sums of an eigenvalue of A and one of B. If one of
        them is below it, the solution is not unique, and the result is NaN.

    Returns: matrices [..., m, n].

    Raises:
      ValueError: if the method is unknown, or shapes do not match.

    Example:
      >>> jax.scipy.linalg.solve_sylvester(jnp.eye(1), jnp.eye(1), jnp.ones((1, 1)))
      Array([[0.5]], dtype=float32)
    """
    a, b, c = (as_value(x) for x in promote_dtypes_inexact(A, B, C))
    m, n = c.shape[-2:] if c.ndim >= 2 else (-1, -1)
    if a.shape[-2:] != (m, m) or b.shape[-2:] != (n, n):
        raise ValueError(
            "solve_sylvester: A [m, m], B [n, n] and C [m, n] must be matrices of matching "
            f"sizes, but got shapes {a.shape}, {b.shape} and {c.shape}"
        )
    if method not in ("schur", "eigen"):
        raise ValueError(f'solve_sylvester: method must be "schur" or "eigen", but got {method!r}')
    x = _solve_sylvester(a, b, c, method=method, tol=tol)
    return x if is_complex(c.dtype) else x.real


@partial(jit, static_argnames=("method", "tol"))
def _solve_sylvester(a: Array, b: Array, c: Array, *, method: str, tol: float) -> Array:
    solve = _sylvester_by_schur if method == "schur" else _sylvester_by_eigenvectors
    return vectorize(partial(solve, tol=tol), signature="(m,m),(n,n),(m,n)->(m,n)")(a, b, c)


def _sylvester_by_schur(a: Array, b: Array, c: Array, *, tol: float) -> Array:
    r, u = schur(a, output="complex")
    s, v = schur(b, output="complex")
    right = jnp.conj(u.T) @ c.astype(r.dtype) @ v
    identity = jnp.eye(r.shape[0], dtype=r.dtype)

    def column(k: Array, y: Array) -> Array:
        rhs = right[:, k] - y @ s[:, k]
        solved = lax.linalg.triangular_solve(
            r + s[k, k] * identity, rhs[:, None], left_side=True, lower=False
        )
        return y.at[:, k].set(solved[:, 0])

    y = lax.fori_loop(0, right.shape[1], column, jnp.zeros_like(right))
    return _unless_singular(jnp.diagonal(r), jnp.diagonal(s), u @ y @ jnp.conj(v.T), tol)


def _sylvester_by_eigenvectors(a: Array, b: Array, c: Array, *, tol: float) -> Array:
    left, u = jnp.linalg.eig(a)
    right, v = jnp.linalg.eig(b)
    y = jnp.linalg.solve(u, c.astype(u.dtype) @ v) / (left[:, None] + right[None])
    return _unless_singular(left, right, jnp.linalg.solve(v.T, (u @ y).T).T, tol)


def _unless_singular(left: Array, right: Array, x: Array, tol: float) -> Array:
    singular = jnp.any(jnp.abs(left[:, None] + right[None]) < tol)
    return jnp.where(singular, jnp.nan, x)
