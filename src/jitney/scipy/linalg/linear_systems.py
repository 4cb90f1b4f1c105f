"""Linear systems with SciPy's interface, batched over leading axes.

`overwrite_a`, `overwrite_b`, `debug` and `check_finite` are accepted for compatibility and have no
effect.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.scipy.linalg.arguments import arrays, check_square, inexact


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Array:
    """Solves a @ x = b for x.

    Args:
      a: square matrices [..., n, n].
      b: right-hand sides [..., n] or [..., n, k].
      lower: for positive definite matrices, whether to read the lower triangle of `a`; otherwise
        the upper triangle is read.
      assume_a: "gen", "sym" or "her" to solve by LU factorization, "pos" for positive definite
        matrices (Cholesky factorization).
      overwrite_a, overwrite_b, debug, check_finite: accepted for compatibility; no effect.

    Returns: array of the shape of b, with batch axes broadcast.

    Raises:
      ValueError: if `assume_a` is unknown, or shapes do not match.

    Example:
      >>> stiffness = jnp.array([[2.0, -1.0], [-1.0, 2.0]])
      >>> jax.scipy.linalg.solve(stiffness, jnp.ones(2), assume_a="pos").round(3)
      Array([1., 1.], dtype=float32)
    """
    del overwrite_a, overwrite_b, debug, check_finite
    valid = ["gen", "sym", "her", "pos"]
    if assume_a not in valid:
        raise ValueError(f"solve: `assume_a` must be one of {valid}, but it is {assume_a!r}")
    x, y = inexact(a, b)
    check_square("solve", x)
    _check_right_side("solve", x, y)
    if assume_a != "pos":
        return jnp.linalg.solve(x, y[..., None])[..., 0] if y.ndim == 1 else jnp.linalg.solve(x, y)
    triangle = jnp.tril(x) if lower else jnp.triu(x)
    other = jnp.conj(jnp.matrix_transpose(jnp.tril(x, -1) if lower else jnp.triu(x, 1)))
    factor = lax.linalg.cholesky(triangle + other, symmetrize_input=False)
    return _cho_solve(factor, y, lower=True)


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Array:
    """Solves a @ x = b for x, where a is triangular.

    Args:
      a: square matrices [..., n, n], of which only the lower or upper triangle is read.
      b: right-hand sides [..., n] or [..., n, k].
      trans: 0 or "N" to solve a @ x = b; 1 or "T" for a^T @ x = b; 2 or "C" for a^H @ x = b.
      lower: whether a is lower triangular; otherwise it is upper triangular.
      unit_diagonal: whether to assume ones on the diagonal, without reading it.
      overwrite_b, debug, check_finite: accepted for compatibility; no effect.

    Raises:
      ValueError: if `trans` is not one of these, or shapes do not match.

    Example:
      >>> upper = jnp.array([[2.0, 1.0], [0.0, 4.0]])
      >>> jax.scipy.linalg.solve_triangular(upper, upper @ jnp.array([1.0, 2.0]))
      Array([1., 2.], dtype=float32)
    """
    del overwrite_b, debug, check_finite
    codes: dict[object, int] = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}
    if trans not in codes:
        raise ValueError(
            f"solve_triangular: `trans` must be 0, 1, 2, 'N', 'T' or 'C', but got {trans!r}"
        )
    x, y = arrays(a, b)
    return _solve_triangular(x, y, trans=codes[trans], lower=lower, unit_diagonal=unit_diagonal)


@partial(jit_when_traced, static_argnames=("trans", "lower", "unit_diagonal"))
def _solve_triangular(a: Array, b: Array, *, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    check_square("solve_triangular", a)
    _check_right_side("solve_triangular", a, b)
    return _triangular_solve(a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal)


def _check_right_side(name: str, a: Array, b: Array) -> None:
    """Raises ValueError unless `b` is a vector or matrices with as many rows as `a`."""
    if not b.ndim:
        raise ValueError(f"{name}: `b` must be a vector or matrices, but it is a scalar")
    if b.shape[0 if b.ndim == 1 else -2] != a.shape[-1]:
        raise ValueError(
            f"{name}: `b` must have {a.shape[-1]} rows, like the matrix, but the matrix has shape "
            f"{a.shape} and `b` has shape {b.shape}"
        )


def _triangular_solve(a: Array, b: Array, *, trans: int, lower: bool, unit_diagonal: bool) -> Array:
    """Calls `lax.linalg.triangular_solve` with broadcast batch axes; b can be a vector."""
    is_vector = b.ndim == 1
    right = b[:, None] if is_vector else b
    batch = jnp.broadcast_shapes(a.shape[:-2], right.shape[:-2])
    x = lax.linalg.triangular_solve(
        jnp.broadcast_to(a, (*batch, *a.shape[-2:])),
        jnp.broadcast_to(right, (*batch, *right.shape[-2:])),
        left_side=True,
        lower=lower,
        transpose_a=trans > 0,
        conjugate_a=trans == 2,
        unit_diagonal=unit_diagonal,
    )
    return x[..., 0] if is_vector else x


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solves a @ x = b for x, given the Cholesky factorization of a.

    Args:
      c_and_lower: result of `cho_factor(a)`.
      b: right-hand sides [..., n] or [..., n, k].
      overwrite_b, check_finite: accepted for compatibility; no effect.

    Returns: array of the shape of b.

    Raises:
      ValueError: if shapes do not match.
    """
    del overwrite_b, check_finite
    c, lower = c_and_lower
    return _cho_solve(*inexact(c, b), lower=bool(lower))


