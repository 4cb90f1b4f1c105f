"""The beta distribution, with density y**(a - 1) (1 - y)**(b - 1) / (B(a, b) scale).

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
from jitney.scipy.special.entropies import xlog1py, xlogy
from jitney.scipy.special.gamma_functions import betainc
from jitney.scipy.special.gamma_ratios import betaln
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, a, b, loc, scale = operands("beta.logpdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    outside = (y < 0) | (y > 1)
    y = jnp.where(outside, 0.5, y)
    value = xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b) - lax.log(scale)
    value = supported(value, outside, -jnp.inf)
    return jnp.where((a > 0) & (b > 0) & (scale > 0), value, jnp.nan)


def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, a, b, loc, scale))


def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the cumulative distribution function at x."""
    x, a, b, loc, scale = operands("beta.cdf", x, a, b, loc, scale)
    y = (x - loc) / scale
    return betainc(a, b, lax.clamp(lax.full_like(y, 0), y, lax.full_like(y, 1)))


def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the logarithm of the cumulative distribution function at x."""
    return lax.log(cdf(x, a, b, loc, scale))


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    x, a, b, loc, scale = operands("beta.sf", x, a, b, loc, scale)
    # 1 - I_y(a, b) = I_(1 - y)(b, a)
    y = (scale - (x - loc)) / scale
    return betainc(b, a, lax.clamp(lax.full_like(y, 0), y, lax.full_like(y, 1)))


def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the logarithm of the survival function at x."""
    return lax.log(sf(x, a, b, loc, scale))


publish(globals())
