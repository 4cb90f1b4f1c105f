"""The Dirichlet distribution on the simplex: vectors of non-negative components that sum to 1."""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.scipy.special.entropies import xlogy
from jitney.scipy.special.support import strong
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Computes the logarithm of the probability density function at x.

    Args:
      x: points of the simplex [k, ...], or [k - 1, ...] if the last component is omitted, which is
        then 1 minus the sum of the others.
      alpha: positive concentration parameters [k].

    Returns: floating array of the shape of x without its first axis; -inf where components are not
      in [0, 1] or do not sum to 1.

    Raises:
      ValueError: if `alpha` is not a vector, or x does not have k or k - 1 rows.
    """
    x, alpha = (strong(v) for v in (operands("dirichlet.logpdf", x)[0], operands("", alpha)[0]))
    dtype = jnp.result_type(x, alpha)
    x, alpha = x.astype(dtype), alpha.astype(dtype)
    if alpha.ndim != 1:
        raise ValueError(
            f"dirichlet.logpdf: `alpha` must be a vector, but it has shape {alpha.shape}"
        )
    if not x.ndim or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ValueError(
            "dirichlet.logpdf: x must have as many rows as alpha has elements, or one fewer, but "
            f"got x.shape={x.shape} and alpha.shape={alpha.shape}"
        )
    if x.shape[0] != alpha.shape[0]:
        x = jnp.concatenate([x, 1 - jnp.sum(x, axis=0, keepdims=True)], axis=0)
    normalizer = jnp.sum(lax.lgamma(alpha)) - lax.lgamma(jnp.sum(alpha))
    powers = alpha.reshape(-1, *(1,) * (x.ndim - 1)) - 1
    value = jnp.sum(xlogy(powers, x), axis=0) - normalizer
    tolerance = 10 * float(dtypes.finfo(dtype).eps) * alpha.shape[0]
    total = jnp.sum(x, axis=0)
    outside = jnp.any((x < 0) | (x > 1), axis=0) | (lax.abs(total - 1) >= max(tolerance, 1e-6))
    return supported(value, outside, -jnp.inf, total, jnp.sum(alpha))


def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Computes the probability density function at x: the exponential of `logpdf`."""
    return lax.exp(logpdf(x, alpha))


publish(globals())
