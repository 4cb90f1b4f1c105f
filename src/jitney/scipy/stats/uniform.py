"""The uniform distribution on [loc, loc + scale].

Functions take arrays, broadcast against each other; integers become the default float. Results are
arrays of floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.repeated import publish
from jitney.core.array import Array
from jitney.core.lazy import listing
from jitney.core.typing import ArrayLike
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the density at x."""
    x, loc, scale = operands("uniform.logpdf", x, loc, scale)
    outside = (x > loc + scale) | (x < loc)
    return supported(lax.neg(lax.log(scale)), outside, -jnp.inf, x, loc, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the density at x."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability of values up to x."""
    x, loc, scale = operands("uniform.cdf", x, loc, scale)
    y = (x - loc) / scale
    return jnp.clip(y, 0, 1)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the quantile: the value up to which the probability is q."""
    q, loc, scale = operands("uniform.ppf", q, loc, scale)
    valid = (q >= 0) & (q <= 1)
    return jnp.where(valid, q * scale + loc, jnp.nan)


publish(globals())
