"""The Cauchy distribution, with density 1 / (pi scale (1 + y**2)) at y = (x - loc) / scale.

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

import math

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import scalar_like
from jitney.scipy.stats.support import operands

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, loc, scale = operands("cauchy.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return lax.neg(lax.log(scalar_like(x, math.pi) * scale) + lax.log1p(y * y))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x."""
    x, loc, scale = operands("cauchy.cdf", x, loc, scale)
    return scalar_like(x, 0.5) + lax.atan((x - loc) / scale) / math.pi


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the cumulative distribution function at x."""
    x, loc, scale = operands("cauchy.logcdf", x, loc, scale)
    y = (x - loc) / scale
    # The smaller tail is computed without cancellation.
    tail = lax.atan2(lax.full_like(y, 1), lax.abs(y)) / scalar_like(y, math.pi)
    return jnp.where(y > 0, lax.log1p(-tail), lax.log(tail))


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    x, loc, scale = operands("cauchy.sf", x, loc, scale)
    return cdf(-x, -loc, scale)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the survival function at x."""
    x, loc, scale = operands("cauchy.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the quantile function, the inverse of the CDF, at q."""
    q, loc, scale = operands("cauchy.ppf", q, loc, scale)
    y = lax.tan(scalar_like(q, math.pi) * (q - 0.5))
    valid = (q >= 0) & (q <= 1)
    edge = jnp.where(q == 0, -jnp.inf, jnp.where(q == 1, jnp.inf, y))
    return jnp.where(valid, edge * scale + loc, jnp.nan)


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the inverse of the survival function at q."""
    q, loc, scale = operands("cauchy.isf", q, loc, scale)
    return ppf(1 - q, loc, scale)


publish(globals())
