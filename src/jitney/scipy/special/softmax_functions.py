"""`softmax` and `log_softmax` of `jax.nn` with SciPy's default of `axis`, None for all axes."""

from __future__ import annotations

from jitney.core.array import Array
from jitney.core.typing import ArrayLike, Axis
from jitney.nn import normalization


def softmax(x: ArrayLike, /, *, axis: Axis = None) -> Array:
    """Computes exp(x) / sum(exp(x)) along `axis`, without overflow.

    Args:
      x: array; integers are converted to the default float.
      axis: one or several axes, or None for all.

    Returns: array of the shape of x.

    Example:
      >>> jax.scipy.special.softmax(jnp.zeros((2, 2)))
      Array([[0.25, 0.25],
             [0.25, 0.25]], dtype=float32)
    """
    return normalization.softmax(x, axis=axis)


def log_softmax(x: ArrayLike, /, *, axis: Axis = None) -> Array:
    """Computes log(softmax(x)) along `axis`, without overflow.

    Args:
      x: array; integers are converted to the default float.
      axis: one or several axes, or None for all.

    Returns: array of the shape of x.

    Example:
      >>> jax.scipy.special.log_softmax(jnp.array([0.0, 1000.0]))
      Array([-1000.,     0.], dtype=float32)
    """
    return normalization.log_softmax(x, axis=axis)
