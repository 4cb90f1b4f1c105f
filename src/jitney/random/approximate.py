"""Gamma and Poisson variables by approximate formulas without loops: `method="approximate"`.

Every element takes the same small number of operations. For a given key, the results are the same
as in JAX.

Sources: E. B. Wilson and M. M. Hilferty, "The distribution of chi-square", Proceedings of the
National Academy of Sciences 17 (1931), for the cube root of a gamma variable, here with fitted
higher terms; A. Stuart, Biometrika 49 (1962) 564, on gamma-distributed products, for small
parameters; E. A. Cornish and R. A. Fisher, "Moments and cumulants in the specification of
distributions", Revue de l'Institut International de Statistique 5 (1938), and D. B. Peizer and J.
W. Pratt, Journal of the American Statistical Association 63 (1968) 1416, on normal approximations
of tail probabilities, for quantiles of the Poisson distribution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.jit.jit import jit_when_traced
from jitney.core.types import dtypes
from jitney.numpy.selection import where
from jitney.random.keys import split
from jitney.random.normals import exponential, normal

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.random.checks import Shape

METHODS = ("exact", "approximate")


def is_approximate(name: str, method: str) -> bool:
    """Returns whether `method` of sampler `name` is "approximate".

    Raises:
      ValueError: if it is neither "approximate" nor "exact".
    """
    if method not in METHODS:
        raise ValueError(
            f"jax.random.{name}: `method` must be 'exact' or 'approximate', but got {method!r}"
        )
    return method == "approximate"


# --- gamma ----------------------------------------------------------------------------------------

# Gamma variables of parameter a are derived from those of parameter a + _RAISED.
_RAISED = 4
# (gamma variable of parameter a / a)^(1/3) is a polynomial in z / sqrt(2a), with z normal; the rows
# are its coefficients, as polynomials in 1 / 2a.
_CUBE_ROOT = (
    (1.0, -0.2237368, -0.01513904),
    (0.4713941, 0.02607083, -0.008986007),
    (0.0001348028, 0.01128186, 0.02277679),
    (-0.008553069, -0.01153761, -0.01323293),
    (0.00312558, 0.005169654, -0.006950356),
    (-0.0008426812, 0.00253001, 0.001060438),
    (9.780499e-05, -0.001450117, 0.001565326),
)


@jit_when_traced(
    name="_gamma_approx", static_argnames=("shape", "dtype", "log_space"), compiled_from=0
)
def gamma(
    key: Array, a: ArrayLike, *, shape: Shape, dtype: np.dtype, log_space: bool = False
) -> Array:
    """Draws gamma variables with parameters `a`, broadcast to `shape`, or their logarithms."""
    wide = np.promote_types(dtype, np.float32) if dtypes.finfo(dtype).bits < 32 else dtype
    a = lax.convert_element_type(a, wide)
    if a.shape != shape:
        a = jnp.broadcast_to(a, shape)
    key_z, key_e = split(key)
    raised = a + _constant(_RAISED, wide)
    double = _constant(2, wide) * raised
    z = normal(key_z, shape, wide)
    inverse = _constant(1, wide) / double
    x = z * lax.rsqrt(double)
    root = lax.polynomial(x, [lax.polynomial(inverse, row) for row in _CUBE_ROOT])
    root = lax.max(root, lax.full_like(root, dtypes.finfo(wide).tiny))
    log_x = lax.log(raised) + _constant(3, wide) * lax.log(root)
    # A factor u^(1 / (a + i)) for each i below the shift; -log(u) is exponential for uniform u.
    steps = lax.iota(wide, _RAISED).reshape((_RAISED, *[1] * len(shape)))
    logs = -exponential(key_e, (_RAISED, *shape), wide)
    log_x = log_x + jnp.sum(logs / (a[None] + steps), axis=0)
    return lax.convert_element_type(log_x if log_space else lax.exp(log_x), dtype)


# --- Poisson --------------------------------------------------------------------------------------

# Below this mean the CDF is summed over _TERMS terms; the remainder is less than 1e-4.
_SUMMED_BELOW = 7
_TERMS = 19
# Peizer and Pratt's g near 1: (1 - r^2 + 2 r log r) / (1 - r)^2 as a series in r - 1.
_SERIES_WITHIN = 0.25
_SERIES = tuple((-1) ** n * 2 / ((n + 1) * (n + 2)) for n in range(1, 10))


@jit_when_traced(name="_poisson_approx", static_argnames=("shape", "dtype"), compiled_from=0)
def poisson(key: Array, lam: Array, *, shape: Shape, dtype: np.dtype) -> Array:
    """Draws Poisson variables from normal variables; the means `lam` are floats [*shape]."""
    z = normal(key, shape, lam.dtype)
    summed = _by_summing(lam, _normal_distribution(z))
    chosen = where(lam < _constant(_SUMMED_BELOW, lam.dtype), summed, _by_normal(lam, z))
    return lax.convert_element_type(chosen, dtype)


def _normal_distribution(z: Array) -> Array:
    """Computes the CDF of the normal distribution, accurate in the lower tail."""
    half_root = _constant(np.sqrt(0.5), z.dtype)
    x = z * half_root
    tail = lax.erfc(lax.abs(x))
    far = where(x > 0, _constant(2, z.dtype) - tail, tail)
    near = _constant(1, z.dtype) + lax.erf(x)
    return _constant(0.5, z.dtype) * where(lax.abs(x) < half_root, near, far)


def _by_summing(lam: Array, u: Array) -> Array:
    """Returns the number of values of the Poisson CDF of mean `lam` that are below `u`."""
    term = total = lax.exp(-lam)
    count = (total < u).astype(lam.dtype)
    for k in range(1, _TERMS):
        term = term * (lam / _constant(k, lam.dtype))
        total = total + term
        count = count + (total < u).astype(lam.dtype)
    return count


def _by_normal(lam: Array, z: Array) -> Array:
    """Maps normal variables z to Poisson variables of equal quantiles, for large means.

    The sum of three terms of an expansion is corrected by at most one.
    """
    dtype = lam.dtype
    root = lax.sqrt(lam)
    guess = lam + root * z - _constant(2 / 3, dtype) + lax.square(z) / _constant(6, dtype)
    guess = guess + z * (_constant(1, dtype) - lax.square(z)) / (_constant(72, dtype) * root)
    k = lax.ceil(guess + _constant(0.6, dtype))
    one = _constant(1, dtype)
    count = k + one - (_normal_score(k, lam) >= z).astype(dtype)
    count = count - (_normal_score(k - one, lam) >= z).astype(dtype)
    return lax.max(count, lax.full_like(count, 0))


def _normal_score(k: Array, lam: Array) -> Array:
    """Approximates the normal quantile of the Poisson CDF at k."""
    dtype = lam.dtype
    one, zero = _constant(1, dtype), lax.full_like(k, 0)
    is_negative = k < zero
    k = lax.max(k, zero)
    ratio = (k + _constant(0.5, dtype)) / lam
    d = ratio - one
    is_near = lax.abs(d) < _constant(_SERIES_WITHIN, dtype)
    near = zero
    for c in reversed(_SERIES):
        near = d * (_constant(c, dtype) + near)
    r = where(is_near, _constant(2, dtype), ratio)
    d = where(is_near, one, d)
    far = (one - lax.square(r) + _constant(2, dtype) * r * lax.log(r)) / lax.square(d)
    g = where(is_near, near, far)
    moved = k - lam + _constant(2 / 3, dtype) + _constant(0.02, dtype) / (k + one)
    score = moved * lax.sqrt((one + g) / lam)
    return where(is_negative, _constant(-np.inf, dtype), score)


def _constant(value: float, dtype: np.dtype) -> Any:
    return np.array(value, dtype)
