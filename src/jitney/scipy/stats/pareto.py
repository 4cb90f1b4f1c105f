"""Pareto's distribution, of survival function y**-b, y = (x - loc) / scale >= 1.

Functions take arrays, broadcast against each other; integers become the default float. Results are
arrays of floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.scipy.stats.support import operands


def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the density at x."""
    x, b, loc, scale = operands("pareto.logpdf", x, b, loc, scale)
    y = (x - loc) / scale
    value = -(lax.log(scale / b) + (b + 1) * lax.log(y))
    return jnp.where(x < loc + scale, -jnp.inf, value)


def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Density at x."""
    return lax.exp(logpdf(x, b, loc, scale))


def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Probability of values up to x."""
    x, b, loc, scale = operands("pareto.cdf", x, b, loc, scale)
    below = x < loc + scale
    y = jnp.where(below, 1.0, (x - loc) / scale)
    return jnp.where(below, 0.0, -lax.expm1(-b * lax.log(y)))


def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the probability of values up to x."""
    return lax.log(cdf(x, b, loc, scale))


def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Logarithm of the probability of values above x."""
    x, b, loc, scale = operands("pareto.logsf", x, b, loc, scale)
    below = x < loc + scale
    y = jnp.where(below, 1.0, (x - loc) / scale)
    return jnp.where(below, 0.0, -b * lax.log(y))


def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Probability of values above x."""
    return lax.exp(logsf(x, b, loc, scale))


def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Quantile: the value up to which the probability is q."""
    q, b, loc, scale = operands("pareto.ppf", q, b, loc, scale)
    valid = (q >= 0) & (q <= 1)
    return jnp.where(valid, loc + scale * lax.exp(-lax.log1p(-q) / b), jnp.nan)
