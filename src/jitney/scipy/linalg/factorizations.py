"""Matrix factorizations with SciPy's interface, batched over leading axes.

`overwrite_a`, `overwrite_b`, `check_finite`, `lapack_driver`, `lwork`, `debug` and `turbo` are
accepted for compatibility and have no effect.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import is_complex
from jitney.numpy.vectorization import vectorize
from jitney.scipy.linalg.arguments import arrays, check_square, complex_dtype, inexact


def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Computes the Cholesky factor U with a = U^H @ U, or L with a = L @ L^H.

    Args:
      a: Hermitian positive definite matrices [..., n, n]. Only the upper triangle is read (the
        lower one if `lower` is True).
      lower: whether to return L instead of U.
      overwrite_a, check_finite: accepted for compatibility; no effect.

    Returns: array of the shape of a; NaN where a is not positive definite.

    Example:
      >>> jax.scipy.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
      Array([[2., 1.],
             [0., 2.]], dtype=float32)
    """
    del overwrite_a, check_finite
    (matrix,) = arrays(a)
    check_square("cholesky", matrix)
    return _cholesky(matrix, lower=lower)


@partial(jit_when_traced, static_argnames="lower")
def _cholesky(a: Array, *, lower: bool) -> Array:
    # The primitive reads the lower triangle; the lower triangle of a^H is the adjoint of the upper
    # triangle of a.
    factor = lax.linalg.cholesky(a if lower else _adjoint(a), symmetrize_input=False)
    return factor if lower else _adjoint(factor)


def _adjoint(a: Array) -> Array:
    return jnp.conj(jnp.matrix_transpose(a))


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Computes the Cholesky factorization in the form that `cho_solve` expects.

    Returns: (`cholesky(a, lower)`, lower).
    """
    return cholesky(a, lower, overwrite_a, check_finite), lower


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array | tuple[Array, Array, Array]:
    """Computes the singular value decomposition a = (U * s) @ V^H.

    Args:
      a: matrices [..., m, n].
      full_matrices: whether U and V^H are square; otherwise U has min(m, n) columns, and V^H has
        min(m, n) rows.
      compute_uv: whether to return U and V^H.
      overwrite_a, check_finite, lapack_driver: accepted for compatibility; no effect.

    Returns: (U, singular values in descending order, V^H), or the singular values alone.
    """
    del overwrite_a, check_finite, lapack_driver
    results = lax.linalg.svd(*arrays(a), full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(results) if compute_uv else results


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Computes the determinant of square matrices [..., n, n]."""
    del overwrite_a, check_finite
    return jnp.linalg.det(a)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Computes the inverse of square matrices [..., n, n]."""
    del overwrite_a, check_finite
    return jnp.linalg.inv(a)


def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array | tuple[Array, Array]:
    """Computes the eigenvalues and eigenvectors of Hermitian matrices.

    Args:
      a: Hermitian matrices [..., n, n].
      b: must be None.
      lower: whether to read the lower triangle of a; otherwise the upper triangle is read.
      eigvals_only: whether to return the eigenvalues alone.
      eigvals: must be None.
      type: must be 1.
      overwrite_a, overwrite_b, turbo, check_finite: accepted for compatibility; no effect.

    Returns: (eigenvalues, eigenvectors): the eigenvalues [..., n] in ascending order, and an array
      [..., n, n] whose columns are the eigenvectors; or the eigenvalues alone.

    Raises:
      NotImplementedError: if `b` or `eigvals` is given, or `type` is not 1.

    Example:
      >>> jax.scipy.linalg.eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True)
      Array([1., 2.], dtype=float32)
    """
    del overwrite_a, overwrite_b, turbo, check_finite
    for name, ok in (
        ("b=None", b is None),
        ("type=1", type == 1),
        ("eigvals=None", eigvals is None),
    ):
        if not ok:
            raise NotImplementedError(f"eigh: only {name} is supported; omit this argument")
    (matrix,) = arrays(a)
    check_square("eigh", matrix)
    vectors, values = lax.linalg.eigh(matrix, lower=lower)
    return values if eigvals_only else (values, vectors)


def schur(a: ArrayLike, output: str = "real") -> tuple[Array, Array]:
    """Computes the Schur decomposition a = Z @ T @ Z^H, with Z unitary and T upper triangular.

    Args:
      a: square matrices [..., n, n].
      output: "real" or "complex". With "real", T and Z are real for real matrices, and T has a
        2 x 2 block on its diagonal for each pair of complex eigenvalues. With "complex", T is
        triangular.

    Returns: (T, Z).

    Raises:
      ValueError: if `output` is unknown.

    Example:
      >>> t, z = jax.scipy.linalg.schur(jnp.array([[2.0, 1.0], [0.0, 3.0]]))
      >>> t
      Array([[2., 1.],
             [0., 3.]], dtype=float32)
    """
    if output not in ("real", "complex"):
        raise ValueError(f"schur: `output` must be 'real' or 'complex', but it is {output!r}")
    return _schur(*inexact(a), output=output)


@partial(jit_when_traced, static_argnames="output")
def _schur(a: Array, *, output: str) -> tuple[Array, Array]:
    if output == "complex" and not is_complex(a.dtype):
        a = a.astype(complex_dtype(a.dtype))
    t, z = lax.linalg.schur(a)
    return t, z


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Converts a real Schur form (T, Z) to a complex one by one Givens rotation per 2 x 2 block.

    Args:
      T: quasi-triangular matrices [..., n, n].
      Z: orthogonal matrices [..., n, n].
      check_finite: accepted for compatibility; no effect.

    Raises:
      ValueError: if T and Z are not square matrices of equal size.
    """
    del check_finite
    t, z = arrays(T, Z)
    for name, x in (("T", t), ("Z", z)):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"rsf2csf: `{name}` must be square, but got shape {x.shape}")
    if t.shape[-1] != z.shape[-1]:
        raise ValueError(f"rsf2csf: sizes must be equal, but got shapes {t.shape} and {z.shape}")
    dtype = complex_dtype(t.dtype)
    return _rsf2csf(t.astype(dtype), z.astype(dtype))


