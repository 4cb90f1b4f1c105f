"""What math functions should give, in `longdouble`, and where that can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

Longs = np.ndarray

_PI = np.longdouble("3.14159265358979323846264338")


def _sampled(function: str) -> Callable[[Longs], Longs]:
    """SciPy's function in float64: within an ulp of f64, exact as far as f32 goes."""

    def value(x: Longs) -> Longs:
        return getattr(scipy.special, function)(x.astype(np.float64)).astype(np.longdouble)

    return value


def _logistic(x: Longs) -> Longs:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


def _erf_series(x: Longs) -> Longs:
    """erf for |x| <= 2, by a series without cancellation."""
    x = np.clip(x, -2, 2)
    term = total = x
    for n in range(1, 70):
        term = term * (2 * x * x) / (2 * n + 1)
        total = total + term
    return 2 / np.sqrt(np.arccos(np.longdouble(-1))) * np.exp(-x * x) * total


def _erf(x: Longs) -> Longs:
    return np.where(np.abs(x) < 2, _erf_series(x), _sampled("erf")(x))


def _erfc(x: Longs) -> Longs:
    # SciPy's own goes by way of 1 - erf, and its exponential loses what the square loses.
    far = np.exp(-x * x) * _sampled("erfcx")(np.maximum(x, 1))
    far = np.where(x > 0, np.where(np.isinf(x), 0, far), 2)
    near = _sampled("erfc")(x)
    return np.where(np.abs(x) < 2, 1 - _erf_series(x), np.where(x > 2, far, near))


def _erf_inv(x: Longs) -> Longs:
    return np.where(x == 0, x, _sampled("erfinv")(x))


def _digamma(x: Longs) -> Longs:
    pole = (x <= 0) & (x == np.floor(x))
    return np.where(x == 0, -np.inf, np.where(pole, np.nan, _sampled("psi")(x)))


def _bessel(order: int) -> Callable[[Longs], Longs]:
    """exp(-|x|) I(x) by its power series, all of whose terms are positive, and by Hankel's."""

    def value(x: Longs) -> Longs:
        size = np.abs(x)
        low, high = np.minimum(size, 32), np.maximum(size, 32)
        term = (low / 2) ** order
        near = term.copy()
        for k in range(1, 100):
            term = term * (low / 2) ** 2 / (k * (k + order))
            near += term
        term = 1 / np.sqrt(2 * _PI * high)
        far = term.copy()
        for k in range(1, 30):
            term = term * ((2 * k - 1) ** 2 - 4 * order) / (8 * k * high)
            far += term
        result = np.where(size < 32, np.exp(-low) * near, far)
        return np.copysign(result, x) if order else result

    return value


# name -> (reference, number of operands)
REFERENCES: dict[str, tuple[Callable[..., Any], int]] = {
    "exp": (np.exp, 1), "exp2": (np.exp2, 1), "expm1": (np.expm1, 1), "log": (np.log, 1),
    "log2": (np.log2, 1), "log1p": (np.log1p, 1), "logistic": (_logistic, 1), "tanh": (np.tanh, 1),
    "sinh": (np.sinh, 1), "cosh": (np.cosh, 1), "sin": (np.sin, 1), "cos": (np.cos, 1),
    "tan": (np.tan, 1), "asin": (np.arcsin, 1), "acos": (np.arccos, 1), "atan": (np.arctan, 1),
    "asinh": (np.arcsinh, 1), "acosh": (np.arccosh, 1), "atanh": (np.arctanh, 1),
    "sqrt": (np.sqrt, 1), "rsqrt": (lambda x: 1 / np.sqrt(x), 1), "cbrt": (np.cbrt, 1),
    "erf": (_erf, 1), "erfc": (_erfc, 1), "erf_inv": (_erf_inv, 1),
    "lgamma": (_sampled("gammaln"), 1), "digamma": (_digamma, 1),
    "bessel_i0e": (_bessel(0), 1), "bessel_i1e": (_bessel(1), 1), "pow": (np.power, 2),
    "atan2": (np.arctan2, 2), "rem": (np.fmod, 2), "logaddexp": (np.logaddexp, 2),
}  # fmt: skip

# float64 is all there is to compare with: an f64 function may be off by as much as this itself.
SAMPLED = ("erfc", "erf_inv", "lgamma", "digamma")


def domain(fn: str, *xs: np.ndarray) -> np.ndarray:
    """Where the reference holds and the stated bound applies."""
    x = xs[0]
    inside = np.ones(x.shape, bool)
    with np.errstate(all="ignore"):
        if fn in ("sin", "cos", "tan"):
            # longdouble's own reduction has 66 bits of pi.
            inside = ~(np.abs(x) > (1e9 if x.dtype == np.float32 else 1e3))
        if fn == "lgamma":
            inside = ~((x < 0) | (np.abs(x) < 1e-300))  # roots below 0 are not exact to ulps
            if x.dtype == np.float64:  # nor are SciPy's above
                inside &= (x < 0.6) | (x > 2.6)
        if fn == "digamma":
            inside = (np.abs(x - 1.4616) > 0.3) & ~(x < 0)
        if fn == "logaddexp":
            inside = np.abs(np.maximum(x, xs[1])) > 2  # elsewhere terms may cancel
    return inside
