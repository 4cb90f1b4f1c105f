"""`jax.scipy.integrate`: numerical integration of samples."""

from __future__ import annotations

from jitney import numpy as jnp
from jitney.api.jit.repeated import publish
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.core.util.lazy import listing

__dir__ = listing(__name__)


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Integrates samples by the trapezoidal rule, like `jax.numpy.trapezoid`.

    Args:
      y: samples.
      x: positions of the samples, [n] or of the shape of y; evenly spaced by default.
      dx: spacing of the samples, used if x is not given.
      axis: axis along which to integrate.

    Returns: array of inexact dtype and of the shape of y without `axis`.

    Example:
      >>> jax.scipy.integrate.trapezoid(jnp.array([0.0, 1.0, 4.0]))
      Array(3., dtype=float32)
    """
    return jnp.trapezoid(y, x, dx, axis)


publish(globals())
