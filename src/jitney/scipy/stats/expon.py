"""The exponential distribution, with density exp(-y) / scale at y = (x - loc) / scale >= 0.

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.nn.activations import log1mexp
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, loc, scale = operands("expon.logpdf", x, loc, scale)
    value = -((x - loc) / scale + lax.log(scale))
    return supported(value, x < loc, -jnp.inf, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x."""
    x, loc, scale = operands("expon.cdf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(y < 0, 0.0, -lax.expm1(-y))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the cumulative distribution function at x."""
    x, loc, scale = operands("expon.logcdf", x, loc, scale)
    y = (x - loc) / scale
    value = log1mexp(jnp.where(y <= 0, 1.0, y))
    return supported(value, y <= 0, -jnp.inf)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    return lax.exp(logsf(x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the survival function at x."""
    x, loc, scale = operands("expon.logsf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(y < 0, 0.0, -y)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the quantile function, the inverse of the CDF, at q."""
    q, loc, scale = operands("expon.ppf", q, loc, scale)
    valid = (q >= 0) & (q <= 1)
    return jnp.where(valid, loc - scale * lax.log1p(-q), jnp.nan)


publish(globals())