@jit_when_traced
@partial(vectorize, signature="(n,n),(n,n)->(n,n),(n,n)")
def _rsf2csf(t: Array, z: Array) -> tuple[Array, Array]:
    n = t.shape[0]
    if n < 2:
        return t, z
    epsilon = float(dtypes.finfo(t.dtype).eps)
    places = jnp.arange(n)

    def rotate(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        t, z = carry
        m = n - 1 - k
        block = lax.dynamic_slice(t, (m - 1, m - 1), (2, 2))
        (a, b), (c, d) = (block[0, 0], block[0, 1]), (block[1, 0], block[1, 1])
        coupled = jnp.abs(c) > epsilon * (jnp.abs(a) + jnp.abs(d))
        # The shift is l - d, where l is the eigenvalue of the block that is farther from d; this
        # choice avoids cancellation. Of a conjugate pair, the eigenvalue above the real axis is
        # chosen.
        half = (a - d) / 2
        root = lax.sqrt(half * half + b * c)
        shift = half + jnp.where((jnp.conj(half) * root).real < 0, -root, root)
        length = jnp.sqrt(jnp.abs(shift) ** 2 + jnp.abs(c) ** 2)
        length = jnp.where(coupled, length, 1.0).astype(t.dtype)
        cosine = jnp.where(coupled, shift / length, 1.0)
        sine = jnp.where(coupled, c / length, 0.0)
        g = jnp.stack([jnp.stack([jnp.conj(cosine), sine]), jnp.stack([-sine, cosine])])
        # Elements below the blocks are regarded as zeros, and are not updated.
        rows = lax.dynamic_slice(t, (m - 1, 0), (2, n))
        rows = jnp.where(places >= m - 1, g @ rows, rows)
        t = lax.dynamic_update_slice(t, rows, (m - 1, 0))
        back = jnp.conj(g.T)
        columns = lax.dynamic_slice(t, (0, m - 1), (n, 2))
        columns = jnp.where(places[:, None] <= m, columns @ back, columns)
        t = lax.dynamic_update_slice(t, columns, (0, m - 1))
        z = lax.dynamic_update_slice(z, lax.dynamic_slice(z, (0, m - 1), (n, 2)) @ back, (0, m - 1))
        return t.at[m, m - 1].set(0), z

    return lax.fori_loop(0, n - 1, rotate, (t, z))


def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """Computes the LU factorization in the form that `lu_solve` expects.

    Args:
      a: matrices [..., m, n].
      overwrite_a, check_finite: accepted for compatibility; no effect.

    Returns: (factors, pivots): an array [..., m, n] that holds L below the diagonal (its unit
      diagonal is implied) and U on and above it, and int32 pivots.
    """
    del overwrite_a, check_finite
    factors, pivots, _ = lax.linalg.lu(*arrays(a))
    return factors, pivots


def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    """Computes the LU factorization a = P @ L @ U with partial pivoting.

    Args:
      a: matrices [..., m, n].
      permute_l: whether to return the product P @ L instead of its factors.
      overwrite_a, check_finite: accepted for compatibility; no effect.

    Returns: (P, L, U), or (P @ L, U) if `permute_l`.

    Example:
      >>> p, l, u = jax.scipy.linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
      >>> u
      Array([[4., 4.],
             [0., 1.]], dtype=float32)
    """
    del overwrite_a, check_finite
    return _lu(*arrays(a), permute_l=permute_l)


@partial(jit_when_traced, static_argnames="permute_l")
def _lu(a: Array, *, permute_l: bool) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    factors, _, order = lax.linalg.lu(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    ones = jnp.broadcast_to(jnp.eye(m, k, dtype=a.dtype), (*a.shape[:-2], m, k))
    lower = jnp.tril(factors[..., :, :k], -1) + ones
    upper = jnp.triu(factors[..., :k, :])
    if permute_l:
        inverse = jnp.argsort(order, axis=-1)
        return jnp.take_along_axis(lower, inverse[..., None], axis=-2), upper
    rows = jnp.arange(m).reshape(*(1,) * (a.ndim - 2), m, 1)
    real = dtypes.finfo(a.dtype).dtype
    permutation = (rows == order[..., None, :]).astype(real)
    return permutation, lower, upper


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array] | tuple[Array, Array] | tuple[Array, Array, Array]:
    """Computes the QR factorization a = Q @ R, or a[:, P] = Q @ R with column pivoting.

    Args:
      a: matrices [..., m, n].
      mode: "full" returns a square Q, "economic" a Q with min(m, n) columns, and "r" no Q.
      pivoting: whether to permute columns such that the diagonal of R descends in magnitude.
      overwrite_a, lwork, check_finite: accepted for compatibility; no effect.

    Returns: (Q, R), or (R,) for mode "r"; the permutation P is appended if `pivoting`.

    Raises:
      ValueError: if `mode` is unknown.
    """
    del overwrite_a, lwork, check_finite
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"qr: `mode` must be 'full', 'economic' or 'r', but it is {mode!r}")
    results = lax.linalg.qr(*arrays(a), pivoting=pivoting, full_matrices=mode != "economic")
    return _as_results(results[1:] if mode == "r" else results)


