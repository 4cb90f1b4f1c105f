"""Entropies, log-odds and power transformations: functions of logarithms, well defined at 0."""

from __future__ import annotations

from collections.abc import Callable

from jitney import lax
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import is_complex, promote_args_inexact, scalar_like
from jitney.numpy.selection import where
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.special.support import guarded, horner, strong


def expit(x: ArrayLike) -> Array:
    """Computes the logistic function 1 / (1 + exp(-x)).

    Args:
      x: array; integers are converted to the default float.

    Returns: array of the shape of x, of inexact dtype.

    Accuracy: within 2.5 ulp.

    Example:
      >>> jax.scipy.special.expit(jnp.array([0.0, 100.0]))
      Array([0.5, 1. ], dtype=float32)
    """
    (x,) = promote_args_inexact("expit", x)
    return lax.logistic(x)


def logit(x: ArrayLike) -> Array:
    """Computes log(x / (1 - x)), the inverse of `expit`.

    Args:
      x: array; integers are converted to the default float.

    Returns: array of the shape of x; -inf at 0, inf at 1, NaN outside [0, 1].

    Example:
      >>> jax.scipy.special.logit(jnp.array([0.0, 0.5, 1.0]))
      Array([-inf,   0.,  inf], dtype=float32)
    """
    (value,) = promote_args_inexact("logit", x)
    return _logit(as_value(value))


def _log_odds(x: Array) -> Array:
    return lax.log(lax.div(x, lax.sub(scalar_like(x, 1), x)))


_log_odds.__name__ = "logit"  # the name in jaxprs
_logit = custom_jvp(_log_odds)


@_logit.defjvp
def jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """Computes the JVP of logit."""
    (x,), (dx,) = primals, tangents
    return _logit(x), lax.div(dx, lax.mul(x, lax.sub(scalar_like(x, 1), x)))


def _finite_product(x: Array, y: Array, log: Callable[[Array], Array]) -> Array:
    """Computes x log(y), or 0 where x is 0, or NaN where y is NaN."""
    counts = (x != 0) | (y != y)
    return where(counts, lax.mul(x, log(y)), lax.full_like(x, 0))


