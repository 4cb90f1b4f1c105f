"""Bessel functions, in a separate module so that `import jitney` loads no special functions."""

from __future__ import annotations

from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.core.typing import Array, ArrayLike
from jitney.numpy import promotion
from jitney.numpy.promotion import check_arraylike, promote_args_inexact
from jitney.primitives.elementwise import binary, special, unary


@jit_when_traced
def i0(x: ArrayLike) -> Array:
    """Computes the modified Bessel function I0(x), of the first kind and order 0.

    Args:
      x: a real array; integers are promoted to the default float.

    Returns: an array of a float dtype.

    Raises:
      ValueError: if `x` is complex.
    """
    check_arraylike("i0", x)
    if promotion.is_complex(promotion.dtype_of(x)):
        raise ValueError(
            f"jnp.i0: `x` must be real, but it is {dtypes.long_name(promotion.dtype_of(x))}"
        )
    return _i0(*promote_args_inexact("i0", x))


@custom_jvp
def _i0(x: ArrayLike) -> Array:
    x = unary.abs(x)
    return binary.mul(unary.exp(x), special.bessel_i0e(x))


@_i0.defjvp
def _i0_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    slope = binary.mul(unary.exp(unary.abs(x)), special.bessel_i1e(x))
    return _i0(x), binary.mul(slope, dx)


i0.__module__ = "jax.numpy"
