"""The negative binomial distribution: failures before the n-th success, each of probability p.

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
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the logarithm of the probability mass function at k."""
    k, n, p, loc = operands("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    choices = lax.lgamma(y + n) - lax.lgamma(n) - lax.lgamma(y + 1)
    value = choices + (xlogy(n, p) + xlog1py(y, -p))
    return supported(value, y < 0, -jnp.inf, n, p)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the probability mass function at k."""
    return lax.exp(logpmf(k, n, p, loc))


publish(globals())
