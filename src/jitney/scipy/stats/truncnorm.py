"""The normal distribution truncated to [loc + a scale, loc + b scale].

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype. Probabilities are subtracted in the tail where they are small, to limit
cancellation.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.nn.activations import log1mexp
from jitney.scipy.special.error_functions import log_ndtr
from jitney.scipy.special.support import strong
from jitney.scipy.stats import norm
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def _log_mass(a: Array, b: Array) -> Array:
    """Computes the logarithm of the normal probability of [a, b], a <= b; -inf where a = b."""
    # Intervals right of 0 are mirrored, so that all probabilities are taken from the lower tail.
    right = a > 0
    low, high = jnp.where(right, -b, a), jnp.where(right, -a, b)
    log_low, log_high = log_ndtr(low), log_ndtr(high)
    distance = log_high - log_low
    one_side = log_high + log1mexp(jnp.where(distance > 0, distance, 1.0))
    one_side = jnp.where(distance > 0, one_side, -jnp.inf)
    # The probability of an interval that contains 0 is 1 minus both tails.
    upper = log_ndtr(jnp.where(low <= 0, -jnp.maximum(high, 0), -1.0))
    across = lax.log1p(-lax.exp(log_ndtr(jnp.minimum(low, 0))) - lax.exp(upper))
    return jnp.where((low <= 0) & (high > 0), across, one_side)


def _standard(name: str, *args: ArrayLike) -> list[Array]:
    x, a, b, loc, scale = map(strong, operands(name, *args))
    return list(jnp.broadcast_arrays((x - loc) / scale, a, b, scale))


def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the logarithm of the probability density function at x.

    The result is -inf outside the support, and NaN if a >= b.
    """
    y, a, b, scale = _standard("truncnorm.logpdf", x, a, b, loc, scale)
    value = norm.logpdf(y) - lax.log(scale) - _log_mass(a, b)
    value = supported(value, (y < a) | (y > b), -jnp.inf, a, b)
    return jnp.where(a >= b, jnp.nan, value)


def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, a, b, loc, scale))


def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the logarithm of the survival function at x."""
    x, a, b, loc, scale = operands("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the survival function, 1 - CDF, at x."""
    return lax.exp(logsf(x, a, b, loc, scale))


def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the logarithm of the cumulative distribution function at x; NaN if a >= b."""
    y, a, b, _ = _standard("truncnorm.logcdf", x, a, b, loc, scale)
    middle = jnp.clip(y, a, b)
    total = _log_mass(a, b)
    below = _log_mass(a, middle) - total
    # Near the upper end, compute the complement to 1.
    missing = total - _log_mass(middle, b)
    above = log1mexp(jnp.where(missing > 0, missing, 1.0))
    value = jnp.where((below > -0.1) & (missing > 0), above, below)
    value = jnp.where(y >= b, 0.0, supported(value, y <= a, -jnp.inf))
    value = supported(value, y != y, jnp.nan, a, b)
    return jnp.where(a >= b, jnp.nan, value)


def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Computes the cumulative distribution function at x."""
    return lax.exp(logcdf(x, a, b, loc, scale))


publish(globals())
