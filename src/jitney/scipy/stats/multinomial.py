"""The multinomial distribution: counts of the outcomes of n trials with probabilities p."""

from __future__ import annotations

from jitney import lax, numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing
from jitney.numpy.promotion import promote_args_numeric
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.special.entropies import xlogy
from jitney.scipy.stats.support import operands, supported

__dir__ = listing(__name__)


def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Computes the logarithm of the probability mass function at the counts x.

    Args:
      x: counts [..., k].
      n: number of trials.
      p: probabilities [..., k], which must sum to 1.

    Returns: floating array of the shape of x without its last axis; -inf where the counts do not
      sum to n.
    """
    (p,) = operands("multinomial.logpmf", p)
    x, n = map(as_value, promote_args_numeric("multinomial.logpmf", x, n))
    counts, trials = x.astype(p.dtype), n.astype(p.dtype)
    value = lax.lgamma(trials + 1) + jnp.sum(xlogy(counts, p) - lax.lgamma(counts + 1), axis=-1)
    total = jnp.sum(x, axis=-1)
    shares = jnp.sum(p, axis=-1)
    return supported(value, (total < n) | (total > n), -jnp.inf, total, n, shares)


def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Computes the probability mass function at the counts x: the exponential of `logpmf`."""
    return lax.exp(logpmf(x, n, p))


publish(globals())
