"""The Bernoulli distribution: 1 with probability p, otherwise 0.

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.scipy.special.entropies import xlog1py, xlogy
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the logarithm of the probability mass function at k."""
    k, p, loc = operands("bernoulli.logpmf", k, p, loc)
    y = k - loc
    outside = (y < 0) | (y > 1) | ((y > 0) & (y < 1))
    value = xlogy(y, p) + xlog1py(1 - y, -p)
    return supported(value, outside, -jnp.inf, p)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the probability mass function at k."""
    return lax.exp(logpmf(k, p, loc))


def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """Computes the cumulative distribution function at k."""
    k, p = operands("bernoulli.cdf", k, p)
    value = jnp.where(k < 0, 0.0, jnp.where(k < 1, 1 - p, 1.0))
    invalid = (p < 0) | (p > 1) | jnp.isnan(p) | jnp.isnan(k)
    return jnp.where(invalid, jnp.nan, value)


def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """Computes the quantile function, the inverse of the CDF, at q."""
    q, p = operands("bernoulli.ppf", q, p)
    value = jnp.where(q == 0, -1.0, jnp.where(q <= 1 - p, 0.0, 1.0))
    invalid = (p < 0) | (p > 1) | jnp.isnan(p) | jnp.isnan(q) | (q < 0) | (q > 1)
    result = jnp.where(invalid, jnp.nan, value)
    return result if q.weak_type else result.astype(q.dtype)


publish(globals())
