"""The gamma function of complex arguments.

Stirling's series is used for large |z| in the right half-plane. Smaller arguments are shifted by
gamma(z) = gamma(z + 8) / (z (z + 1) ... (z + 7)), and arguments in the left half-plane are
reflected. The branches of the logarithm follow Hare, Computing the principal branch of log-Gamma,
Journal of Algorithms 25 (1997), 221-236.
"""

from __future__ import annotations

import math

import numpy as np

from jitney import lax, numpy as jnp
from jitney.core.array import Array
from jitney.numpy.selection import where
from jitney.scipy.special.support import horner

_STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
_HALF_LOG_TWO_PI = 0.9189385332046727
_RISE = 8


def log_gamma(z: Array) -> Array:
    """Computes the principal branch of log gamma(z); NaN at the poles.

    Accuracy: the error is below 1e-14 (complex64: 1e-5) times max(1, |log gamma(z)|).
    """
    pole = _is_pole(z)
    left = lax.real(z) < 0.5
    inner = where(pole, 1.0, z).astype(z.dtype)
    right = _in_right_half(where(left, 1 - inner, inner))
    sheet = jnp.floor(0.5 * lax.real(inner) + 0.25)
    # The sign of the imaginary part, also of a zero, selects the side of the branch cut.
    turns = jnp.copysign(lax.full_like(sheet, 2 * math.pi), lax.imag(inner)) * sheet
    reflected = lax.complex(lax.full_like(turns, math.log(math.pi)), turns) - _log_sin_pi(inner)
    result = where(left, reflected - right, right)
    return where(pole, complex(math.nan, math.nan), result).astype(z.dtype)


def gamma(z: Array) -> Array:
    """Computes gamma(z); NaN at the poles."""
    return lax.exp(log_gamma(z))


def _is_pole(z: Array) -> Array:
    x = lax.real(z)
    return (lax.imag(z) == 0) & (x <= 0) & (x == jnp.floor(x))


def _in_right_half(z: Array) -> Array:
    """Computes log gamma(z) for Re z >= 1/2."""
    low = lax.abs(z) < 12
    product = lax.full_like(z, 0)
    for k in range(0, _RISE, 2):
        # Each of the two factors has an angle below pi / 2, so the product stays on the principal
        # branch.
        factor = (z + k) * (z + (k + 1))
        product = product + lax.log(where(low, factor, 1.0).astype(z.dtype))
    far = where(low, z + _RISE, z)
    inverse = 1 / far
    correction = inverse * horner(inverse * inverse, _STIRLING)
    return (far - 0.5) * lax.log(far) - far + _HALF_LOG_TWO_PI + correction - product


def _log_sin_pi(z: Array) -> Array:
    """Computes log(sin(pi z)) on the branch that is real on (0, 1).

    In each half-plane the branch is continued strip by strip. With z = x + i y, sin(pi z) grows
    like exp(pi |y|) / 2, which would overflow; therefore the exponential factor is kept separate.
    """
    x, y = lax.real(z), lax.imag(z)
    # pi x modulo 2 pi; exact sine and cosine at half-integers
    turn = (x - 2 * jnp.round(x / 2)) * np.pi
    size = math.pi * lax.abs(y)
    decay = lax.exp(-2 * size)
    # sin(a + i b) = sin a cosh b + i cos a sinh b, with exp(|b|) / 2 factored out
    real = lax.sin(turn) * (1 + decay)
    imag = lax.cos(turn) * jnp.copysign(-lax.expm1(-2 * size), y)
    angle = lax.atan2(imag, real)
    magnitude = 0.5 * lax.log(real * real + imag * imag) + size - math.log(2)
    return lax.complex(magnitude, angle)
