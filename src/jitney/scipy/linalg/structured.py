"""Structured matrices: Toeplitz, Hankel, companion, Hilbert, Pascal, block diagonal and others."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from jitney import numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike, DTypeLike
from jitney.numpy.promotion import (
    ensure_arraylike,
    promote_dtypes,
    promote_dtypes_inexact,
)
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.special.support import strong


def _size(name: str, n: int) -> int:
    return concrete_or_error(int, n, f"`n` of jax.scipy.linalg.{name} must be static")


def _default_float() -> np.dtype:
    return dtypes.canonicalize_dtype(np.dtype(float))


def _exact(matrix: list[list[int]] | np.ndarray) -> Array:
    """Rounds integers of any size to the default float."""
    size = len(matrix)
    return jnp.asarray(np.array(matrix, float).reshape(size, size).astype(_default_float()))


def _vector(name: str, x: ArrayLike) -> Array:
    value = ensure_arraylike(name, x)
    return value.reshape(1) if value.ndim == 0 else value


@jit_when_traced
def block_diag(*arrs: ArrayLike) -> Array:
    """Returns the block diagonal matrix of the given blocks.

    Args:
      arrs: matrices; a vector is treated as a single row, and a scalar as a 1 x 1 matrix.

    Returns: matrix of the dtype to which the blocks are promoted.

    Raises:
      ValueError: if a block has more than two axes.

    Example:
      >>> jax.scipy.linalg.block_diag(jnp.ones((1, 2)), 3.0)
      Array([[1., 1., 0.],
             [0., 0., 3.]], dtype=float32)
    """
    blocks = [as_value(x) for x in promote_dtypes(*(arrs or (jnp.zeros((1, 0)),)))]
    for i, block in enumerate(blocks):
        if block.ndim > 2:
            raise ValueError(
                f"block_diag: blocks must be matrices, vectors or scalars, but block {i} has shape "
                f"{block.shape}"
            )
    blocks = [jnp.atleast_2d(block) for block in blocks]
    width = sum(block.shape[1] for block in blocks)
    rows: list[Array] = []
    before = 0
    for block in blocks:
        after = width - before - block.shape[1]
        rows.append(jnp.pad(block, ((0, 0), (before, after))))
        before += block.shape[1]
    return strong(jnp.concatenate(rows))


def _windows(x: Array, rows: int, columns: int) -> Array:
    """Returns out[..., i, j] = x[..., i + j]."""
    index = np.arange(rows)[:, None] + np.arange(columns)
    return x[..., index]


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Returns the Toeplitz matrix out[..., i, j] = c[i - j] or r[j - i].

    Args:
      c: first column [..., m].
      r: first row [..., n], whose first element is ignored; conj(c) by default.

    Returns: array [..., m, n].

    Example:
      >>> jax.scipy.linalg.toeplitz(jnp.array([1, 2]), jnp.array([1, 5, 6]))
      Array([[1, 5, 6],
             [2, 1, 5]], dtype=int32)
    """
    column = _vector("toeplitz", c)
    row = jnp.conj(column) if r is None else _vector("toeplitz", r)
    return _toeplitz(column, row)


