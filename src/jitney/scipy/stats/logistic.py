"""The logistic distribution, with CDF 1 / (1 + exp(-y)) at y = (x - loc) / scale.

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import scalar_like
from jitney.scipy.special.entropies import logit
from jitney.scipy.stats.support import operands

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, loc, scale = operands("logistic.logpdf", x, loc, scale)
    half = (x - loc) / scale / 2
    return scalar_like(x, -2) * jnp.logaddexp(half, -half) - lax.log(scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x."""
    x, loc, scale = operands("logistic.cdf", x, loc, scale)
    return lax.logistic((x - loc) / scale)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    x, loc, scale = operands("logistic.sf", x, loc, scale)
    return lax.logistic(-((x - loc) / scale))


def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the quantile function, the inverse of the CDF, at x."""
    x, loc, scale = operands("logistic.ppf", x, loc, scale)
    return logit(x) * scale + loc


def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the inverse of the survival function at x."""
    x, loc, scale = operands("logistic.isf", x, loc, scale)
    return -logit(x) * scale + loc


publish(globals())
