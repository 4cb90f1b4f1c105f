"""The chi-squared distribution with df degrees of freedom.

Half of a chi-squared variable has the gamma distribution with a = df / 2.

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
from jitney.scipy.special.entropies import xlogy
from jitney.scipy.stats import gamma
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, df, loc, scale = operands("chi2.logpdf", x, df, loc, scale)
    outside = x < loc
    y = jnp.where(outside, 1.0, (x - loc) / scale)
    half = df / 2
    normalizer = lax.lgamma(half) + half * math.log(2) + lax.log(scale)
    value = xlogy(half - 1, y) - y / 2 - normalizer
    return supported(value, outside, -jnp.inf, df, scale)


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, df, loc, scale))


def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x."""
    x, df, loc, scale = operands("chi2.cdf", x, df, loc, scale)
    return gamma.cdf(x, df / 2, loc, scale * 2)


def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the cumulative distribution function at x."""
    return lax.log(cdf(x, df, loc, scale))


def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    x, df, loc, scale = operands("chi2.sf", x, df, loc, scale)
    return gamma.sf(x, df / 2, loc, scale * 2)


def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the survival function at x."""
    return lax.log(sf(x, df, loc, scale))


publish(globals())
