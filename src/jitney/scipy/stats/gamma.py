"""The gamma distribution, with density y**(a - 1) exp(-y) / (gamma(a) scale).

Here y = (x - loc) / scale.

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.scipy.special.entropies import xlogy
from jitney.scipy.special.gamma_functions import gammainc, gammaincc
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, a, loc, scale = operands("gamma.logpdf", x, a, loc, scale)
    outside = x < loc
    y = jnp.where(outside, 1.0, (x - loc) / scale)
    value = xlogy(a - 1, y) - y - (lax.lgamma(a) + lax.log(scale))
    return supported(value, outside, -jnp.inf, a, scale)


def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, a, loc, scale))


def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x."""
    x, a, loc, scale = operands("gamma.cdf", x, a, loc, scale)
    y = (x - loc) / scale
    return supported(gammainc(a, jnp.where(y < 0, 0.0, y)), y < 0, 0.0, a)


def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the cumulative distribution function at x."""
    return lax.log(cdf(x, a, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    x, a, loc, scale = operands("gamma.sf", x, a, loc, scale)
    y = (x - loc) / scale
    return supported(gammaincc(a, jnp.where(y < 0, 0.0, y)), y < 0, 1.0, a)


def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the survival function at x."""
    return lax.log(sf(x, a, loc, scale))


publish(globals())
