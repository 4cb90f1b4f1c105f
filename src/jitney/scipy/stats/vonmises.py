"""The von Mises distribution on the circle, with density proportional to exp(kappa cos(x)).

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
from jitney.scipy.stats.support import operands

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, kappa = operands("vonmises.logpdf", x, kappa)
    spread = kappa * (lax.cos(x) - 1) - lax.log(2 * math.pi * lax.bessel_i0e(kappa))
    return jnp.where(kappa > 0, spread, jnp.nan)


def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, kappa))


publish(globals())
