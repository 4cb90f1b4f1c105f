"""Multivariate normal vectors and random orthogonal matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.numpy.promotion import promote_dtypes_inexact
from jitney.primitives.array.placement import placed
from jitney.random.checks import Shape, broadcast_shape, inexact_dtype, shape_of
from jitney.random.keys import check_key
from jitney.random.normals import normal

if TYPE_CHECKING:
    from jitney.core.sharding.named import ShardingLike
    from jitney.core.typing import Array, ArrayLike, DTypeLike, ShapeLike

_METHODS = ("cholesky", "eigh", "svd")


def multivariate_normal(
    key: ArrayLike,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    method: Literal["cholesky", "eigh", "svd"] = "cholesky",
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws from the multivariate normal distribution.

    The results are standard normal vectors, times a square root of `cov`, plus `mean`.

    Args:
      key: PRNG key.
      mean: means [*batch, n].
      cov: covariances [*batch, n, n], symmetric and positive semidefinite.
      shape: batch shape, to which the batch shapes of the parameters broadcast; by default their
        broadcast shape.
      dtype: floating dtype of the standard normal variables; by default the dtype of the
        parameters.
      method: method for the square root: "cholesky" (the fastest; requires a positive definite
        `cov`), "eigh" or "svd".
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: floating array [*shape, n].

    Raises:
      ValueError: if `dtype` is not floating, `method` is unknown, or shapes do not match.

    Example:
      >>> cov = jnp.array([[2.0, 0.5], [0.5, 1.0]])
      >>> random.multivariate_normal(random.key(0), jnp.zeros(2), cov, (3,)).shape
      (3, 2)
    """
    key, _ = check_key("multivariate_normal", key)
    parameters: list[Array] = promote_dtypes_inexact(jnp.asarray(mean), jnp.asarray(cov))
    m, c = parameters
    asked = inexact_dtype("multivariate_normal", m.dtype if dtype is None else dtype)
    if method not in _METHODS:
        raise ValueError(
            "jax.random.multivariate_normal: `method` must be 'cholesky', 'eigh' or 'svd', but got "
            f"{method!r}"
        )
    if m.ndim < 1:
        raise ValueError(
            "jax.random.multivariate_normal: `mean` must have at least one axis, but is a scalar"
        )
    if c.ndim < 2:
        raise ValueError(
            "jax.random.multivariate_normal: `cov` must have at least two axes, but has shape "
            f"{c.shape}"
        )
    n = m.shape[-1]
    if c.shape[-2:] != (n, n):
        raise ValueError(
            f"jax.random.multivariate_normal: `mean` has n={n} elements, so `cov` must hold {n} x {n} "
            f"matrices, but got shape {c.shape}"
        )
    batch = broadcast_shape("multivariate_normal", shape, m.shape[:-1], c.shape[:-2])
    drawn = _multivariate_normal(key, m, c, shape=batch, dtype=asked, method=method)
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("shape", "dtype", "method"), compiled_from=0)
def _multivariate_normal(
    key: Array, mean: Array, cov: Array, *, shape: Shape, dtype: np.dtype, method: str
) -> Array:
    if method == "svd":
        u, s, _ = jnp.linalg.svd(cov)
        root = u * jnp.sqrt(s[..., None, :])
    elif method == "eigh":
        w, v = jnp.linalg.eigh(cov)
        root = v * jnp.sqrt(w[..., None, :])
    else:
        root = jnp.linalg.cholesky(cov)
    standard = normal(key, (*shape, mean.shape[-1]), dtype)
    centered = jnp.einsum("...ij,...j->...i", root, standard)
    return lax.broadcast_to_rank(mean, centered.ndim) + centered


def orthogonal(
    key: ArrayLike,
    n: int,
    shape: ShapeLike = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: ShardingLike | None = None,
) -> Array:
    """Draws orthogonal matrices (unitary for complex dtypes) from the Haar measure.

    The results are the factors Q of the QR factorizations of normal matrices, with signs such that
    the diagonal of R is positive (F. Mezzadri, Notices of the AMS 54 (2007), 592-604).

    Args:
      key: PRNG key.
      n: row count of each matrix.
      shape: batch shape.
      dtype: floating or complex dtype; float32 (float64 under x64) by default.
      m: column count of each matrix; `n` by default. If it differs from `n`, rows or columns,
        whichever are fewer, are orthonormal.
      out_sharding: sharding of the result; a PartitionSpec refers to the context mesh.

    Returns: array [*shape, n, m].

    Raises:
      ValueError: if `dtype` is not floating or complex, or a size is negative.

    Example:
      >>> q = random.orthogonal(random.key(0), 3)
      >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-6))
      True
    """
    key, _ = check_key("orthogonal", key)
    columns = n if m is None else m
    if n < 0 or columns < 0:
        raise ValueError(
            f"jax.random.orthogonal: sizes must not be negative, but got n={n} and m={m}"
        )
    asked = inexact_dtype("orthogonal", dtype, allow_complex=True)
    drawn = _orthogonal(key, n=n, m=columns, shape=shape_of(shape), dtype=asked)
    return placed(drawn, None, out_sharding)


@jit_when_traced(static_argnames=("n", "m", "shape", "dtype"), compiled_from=0)
def _orthogonal(key: Array, *, n: int, m: int, shape: Shape, dtype: np.dtype) -> Array:
    z = normal(key, (*shape, max(n, m), min(n, m)), dtype)
    q, r = jnp.linalg.qr(z)
    q = q * lax.sign(jnp.diagonal(r, 0, -2, -1))[..., None, :]
    return jnp.matrix_transpose(q) if n < m else q