def _as_results(arrays: Any) -> Any:
    """Converts the results of `qr` to a tuple of one to three arrays."""
    return tuple(arrays)


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, Array] | tuple[Array, Array, Array]:
    """Computes the QR factorization a = Q @ R, and the product of Q and c.

    Q has min(m, n) columns, but it is square in mode "left" if c has m rows.

    Args:
      a: matrices [..., m, n].
      c: matrices, or a vector.
      mode: "right" for c @ Q, "left" for Q @ c.
      pivoting: as in `qr`.
      conjugate: whether to conjugate Q elementwise.
      overwrite_a, overwrite_c: accepted for compatibility; no effect.

    Returns: (c @ Q or Q @ c, R); the permutation P is appended if `pivoting`.

    Raises:
      ValueError: if `mode` is unknown, or shapes do not match.
    """
    del overwrite_a, overwrite_c
    if mode not in ("right", "left"):
        raise ValueError(
            "qr_multiply: `mode`, the side from which `c` is multiplied by q, must be 'left' or "
            f"'right', but got {mode!r}"
        )
    x, y = arrays(a, c)
    if x.ndim < 2 or not y.ndim:
        raise ValueError(
            "qr_multiply: `a` must hold matrices, and `c` vectors or matrices, but their shapes "
            f"are {x.shape} and {y.shape}"
        )
    q, *factors = lax.linalg.qr(x, pivoting=pivoting, full_matrices=False)
    if conjugate:
        q = jnp.conj(q)
    extents = q.shape[-2:]
    inner = y.shape[-1] if mode == "right" else y.shape[0 if y.ndim == 1 else -2]
    if mode == "left" and inner == extents[0] != extents[1]:
        q = lax.linalg.qr(x, pivoting=pivoting, full_matrices=True)[0]
        q = jnp.conj(q) if conjugate else q
    elif inner != extents[0 if mode == "right" else 1]:
        raise ValueError(
            f"qr_multiply: the shapes of `a` and `c` do not match for mode={mode!r}: {x.shape} and "
            f"{y.shape}"
        )
    product = y @ q if mode == "right" else q @ y
    return _as_results([product, *factors])


