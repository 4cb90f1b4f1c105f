"""The normal distribution, with density exp(-((x - loc) / scale)**2 / 2) / (scale sqrt(2 pi)).

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype. Functions based on the error function support float32 and float64.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import scalar_like
from jitney.scipy.special.error_functions import log_ndtr, ndtr, ndtri
from jitney.scipy.special.support import strong
from jitney.scipy.stats.support import TWO_PI, operands

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x.

    Example:
      >>> jax.scipy.stats.norm.logpdf(jnp.array([0.0, 2.0])).round(4)
      Array([-0.9189, -2.9189], dtype=float32)
    """
    x, loc, scale = operands("norm.logpdf", x, loc, scale)
    variance = lax.square(scale)
    normalizer = lax.log(TWO_PI * variance)
    return (normalizer + lax.square(x - loc) / variance) / scalar_like(x, -2)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x.

    Example:
      >>> jax.scipy.stats.norm.cdf(jnp.array([-jnp.inf, 3.0]), 3.0, 2.0)
      Array([0. , 0.5], dtype=float32)
    """
    x, loc, scale = operands("norm.cdf", x, loc, scale)
    return ndtr(strong((x - loc) / scale))


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the CDF at x, accurate in both tails."""
    x, loc, scale = operands("norm.logcdf", x, loc, scale)
    return log_ndtr((x - loc) / scale)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    x, loc, scale = operands("norm.sf", x, loc, scale)
    return cdf(lax.neg(x), lax.neg(loc), scale)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the survival function at x, accurate in both tails."""
    x, loc, scale = operands("norm.logsf", x, loc, scale)
    return logcdf(lax.neg(x), lax.neg(loc), scale)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the quantile function, the inverse of the CDF, at q."""
    (q,) = operands("norm.ppf", q)
    return jnp.asarray(ndtri(q) * scale + loc, float)


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the inverse of the survival function at q."""
    (q,) = operands("norm.isf", q)
    return ppf(1 - q, loc, scale)


publish(globals())
