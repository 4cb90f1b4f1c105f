"""Formulas of compiled code for complex functions at infinities and NaN, and on overflow.

NumPy's complex functions are those of the C library, which follow Annex G of the C standard.
Compiled code (`compiler/scalar/complexes.py`) follows it only in part; for example, exp(inf + i
inf) is NaN in both components, as in XLA. References use these formulas if the result of NumPy is
not finite.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jitney.compiler.scalar_functions.declaration import ComplexArray, Reference
from jitney.compiler.scalar_functions.ufuncs import stand_in_for
from jitney.core.util import float_errors

Formula = Callable[..., ComplexArray]


def with_edges(inner: Reference, formula: Formula, *, is_wide: bool = True) -> Reference:
    """Returns `inner` with complex results that are not finite replaced by those of `formula`.

    If `is_wide`, the formula is evaluated in complex128, as compiled code does for complex64, and
    otherwise in the dtype of the operands.
    """

    def rule(*xs: np.ndarray) -> np.ndarray:
        out = inner(*xs)
        if out.dtype.kind != "c":
            return out
        is_finite = np.isfinite(out)
        if is_finite.all():
            return out
        with float_errors.ignored():
            edges = formula(*[x.astype(np.complex128) for x in xs] if is_wide else xs)
            return np.where(is_finite, out, edges.astype(out.dtype))

    return stand_in_for(inner, rule)


def _joined(re: np.ndarray, im: np.ndarray) -> ComplexArray:
    out = np.empty(np.broadcast_shapes(re.shape, im.shape), np.result_type(re, np.complex64))
    out.real, out.imag = re, im
    return out


def exp(z: ComplexArray) -> ComplexArray:
    """Returns e^z, which is 0 if the real part is -inf."""
    re, im = np.real(z), np.imag(z)
    half = np.exp(re / 2)  # e^re can overflow if its product with the sine does not
    is_gone, is_real = np.isneginf(re), im == 0
    u = np.asarray(np.where(is_real, half * half, half * np.cos(im) * half))
    v = np.where(is_real, im, half * np.sin(im) * half)
    return _joined(np.where(is_gone, 0.0, u), np.where(is_gone, 0.0, v))


def exp2(z: ComplexArray) -> ComplexArray:
    """Returns 2^z."""
    return exp(_joined(np.real(z) * np.log(2.0), np.imag(z) * np.log(2.0)))


def expm1(z: ComplexArray) -> ComplexArray:
    """Returns e^z - 1."""
    re, im = np.real(z), np.imag(z)
    less = -2 * np.sin(im / 2) ** 2
    u = np.where(im == 0, np.expm1(re), np.expm1(re) * np.cos(im) + less)
    return _joined(np.where(np.isneginf(re), -1.0, u) + 0.0, np.imag(exp(z)))


def power(x: ComplexArray, y: ComplexArray) -> ComplexArray:
    """Returns exp(y log x).

    It is 1 if y = 0, and 0 if x = 0 and the real part of y is positive.
    """
    log = np.log(x)
    product = _joined(
        np.real(y) * np.real(log) - np.imag(y) * np.imag(log),
        np.real(y) * np.imag(log) + np.imag(y) * np.real(log),
    )
    is_zero = (x == 0) & (np.real(y) > 0) & (np.imag(y) == 0)
    return np.where(y == 0, 1.0, np.where(is_zero, 0.0, exp(product)))


def div(x: ComplexArray, y: ComplexArray) -> ComplexArray:
    """Returns x / y.

    It is infinite if y is 0 or only x is infinite, and 0 if only y is infinite.
    """
    x_infinite, y_infinite = _is_infinite(x), _is_infinite(y)
    x_finite, y_finite = np.isfinite(x), np.isfinite(y)
    is_zero = y == 0
    vanishes = y_infinite & x_finite
    (a, b), (c, d) = _boxed(x, x_infinite), _boxed(y, vanishes)
    scale = np.asarray(np.where(vanishes, 0.0, np.inf))
    u = np.asarray(scale * (a * c + b * d))
    v = np.asarray(scale * (b * c - a * d))
    sign = np.copysign(np.inf, np.real(y))
    out: ComplexArray = np.asarray(x / y)
    special = vanishes | (x_infinite & y_finite)
    re = np.where(is_zero, sign * np.real(x), np.where(special, u, np.real(out)))
    im = np.where(is_zero, sign * np.imag(x), np.where(special, v, np.imag(out)))
    return _joined(re, im)


def _is_infinite(z: ComplexArray) -> np.ndarray:
    return np.isinf(np.real(z)) | np.isinf(np.imag(z))


def _boxed(z: ComplexArray, infinite: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the components of z; for infinite z, 1 for infinite components and 0 for others.

    The components keep their signs.
    """
    re, im = [
        np.where(infinite, np.copysign(np.isinf(part).astype(part.dtype), part), part)
        for part in (np.real(z), np.imag(z))
    ]
    return re, im


