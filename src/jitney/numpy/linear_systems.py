"""Systems of linear equations in `numpy.linalg`: `solve`, inverses, least squares."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.api.jit.jit import jit
from jitney.core.messages import messages
from jitney.core.types import dtypes
from jitney.core.types.avals import get_aval
from jitney.core.typing import Array, ArrayLike
from jitney.numpy import promotion
from jitney.numpy.decompositions import svd
from jitney.numpy.matrix_operands import check_square, inexact, of_dtype
from jitney.numpy.selection import where
from jitney.primitives.array.broadcasting import broadcast_shapes, broadcast_to, expand_dims
from jitney.primitives.array.shape import reshape, squeeze
from jitney.primitives.elementwise import unary
from jitney.primitives.elementwise.convert import as_value, convert
from jitney.primitives.linalg import linear_systems, matrix_helpers as mat
from jitney.primitives.reduction.reduce import reduce_sum

P = ParamSpec("P")
R = TypeVar("R")


@jit  # jitted even in eager mode, so that the program of the solution is compiled once
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solves the linear systems a @ X = b for X.

    Args:
      a: matrices of shape (..., n, n).
      b: the right-hand sides: a vector of shape (n,), or matrices of shape (..., n, k).

    Returns: an array of shape (n,) or (..., n, k). If a matrix is singular, its solution is
      unspecified; no error is raised.

    Raises:
      ValueError: if `a` is not square or the shapes do not match.

    Example:
      >>> prices = jnp.array([[3.0, 1.0], [1.0, 2.0]])
      >>> jnp.linalg.solve(prices, jnp.array([9.0, 8.0])).round(3)
      Array([2., 3.], dtype=float32)
    """
    a, b = inexact("solve", a, b)
    return solve_arrays(a, b)


def solve_arrays(a: Array, b: Array) -> Array:
    """Computes `solve` for arrays of the same inexact dtype."""
    check_square("solve", a)
    n = a.shape[-1]
    if b.ndim == 0 or (1 < b.ndim == a.ndim - 1 and b.shape[-2] != n):
        cure = "; for one vector per matrix, use jnp.linalg.solve(a, b[..., None])[..., 0]"
        raise ValueError(
            f"jnp.linalg.solve: `b` must be one vector, or matrices of {n} rows, but `a` has shape "
            f"{a.shape} and `b` has shape {b.shape}{cure if b.ndim else ''}"
        )
    vector = b.ndim == 1
    right = expand_dims(b, (1,)) if vector else b
    if right.shape[-2] != n:
        must = f"`b` must have as many rows as `a`, {n}, but it has {right.shape[-2]}."
        operands = (("a", get_aval(a)), ("b", get_aval(b)))
        raise ValueError(messages.refusal("jnp.linalg.solve", must, operands))
    batch = broadcast_shapes(a.shape[:-2], right.shape[:-2])
    out = linear_systems.solve(
        broadcast_to(a, (*batch, n, n)), broadcast_to(right, (*batch, *right.shape[-2:]))
    )
    return squeeze(out, (out.ndim - 1,)) if vector else out


@jit  # jitted even in eager mode, so that the program of the solution is compiled once
def inv(a: ArrayLike) -> Array:
    """Inverts square matrices; to solve linear systems, `solve` is faster and more accurate.

    Args:
      a: matrices of shape (..., n, n).

    Returns: an array of the shape of `a`; infinities and NaN where `a` is singular (NumPy raises an
      error).

    Raises:
      ValueError: if `a` is not square.

    Example:
      >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
      Array([[0.5 , 0.  ],
             [0.  , 0.25]], dtype=float32)
    """
    a = inexact("inv", a)
    check_square("inv", a)
    n = a.shape[-1]
    return solve_arrays(mat.strong(a), mat.eye(n, n, a))


def _with_option(function: Callable[P, R]) -> custom_jvp[P, R]:
    return custom_jvp(function, nondiff_argnums=(2,))


@_with_option
def _pinv(a: Array, rtol: Array, hermitian: bool) -> Array:
    u, s, vh = svd(a, full_matrices=False, hermitian=hermitian)
    limit = (rtol[..., None] * s[..., :1]) if s.shape[-1] else s
    significant = s > limit
    reciprocal = where(significant, 1 / where(significant, s, of_dtype(1, s)), of_dtype(0, s))
    return mat.matmul(mat.adjoint(vh), convert(reciprocal, a.dtype)[..., None] * mat.adjoint(u))


@_pinv.defjvp
def _pinv_jvp(
    hermitian: bool, primals: tuple[Array, ...], tangents: tuple[Array, ...]
) -> tuple[Array, Array]:
    a, rtol = primals
    t = tangents[0]
    p = _pinv(a, rtol, hermitian)
    if hermitian:  # eigenvectors are those of the Hermitian part
        t = mat.symmetrize(t)
    adj = mat.adjoint
    within = _product(p, t, p)
    across = _product(p, adj(p), adj(t))
    along = _product(adj(t), adj(p), p)
    # Golub and Pereyra (1973): one term with a projector on the columns, one on the rows.
    across -= _product(across, a, p)
    along -= _product(p, a, along)
    return p, across + along - within


