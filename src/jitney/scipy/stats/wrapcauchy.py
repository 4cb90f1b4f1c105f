"""The wrapped Cauchy distribution on [0, 2 pi], with 0 < c < 1.

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
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, c = operands("wrapcauchy.logpdf", x, c)
    outside = (x < 0) | (x > 2 * math.pi)
    # 1 + c^2 - 2 c cos(x), without cancellation near 0
    spread = lax.square(1 - c) + 4 * c * lax.square(lax.sin(0.5 * x))
    value = lax.log((1 - c) * (1 + c)) - math.log(2 * math.pi) - lax.log(spread)
    valid = (c > 0) & (c < 1)
    return jnp.where(valid, supported(value, outside, -jnp.inf), jnp.nan)


def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, c))


publish(globals())
