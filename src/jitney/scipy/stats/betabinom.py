"""The beta-binomial distribution: successes in n trials of probability p, with p ~ beta(a, b).

Arguments broadcast against each other; integers are converted to the default float dtype. Results
have a floating dtype.
"""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.scipy.special.gamma_ratios import betaln
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the logarithm of the probability mass function at k."""
    k, n, a, b, loc = operands("betabinom.logpmf", k, n, a, b, loc)
    y = jnp.floor(k - loc)
    failures = n - y
    outside = (y < 0) | (y > n)
    safe, safe_failures = jnp.where(outside, 0.0, y), jnp.where(outside, 0.0, failures)
    choices = -lax.log(n + 1) - betaln(safe_failures + 1, safe + 1)
    value = choices + betaln(safe + a, safe_failures + b) - betaln(a, b)
    value = supported(value, outside, -jnp.inf)
    return jnp.where((n >= 0) & (a > 0) & (b > 0), value, jnp.nan)


def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Computes the probability mass function at k."""
    return lax.exp(logpmf(k, n, a, b, loc))


publish(globals())