def _pair(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Promotes two operands to a common dtype and broadcasts them."""
    from jitney.numpy.promotion import stretched

    a, b = stretched(name, *promote_args_inexact(name, x, y))
    return a, b


def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes x log(y); 0 where x is 0, unless y is NaN.

    Args:
      x: array.
      y: array, broadcast against x.

    Returns: array of inexact dtype.

    Example:
      >>> p = jnp.array([0.0, 0.5, 0.5])
      >>> -jax.scipy.special.xlogy(p, p).sum() / jnp.log(2)  # the entropy, in bits
      Array(1., dtype=float32)
    """
    return _xlogy(*_pair("xlogy", x, y))


def _x_log_y(x: Array, y: Array) -> Array:
    return _finite_product(x, y, lax.log)


_x_log_y.__name__ = "xlogy"
_xlogy = custom_jvp(_x_log_y)


@_xlogy.defjvp
def _xlogy_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (x, y), (dx, dy) = primals, tangents
    # At x = 0 the derivative with respect to y is 0, even where 1 / y is infinite.
    slope = lax.div(x, where((x == 0) & (y == 0), 1.0, y))
    return _xlogy(x, y), strong(lax.add(lax.mul(dx, lax.log(y)), lax.mul(dy, slope)))


def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """Computes x log(1 + y); 0 where x is 0, unless y is NaN.

    Args:
      x: array.
      y: array, broadcast against x.

    Returns: array of inexact dtype.

    Example:
      >>> jax.scipy.special.xlog1py(jnp.array([0.0, 1e6]), jnp.array([-1.0, 1e-6])).round(3)
      Array([0., 1.], dtype=float32)
    """
    return _xlog1py(*_pair("xlog1py", x, y))


def _x_log1p_y(x: Array, y: Array) -> Array:
    return _finite_product(x, y, lax.log1p)


_x_log1p_y.__name__ = "xlog1py"
_xlog1py = custom_jvp(_x_log1p_y)


@_xlog1py.defjvp
def _xlog1py_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (x, y), (dx, dy) = primals, tangents
    slope = lax.div(x, where((x == 0) & (y == -1), 1.0, 1 + y))
    return _xlog1py(x, y), strong(lax.add(lax.mul(dx, lax.log1p(y)), lax.mul(dy, slope)))


@custom_jvp
def _xlogx(x: Array) -> Array:
    """Computes x log(x), which is 0 at 0."""
    return _xlogy(x, x)


@_xlogx.defjvp
def _xlogx_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _xlogx(x), lax.mul(dx, lax.add(lax.log(x), lax.full_like(x, 1)))


def _reals(name: str, *operands: ArrayLike) -> list[Array]:
    promoted = [as_value(x) for x in promote_args_inexact(name, *operands)]
    if is_complex(promoted[0].dtype):
        raise ValueError(f"{name}: operands must be real, but they promote to {promoted[0].dtype}")
    return promoted


def entr(x: ArrayLike) -> Array:
    """Computes -x log(x), which is 0 at 0 and -inf for negative x.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.entr(jnp.array([-1.0, 0.0, 1.0]))
      Array([-inf,  -0.,  -0.], dtype=float32)
    """
    (value,) = _reals("entr", x)
    return lax.select(value < 0, lax.full_like(value, -float("inf")), lax.neg(_xlogx(value)))


def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """Computes p log(p / q), the elementwise relative entropy.

    Args:
      p: real array.
      q: real array, broadcast against p.

    Returns: array of floating dtype; 0 where p = 0 and q >= 0, inf where p log(p / q) is undefined.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.rel_entr(jnp.array([0.0, 1.0]), jnp.array([1.0, 0.0]))
      Array([ 0., inf], dtype=float32)
    """
    p, q = _reals("rel_entr", p, q)
    both, safe_p, safe_q = _positive_parts(p, q)
    return _choose(both, safe_p * _log_quotient(safe_p, safe_q), 0.0, p, q)


def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """Computes p log(p / q) - p + q, the elementwise, non-negative Kullback-Leibler divergence.

    Args:
      p: real array.
      q: real array, broadcast against p.

    Returns: array of floating dtype; inf where p or q is negative, or where q is 0 and p is not.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> coin, model = jnp.array([1.0, 0.0]), jnp.array([0.5, 0.5])
      >>> jax.scipy.special.kl_div(coin, model).sum().round(4)  # log(2)
      Array(0.6931, dtype=float32)
    """
    p, q = _reals("kl_div", p, q)
    both, safe_p, safe_q = _positive_parts(p, q)
    return _choose(both, _divergence(safe_p, safe_q), q, p, q)


def _positive_parts(p: Array, q: Array) -> tuple[Array, Array, Array]:
    """Returns a mask of where both operands are positive, and the operands, set to 1 elsewhere."""
    both = (p > 0) & (q > 0)
    return both, guarded(both, p, 1), guarded(both, q, 1)


def _choose(both: Array, value: Array, alone: ArrayLike, p: Array, q: Array) -> Array:
    """Selects `value` where p, q > 0, `alone` where p = 0 <= q, NaN for NaN, otherwise inf."""
    # Comparisons with NaN are False, and NaN must propagate.
    outside = where((p != p) | (q != q), float("nan"), float("inf"))
    nothing = (p == 0) & (q >= 0)
    chosen = where(both, value, where(nothing, alone, outside))
    return strong(chosen) if p.ndim else chosen  # scalar operands may stay weakly typed


@custom_jvp
def _log_quotient(p: Array, q: Array) -> Array:
    """Computes log(p / q) of positive operands, accurate for p near q and where p / q overflows."""
    quotient = p / q
    near = (quotient > 0.5) & (quotient < 2)
    by_quotient = lax.log(quotient)
    by_gap = lax.log1p(guarded(near, (p - q) / q, 0.0))
    in_range = (quotient > dtypes.finfo(p.dtype).tiny) & (quotient < float("inf"))
    by_logarithms = where(in_range, by_quotient, lax.log(p) - lax.log(q))
    return where(near, by_gap, by_logarithms)


@_log_quotient.defjvp
def _log_quotient_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (p, q), (dp, dq) = primals, tangents
    return _log_quotient(p, q), lax.sub(lax.div(dp, p), lax.div(dq, q))


# Coefficients of (atanh(s) - s) / s**3 in s**2, |s| <= 1/4
_HIGHER = tuple(1 / (2 * k + 3) for k in range(13))
_NEAR = 0.25


@custom_jvp
def _divergence(p: Array, q: Array) -> Array:
    """Computes p log(p / q) - p + q of positive operands."""
    far = p * _log_quotient(p, q) - p + q
    # With s = (p - q) / (p + q), the divergence is (p + q) (s atanh(s) + (atanh(s) - s)).
    mean = 0.5 * p + 0.5 * q
    s = (0.5 * p - 0.5 * q) / mean
    near = lax.abs(s) <= _NEAR
    s = guarded(near, s, 0.0)
    square = s * s
    excess = s * square * horner(square, _HIGHER)
    return where(near, mean * (2 * (s * (s + excess) + excess)), far)


@_divergence.defjvp
def _divergence_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (p, q), (dp, dq) = primals, tangents
    slope = lax.add(lax.mul(dp, _log_quotient(p, q)), lax.mul(dq, (q - p) / q))
    return _divergence(p, q), slope


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Computes the Box-Cox transformation (x**lmbda - 1) / lmbda, or log(x) where lmbda is 0.

    Args:
      x: array.
      lmbda: exponents, broadcast against x.

    Returns: array of inexact dtype.

    Example:
      >>> jax.scipy.special.boxcox(jnp.array([1.0, 4.0]), 0.5)
      Array([0., 2.], dtype=float32)
    """
    x, power = map(as_value, promote_args_inexact("boxcox", x, lmbda))
    return _transformed(lax.log, x, power)


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """Computes the Box-Cox transformation of 1 + x.

    This is ((1 + x)**lmbda - 1) / lmbda, or log(1 + x) where lmbda is 0.

    Args:
      x: array.
      lmbda: exponents, broadcast against x.

    Returns: array of inexact dtype; accurate for small x.

    Example:
      >>> jax.scipy.special.boxcox1p(jnp.array([0.0, 3.0]), 0.5)
      Array([0., 2.], dtype=float32)
    """
    x, power = map(as_value, promote_args_inexact("boxcox1p", x, lmbda))
    return _transformed(lax.log1p, x, power)


def _transformed(log: Callable[[Array], Array], x: Array, power: Array) -> Array:
    logarithm = log(x)
    # Where the product underflows and loses digits, the logarithm is accurate.
    limits = dtypes.finfo(x.dtype)
    lost = lax.abs(power * logarithm) < float(limits.tiny) / float(limits.eps)
    is_log = (power == 0) | lost
    safe = where(is_log, lax.full_like(power, 1), power)
    return where(is_log, logarithm, lax.expm1(safe * logarithm) / safe)
