"""Student's t distribution with df degrees of freedom.

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

import math

from jitney import lax
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.scipy.stats.support import operands

__dir__ = listing(__name__)


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the logarithm of the probability density function at x."""
    x, df, loc, scale = operands("t.logpdf", x, df, loc, scale)
    y = (x - loc) / scale
    half = df / 2.0
    above = half + 0.5
    size = lax.log(scale * scale * math.pi * df) / 2.0
    normalizer = lax.lgamma(half) + size - lax.lgamma(above)
    return lax.neg(normalizer + above * lax.log1p(y * y / df))


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Computes the probability density function at x."""
    return lax.exp(logpdf(x, df, loc, scale))


publish(globals())