def reciprocal(z: ComplexArray) -> ComplexArray:
    """Returns 1 / z, which is infinite at 0 and zero at infinities."""
    return div(np.ones_like(z), z)


def rsqrt(z: ComplexArray) -> ComplexArray:
    """Returns 1 / sqrt(z)."""
    return reciprocal(np.sqrt(z))


def logistic(z: ComplexArray) -> ComplexArray:
    """Returns 1 / (1 + exp(-z))."""
    decay = exp(_joined(-np.real(z), -np.imag(z)))
    return reciprocal(_joined(np.real(decay) + 1, np.imag(decay)))


def sinh(z: ComplexArray) -> ComplexArray:
    """Returns the hyperbolic sine."""
    re, im = np.real(z), np.imag(z)
    u = np.where(re == 0, re, np.sinh(re) * np.cos(im))
    return _joined(u, np.where(im == 0, im, np.cosh(re) * np.sin(im)))


def cosh(z: ComplexArray) -> ComplexArray:
    """Returns the hyperbolic cosine."""
    re, im = np.real(z), np.imag(z)
    on_axis = (re == 0) | (im == 0)
    zero = np.copysign(0.0, re) * np.copysign(1.0, im)
    return _joined(np.cosh(re) * np.cos(im), np.where(on_axis, zero, np.sinh(re) * np.sin(im)))


def tanh(z: ComplexArray) -> ComplexArray:
    """Returns the hyperbolic tangent by Kahan's formula, from the tangent of the imaginary part."""
    re, im = np.real(z), np.imag(z)
    s, t = np.sinh(np.clip(re, -300, 300)), np.tan(im)
    beta = t * t + 1
    bottom = beta * s * s + 1
    is_far = np.abs(re) > 22
    decay = 4 * np.sin(im) * np.cos(im) * np.exp(-2 * np.abs(re))
    decay = np.where(np.isinf(re) & ~np.isfinite(im), np.copysign(0.0, im), decay)
    limit = np.where(np.isinf(re), 1.0, 1.0 + (im - im))
    u = np.where(is_far, np.copysign(limit, re), beta * np.sqrt(s * s + 1) * s / bottom)
    v = np.where(is_far, decay, t / bottom)
    return _joined(np.where(re == 0, re, u), np.where(im == 0, im, v))


def rotated(rule: Formula) -> Formula:
    """Returns f(z) = -i g(i z), the circular function of the hyperbolic function g = `rule`."""

    def circular(z: ComplexArray) -> ComplexArray:
        out = rule(_joined(-np.imag(z), np.real(z)))
        return _joined(np.imag(out), -np.real(out))

    return circular


sin, tan = rotated(sinh), rotated(tanh)


def cos(z: ComplexArray) -> ComplexArray:
    """Returns the cosine, cosh(i z)."""
    return cosh(_joined(-np.imag(z), np.real(z)))


def sign(z: ComplexArray) -> ComplexArray:
    """Returns z / |z|, or 0 if z is 0."""
    size = np.abs(z)
    return np.where(size == 0, 0.0, _joined(np.real(z) / size, np.imag(z) / size))


def square(z: ComplexArray) -> ComplexArray:
    """Returns z^2."""
    re, im = np.real(z), np.imag(z)
    return _joined(re * re - im * im, re * im + im * re)
