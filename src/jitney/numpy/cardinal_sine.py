"""`sinc`: sin(pi x) / (pi x).

A real x is reduced to r = x - round(x), which is exact: sin(pi x) = (-1)^round(x) sin(pi r). Zeros
at integers are therefore exact, and large operands lose no digits. sin(pi r) / (pi r) is evaluated
by its Taylor series in r^2, with as many terms as |r| <= 1/2 requires.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import promote_args_inexact
from jitney.numpy.selection import where
from jitney.primitives import rules
from jitney.primitives.array.annotations import stop_gradient
from jitney.primitives.elementwise import binary, compare, convert, select, unary
from jitney.primitives.elementwise.polynomial import polynomial

_TO_EVEN = select.RoundingMethod.TO_NEAREST_EVEN
# (-1)^n pi^(2n) / (2n + 1)! and the same without pi, for n = 1, 2, ..., rounded to nearest.
_OF_PI_X = (
    -1.6449340668482264, 0.8117424252833536, -0.19075182412208422, 0.0261478478176548,
    -0.0023460810354558235, 0.000148428793031071, -6.975873661656381e-06, 2.5312174041370274e-07,
    -7.304711822217775e-09, 1.7165384749821432e-10, -3.3481335350440666e-12,
)  # fmt: skip
_OF_X = tuple([(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 10)])
# The number of terms by item size of the (real) dtype: for |r| <= 1/2, and for |pi z| < 1.
_REAL_TERMS, _COMPLEX_TERMS = {4: 6, 8: 11}, {4: 5, 8: 9}


@jit_when_traced
def sinc(x: ArrayLike, /) -> Array:
    """Computes sin(pi x) / (pi x), elementwise; 1 at 0, and 0 at nonzero integers and infinities.

    Example:
      >>> jnp.sinc(jnp.array([0.0, 0.5, 1.0])).round(3)
      Array([1.   , 0.637, 0.   ], dtype=float32)
    """
    (operand,) = promote_args_inexact("sinc", x)
    aval = rules.aval_of(operand)
    if aval.dtype.kind == "c":
        return _of_complex(operand)
    if aval.dtype.itemsize < 4:
        return convert.convert_element_type(
            _of_real(convert.convert_element_type(operand, np.float32)), aval.dtype
        )
    result = _of_real(operand)
    is_number = aval.weak_type and not aval.shape  # for arrays, JAX's results are strongly typed
    return convert.convert(result, aval.dtype, True) if is_number else result


def _of_real(x: ArrayLike) -> Array:
    dtype = rules.aval_of(x).dtype
    nearest = stop_gradient(select.round(x, _TO_EVEN))
    is_infinite = compare.eq(unary.abs(x), np.array(np.inf, dtype))
    r = where(is_infinite, 0, binary.sub(x, nearest))
    square = binary.mul(r, r)
    series = [np.array(c, dtype) for c in _OF_PI_X[: _REAL_TERMS[dtype.itemsize]]]
    change = binary.mul(square, polynomial(square, series))  # sin(pi r) / (pi r) - 1
    near_zero = binary.add(np.array(1, dtype), change)
    sine = binary.add(r, binary.mul(r, change))  # divided by pi
    half = binary.mul(np.array(0.5, dtype), nearest)
    even = binary.mul(np.array(2, dtype), select.round(half, _TO_EVEN))
    is_odd, is_near_zero = compare.ne(even, nearest), compare.eq(nearest, np.array(0, dtype))
    divisor = where(is_odd, unary.neg(x), where(is_near_zero, 1, x))
    elsewhere = binary.div(sine, divisor)
    # 0 where x is an integer, with the derivative of the quotient.
    is_whole = compare.eq(r, np.array(0, dtype))
    elsewhere = where(is_whole, binary.sub(elsewhere, stop_gradient(elsewhere)), elsewhere)
    return where(is_near_zero, near_zero, elsewhere)


def _of_complex(z: ArrayLike) -> Array:
    dtype: Any = rules.aval_of(z).dtype
    one, zero = np.array(1, dtype), np.array(0, dtype)
    part = dtypes.finfo(dtype).dtype
    vanishes = binary.bitwise_and(
        compare.eq(unary.abs(unary.real(z)), np.array(np.inf, part)), unary.is_finite(unary.imag(z))
    )
    pi_z = where(vanishes, one, binary.mul(np.array(np.pi, dtype), z))
    is_small = compare.lt(unary.abs(pi_z), np.array(1, part))
    small, large = where(is_small, pi_z, zero), where(is_small, one, pi_z)
    series = [one, *[np.array(c, dtype) for c in _OF_X[: _COMPLEX_TERMS[part.itemsize]]]]
    near = polynomial(unary.square(small), series)
    return where(vanishes, zero, where(is_small, near, binary.div(unary.sin(large), large)))


sinc.__module__ = "jax.numpy"
