"""The negative binomial distribution: failures before the n-th success, of probability p each.

Functions take arrays, broadcast against each other; integers become the default float. Results are
arrays of floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.repeated import publish
from jitney.core.array import Array
from jitney.core.lazy import listing
from jitney.core.typing import ArrayLike
from jitney.scipy.special.entropies import xlog1py, xlogy
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the logarithm of the probability of k."""
    k, n, p, loc = operands("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    choices = lax.lgamma(y + n) - lax.lgamma(n) - lax.lgamma(y + 1)
    value = choices + (xlogy(n, p) + xlog1py(y, -p))
    return supported(value, y < 0, -jnp.inf, n, p)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the probability of k."""
    return lax.exp(logpmf(k, n, p, loc))


publish(globals())
