"""`jax.scipy.sparse.linalg`: iterative solvers of linear systems.

The solvers use the matrix only in products with vectors. Vectors are pytrees of arrays. Solutions
are differentiable; the derivatives are computed by solving linear systems with the same matrix or
its transpose (`lax.custom_linear_solve`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, overload

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.array import Array
from jitney.core.pytree import pytrees
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.flatten_util import ravel_pytree

T = TypeVar("T")

__all__ = ["bicgstab", "cg", "gmres"]

__dir__ = listing(__name__)

PyTree = Any
Operator = Callable[[Array], Array]


def _operator(name: str, what: str, a: PyTree) -> Callable[..., object]:
    """Returns `a` if it is a function, or the product with the matrix `a`."""
    if callable(a):
        return a
    matrix = jnp.asarray(a)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"{name}: {what} must be a function or a square matrix, but got shape {matrix.shape}"
        )
    return partial(jnp.matmul, matrix)


def _solve(
    name: str,
    method: Callable[..., Array],
    A: PyTree,
    b: PyTree,
    x0: PyTree | None,
    M: PyTree | None,
    symmetric: bool,
) -> tuple[object, None]:
    """Solves A x = b by `method(operator, b, x0, preconditioner)` on flat vectors."""
    x0 = pytrees.tree_map(jnp.zeros_like, b) if x0 is None else x0
    if pytrees.tree_structure(x0) != pytrees.tree_structure(b):
        raise ValueError(
            f"{name}: x0 must have the pytree structure of b, but got "
            f"{pytrees.tree_structure(x0)} instead of {pytrees.tree_structure(b)}"
        )
    shapes = [[jnp.shape(leaf) for leaf in pytrees.tree_leaves(tree)] for tree in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"{name}: the arrays of x0 and b must have the same shapes, but got {shapes[0]} and "
            f"{shapes[1]}"
        )
    product = _operator(name, "A", A)
    precondition = (lambda x: x) if M is None else _operator(name, "M", M)
    dtype = jnp.result_type(*pytrees.tree_leaves(b), *pytrees.tree_leaves(x0))
    if dtype.itemsize < 4 or not jnp.issubdtype(dtype, jnp.inexact):
        dtype = jnp.result_type(dtype, np.float32)
    if any(np.dtype(jnp.result_type(leaf)).itemsize == 8 for leaf in pytrees.tree_leaves(b)):
        dtype = jnp.result_type(dtype)
    b, x0 = (pytrees.tree_map(lambda v: jnp.asarray(v, dtype), tree) for tree in (b, x0))

    def on_tree(matvec: Callable[[PyTree], PyTree], right: PyTree) -> object:
        flat, unflatten = ravel_pytree(right)
        start = ravel_pytree(x0)[0]

        def flat_product(function: Callable[[PyTree], PyTree], v: Array) -> Array:
            return ravel_pytree(function(unflatten(v)))[0]

        return unflatten(
            method(partial(flat_product, matvec), flat, start, partial(flat_product, precondition))
        )

    return lax.custom_linear_solve(product, b, on_tree, on_tree, symmetric=symmetric), None


def _limit(tol: ArrayLike, atol: ArrayLike, b: Array) -> Array:
    """Returns the norm of the residual at which to stop."""
    return jnp.maximum(jnp.asarray(tol) * jnp.linalg.norm(b), jnp.asarray(atol))


@overload
def cg(
    A: PyTree,
    b: ArrayLike,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: PyTree | None = None,
) -> tuple[Array, None]: ...


@overload
def cg(
    A: PyTree,
    b: T,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: PyTree | None = None,
) -> tuple[T, None]: ...


def cg(
    A: PyTree,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: PyTree | None = None,
) -> tuple[object, None]:
    """Solves A x = b by the conjugate gradient method, for Hermitian positive definite A.

    Source: Hestenes and Stiefel, Journal of Research of the National Bureau of Standards 49 (1952),
    409-436.

    Args:
      A: matrix, or function that computes the product A x.
      b: right-hand side, a pytree of arrays.
      x0: initial guess; 0 by default.
      tol, atol: iterations stop once the norm of the residual is at most max(tol |b|, atol).
      maxiter: maximum number of iterations; 10 times the number of unknowns by default.
      M: preconditioner, a Hermitian positive definite approximation of the inverse of A, as a
        matrix or a function.

    Returns: (x, None).

    Raises:
      ValueError: if pytree structures or shapes do not match.

    Example:
      >>> x, _ = jax.scipy.sparse.linalg.cg(lambda x: 2 * x, jnp.array([2.0, 4.0]))
      >>> x
      Array([1., 2.], dtype=float32)
    """

    def method(product: Operator, b: Array, x: Array, precondition: Operator) -> Array:
        limit = _limit(tol, atol, b)
        most = 10 * b.size if maxiter is None else maxiter
        r = b - product(x)
        z = precondition(r)

        def goes_on(carry: tuple[Array, ...]) -> Array:
            k, _, r, _, _ = carry
            return (jnp.linalg.norm(r) > limit) & (k < most)

        def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            k, x, r, gamma, p = carry
            ap = product(p)
            alpha = gamma / jnp.vdot(p, ap).real.astype(b.dtype)
            x, r = x + alpha * p, r - alpha * ap
            z = precondition(r)
            following = jnp.vdot(r, z).real.astype(b.dtype)
            return k + 1, x, r, following, z + (following / gamma) * p

        gamma = jnp.vdot(r, z).real.astype(b.dtype)
        start = (jnp.zeros((), np.int32), x, r, gamma, z)
        return lax.while_loop(goes_on, step, start)[1]

    return _solve("cg", method, A, b, x0, M, symmetric=True)


@overload
def bicgstab(
    A: PyTree,
    b: ArrayLike,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: PyTree | None = None,
) -> tuple[Array, None]: ...


@overload
def bicgstab(
    A: PyTree,
    b: T,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: PyTree | None = None,
) -> tuple[T, None]: ...


def bicgstab(
    A: PyTree,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: PyTree | None = None,
) -> tuple[object, None]:
    """Solves A x = b by the stabilized biconjugate gradient method.

    Source: Van der Vorst, SIAM Journal on Scientific and Statistical Computing 13 (1992), 631-644.

    Args:
      A: matrix, or function that computes the product A x.
      b: right-hand side, a pytree of arrays.
      x0: initial guess; 0 by default.
      tol, atol: iterations stop once the norm of the residual is at most max(tol |b|, atol).
      maxiter: maximum number of iterations; 10 times the number of unknowns by default.
      M: preconditioner, an approximation of the inverse of A, as a matrix or a function.

    Returns: (x, None).

    Raises:
      ValueError: if pytree structures or shapes do not match.

    Example:
      >>> a = jnp.array([[2.0, 1.0], [0.0, 4.0]])
      >>> x, _ = jax.scipy.sparse.linalg.bicgstab(a, jnp.array([4.0, 8.0]))
      >>> x.round(4)
      Array([1., 2.], dtype=float32)
    """

    def method(product: Operator, b: Array, x: Array, precondition: Operator) -> Array:
        limit = _limit(tol, atol, b)
        most = 10 * b.size if maxiter is None else maxiter
        shadow = b - product(x)

        def goes_on(carry: tuple[Array, ...]) -> Array:
            k, ok, _, r, *_ = carry
            return ok & (jnp.linalg.norm(r) > limit) & (k < most)

        def step(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            k, _, x, r, alpha, omega, rho, p, q = carry
            following = jnp.vdot(shadow, r)
            beta = (following / rho) * (alpha / omega)
            p = r + beta * (p - omega * q)
            towards = precondition(p)
            q = product(towards)
            alpha = following / jnp.vdot(shadow, q)
            s = r - alpha * q
            early = jnp.linalg.norm(s) <= limit
            along = precondition(s)
            t = product(along)
            size = jnp.vdot(t, t)
            omega = jnp.where(
                early | (size == 0), 0, jnp.vdot(t, s) / jnp.where(size == 0, 1, size)
            )
            x = x + alpha * towards + omega * along
            r = s - omega * t
            ok = early | ((omega != 0) & (alpha != 0) & jnp.isfinite(jnp.abs(alpha)))
            return k + 1, ok, x, r, alpha, jnp.where(omega == 0, 1, omega), following, p, q

        one = jnp.ones((), b.dtype)
        start = (
            jnp.zeros((), np.int32), jnp.ones((), bool), x, shadow, one, one, one,
            jnp.zeros_like(b), jnp.zeros_like(b),
        )  # fmt: skip
        return lax.while_loop(goes_on, step, start)[2]

    return _solve("bicgstab", method, A, b, x0, M, symmetric=False)


@overload
def gmres(
    A: PyTree,
    b: ArrayLike,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: PyTree | None = None,
    solve_method: str = "batched",
) -> tuple[Array, None]: ...


@overload
def gmres(
    A: PyTree,
    b: T,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: PyTree | None = None,
    solve_method: str = "batched",
) -> tuple[T, None]: ...


def gmres(
    A: PyTree,
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: PyTree | None = None,
    solve_method: str = "batched",
) -> tuple[object, None]:
    """Solves A x = b by the restarted generalized minimal residual method.

    Source: Saad and Schultz, SIAM Journal on Scientific and Statistical Computing 7 (1986),
    856-869. Here each vector of the Arnoldi basis is orthogonalized twice.

    Args:
      A: matrix, or function that computes the product A x.
      b: right-hand side, a pytree of arrays.
      x0: initial guess; 0 by default.
      tol, atol: iterations stop once the norm of the residual is at most max(tol |b|, atol), or no
        longer decreases.
      restart: dimension of the Krylov space built in each cycle.
      maxiter: maximum number of cycles; 10 times the number of unknowns by default.
      M: preconditioner, an approximation of the inverse of A, as a matrix or a function.
      solve_method: "batched" or "incremental"; both solve one least-squares problem in each cycle.

    Returns: (x, None).

    Raises:
      ValueError: if pytree structures or shapes do not match, or `solve_method` is unknown.

    Example:
      >>> a = jnp.array([[2.0, 1.0], [0.0, 4.0]])
      >>> x, _ = jax.scipy.sparse.linalg.gmres(a, jnp.array([4.0, 8.0]))
      >>> x.round(4)
      Array([1., 2.], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            f"gmres: solve_method must be 'batched' or 'incremental', but got {solve_method!r}"
        )

    def method(product: Operator, b: Array, x: Array, precondition: Operator) -> Array:
        limit = _limit(tol, atol, b)
        most = 10 * b.size if maxiter is None else maxiter
        size = min(restart, b.size)

        def goes_on(carry: tuple[Array, ...]) -> Array:
            k, _, r, improves = carry
            return improves & (jnp.linalg.norm(r) > limit) & (k < most)

        def cycle(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            k, x, r, _ = carry
            basis, hessenberg, length = _arnoldi(product, precondition, r, size)
            target = jnp.zeros(size + 1, b.dtype).at[0].set(length.astype(b.dtype))
            y = jnp.linalg.lstsq(hessenberg, target)[0]
            x = x + precondition(basis[:, :size] @ y)
            following = b - product(x)
            improves = jnp.linalg.norm(following) < jnp.linalg.norm(r)
            return k + 1, x, following, improves

        start = (jnp.zeros((), np.int32), x, b - product(x), jnp.ones((), bool))
        return lax.while_loop(goes_on, cycle, start)[1]

    return _solve("gmres", method, A, b, x0, M, symmetric=False)


def _arnoldi(
    product: Operator, precondition: Operator, r: Array, size: int
) -> tuple[Array, Array, Array]:
    """Returns (Krylov basis [n, size + 1], Hessenberg matrix [size + 1, size], |r|)."""
    length = jnp.linalg.norm(r)
    epsilon = float(jnp.finfo(r.dtype).eps)
    first = r / jnp.where(length == 0, 1, length).astype(r.dtype)
    basis = jnp.zeros((r.size, size + 1), r.dtype).at[:, 0].set(first)
    hessenberg = jnp.zeros((size + 1, size), r.dtype)

    def step(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        basis, hessenberg = carry
        v = product(precondition(basis[:, k]))
        before = jnp.linalg.norm(v)
        coefficients = jnp.zeros(size + 1, r.dtype)
        for _ in range(2):
            part = jnp.conj(basis.T) @ v
            v, coefficients = v - basis @ part, coefficients + part
        after = jnp.linalg.norm(v)
        # Otherwise the space is invariant and contains the solution.
        new = after > epsilon * before
        scale = jnp.where(new, after, 1).astype(r.dtype)
        v = jnp.where(new, v / scale, 0)
        column = coefficients.at[k + 1].set(jnp.where(new, after, 0).astype(r.dtype))
        return basis.at[:, k + 1].set(v), hessenberg.at[:, k].set(column)

    basis, hessenberg = lax.fori_loop(0, size, step, (basis, hessenberg))
    return basis, hessenberg, length
