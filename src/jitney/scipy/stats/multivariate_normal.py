"""The multivariate normal distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import check_arraylike, promote_dtypes_inexact
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.stats.support import TWO_PI

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["logpdf", "pdf"]

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """Computes the logarithm of the probability density function at x.

    Args:
      x: points [..., n].
      mean: means [..., n], or a scalar.
      cov: symmetric positive definite covariance [..., n, n], or a scalar variance.
      allow_singular: must be None.

    Returns: floating array of the broadcast batch shape.

    Raises:
      NotImplementedError: if `allow_singular` is given.
      ValueError: if shapes do not agree.

    Example:
      >>> jax.scipy.stats.multivariate_normal.logpdf(jnp.zeros(2), jnp.zeros(2), jnp.eye(2)).round(4)
      Array(-1.8379, dtype=float32)
    """
    if allow_singular is not None:
        raise NotImplementedError("multivariate_normal.logpdf: allow_singular is not supported")
    x, mean, cov = operands_of(x, mean, cov)
    if not mean.ndim:
        return -0.5 * lax.square(x - mean) / cov - 0.5 * (jnp.log(TWO_PI) + lax.log(cov))
    size = mean.shape[-1]
    if not cov.ndim:
        y = x - mean
        total = jnp.einsum("...i,...i->...", y, y)
        return -0.5 * total / cov - 0.5 * size * (jnp.log(TWO_PI) + lax.log(cov))
    if cov.ndim < 2 or cov.shape[-2:] != (size, size):
        raise ValueError(
            f"multivariate_normal.logpdf: the last two axes of cov must have sizes {(size, size)}, "
            f"but got mean.shape={mean.shape} and cov.shape={cov.shape}"
        )
    factor = lax.linalg.cholesky(cov)
    y = _residual(x, mean, factor.shape[:-2])
    factor = jnp.broadcast_to(factor, (*y.shape[:-1], size, size))
    solved = lax.linalg.triangular_solve(
        factor, y[..., None], left_side=True, lower=True, transpose_a=False
    )[..., 0]
    logs = jnp.sum(lax.log(jnp.diagonal(factor, axis1=-1, axis2=-2)), axis=-1)
    squares = jnp.einsum("...i,...i->...", solved, solved)
    return -0.5 * squares - 0.5 * size * jnp.log(TWO_PI).astype(x.dtype) - logs


def operands_of(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> list[Array]:
    """Promotes the three arguments to a common inexact dtype; their ranks may differ."""
    check_arraylike("multivariate_normal.logpdf", x, mean, cov)
    return [as_value(v) for v in promote_dtypes_inexact(x, mean, cov)]


def _residual(x: Array, mean: Array, batch: Sequence[int]) -> Array:
    """Returns x - mean, broadcast to the batch axes of the covariance."""
    axes = jnp.broadcast_shapes(x.shape, mean.shape, (*batch, 1))
    return jnp.broadcast_to(x, axes) - jnp.broadcast_to(mean, axes)


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Computes the probability density function at x: the exponential of `logpdf`."""
    return lax.exp(logpdf(x, mean, cov))


publish(globals())
