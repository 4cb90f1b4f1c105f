"""The Pareto distribution, with survival function y**-b at y = (x - loc) / scale >= 1.

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


def _log_excess(x: Array, loc: Array, scale: Array) -> tuple[Array, Array]:
    """Returns a mask of x below the support, and log((x - loc) / scale), which is 0 there."""
    below = x < loc + scale
    distance = jnp.where(below, scale, x - loc)
    # Near the lower end of the support the quotient would round to 1.
    quotient = distance / scale
    near = quotient < 2
    gap = jnp.where(near, (distance - scale) / scale, 0.0)
    return below, jnp.where(near, lax.log1p(gap), lax.log(quotient))


def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, b, loc, scale = operands("pareto.logpdf", x, b, loc, scale)
    below, log_y = _log_excess(x, loc, scale)
    value = -(lax.log(scale / b) + (b + 1) * log_y)
    return supported(value, below, -jnp.inf, b)


def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, b, loc, scale))


def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x."""
    x, b, loc, scale = operands("pareto.cdf", x, b, loc, scale)
    below, log_y = _log_excess(x, loc, scale)
    return supported(-lax.expm1(-b * log_y), below, 0.0, b)


def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the cumulative distribution function at x."""
    x, b, loc, scale = operands("pareto.logcdf", x, b, loc, scale)
    below, log_y = _log_excess(x, loc, scale)
    outside = below | (log_y == 0)
    return supported(log1mexp(jnp.where(outside, 1.0, b * log_y)), outside, -jnp.inf, b)


def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the survival function at x."""
    x, b, loc, scale = operands("pareto.logsf", x, b, loc, scale)
    below, log_y = _log_excess(x, loc, scale)
    return supported(-b * log_y, below, 0.0, b)


def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    return lax.exp(logsf(x, b, loc, scale))


def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the quantile function, the inverse of the CDF, at q."""
    q, b, loc, scale = operands("pareto.ppf", q, b, loc, scale)
    valid = (q >= 0) & (q <= 1)
    return jnp.where(valid, loc + scale * lax.exp(-lax.log1p(-q) / b), jnp.nan)


publish(globals())
