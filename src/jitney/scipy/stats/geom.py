"""The geometric distribution: the number of trials up to the first success of probability p.

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.scipy.special.entropies import xlog1py
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the logarithm of the probability mass function at k."""
    k, p, loc = operands("geom.logpmf", k, p, loc)
    y = k - loc
    return supported(xlog1py(y - 1, -p) + lax.log(p), y <= 0, -jnp.inf, p)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the probability mass function at k."""
    return lax.exp(logpmf(k, p, loc))


publish(globals())
