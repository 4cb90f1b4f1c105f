"""The right-skewed Gumbel distribution, with CDF exp(-exp(-y)) at y = (x - loc) / scale.

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
from jitney.numpy.promotion import scalar_like
from jitney.scipy.stats.support import operands

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, loc, scale = operands("gumbel_r.logpdf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.where(scale > 0, -(lax.log(scale) + y + lax.exp(-y)), jnp.nan)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, loc, scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the cumulative distribution function at x."""
    x, loc, scale = operands("gumbel_r.logcdf", x, loc, scale)
    return jnp.where(scale > 0, -lax.exp(-((x - loc) / scale)), jnp.nan)


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x."""
    return lax.exp(logcdf(x, loc, scale))


def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the quantile function, the inverse of the CDF, at p."""
    p, loc, scale = operands("gumbel_r.ppf", p, loc, scale)
    return jnp.where(scale > 0, loc - scale * lax.log(-lax.log(p)), jnp.nan)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    x, loc, scale = operands("gumbel_r.sf", x, loc, scale)
    return scalar_like(x, -1) * lax.expm1(logcdf(x, loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the survival function at x."""
    x, loc, scale = operands("gumbel_r.logsf", x, loc, scale)
    return log1mexp(-logcdf(x, loc, scale))


publish(globals())