def _product(x: Array, y: Array, z: Array) -> Array:
    """Computes x @ y @ z, with the smaller of x @ y and y @ z as the intermediate result.

    x and z have the shape of the transpose of y, so that both intermediate results are square.
    """
    rows, columns = x.shape[-2:]
    if rows < columns:
        return mat.matmul(mat.matmul(x, y), z)
    return mat.matmul(x, mat.matmul(y, z))


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """Computes the Moore-Penrose pseudoinverses of matrices.

    Args:
      a: matrices of shape (..., m, n).
      rtol: the relative tolerance: singular values up to `rtol` times the largest one count as 0;
        10 * max(m, n) * eps by default.
      hermitian: whether `a` is known to be Hermitian.
      rcond: an alias of `rtol`.

    Returns: an array of shape (..., n, m).

    Raises:
      ValueError: if both `rtol` and `rcond` are given.

    Example:
      >>> jnp.linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]]))
      Array([[0.5, 0. ],
             [0. , 0. ]], dtype=float32)
    """
    a = inexact("pinv", a)
    if a.ndim < 2:
        raise ValueError(
            f"jnp.linalg.pinv: `a` must have shape (..., m, n), but it has shape {a.shape}"
        )
    m, n = a.shape[-2:]
    real = dtypes.finfo(a.dtype).dtype
    if rtol is not None and rcond is not None:
        raise ValueError(
            "jnp.linalg.pinv: `rtol` and `rcond` are two names for one tolerance, but both were "
            "passed; omit `rcond`"
        )
    rtol = rcond if rtol is None else rtol
    if rtol is None:
        rtol = 10.0 * max(m, n) * float(dtypes.finfo(a.dtype).eps)
    limit = as_value(np.asarray(rtol) if isinstance(rtol, float | int) else rtol)
    limits: Array = broadcast_to(convert(limit, real), a.shape[:-2])
    return _pinv(a, limits, hermitian)


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Solves a least-squares problem: finds the x that minimizes the norm of a @ x - b.

    Args:
      a: a matrix of shape (m, n).
      b: the right-hand sides, of shape (m,) or (m, k).
      rcond: the relative tolerance: singular values below `rcond` times the largest one count as 0;
        max(m, n) * eps by default, and eps if `rcond` is negative.
      numpy_resid: whether to return no residuals in the cases in which NumPy returns none: if `a`
        is rank-deficient, or m is at most n.

    Returns: a tuple: the solution, the sums of squared residuals, the rank of `a`, and the singular
      values of `a`.

    Raises:
      TypeError: if `a` is not of rank 2, or `b` not of rank 1 or 2.
      ValueError: if `a` and `b` differ in size along the first axis.

    Example:
      >>> a = jnp.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
      >>> x, _, rank, _ = jnp.linalg.lstsq(a, jnp.array([1.0, 3.0, 5.0]))
      >>> x.round(3)
      Array([1., 2.], dtype=float32)
    """
    a, b = inexact("lstsq", a, b)
    if a.shape[:1] != b.shape[:1]:
        raise ValueError(
            f"jnp.linalg.lstsq: `b` must have as many rows as `a`, but they have shapes {b.shape} "
            f"and {a.shape}"
        )
    if a.ndim != 2:
        raise TypeError(f"jnp.linalg.lstsq: `a` must be one matrix, but it has shape {a.shape}")
    if b.ndim not in (1, 2):
        raise TypeError(
            f"jnp.linalg.lstsq: `b` must be one vector or one matrix, but it has shape {b.shape}"
        )
    vector = b.ndim == 1
    right = expand_dims(b, (1,)) if vector else b
    m, n = a.shape
    if a.size == 0:
        s = mat.zeros((0,), a)
        squares = s if numpy_resid and not m else _squares_of_columns(right)
        return mat.zeros((n, *b.shape[1:]), a), squares, as_value(np.int32(0)), s
    eps = float(dtypes.finfo(a.dtype).eps)
    cutoff = eps * max(n, m) if rcond is None else where(rcond < 0, eps, rcond)
    u, s, vt = svd(a, full_matrices=False)
    mask = (s > 0) & (s >= convert(as_value(cutoff), s.dtype) * s[0])
    rank = reduce_sum(convert(mask, dtypes.canonicalize_dtype(np.dtype(np.int64))), (0,))
    inverse = where(mask, 1 / where(mask, s, of_dtype(1, s)), of_dtype(0, s))
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


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Computes the inverse of the linear map x -> tensordot(a, x, x.ndim).

    Args:
      a: an array; the product of its first `ind` sizes must equal the product of its other sizes.
      ind: the number of leading axes of `a`, which are the axes of the result of this map.

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
        raise ValueError(
            f"jnp.linalg.tensorinv: `ind`, a number of axes, must be 1 or more, but it is {ind}"
        )
    front, back = a.shape[:ind], a.shape[ind:]
    if math.prod(front) != math.prod(back):
        raise ValueError(
            f"jnp.linalg.tensorinv: the first {ind} axes of `a` must have as many elements as the "
            f"others, but they have sizes {front} and {back}"
        )
    square = reshape(a, (math.prod(front), math.prod(back)))
    return reshape(inv(square), (*back, *front))


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: tuple[int, ...] | None = None) -> Array:
    """Solves tensordot(a, X, X.ndim) = b for X.

    Args:
      a: an array whose shape begins with the shape of `b`.
      b: the right-hand side.
      axes: the axes of `a` to move to its end before solving.

    Returns: an array of shape a.shape[b.ndim:].

    Raises:
      ValueError: if the shapes do not match.

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
        raise ValueError(
            "jnp.linalg.tensorsolve: the shape of `a`, with `axes` moved to its end, must begin "
            f"with that of `b`, and the rest must have as many elements, but the shapes are "
            f"{a.shape} and {b.shape}"
        )
    out = solve(reshape(a, (b.size, b.size)), reshape(b, (b.size,)))
    weak = a.weak_type and b.weak_type
    return convert(reshape(out, shape), out.dtype, weak) if weak else reshape(out, shape)
