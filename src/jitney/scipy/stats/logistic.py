"""The logistic distribution, of distribution function 1 / (1 + exp(-y)), y = (x - loc) / scale.

Functions take arrays, broadcast against each other; integers become the default float. Results are
arrays of floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.repeated import publish
from jitney.core.array import Array
from jitney.core.lazy import listing
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import scalar_like
from jitney.scipy.special.entropies import logit
from jitney.scipy.stats.support import operands

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the density at x."""
    x, loc, scale = operands("logistic.logpdf", x, loc, scale)
    half = (x - loc) / scale / 2
    return scalar_like(x, -2) * jnp.logaddexp(half, -half) - lax.log(scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the density at x."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability of values up to x."""
    x, loc, scale = operands("logistic.cdf", x, loc, scale)
    return lax.logistic((x - loc) / scale)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability of values above x."""
    x, loc, scale = operands("logistic.sf", x, loc, scale)
    return lax.logistic(-((x - loc) / scale))


def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the quantile: the value up to which the probability is x."""
    x, loc, scale = operands("logistic.ppf", x, loc, scale)
    return logit(x) * scale + loc


def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the value above which the probability is x."""
    x, loc, scale = operands("logistic.isf", x, loc, scale)
    return -logit(x) * scale + loc


publish(globals())
