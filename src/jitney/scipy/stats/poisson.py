"""The Poisson distribution, with probability mass function mu**k exp(-mu) / k!.

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

import math

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.scipy.special.entropies import xlogy
from jitney.scipy.special.gamma_functions import gammaincc
from jitney.scipy.special.support import in_float32, strong
from jitney.scipy.stats.support import TWO_PI, operands, supported

__dir__ = listing(__name__)


def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the logarithm of the probability mass function at k.

    The result is -inf where k - loc is negative or not an integer.
    """
    k, mu, loc = operands("poisson.logpmf", k, mu, loc)
    y = k - loc
    value = xlogy(y, mu) - lax.lgamma(y + 1) - mu
    outside = (y < 0) | (lax.abs(jnp.round(y) - y) > 0)
    return supported(value, outside, -jnp.inf, mu, loc)


def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the probability mass function at k."""
    return lax.exp(logpmf(k, mu, loc))


def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the cumulative distribution function at k."""
    k, mu, loc = operands("poisson.cdf", k, mu, loc)
    y = k - loc
    value = gammaincc(jnp.floor(jnp.where(y < 0, 0.0, y)) + 1, mu)
    return supported(value, y < 0, 0.0, mu)


_TERMS = 90  # of the sum over k; enough for means below `_LARGE`
_LARGE = 30.0  # the asymptotic series is used for means of at least this value
# Coefficients of 1/mu, 1/mu**2, ... in log(2 pi e mu) / 2 - entropy: Stirling's series of log(k!),
# averaged over k.
_SERIES = (
    1 / 12, 1 / 24, 19 / 360, 9 / 80, 863 / 2520, 1375 / 1008, 33953 / 5040, 57281 / 1440,
    3250433 / 11880, 378351 / 176, 13695779093 / 720720,
)  # fmt: skip


def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the entropy in nats: 0 where mu is 0, NaN where mu is negative.

    The entropy does not depend on `loc`.
    """
    mu, loc = operands("poisson.entropy", mu, loc)
    mean = strong(jnp.broadcast_arrays(mu, loc)[0])
    return in_float32(_entropy)(mean)


def _entropy(mu: Array) -> Array:
    small = jnp.where((mu > 0) & (mu < _LARGE), mu, 1.0)
    # mu (1 - log(mu)) + exp(-mu) sum over k of mu^k log(k!) / k!
    term, log_factorial = lax.exp(-small), 0.0
    total = lax.full_like(small, 0)
    for k in range(1, _TERMS):
        term = term * (small / k)
        log_factorial += math.log(k)
        total = total + term * log_factorial
    direct = small * (1 - lax.log(small)) + total
    inverse = 1 / jnp.where(mu >= _LARGE, mu, _LARGE)
    series = lax.full_like(inverse, 0)
    for coefficient in reversed(_SERIES):
        series = inverse * (series + coefficient)
    large = 0.5 * (math.log(TWO_PI) + 1 - lax.log(inverse)) - series
    known = jnp.where(mu < _LARGE, direct, large)
    return jnp.where(mu > 0, known, jnp.where(mu == 0, 0.0, jnp.nan))


publish(globals())
