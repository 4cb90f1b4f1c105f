"""Activation functions: elementwise, of floating arrays, computed in the operand's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.custom_jvp import custom_jvp
from jitney.api.jit import jit_when_traced
from jitney.numpy.promotion import promote_dtypes_inexact


@custom_jvp
@jit_when_traced
def relu(x: Any) -> Any:
    """max(x, 0); its derivative at 0 is 0."""
    return jnp.maximum(x, 0)


@relu.defjvp
def jvp(  # pyright: ignore[reportRedeclaration]  # the name shows in jaxprs
    primals: Any, tangents: Any
) -> Any:
    """The derivative of relu."""
    (x,), (dx,) = primals, tangents
    return relu(x), lax.select(x > 0, dx, lax.full_like(dx, 0))


@custom_jvp
@jit_when_traced
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6); its derivative is 0 at 0 and at 6."""
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


@relu6.defjvp
def jvp(  # noqa: F811  # pyright: ignore[reportRedeclaration]  # the name shows in jaxprs
    primals: Any, tangents: Any
) -> Any:
    """The derivative of relu6."""
    (x,), (dx,) = primals, tangents
    inside = (x > 0) & (x < 6)
    return relu6(x), lax.select(inside, dx, lax.full_like(dx, 0))


@jit_when_traced
def identity(x: Any) -> Any:
    """x itself, as an array."""
    return jnp.asarray(x)


@jit_when_traced
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x^2 + b)) / 2."""
    (x,) = promote_dtypes_inexact(x)
    return jnp.divide(jnp.add(x, jnp.sqrt(jnp.add(jnp.square(x), b))), 2)


@jit_when_traced
def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return jnp.logaddexp(x, 0)


@jit_when_traced
def sparse_plus(x: Any) -> Any:
    """0 below -1, x above 1, (x + 1)^2 / 4 between."""
    x = jnp.asarray(x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@jit_when_traced
def soft_sign(x: Any) -> Any:
    """x / (|x| + 1)."""
    x = jnp.asarray(x)
    return x / (jnp.abs(x) + 1)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return lax.logistic(*promote_dtypes_inexact(x))


@jit_when_traced
def sparse_sigmoid(x: Any) -> Any:
    """0 below -1, 1 above 1, (x + 1) / 2 between."""
    return 0.5 * jnp.clip(x + 1.0, 0.0, 2.0)


@jit_when_traced
def silu(x: Any) -> Any:
    """x sigmoid(x); also known as swish."""
    x = jnp.asarray(x)
    return x * sigmoid(x)


swish = silu


@jit_when_traced
def mish(x: Any) -> Any:
    """x tanh(softplus(x))."""
    x = jnp.asarray(x)
    return x * jnp.tanh(softplus(x))


@jit_when_traced
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)) = -softplus(-x)."""
    return -softplus(-jnp.asarray(x))


@jit_when_traced
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, alpha (exp(x) - 1) below."""
    x = jnp.asarray(x)
    # The inner choice keeps the exponential, and so its derivative, from overflowing.
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


@jit_when_traced
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x above 0, negative_slope x below."""
    x = jnp.asarray(x)
    return jnp.where(x >= 0, x, negative_slope * x)


@jit_when_traced
def hard_tanh(x: Any) -> Any:
    """x limited to [-1, 1]."""
    x = jnp.asarray(x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@jit_when_traced
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1)."""
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


_SELU_ALPHA = 1.6732632423543772848170429916717  # Klambauer et al., 2017, equation 14
_SELU_SCALE = 1.0507009873554804934193349852946


@jit_when_traced
def selu(x: Any) -> Any:
    """Scaled elu whose fixed point has zero mean and unit variance (Klambauer et al., 2017)."""
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the normal distribution function of x (Hendrycks and Gimpel, 2016).

    Args:
      x: floating array.
      approximate: whether to use their tanh formula, within 5e-4 of the exact value.
    """
    (x,) = promote_dtypes_inexact(x)
    if approximate:
        root = np.sqrt(2 / np.pi).astype(x.dtype)
        return x * (0.5 * (1.0 + jnp.tanh(root * (x + 0.044715 * (x**3)))))
    root_half = np.sqrt(0.5).astype(x.dtype)
    return jnp.array(0.5 * x * lax.erfc(-x * root_half), dtype=x.dtype)


@jit_when_traced(static_argnames=("axis",))
def glu(x: Any, axis: int = -1) -> Any:
    """The first half of x along `axis` times the sigmoid of the second.

    Raises:
      AssertionError: if the extent of `axis` is odd.
    """
    x = jnp.asarray(x)
    size = x.shape[axis]
    assert size % 2 == 0, "axis size must be divisible by 2"
    first, second = jnp.split(x, 2, axis)
    return first * sigmoid(second)


@jit_when_traced
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(x + 3.0) / 6.0


@jit_when_traced
def hard_silu(x: Any) -> Any:
    """x hard_sigmoid(x); also known as hard_swish."""
    x = jnp.asarray(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@custom_jvp
@jit_when_traced
def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x > 0, accurate near 0 and far from it (Maechler, 2012)."""
    (x,) = promote_dtypes_inexact(x)
    small = x < jnp.log(2.0)
    return jnp.where(small, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


@log1mexp.defjvp
def jvp(primals: Any, tangents: Any) -> Any:  # noqa: F811  # the name shows in jaxprs
    """The derivative of log1mexp."""
    (x,), (dx,) = primals, tangents
    return log1mexp(x), dx / jnp.expm1(x)


tanh = jnp.tanh
