"""The Laplace distribution, with density exp(-|y|) / (2 scale) at y = (x - loc) / scale.

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

from jitney import lax
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import scalar_like
from jitney.scipy.stats.support import operands

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, loc, scale = operands("laplace.logpdf", x, loc, scale)
    return lax.neg(lax.abs(x - loc) / scale + lax.log(scalar_like(x, 2) * scale))


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, loc, scale))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the cumulative distribution function at x."""
    x, loc, scale = operands("laplace.cdf", x, loc, scale)
    y = (x - loc) / scale
    # The only exponential has a non-positive argument, so it cannot overflow.
    tail = scalar_like(y, 0.5) * lax.exp(-lax.abs(y))
    return lax.select(y <= 0, tail, 1 - tail)


publish(globals())
