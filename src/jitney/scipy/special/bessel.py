"""Modified Bessel functions of orders 0 and 1, and Bessel functions of the first kind."""

from __future__ import annotations

import operator

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.array import Array
from jitney.core.tracing.trace import concrete_or_error
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import promote_args_inexact
from jitney.numpy.selection import where
from jitney.scipy.special.support import in_float32, real_operands


def i0e(x: ArrayLike) -> Array:
    """Computes the exponentially scaled modified Bessel function exp(-|x|) I0(x).

    Unlike `i0`, it does not overflow.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x.

    Accuracy: within 4 ulp.

    Example:
      >>> jax.scipy.special.i0e(jnp.array([0.0, jnp.inf]))
      Array([1., 0.], dtype=float32)
    """
    (x,) = promote_args_inexact("i0e", x)
    return lax.bessel_i0e(x)


def i0(x: ArrayLike) -> Array:
    """Computes I0(x), the modified Bessel function of order 0 and first kind.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x.

    Example:
      >>> jax.scipy.special.i0(jnp.array([0.0, 1.0])).round(4)
      Array([1.    , 1.2661], dtype=float32)
    """
    (x,) = promote_args_inexact("i0", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i0e(x))


def i1e(x: ArrayLike) -> Array:
    """Computes the exponentially scaled modified Bessel function exp(-|x|) I1(x).

    Unlike `i1`, it does not overflow.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x.

    Accuracy: within 4 ulp.

    Example:
      >>> jax.scipy.special.i1e(jnp.array([0.0, jnp.inf]))
      Array([0., 0.], dtype=float32)
    """
    (x,) = promote_args_inexact("i1e", x)
    return lax.bessel_i1e(x)


def i1(x: ArrayLike) -> Array:
    """Computes I1(x), the modified Bessel function of order 1 and first kind.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x.

    Example:
      >>> jax.scipy.special.i1(jnp.array([0.0, 1.0])).round(4)
      Array([0.    , 0.5652], dtype=float32)
    """
    (x,) = promote_args_inexact("i1", x)
    return lax.mul(lax.exp(lax.abs(x)), lax.bessel_i1e(x))


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """Computes the Bessel functions of the first kind of orders 0 to v.

    The recurrence J_(k-1) = 2 k J_k / z - J_(k+1) is evaluated downwards from order `n_iter`, and
    the values are normalized so that J_0 + 2 (J_2 + J_4 + ...) = 1 (Miller's algorithm; Abramowitz
    and Stegun, 9.12).

    Args:
      z: real array; integers are converted to the default float.
      v: highest order, a non-negative static integer.
      n_iter: order at which the recurrence starts, a static integer well above v and |z|.

    Returns: floating array [v + 1, *shape of z].

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.bessel_jn(jnp.array([0.0, 1.0]), v=1).round(4)
      Array([[1.    , 0.7652],
             [0.    , 0.4401]], dtype=float32)
    """
    (x,) = real_operands("bessel_jn", z)
    order = operator.index(concrete_or_error(operator.index, v, "`v` of bessel_jn must be static"))
    start = operator.index(
        concrete_or_error(operator.index, n_iter, "`n_iter` of bessel_jn must be static")
    )
    return in_float32(lambda y: _miller(y, order, start))(x)


def _miller(z: Array, order: int, start: int) -> Array:
    dtype = z.dtype
    limits = dtypes.finfo(dtype)
    # Values are scaled down before they overflow; values that underflow then are negligible.
    big = float(np.sqrt(float(limits.max))) * float(limits.eps)
    # Near 0 one step of the recurrence would overflow, and the first term of the series suffices.
    near_zero = lax.abs(z) < float(limits.eps)
    double = 2 / where(near_zero, 1.0, z)
    one, zero = lax.full_like(z, 1), lax.full_like(z, 0)

    def rescaled(*values: Array) -> tuple[Array, ...]:
        factor = where(lax.abs(values[0]) > big, 1 / big, 1.0).astype(dtype)
        return tuple([x * factor for x in values])

    def step(i: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        above, here, total = carry
        k = lax.convert_element_type(start - i, dtype)
        below = double * k * here - above
        even = lax.convert_element_type((start - i) % 2, dtype)  # 1 if k - 1 is even
        here, above, total = rescaled(below, here, total + even * below)
        return above, here, total

    # Recurrence from J_(start + 1) = 0, J_start = 1 (up to a factor) down to the requested orders
    carry = (zero, one, one if start % 2 == 0 else zero)
    carry = lax.fori_loop(0, max(start - order - 1, 0), step, carry)
    above, here, total = carry
    results: list[Array] = []
    k = start - max(start - order - 1, 0)
    if k == order:
        results = [here]
    while k > 0:
        below = double * k * here - above
        total = total + below if k % 2 else total
        here, above, total, *results = rescaled(below, here, total, *results)
        k -= 1
        if k <= order:
            results.insert(0, here)
    # Each even order but 0 occurs twice in the normalization.
    normed = jnp.stack([value / (2 * total - here) for value in results])
    first_terms = [one]
    for k in range(1, order + 1):
        first_terms.append(first_terms[-1] * (z / (2 * k)))
    return where(near_zero[None], jnp.stack(first_terms), normed)
