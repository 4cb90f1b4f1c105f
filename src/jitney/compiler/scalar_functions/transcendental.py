"""Powers, exponentials, logarithms, circular and hyperbolic functions."""

from __future__ import annotations

import numpy as np

from jitney.compiler.scalar_functions import complex_edges as edges
from jitney.compiler.scalar_functions.complex_edges import with_edges
from jitney.compiler.scalar_functions.declaration import Reference, declare
from jitney.compiler.scalar_functions.ufuncs import (
    by_ufunc,
    halves_in_float32,
    stand_in_for,
    with_complex,
)
from jitney.core.util import float_errors


def _by_ufunc(ufunc: np.ufunc, formula: edges.Formula) -> Reference:
    return with_edges(by_ufunc(ufunc), formula)


# --- powers -------------------------------------------------------------------------------------

_power = by_ufunc(np.power)


def _pow(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        out = _power(x.astype(np.complex128), y.astype(np.complex128)).astype(x.dtype)
        # NumPy returns finite values for some non-finite operands for which `edges.power` is NaN.
        return np.where(np.isfinite(x) & np.isfinite(y), out, np.nan).astype(x.dtype)
    out = _power(x, y)
    # For the exponent 0.5, NumPy computes the square root, which is -0 at -0 and NaN at -inf.
    if (
        out.dtype.kind in "fV"
        and out.size
        and not any(np.asarray(y).strides)
        and np.asarray(y).flat[0] == 0.5
    ):
        out = np.where(np.isinf(x), np.abs(x), out + np.zeros((), out.dtype)).astype(out.dtype)
    return out


def _rsqrt(x: np.ndarray) -> np.ndarray:
    if x.dtype.itemsize == 2:
        return (1 / np.sqrt(x.astype(np.float32))).astype(x.dtype)
    return np.divide(x.dtype.type(1), np.sqrt(x))


declare("rsqrt", with_edges(_rsqrt, edges.rsqrt), cost=8, ulp=(1.5, 1.5), code="floats.rsqrt")
declare("cbrt", by_ufunc(np.cbrt), cost=20, ulp=(1, 1), code="floats.cbrt")
# Its code depends on the exponent: constants in f32 have different code from constants in 16 bits.
declare(
    "pow",
    with_edges(_pow, edges.power),
    operands=2,
    cost=40,
    ulp=(1, 2),
    code="powers.power",
    half="own",
)


# --- exponentials and logarithms ----------------------------------------------------------------


_ufunc_expm1 = by_ufunc(np.expm1)


def _expm1(x: np.ndarray) -> np.ndarray:
    out = _ufunc_expm1(x)
    if x.dtype.kind == "c":
        # A difference from 1 is never -0, as in the array API standard.
        out = np.asarray(out)
        out.real = np.real(out) + 0.0
    return out


def _log1p(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.log1p(x)
    # NumPy adds 1 first, which loses the digits of small numbers.
    out = np.asarray(np.log1p(x))
    re, im = np.real(x), np.imag(x)
    with float_errors.ignored():
        near = np.maximum(np.abs(re), np.abs(im)) < 0.5
        out.real = np.where(near, np.log1p(re * (2 + re) + im * im) / 2, np.real(out))
    return out


def _logistic(x: np.ndarray) -> np.ndarray:
    if x.dtype.itemsize == 2:
        return _logistic(x.astype(np.float32)).astype(x.dtype)
    one = x.dtype.type(1)
    return np.divide(one, one + np.exp(-x))


def _complex_logaddexp(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Returns log(exp(x) + exp(y)), with the larger real part factored out."""
    first = np.real(x) >= np.real(y)
    large, small = np.where(first, x, y), np.where(first, y, x)
    empty = np.isneginf(np.real(large))
    with float_errors.ignored():
        total = large + np.log1p(np.exp(np.where(empty, 0, small - large)))
        angle = np.arctan2(np.sin(np.imag(total)), np.cos(np.imag(total)))
    result = np.empty(total.shape, total.dtype)
    result.real, result.imag = np.where(empty, -np.inf, np.real(total)), angle
    return result


_logaddexp = with_complex(halves_in_float32(by_ufunc(np.logaddexp)), _complex_logaddexp)

declare("exp", _by_ufunc(np.exp, edges.exp), cost=12, ulp=(1, 1), code="exponential.exp")
declare("exp2", _by_ufunc(np.exp2, edges.exp2), cost=12, ulp=(1, 1), code="exponential.exp2")
declare(
    "expm1",
    with_edges(stand_in_for(_ufunc_expm1, _expm1), edges.expm1),
    cost=16,
    ulp=(1.5, 2),
    code="exponential.expm1",
)
declare("log", by_ufunc(np.log, outside=-1.0), cost=14, ulp=(1, 1), code="logarithm.log")
declare("log2", by_ufunc(np.log2, outside=-1.0), cost=16, ulp=(2, 1.5), code="logarithm.log2")
declare("log1p", with_edges(_log1p, _log1p), cost=18, ulp=(1, 1), code="logarithm.log1p")
declare(
    "logistic",
    with_edges(_logistic, edges.logistic),
    cost=18,
    ulp=(2.5, 2.5),
    code="exponential.logistic",
)
# The bound holds if no terms cancel.
declare("logaddexp", _logaddexp, operands=2, ulp=(1, 1), code="powers.log_add_exp")


# --- circular functions -------------------------------------------------------------------------


def _complex_atan2(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Returns -i log((x + i y) / sqrt(x^2 + y^2)), the analytic continuation of atan2."""
    u, v = x.astype(np.complex128), y.astype(np.complex128)  # the quotient is close to 1
    return (-1j * np.log((u + 1j * v) / np.sqrt(u * u + v * v))).astype(y.dtype)


_atan2 = with_complex(by_ufunc(np.arctan2), _complex_atan2)

declare("sin", _by_ufunc(np.sin, edges.sin), cost=24, ulp=(2, 2), code="trigonometric.sin")
declare("cos", _by_ufunc(np.cos, edges.cos), cost=24, ulp=(2, 2), code="trigonometric.cos")
declare("tan", _by_ufunc(np.tan, edges.tan), cost=30, ulp=(3, 2.5), code="trigonometric.tan")
declare(
    "asin",
    by_ufunc(np.arcsin, outside=2.0),
    cost=20,
    ulp=(2.5, 2.5),
    code="inverse_trigonometric.asin",
)
declare(
    "acos", by_ufunc(np.arccos, outside=2.0), cost=20, ulp=(2, 2), code="inverse_trigonometric.acos"
)
declare("atan", by_ufunc(np.arctan), cost=20, ulp=(2, 2), code="inverse_trigonometric.atan")
declare("atan2", _atan2, operands=2, cost=26, ulp=(2, 2), code="inverse_trigonometric.atan2")


# --- hyperbolic functions -----------------------------------------------------------------------

declare("sinh", _by_ufunc(np.sinh, edges.sinh), cost=24, ulp=(2, 2), code="exponential.sinh")
declare("cosh", _by_ufunc(np.cosh, edges.cosh), cost=24, ulp=(1.5, 1.5), code="exponential.cosh")
declare("tanh", _by_ufunc(np.tanh, edges.tanh), cost=18, ulp=(1.5, 3), code="exponential.tanh")
declare("asinh", by_ufunc(np.arcsinh), cost=30, ulp=(3, 3), code="inverse_trigonometric.asinh")
declare("acosh", by_ufunc(np.arccosh), cost=30, ulp=(3, 3), code="inverse_trigonometric.acosh")
declare("atanh", by_ufunc(np.arctanh), cost=24, ulp=(3, 3), code="inverse_trigonometric.atanh")