@partial(jit_when_traced, static_argnames="lower")
def _cho_solve(c: Array, b: Array, *, lower: bool) -> Array:
    check_square("cho_solve", c)
    _check_right_side("cho_solve", c, b)
    is_vector = b.ndim == 1
    right = b[:, None] if is_vector else b
    solve_one = partial(_triangular_solve, lower=lower, unit_diagonal=False)
    between = solve_one(c, right, trans=0 if lower else 2)
    x = solve_one(c, between, trans=2 if lower else 0)
    return x[..., 0] if is_vector else x


def lu_solve(
    lu_and_piv: tuple[Array, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solves a @ x = b for x, given the LU factorization of a.

    Args:
      lu_and_piv: result of `lu_factor(a)`.
      b: right-hand sides [..., n] or [..., n, k].
      trans: 0 to solve a @ x = b, 1 for a^T @ x = b, or 2 for a^H @ x = b.
      overwrite_b, check_finite: accepted for compatibility; no effect.

    Raises:
      ValueError: if `trans` is not one of these, or shapes do not match.
    """
    del overwrite_b, check_finite
    if trans not in (0, 1, 2):
        raise ValueError(
            "lu_solve: `trans` must be 0 to solve a @ x = b, 1 for a^T @ x = b, or 2 for "
            f"a^H @ x = b, but it is {trans}"
        )
    factors, pivots = lu_and_piv
    matrix, right = inexact(factors, b)
    return _lu_solve(matrix, right, pivots, trans=trans)


@partial(jit_when_traced, static_argnames="trans")
def _lu_solve(factors: Array, b: Array, pivots: ArrayLike, *, trans: int) -> Array:
    check_square("lu_solve", factors)
    _check_right_side("lu_solve", factors, b)
    n = factors.shape[-1]
    order = lax.linalg.lu_pivots_to_permutation(pivots, n)
    is_vector = b.ndim == 1
    right = b[:, None] if is_vector else b
    lower = partial(_triangular_solve, lower=True, unit_diagonal=True)
    upper = partial(_triangular_solve, lower=False, unit_diagonal=False)
    if trans == 0:
        right = jnp.take_along_axis(right, _like(order, right), axis=-2)
        x = upper(factors, lower(factors, right, trans=0), trans=0)
    else:
        x = lower(factors, upper(factors, right, trans=trans), trans=trans)
        x = jnp.take_along_axis(x, _like(jnp.argsort(order), x), axis=-2)
    return x[:, 0] if is_vector else x


def _like(order: Array, x: Array) -> Array:
    """Broadcasts a permutation of the rows of `x` to indices for `take_along_axis`."""
    return jnp.broadcast_to(order[..., None], (*x.shape[:-2], order.shape[-1], 1))
