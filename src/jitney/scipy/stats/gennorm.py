"""The generalized normal distribution, with density proportional to exp(-|x|**beta).

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.scipy.special.gamma_functions import gammainc
from jitney.scipy.stats.support import operands

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, beta = operands("gennorm.logpdf", x, beta)
    normalizer = lax.log(0.5 * beta) - lax.lgamma(1 / beta)
    return normalizer - jnp.power(lax.abs(x), beta)


def cdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Computes the cumulative distribution function at x."""
    x, beta = operands("gennorm.cdf", x, beta)
    inner = gammainc(1 / beta, jnp.power(lax.abs(x), beta))
    return 0.5 * (1 + lax.sign(x) * inner)


def pdf(x: ArrayLike, beta: ArrayLike) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, beta))


publish(globals())