def _over_batches(matrix: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Extends `matrix`, a function of two vectors, to batches, which are promoted and broadcast."""

    def function(x: Array, y: Array) -> Array:
        x, y = (as_value(v) for v in promote_dtypes(x, y))
        batch = jnp.broadcast_shapes(x.shape[:-1], y.shape[:-1])
        return matrix(
            jnp.broadcast_to(x, (*batch, x.shape[-1])), jnp.broadcast_to(y, (*batch, y.shape[-1]))
        )

    return function


@_over_batches
def _toeplitz(column: Array, row: Array) -> Array:
    m, n = column.shape[-1], row.shape[-1]
    if m == 0 or n == 0:
        return jnp.zeros((*column.shape[:-1], m, n), column.dtype)
    strip = jnp.concatenate([column[..., ::-1], row[..., 1:]], axis=-1)
    return strong(_windows(strip, m, n)[..., ::-1, :])


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Returns the Hankel matrix out[..., i, j] = c[i + j] or r[i + j - m + 1].

    Args:
      c: first column [..., m].
      r: last row [..., n], whose first element is ignored; zeros by default.

    Returns: array [..., m, n].

    Example:
      >>> jax.scipy.linalg.hankel(jnp.array([1, 2, 3]))
      Array([[1, 2, 3],
             [2, 3, 0],
             [3, 0, 0]], dtype=int32)
    """
    column = _vector("hankel", c)
    row = jnp.zeros_like(column) if r is None else _vector("hankel", r)
    return _hankel(column, row)


@_over_batches
def _hankel(column: Array, row: Array) -> Array:
    m, n = column.shape[-1], row.shape[-1]
    if m == 0 or n == 0:
        return jnp.zeros((*column.shape[:-1], m, n), column.dtype)
    return _windows(jnp.concatenate([column, row[..., 1:]], axis=-1), m, n)


def circulant(c: ArrayLike) -> Array:
    """Returns the circulant matrix out[..., i, j] = c[i - j], whose columns are rotations of c.

    Args:
      c: first column [..., n].

    Returns: array [..., n, n].

    Example:
      >>> jax.scipy.linalg.circulant(jnp.array([0, 1, 2]))
      Array([[0, 2, 1],
             [1, 0, 2],
             [2, 1, 0]], dtype=int32)
    """
    x = _vector("circulant", c)
    n = x.shape[-1]
    return x[..., (np.arange(n)[:, None] - np.arange(n)) % max(n, 1)]


def companion(a: ArrayLike) -> Array:
    """Returns the companion matrix of a polynomial; its eigenvalues are the roots.

    Args:
      a: coefficients [..., n + 1], highest power first, n > 0.

    Returns: array [..., n, n] of inexact dtype.

    Raises:
      ValueError: if there are fewer than two coefficients.

    Example:
      >>> matrix = jax.scipy.linalg.companion(jnp.array([1.0, -3.0, 2.0]))  # (x - 1) (x - 2)
      >>> jnp.linalg.eigvals(matrix).real.sort().round(3)
      Array([1., 2.], dtype=float32)
    """
    x = as_value(promote_dtypes_inexact(ensure_arraylike("companion", a))[0])
    if x.ndim == 0 or x.shape[-1] < 2:
        raise ValueError(
            f"companion: `a` must have at least two coefficients, but it has shape {x.shape}"
        )
    return _with_first_row(-x[..., 1:] / x[..., :1], None)


def _with_first_row(row: Array, below: Array | None) -> Array:
    """Returns the square matrix with first row `row` and subdiagonal `below` (1 by default)."""
    n = row.shape[-1]
    entries = jnp.ones((*row.shape[:-1], n - 1), row.dtype) if below is None else below
    index = np.arange(n - 1)
    shifted = jnp.zeros((*row.shape[:-1], n - 1, n), row.dtype).at[..., index, index].set(entries)
    return jnp.concatenate([row[..., None, :], shifted], axis=-2)


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Returns the Leslie matrix of a population.

    Its first row holds the fecundities, and its subdiagonal the survival coefficients.

    Args:
      f: fecundities [..., n].
      s: survival coefficients [..., n - 1].

    Returns: array [..., n, n].

    Raises:
      ValueError: if f has fewer than two elements, or not exactly one more than s.

    Example:
      >>> births, survival = jnp.array([0.0, 2.0, 1.0]), jnp.array([0.5, 0.25])
      >>> jax.scipy.linalg.leslie(births, survival) @ jnp.array([8.0, 4.0, 4.0])  # next year
      Array([12.,  4.,  1.], dtype=float32)
    """
    births, survival = (_vector("leslie", x) for x in promote_dtypes(f, s))
    if births.shape[-1] < 2:
        raise ValueError(
            f"leslie: `f` must have at least two age classes, but it has shape {births.shape}"
        )
    if survival.shape[-1] != births.shape[-1] - 1:
        raise ValueError(
            "leslie: `s` must have one element fewer than `f`, since the last age class does not "
            f"survive, but the shapes are {survival.shape} and {births.shape}"
        )
    batch = jnp.broadcast_shapes(births.shape[:-1], survival.shape[:-1])
    births = jnp.broadcast_to(births, (*batch, births.shape[-1]))
    return _with_first_row(births, jnp.broadcast_to(survival, (*batch, survival.shape[-1])))


def fiedler(a: ArrayLike) -> Array:
    """Returns the symmetric Fiedler matrix |a[i] - a[j]|.

    Args:
      a: array [..., n].

    Returns: array [..., n, n].

    Example:
      >>> places = jnp.array([0.5, 2.0, 3.0])
      >>> jax.scipy.linalg.fiedler(places)
      Array([[0. , 1.5, 2.5],
             [1.5, 0. , 1. ],
             [2.5, 1. , 0. ]], dtype=float32)
    """
    x = _vector("fiedler", a)
    return jnp.abs(x[..., :, None] - x[..., None, :])


def fiedler_companion(a: ArrayLike) -> Array:
    """Returns the pentadiagonal Fiedler companion matrix of a polynomial.

    Args:
      a: coefficients [..., n + 1], highest power first, n > 0.

    Returns: array [..., n, n] of inexact dtype.

    Raises:
      ValueError: if `a` is empty.

    Example:
      >>> jax.scipy.linalg.fiedler_companion(jnp.array([1.0, -3.0, 2.0]))
      Array([[ 3., -2.],
             [ 1.,  0.]], dtype=float32)
    """
    x = as_value(promote_dtypes_inexact(ensure_arraylike("fiedler_companion", a))[0])
    if x.ndim == 0 or x.shape[-1] < 1:
        raise ValueError(
            "fiedler_companion: `a` must have a nonzero number of elements along its last axis, but "
            f"got shape {x.shape}"
        )
    x = x / x[..., :1]
    n = x.shape[-1] - 1
    c = jnp.zeros((*x.shape[:-1], n, n), x.dtype)
    if n == 0:
        return c
    if n == 1:
        return c.at[..., 0, 0].set(-x[..., 1])
    # Coefficients of even index are above the diagonal, those of odd index on or below it.
    c = c.at[..., np.arange(0, n - 2, 2), np.arange(2, n, 2)].set(1)
    even = np.arange(0, n - 1, 2)
    c = c.at[..., even, even + 1].set(-x[..., 2::2][..., : len(even)])
    c = c.at[..., 0, 0].set(-x[..., 1]).at[..., 1, 0].set(1)
    odd = np.arange(2, n, 2)
    c = c.at[..., odd, odd - 1].set(-x[..., 3::2][..., : len(odd)])
    below = np.arange(3, n, 2)
    return c.at[..., below, below - 2].set(1)


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """Returns the matrix A with A @ v = convolve(a, v, mode) for vectors v of length n.

    Args:
      a: vectors [..., m].
      n: number of columns; positive.
      mode: "full", "same" or "valid".

    Returns: array [..., k, n].

    Raises:
      ValueError: if `mode` is unknown, `a` is empty, or n is not positive.

    Example:
      >>> kernel = jnp.array([1, -1])
      >>> differences = jax.scipy.linalg.convolution_matrix(kernel, 3, mode="valid")
      >>> differences @ jnp.array([1, 4, 9])
      Array([3, 5], dtype=int32)
    """
    x = ensure_arraylike("convolution_matrix", a)
    if x.ndim == 0:
        raise ValueError("convolution_matrix: `a` must be a vector, but it is a scalar")
    m = x.shape[-1]
    if n <= 0:
        raise ValueError(
            f"convolution_matrix: `n`, the number of columns, must be 1 or more, but got {n}"
        )
    if m == 0:
        raise ValueError(f"convolution_matrix: `a` must not be empty, but it has shape {x.shape}")
    if mode not in ("full", "valid", "same"):
        raise ValueError(
            f"convolution_matrix: `mode` must be 'full', 'same' or 'valid', but it is {mode!r}"
        )
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - 1)])
    full = padded[..., (np.arange(m + n - 1)[:, None] - np.arange(n)) % (m + n - 1)]
    if mode == "full":
        return full
    count = max(m, n) - min(m, n) + 1 if mode == "valid" else max(m, n)
    first = min(m, n) - 1 if mode == "valid" else (min(m, n) - 1) // 2
    return full[..., first : first + count, :]


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Returns the matrix of the discrete Fourier transform, out[j, k] = exp(-2 pi i j k / n).

    Args:
      n: number of rows and columns.
      scale: divisor of the matrix: "sqrtn" (which makes the matrix unitary), "n", or None for 1.
      dtype: complex dtype; the default complex dtype if None.

    Raises:
      ValueError: if `scale` is unknown, or the dtype is not complex.

    Example:
      >>> jax.scipy.linalg.dft(2).real
      Array([[ 1.,  1.],
             [ 1., -1.]], dtype=float32)
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: `scale` must be 'sqrtn', 'n' or None, but it is {scale!r}")
    target = dtypes.canonicalize_dtype(np.dtype(complex if dtype is None else dtype))
    if target.kind != "c":
        raise ValueError(f"dft: `dtype` must be complex, but it is {target}")
    n = _size("dft", n)
    # Angles that are multiples of pi / 2 yield exact values.
    k = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    angle = 2 * np.pi * k / max(n, 1)
    cosine = np.where(4 * k == n, 0, np.where(4 * k == 3 * n, 0, np.cos(angle)))
    sine = np.where(2 * k == n, 0, np.sin(angle))
    factor = {"sqrtn": 1 / math.sqrt(max(n, 1)), "n": 1 / max(n, 1)}.get(scale or "", 1.0)
    return jnp.asarray(((cosine - 1j * sine) * factor).astype(target))


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Returns a Hadamard matrix by Sylvester's construction: entries 1 and -1, orthogonal rows.

    Args:
      n: size of the matrix, a power of 2.
      dtype: dtype of the matrix.

    Raises:
      ValueError: if n is not a power of 2.

    Example:
      >>> rows = jax.scipy.linalg.hadamard(4, dtype=jnp.int8)
      >>> rows[3]
      Array([ 1, -1, -1,  1], dtype=int8)
      >>> rows @ rows.T
      Array([[4, 0, 0, 0],
             [0, 4, 0, 0],
             [0, 0, 4, 0],
             [0, 0, 0, 4]], dtype=int8)
    """
    n = _size("hadamard", n)
    if n < 1 or n & (n - 1):
        raise ValueError(f"hadamard: `n` must be a power of 2, but it is {n}")
    k = np.arange(n)
    odd = np.array([[int(v).bit_count() & 1 for v in row] for row in k[:, None] & k]).reshape(n, n)
    return jnp.asarray((1 - 2 * odd).astype(dtypes.canonicalize_dtype(np.dtype(dtype))))


def helmert(n: int, full: bool = False) -> Array:
    """Returns the Helmert matrix, whose orthonormal rows are orthogonal to constant vectors.

    Args:
      n: number of columns.
      full: whether to prepend a constant row. The shape is then [n, n], otherwise [n - 1, n].

    Raises:
      ValueError: if n is not positive.

    Example:
      >>> jax.scipy.linalg.helmert(2).round(4)
      Array([[ 0.7071, -0.7071]], dtype=float32)
    """
    n = _size("helmert", n)
    if n < 1:
        raise ValueError(f"helmert: `n`, the number of columns, must be 1 or more, but it is {n}")
    i = np.arange(n)
    rows = np.tril(np.ones((n, n)), -1) - np.diag(i)
    rows[0] = 1
    lengths = np.where(i == 0, n, i * (i + 1))
    matrix = jnp.asarray((rows / np.sqrt(lengths)[:, None]).astype(_default_float()))
    return matrix if full else matrix[1:]


def hilbert(n: int) -> Array:
    """Returns the Hilbert matrix out[i, j] = 1 / (i + j + 1).

    Args:
      n: size of the matrix.

    Example:
      >>> (12 * jax.scipy.linalg.hilbert(2)).round(3)
      Array([[12.,  6.],
             [ 6.,  4.]], dtype=float32)
    """
    i = np.arange(_size("hilbert", n))
    return jnp.asarray((1 / (i[:, None] + i + 1)).astype(_default_float()))


def invhilbert(n: int) -> Array:
    """Returns the inverse of `hilbert(n)`; its integers are rounded to the default float.

    Args:
      n: size of the matrix.

    Example:
      >>> jax.scipy.linalg.invhilbert(2)
      Array([[ 4., -6.],
             [-6., 12.]], dtype=float32)
    """
    n = _size("invhilbert", n)
    # (-1)^(i + j) (i + j + 1) C(n + i, n - j - 1) C(n + j, n - i - 1) C(i + j, i)^2
    c = math.comb
    return _exact(
        [
            [
                (-1) ** (i + j) * (i + j + 1) * c(n + i, n - j - 1) * c(n + j, n - i - 1)
                * c(i + j, i) ** 2
                for j in range(n)
            ]
            for i in range(n)
        ]
    )  # fmt: skip


def _kind(name: str, kind: str | None) -> str:
    kinds = ("symmetric", "lower", "upper")
    if kind is not None and kind not in kinds:
        raise ValueError(f"{name}: `kind` must be one of {kinds}, but it is {kind!r}")
    return kind or "symmetric"


def pascal(n: int, kind: str | None = None) -> Array:
    """Returns the Pascal matrix of binomial coefficients.

    Args:
      n: size of the matrix.
      kind: "symmetric", C(i + j, i), the default; "lower", C(i, j); "upper", C(j, i).

    Raises:
      ValueError: if `kind` is unknown.

    Example:
      >>> jax.scipy.linalg.pascal(3)
      Array([[1., 1., 1.],
             [1., 2., 3.],
             [1., 3., 6.]], dtype=float32)
    """
    n, kind = _size("pascal", n), _kind("pascal", kind)
    if kind == "symmetric":
        return _exact([[math.comb(i + j, i) for j in range(n)] for i in range(n)])
    entries = [[math.comb(i, j) for j in range(n)] for i in range(n)]
    lower = np.array(entries, object).reshape(n, n)
    return _exact(lower if kind == "lower" else lower.T)


def invpascal(n: int, kind: str | None = None) -> Array:
    """Returns the inverse of `pascal(n, kind)`; its integers are rounded to the default float.

    Args:
      n: size of the matrix.
      kind: as in `pascal`.

    Raises:
      ValueError: if `kind` is unknown.

    Example:
      >>> jax.scipy.linalg.invpascal(2, kind="lower")
      Array([[ 1.,  0.],
             [-1.,  1.]], dtype=float32)
    """
    n, kind = _size("invpascal", n), _kind("invpascal", kind)
    signs = [[(-1) ** (i + j) * math.comb(i, j) for j in range(n)] for i in range(n)]
    lower = np.array(signs, object).reshape(n, n)
    if kind == "symmetric":
        return _exact(lower.T @ lower)
    return _exact(lower if kind == "lower" else lower.T)