def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """Computes the Hessenberg form H of a = Q @ H @ Q^H, with zeros below its subdiagonal.

    Args:
      a: square matrices [..., n, n]. Matrices without columns, such as [3, 0], are also accepted;
        their result is empty.
      calc_q: whether to return the unitary matrix Q as well.
      overwrite_a, check_finite: accepted for compatibility; no effect.
    """
    del overwrite_a, check_finite
    (x,) = inexact(a)
    if x.ndim < 2 or x.shape[-1]:
        check_square("hessenberg", x)
    n = x.shape[-1]
    if n == 0:
        return (jnp.zeros_like(x), jnp.zeros_like(x)) if calc_q else jnp.zeros_like(x)
    form, taus = lax.linalg.hessenberg(x)
    h = jnp.triu(form, -1)
    if not calc_q:
        return h
    q = lax.linalg.householder_product(form[..., 1:, :-1], taus)
    batch = x.shape[:-2]
    corner = jnp.broadcast_to(jnp.eye(1, n, dtype=x.dtype), (*batch, 1, n))
    below = jnp.concatenate([jnp.zeros((*batch, n - 1, 1), x.dtype), q], axis=-1)
    return h, jnp.concatenate([corner, below], axis=-2)


def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Computes the polar decomposition a = U @ P or a = P @ U.

    Args:
      a: matrices [..., m, n].
      side: "right" for a = U @ P, "left" for a = P @ U.
      method: "qdwh" or "svd"; both use the singular value decomposition.
      eps, max_iterations: accepted for compatibility; no effect, since no iteration is used.

    Returns: (U, P), with U unitary and P positive semidefinite.

    Raises:
      ValueError: if the side or method is unknown, or `a` does not hold matrices.
      NotImplementedError: if the dtype is a 16-bit float.

    Example:
      >>> u, p = jax.scipy.linalg.polar(jnp.array([[-2.0, 0.0], [0.0, 3.0]]))
      >>> p
      Array([[2., 0.],
             [0., 3.]], dtype=float32)
    """
    del eps, max_iterations
    (x,) = arrays(a)
    if x.ndim < 2:
        raise ValueError(f"polar: `a` must hold matrices, but it has shape {x.shape}")
    if side not in ("right", "left"):
        raise ValueError(
            f"polar: `side`, the side of p, must be 'left' or 'right', but got {side!r}"
        )
    if method not in ("qdwh", "svd"):
        raise ValueError(f"polar: unknown method {method!r}; it must be 'qdwh' or 'svd'")
    if x.dtype.itemsize == 2:
        raise NotImplementedError(f"polar: unsupported dtype {x.dtype}; convert to float32")
    x = lax.convert_element_type(x, x.dtype)  # strongly typed, like the results
    u, s, vh = lax.linalg.svd(x, full_matrices=False)
    factors = jnp.conj(jnp.matrix_transpose(vh)) if side == "right" else u
    scaled = factors * s.astype(factors.dtype)[..., None, :]
    definite = scaled @ jnp.conj(jnp.matrix_transpose(factors))
    return u @ vh, definite
