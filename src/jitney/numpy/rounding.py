"""Rounding to decimal places: `round`, `around`."""

from __future__ import annotations

import operator
from functools import partial

import numpy as np

from jitney.api.jit.jit import jit_when_traced
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy import promotion
from jitney.primitives.elementwise import binary, select, unary
from jitney.primitives.elementwise.convert import convert

__all__ = ["around", "round"]


@partial(jit_when_traced, static_argnames=("decimals",))
def round(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Rounds `a` to `decimals` decimal places, with ties to even.

    Args:
      a: a numeric array; integers are returned unchanged, and real and imaginary parts are rounded
        separately.
      decimals: the number of decimal places to keep; negative numbers count places before the
        decimal point.
      out: must be None.

    Raises:
      NotImplementedError: if `a` is an integer array and `decimals` is negative.
      ValueError: if `a` is boolean.

    Example:
      >>> jnp.round(jnp.array([0.5, 1.5, 2.5]))
      Array([0., 2., 2.], dtype=float32)
      >>> jnp.round(jnp.array([1.234]), 1)
      Array([1.2], dtype=float32)
    """
    promotion.check_no_out("round", out)
    x = promotion.ensure_arraylike("round", a)
    decimals = operator.index(decimals)
    if promotion.is_integer(x.dtype):
        if decimals < 0:
            raise NotImplementedError(
                f"jnp.round: `decimals` must be 0 or more for integers, but it is {decimals} for "
                f"{x.dtype}; cast to a float dtype first"
            )
        return x
    if not promotion.is_inexact(x.dtype):
        raise ValueError(f"jnp.round: `a` must be numeric, but it is {x.dtype}")
    if promotion.is_complex(x.dtype):
        return binary.complex(_round(unary.real(x), decimals), _round(unary.imag(x), decimals))
    return _round(x, decimals)


def _round(x: Array, decimals: int) -> Array:
    if decimals == 0:
        return select.round(x, select.RoundingMethod.TO_NEAREST_EVEN)
    # Scaling by powers of ten would overflow half precision.
    old = x.dtype
    narrow = old.itemsize < 4
    working = np.dtype(np.float32) if narrow else old
    if decimals > 0 and decimals > np.log10(float(dtypes.finfo(working).max)):
        return x  # no float has that many decimals, and scaling would overflow
    x = convert(x, working) if narrow else x
    factor = promotion.scalar_like(x, 10.0**decimals)
    scaled = select.round(binary.mul(x, factor), select.RoundingMethod.TO_NEAREST_EVEN)
    out = binary.div(scaled, factor)
    return convert(out, old) if narrow else out


def around(a: ArrayLike, decimals: int = 0, out: None = None) -> Array:
    """Rounds to a number of decimal places; an alias of `round`.

    Example:
      >>> jnp.around(jnp.array([1.26, 1.5]), 1)
      Array([1.3, 1.5], dtype=float32)
    """
    return round(a, decimals, out)


for _name in __all__:
    globals()[_name].__module__ = "jax.numpy"
