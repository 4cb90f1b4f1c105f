"""The uniform distribution on [loc, loc + scale].

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, loc, scale = operands("uniform.logpdf", x, loc, scale)
    outside = (x > loc + scale) | (x < loc)
    return supported(lax.neg(lax.log(scale)), outside, -jnp.inf, x, loc, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x."""
    x, loc, scale = operands("uniform.cdf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.clip(y, 0, 1)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the quantile function, the inverse of the CDF, at q."""
    q, loc, scale = operands("uniform.ppf", q, loc, scale)
    valid = (q >= 0) & (q <= 1)
    return jnp.where(valid, q * scale + loc, jnp.nan)


publish(globals())
