"""Special functions, with references in SciPy and native code in `compiler.scalar`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from itertools import pairwise
from types import ModuleType

import numpy as np

from jitney.compiler.scalar_functions.declaration import Reference, declare


@cache
def _special() -> ModuleType:
    # Importing SciPy takes longer than importing jitney, and most programs use none of these
    # functions.
    return import_module("scipy.special")


def _by_scipy(name: str, *, odd: bool = False) -> Reference:
    """Returns SciPy's function `name`, which is computed in float32 for 16-bit floats.

    `odd` states that the function is odd, although SciPy's implementation loses the sign of 0.
    """

    def rule(*xs: np.ndarray) -> np.ndarray:
        dtype = xs[0].dtype
        if dtype.itemsize == 2:
            xs = tuple([x.astype(np.float32) for x in xs])
        out = np.asarray(getattr(_special(), name)(*xs)).astype(dtype)
        if not odd:
            return out
        return np.where(np.isnan(out), out, np.copysign(out, xs[0])).astype(dtype)

    return rule


def _lgamma(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return np.where(np.isinf(wide), np.inf, _special().gammaln(wide)).astype(x.dtype)


def _digamma(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    pole = (wide <= 0) & (wide == np.floor(wide))
    at_pole = np.where(wide == 0, -np.inf, np.nan)
    return np.where(pole, at_pole, _special().psi(wide)).astype(x.dtype)


_erf_inv = _by_scipy("erfinv", odd=True)
_i1e = _by_scipy("i1e", odd=True)

declare("erf", _by_scipy("erf"), cost=20, ulp=(1.5, 1.5), code="error_functions.erf")
declare("erfc", _by_scipy("erfc"), cost=30, ulp=(5, 5), code="error_functions.erfc")
declare("erf_inv", _erf_inv, cost=30, ulp=(2.5, 3.5), code="error_functions.erf_inv")
# The bounds of these two functions hold for x > 0 and away from their roots.
declare("lgamma", _lgamma, cost=60, ulp=(0.6, 4), code="gamma.lgamma")
declare("digamma", _digamma, cost=60, ulp=(0.6, 48), code="gamma.digamma")
declare("bessel_i0e", _by_scipy("i0e"), cost=40, ulp=(4, 4), code="bessel.i0e")
declare("bessel_i1e", _i1e, cost=40, ulp=(4, 4), code="bessel.i1e")


# --- of several operands --------------------------------------------------------------------------


def _polygamma(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    special = _special()
    m64, x64 = m.astype(np.float64), x.astype(np.float64)
    sign = np.where(np.mod(m64, 2) == 0, -1.0, 1.0)
    value: np.ndarray = sign * special.gamma(m64 + 1) * special.zeta(m64 + 1, x64)
    value = np.where(m64 == 0, _digamma(x64), value)
    valid = (m64 >= 0) & (m64 == np.floor(m64))
    return np.where(valid, value, np.nan).astype(x.dtype)


def _zeta(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Returns SciPy's zeta, except for NaN operands, for large s, and for s = q = 0.

    SciPy treats NaN as a pole, and large s, for which only the first term is significant, as
    outside of the domain.
    """
    order, start = [x.astype(np.float32) if x.dtype.itemsize == 2 else x for x in (s, q)]
    value = np.asarray(_special().zeta(order, start))
    is_large = (order > 1e12) & (start > 0)
    with np.errstate(all="ignore"):
        value = np.where(is_large, np.power(np.where(is_large, start, 1), -order), value)
    value = np.where(np.isnan(order) | np.isnan(start), np.nan, value)
    return np.where((order == 0) & (start == 0), np.inf, value).astype(s.dtype)


def _betainc(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Returns SciPy's betainc computed in float64.

    In float32, SciPy's result has five digits for small a and b. In SciPy 1.14, results are outside
    [0, 1] if a and b are 1e30.
    """
    a64, b64, x64 = a.astype(np.float64), b.astype(np.float64), x.astype(np.float64)
    return np.clip(np.asarray(_special().betainc(a64, b64, x64)), 0, 1).astype(a.dtype)


def _igamma_grad_a(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    # The central difference of the regularized function, with three steps of Richardson
    # extrapolation. The lesser of the function and its complement is used, since fewer of its
    # digits cancel.
    a64, x64 = a.astype(np.float64), x.astype(np.float64)
    size = np.maximum(a64, 1e-3)
    # The function changes like (x / a)**a, so the step is chosen such that it changes by at most a
    # tenth.
    powers = size * np.abs(np.log(np.clip(x64, 1e-300, 1e300) / size))
    step: np.ndarray = 1e-2 * size / np.maximum(0.1 * powers, 1)
    rises: np.ndarray = _special().gammaincc(a64, x64) < 0.5  # use the complement, which rises
    fall: list[np.ndarray] = []
    for _ in range(4):
        below, above = a64 - step, a64 + step
        change: np.ndarray = _special().gammainc(above, x64) - _special().gammainc(below, x64)
        of_complement: np.ndarray = _special().gammaincc(below, x64) - _special().gammaincc(
            above, x64
        )
        fall.append(np.where(rises, of_complement, change) / (2 * step))
        step = step / 2
    order = 4.0
    while len(fall) > 1:
        fall = [(order * q - p) / (order - 1) for p, q in pairwise(fall)]
        order *= 4
    return fall[0].astype(a.dtype)


def _random_gamma_grad(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    a64, x64 = a.astype(np.float64), x.astype(np.float64)
    density = np.exp((a64 - 1) * np.log(x64) - x64 - _special().gammaln(a64))
    return (-_igamma_grad_a(a64, x64) / density).astype(a.dtype)


declare(
    "igamma", _by_scipy("gammainc"), operands=2, cost=400, ulp=None, code="incomplete_gamma.igamma"
)
declare(
    "igammac",
    _by_scipy("gammaincc"),
    operands=2,
    cost=400,
    ulp=None,
    code="incomplete_gamma.igammac",
)
declare(
    "igamma_grad_a",
    _igamma_grad_a,
    operands=2,
    cost=400,
    ulp=None,
    code="incomplete_gamma.igamma_grad_a",
)
declare(
    "random_gamma_grad",
    _random_gamma_grad,
    operands=2,
    cost=400,
    ulp=None,
    code="incomplete_gamma.random_gamma_grad",
)
declare("zeta", _zeta, operands=2, cost=400, ulp=None, code="zeta.zeta")
declare("polygamma", _polygamma, operands=2, cost=500, ulp=None, code="zeta.polygamma")
declare(
    "regularized_incomplete_beta", _betainc, operands=3, cost=600, ulp=None,
    code="incomplete_beta.betainc",
)  # fmt: skip
