"""Activation functions: elementwise functions, computed in the dtype of the operand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.api.jit.jit import jit_when_traced
from jitney.api.jit.repeated import repeated
from jitney.numpy.promotion import promote_dtypes_inexact
from jitney.primitives.array.canonical import canonical_axis

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike


def _inexact(x: ArrayLike) -> Array:
    (value,) = promote_dtypes_inexact(x)
    return jnp.asarray(value)  # bfloat16 arrays of NumPy have no weak types


@custom_jvp
@repeated
@jit_when_traced
def relu(x: ArrayLike) -> Array:
    """Computes the rectified linear unit max(x, 0); its derivative at 0 is 0.

    Args:
      x: array.

    Example:
      >>> nn.relu(jnp.array([-2.0, 0.0, 3.0]))
      Array([0., 0., 3.], dtype=float32)
      >>> jax.grad(nn.relu)(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    return jnp.maximum(x, 0)


@relu.defjvp
def jvp(  # pyright: ignore[reportRedeclaration]  # the name shows in jaxprs
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    """Computes the JVP of relu."""
    (x,), (dx,) = primals, tangents
    return relu(x), lax.select(x > 0, dx, lax.full_like(dx, 0))


@custom_jvp
@repeated
@jit_when_traced
def relu6(x: ArrayLike) -> Array:
    """Computes min(max(x, 0), 6); its derivative is 0 at 0 and at 6.

    Args:
      x: array.

    Example:
      >>> nn.relu6(jnp.array([-2.0, 3.0, 8.0]))
      Array([0., 3., 6.], dtype=float32)
    """
    return jnp.minimum(jnp.maximum(x, 0), 6.0)


@relu6.defjvp
def jvp(  # noqa: F811  # pyright: ignore[reportRedeclaration]  # the name shows in jaxprs
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    """Computes the JVP of relu6."""
    (x,), (dx,) = primals, tangents
    inside = (x > 0) & (x < 6)
    return relu6(x), lax.select(inside, dx, lax.full_like(dx, 0))


@jit_when_traced
def identity(x: ArrayLike) -> Array:
    """Returns x as an array."""
    return jnp.asarray(x)


@jit_when_traced
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """Computes (x + sqrt(x^2 + b)) / 2.

    Args:
      x: array; for integers, x^2 + b is computed as an integer.
      b: smoothness near 0.

    Example:
      >>> nn.squareplus(jnp.array([-1.5, 0.0, 1.5]))
      Array([0.5, 1. , 2. ], dtype=float32)
    """
    return jnp.divide(jnp.add(x, jnp.sqrt(jnp.add(jnp.square(x), b))), 2)


@jit_when_traced
def softplus(x: ArrayLike) -> Array:
    """Computes log(1 + exp(x)) without overflow.

    Args:
      x: array; integers are converted to the default float.

    Example:
      >>> nn.softplus(jnp.array([0.0, 100.0]))
      Array([  0.6931472, 100.       ], dtype=float32)
    """
    return jnp.logaddexp(x, 0)


@jit_when_traced
def sparse_plus(x: ArrayLike) -> Array:
    """Computes 0 for x <= -1, x for x >= 1, and (x + 1)^2 / 4 in between.

    Args:
      x: floating array.

    Example:
      >>> nn.sparse_plus(jnp.array([-2.0, 0.0, 2.0]))
      Array([0.  , 0.25, 2.  ], dtype=float32)
    """
    x = jnp.asarray(x)
    return jnp.where(x <= -1.0, 0.0, jnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@jit_when_traced
def soft_sign(x: ArrayLike) -> Array:
    """Computes x / (|x| + 1).

    Args:
      x: array.

    Example:
      >>> nn.soft_sign(jnp.array([-1.0, 0.0, 3.0]))
      Array([-0.5 ,  0.  ,  0.75], dtype=float32)
    """
    x = jnp.asarray(x)
    return x / (jnp.abs(x) + 1)


def sigmoid(x: ArrayLike) -> Array:
    """Computes the logistic function 1 / (1 + exp(-x)).

    Args:
      x: array; integers, which JAX rejects, are converted to the default float.

    Accuracy: within 2.5 ulp.

    Example:
      >>> nn.sigmoid(jnp.array([0.0, 2.0]))
      Array([0.5     , 0.880797], dtype=float32)
    """
    return lax.logistic(_inexact(x))


@jit_when_traced
def sparse_sigmoid(x: ArrayLike) -> Array:
    """Computes 0 for x <= -1, 1 for x >= 1, and (x + 1) / 2 in between.

    Args:
      x: array.
    """
    return 0.5 * jnp.clip(jnp.asarray(x) + 1.0, 0.0, 2.0)


@jit_when_traced
def silu(x: ArrayLike) -> Array:
    """Computes the sigmoid linear unit x sigmoid(x), also known as swish.

    Args:
      x: array.

    Example:
      >>> nn.silu(jnp.array([0.0, 2.0]))
      Array([0.      , 1.761594], dtype=float32)
    """
    x = jnp.asarray(x)
    return x * sigmoid(x)


swish = silu


@jit_when_traced
def mish(x: ArrayLike) -> Array:
    """Computes x tanh(softplus(x)).

    Args:
      x: array.
    """
    x = jnp.asarray(x)
    return x * jnp.tanh(softplus(x))


@jit_when_traced
def log_sigmoid(x: ArrayLike) -> Array:
    """Computes log(sigmoid(x)) = -softplus(-x) without overflow.

    Args:
      x: array.

    Example:
      >>> nn.log_sigmoid(jnp.array([-100.0, 0.0]))
      Array([-100.       ,   -0.6931472], dtype=float32)
    """
    return -softplus(-jnp.asarray(x))


@jit_when_traced
def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Computes the exponential linear unit: x for x > 0, otherwise alpha (exp(x) - 1).

    Args:
      x: array.
      alpha: scalar or array that broadcasts against x.

    Example:
      >>> nn.elu(jnp.array([-1.0, 0.0, 2.0]))
      Array([-0.63212055,  0.        ,  2.        ], dtype=float32)
    """
    x = jnp.asarray(x)
    # The inner `where` prevents overflow of the exponential and of its derivative.
    return jnp.where(x > 0, x, alpha * jnp.expm1(jnp.where(x > 0, 0.0, x)))


@jit_when_traced
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """Computes the leaky rectified linear unit: x for x >= 0, otherwise negative_slope x.

    Args:
      x: array.
      negative_slope: scalar or array that broadcasts against x.

    Example:
      >>> nn.leaky_relu(jnp.array([-2.0, 3.0]))
      Array([-0.02,  3.  ], dtype=float32)
    """
    x = jnp.asarray(x)
    return jnp.where(x >= 0, x, negative_slope * x)


@jit_when_traced
def hard_tanh(x: ArrayLike) -> Array:
    """Computes x clipped to [-1, 1].

    Args:
      x: array.

    Example:
      >>> nn.hard_tanh(jnp.array([-2.0, 0.5, 2.0]))
      Array([-1. ,  0.5,  1. ], dtype=float32)
    """
    x = jnp.asarray(x)
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


@jit_when_traced
def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Computes max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1), a differentiable variant of `elu`.

    Args:
      x: array.
      alpha: scalar or array that broadcasts against x.
    """
    return jnp.maximum(x, 0.0) + alpha * jnp.expm1(jnp.minimum(x, 0.0) / alpha)


_SELU_ALPHA = 1.6732632423543772848170429916717  # Klambauer et al., 2017, equation 14
_SELU_SCALE = 1.0507009873554804934193349852946


@jit_when_traced
def selu(x: ArrayLike) -> Array:
    """Computes the scaled exponential linear unit (Klambauer et al., 2017).

    Its constants are chosen such that zero mean and unit variance are a fixed point.

    Args:
      x: array.
    """
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """Computes the Gaussian error linear unit x Phi(x) (Hendrycks and Gimpel, 2016).

    Phi is the cumulative distribution function of the standard normal distribution.

    Args:
      x: array; integers are converted to the default float.
      approximate: whether to use the paper's tanh formula, whose absolute error is below 5e-4.

    Example:
      >>> nn.gelu(jnp.array([0.0, 1.0]))
      Array([0.      , 0.841192], dtype=float32)
      >>> nn.gelu(jnp.array([0.0, 1.0]), approximate=False)
      Array([0.       , 0.8413447], dtype=float32)
    """
    x = _inexact(x)
    if approximate:
        root = np.sqrt(2 / np.pi).astype(x.dtype)
        return x * (0.5 * (1.0 + jnp.tanh(root * (x + 0.044715 * (x**3)))))
    root_half = np.sqrt(0.5).astype(x.dtype)
    return jnp.array(0.5 * x * lax.erfc(-x * root_half), dtype=x.dtype)


@jit_when_traced(static_argnames=("axis",))
def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Computes the gated linear unit: the first half of x, times the sigmoid of the second half.

    Args:
      x: array.
      axis: axis to split in two halves.

    Returns: array of half the size along `axis`.

    Raises:
      AssertionError: if the size of `axis` is odd.

    Example:
      >>> nn.glu(jnp.array([1.0, 2.0, 0.0, 0.0]))
      Array([0.5, 1. ], dtype=float32)
    """
    x = jnp.asarray(x)
    size = x.shape[canonical_axis(axis, x.ndim)]
    assert size % 2 == 0, (
        f"glu: the size of `x` along axis {axis} must be even, but its shape is {x.shape}"
    )
    first, second = jnp.split(x, 2, axis)
    return first * sigmoid(second)


@jit_when_traced
def hard_sigmoid(x: ArrayLike) -> Array:
    """Computes relu6(x + 3) / 6.

    Args:
      x: array.

    Example:
      >>> nn.hard_sigmoid(jnp.array([-4.0, 0.0, 4.0]))
      Array([0. , 0.5, 1. ], dtype=float32)
    """
    return relu6(jnp.asarray(x) + 3.0) / 6.0


@jit_when_traced
def hard_silu(x: ArrayLike) -> Array:
    """Computes x hard_sigmoid(x), also known as hard_swish.

    Args:
      x: array.
    """
    x = jnp.asarray(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@custom_jvp
@repeated
@jit_when_traced
def log1mexp(x: ArrayLike) -> Array:
    """Computes log(1 - exp(-x)) for x > 0, accurate both near 0 and for large x (Maechler, 2012).

    Args:
      x: array; integers are converted to the default float.
    """
    x = _inexact(x)
    small = x < jnp.log(2.0)
    return jnp.where(small, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


@log1mexp.defjvp
def jvp(  # noqa: F811  # the name shows in jaxprs
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    """Computes the JVP of log1mexp."""
    (x,), (dx,) = primals, tangents
    return log1mexp(x), dx / jnp.expm1(x)


tanh = jnp.tanh
