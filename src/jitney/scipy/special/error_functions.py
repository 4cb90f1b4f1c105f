"""Error functions and related functions: normal distribution, Dawson's integral, Owen's T.

`erfcx` is approximated by one polynomial on the half-line, an interpolant at Chebyshev nodes
computed with 40 digits. Dawson's integral uses such interpolants and a fit by `tools/minimax.py`.
Quantiles follow Wichura (Algorithm AS 241, Applied Statistics 37 (1988), 477-484). Complex
arguments use Weideman's expansion (Computation of the complex error function, SIAM Journal on
Numerical Analysis 31 (1994), 1497-1518).
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from jitney import lax, numpy as jnp
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.core.array import Array
from jitney.core.types import dtypes
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import dtype_of, is_complex, promote_args_inexact
from jitney.numpy.selection import where
from jitney.primitives.elementwise.convert import as_value
from jitney.scipy.special.support import (
    full_precision,
    guarded,
    half_line,
    horner,
    in_float32,
    ratio,
    real_operands,
    segment,
    strong,
)

_ROOT_PI = 1.772453850905516
_ROOT_TWO_PI = 2.5066282746310002
_HALF_ROOT_TWO = 0.7071067811865476


def erf(x: ArrayLike) -> Array:
    """Computes the error function.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x.

    Accuracy: within 1.5 ulp.

    Example:
      >>> jax.scipy.special.erf(jnp.array([0.0, jnp.inf]))
      Array([0., 1.], dtype=float32)
    """
    (x,) = promote_args_inexact("erf", x)
    return lax.erf(x)


def erfc(x: ArrayLike) -> Array:
    """Computes the complementary error function 1 - erf(x), accurate where it is small.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x.

    Accuracy: within 5 ulp. This holds for compiled code; outside of `jit`, float64 results lose
    digits as x grows (about 500 ulp at x = 26).

    Example:
      >>> jax.scipy.special.erfc(jnp.array([0.0, jnp.inf]))
      Array([1., 0.], dtype=float32)
    """
    (x,) = promote_args_inexact("erfc", x)
    return lax.erfc(x)


def erfinv(x: ArrayLike) -> Array:
    """Computes the inverse of the error function.

    Args:
      x: real array in [-1, 1]; integers are converted to the default float.

    Returns: array of the shape of x; NaN outside [-1, 1].

    Accuracy: within 2.5 ulp in float32, 3.5 in float64.

    Example:
      >>> jax.scipy.special.erfinv(jnp.array([0.0, 1.0]))
      Array([ 0., inf], dtype=float32)
    """
    (x,) = promote_args_inexact("erfinv", x)
    return lax.erf_inv(x)


# --- scaled ---------------------------------------------------------------------------------------

# Coefficients of (1 + 2 x) erfcx(x) for x >= 0, in (x - 3) / (x + 3)
_ERFCX = (
    1.2530080582697296, -0.13562110612458117, -0.04756229435345087, 0.1296451587027606,
    -0.11927366341530699, 0.06830802734397848, -0.023770514918645888, 0.002529391816066239,
    0.0018886903591561553, -0.000779832272108399, -0.00010515979981501167,
    0.00012509935235563056, 4.94948499257007e-06, -2.0100567931287716e-05,
    -7.315105164143682e-07, 3.472414602872809e-06, 3.5683839153699295e-07,
    -6.166496077568836e-07, -1.4160064939904407e-07, 1.018700059979908e-07,
    4.18078469856684e-08, -1.3326364811806701e-08, -8.500397928553895e-09,
    9.885798828874261e-10, 8.864219014121144e-10,
)  # fmt: skip


@custom_jvp
def _erfcx(x: Array) -> Array:
    size = lax.abs(x)
    above = half_line(size, 0.0, 3.0, _ERFCX) / (1 + 2 * size)
    below = 2 * lax.exp(lax.square(lax.min(x, lax.full_like(x, 0)))) - above
    return where(x < 0, below, above)


@_erfcx.defjvp
def _erfcx_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    value = _erfcx(x)
    return value, dx * (2 * x * value - 2 / _ROOT_PI)


def erfcx(x: ArrayLike) -> Array:
    """Computes the scaled complementary error function exp(x**2) erfc(x).

    For x > 0 the result neither overflows nor underflows.

    Args:
      x: real or complex array; integers are converted to the default float.

    Returns: array of the shape and dtype of x.

    Example:
      >>> jax.scipy.special.erfcx(jnp.array([0.0, 100.0])).round(4)
      Array([1.    , 0.0056], dtype=float32)
    """
    if is_complex(dtype_of(x)):
        return _faddeeva(1j * as_value(x))
    return in_float32(_erfcx)(*real_operands("erfcx", x))


_WEIDEMAN_TERMS = 40  # suffice for double precision


@cache
def _weideman() -> tuple[float, list[float]]:
    """Returns the scale L and the coefficients of the expansion in ((L + i z) / (L - i z))^n.

    The coefficients are Fourier coefficients, computed by the trapezoidal rule.
    """
    half = 2 * _WEIDEMAN_TERMS
    scale = math.sqrt(_WEIDEMAN_TERMS / math.sqrt(2))
    t = scale * np.tan(np.arange(-half + 1, half) * np.pi / (2 * half))
    values = np.concatenate([[0], np.exp(-t * t) * (scale * scale + t * t)])
    coefficients = np.fft.fft(np.fft.fftshift(values)).real / (2 * half)
    return scale, coefficients[1 : _WEIDEMAN_TERMS + 1].tolist()


@custom_jvp
def _faddeeva(z: Array) -> Array:
    scale, coefficients = _weideman()
    below = lax.imag(z) < 0
    upper = where(below, -z, z)
    rotated = 1j * upper
    inverse = 1 / (scale - rotated)
    mapped = (scale + rotated) * inverse
    value = (2 * horner(mapped, coefficients) * inverse + 1 / _ROOT_PI) * inverse
    # The expansion is undefined at infinity, where the function approaches i / (sqrt(pi) z).
    far = (1j / _ROOT_PI) / upper
    value = where(lax.abs(upper) > 1e8, far, value)
    # In the lower half-plane, exp(-z^2) dominates.
    growing = 2 * lax.exp(lax.neg(lax.square(where(below, z, 0.0).astype(z.dtype))))
    return where(below, growing - value, value).astype(z.dtype)


@_faddeeva.defjvp
def _faddeeva_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (z,), (dz,) = primals, tangents
    value = _faddeeva(z)
    return value, dz * (-2 * z * value + 2j / _ROOT_PI)


def wofz(z: ArrayLike) -> Array:
    """Computes the Faddeeva function exp(-z**2) erfc(-i z).

    Args:
      z: array; real arrays are converted to a complex dtype.

    Returns: complex array of the shape of z.

    Accuracy: the relative error is below 6e-14 (complex64: 1e-6) in the upper half-plane. In the
      lower half-plane it is larger near the zeros of the function, where terms cancel.

    Example:
      >>> jax.scipy.special.wofz(jnp.array([0.0]))
      Array([1.+0.j], dtype=complex64)
    """
    value = as_value(promote_args_inexact("wofz", z)[0])
    if not is_complex(value.dtype):
        value = value.astype(np.complex128 if value.dtype == np.float64 else np.complex64)
    return _faddeeva(strong(value))


# Approximated: D(x) / x in x^2 up to 3.25; 2 x D(x) in x up to 6.25; then 2 x D(x) in x^-2
_DAWSON_MIDDLE, _DAWSON_FAR = 3.25, 6.25
_DAWSON_TOP = (
    1.0, -0.09190512585807062, 0.04227417623981754, -0.0008565193658956822,
    0.0003525572093428828, 3.027625998895015e-06, 9.520622718764956e-07,
    1.9312154664575205e-08, 8.457834533151355e-10, 1.1277375193028067e-11,
)  # fmt: skip
_DAWSON_BOTTOM = (
    1.0, 0.5747615408085953, 0.1587818701122293, 0.027918792683665407, 0.00348339219456908,
    0.00032493474728721337, 2.3193688005045655e-05, 1.2686675090781657e-06,
    5.191942315414183e-08, 1.4809166255327009e-09, 2.3862251372418586e-11,
)  # fmt: skip
_DAWSON_BETWEEN = (
    1.0238293562123226, -0.01625379248486432, 0.00857616849921088, -0.004165767280387602,
    0.0019762931873486913, -0.0009459473909792644, 0.0004679611887023153,
    -0.00024317477043638168, 0.00013232283443987122, -7.27250489908856e-05,
    3.747193915915464e-05, -1.5818408007472534e-05, 3.4544597386718576e-06,
    2.150132166774481e-06, -3.3835422488270737e-06, 2.5126320661178913e-06,
    -1.2231632688012685e-06, 3.343570933404099e-07, 5.827204270859677e-08,
    -1.428594920017001e-07, 8.989083903860394e-08, -1.900917973370097e-08,
    -8.718594557031555e-09, 5.690101989328017e-09, -8.561358748890017e-10,
)  # fmt: skip
_DAWSON_BEYOND = (
    1.0065269992478139, 0.006658316611557569, 0.00013584706256809822,
    4.7550214142266814e-06, 2.4018808065257817e-07, 1.6104024408228483e-08,
    1.3647776464609871e-09, 1.4166165618402727e-10, 1.762263061219572e-11,
    2.5547474641636843e-12, 4.3257483336356814e-13, 1.1065348994451027e-13,
    2.771386478628671e-14,
)  # fmt: skip


@custom_jvp
def _dawsn(x: Array) -> Array:
    size = lax.abs(x)
    near = lax.min(size, lax.full_like(x, _DAWSON_MIDDLE))
    small = ratio(near * near, _DAWSON_TOP, _DAWSON_BOTTOM) * x
    inverse = 1 / where(size < _DAWSON_MIDDLE, 1.0, x)
    middle = segment(size, _DAWSON_MIDDLE, _DAWSON_FAR, _DAWSON_BETWEEN)
    far = segment(inverse * inverse, 0.0, 1 / _DAWSON_FAR**2, _DAWSON_BEYOND)
    large = 0.5 * inverse * where(size < _DAWSON_FAR, middle, far)
    return where(size < _DAWSON_MIDDLE, small, large)


@_dawsn.defjvp
def _dawsn_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    value = _dawsn(x)
    return value, dx * (1 - 2 * x * value)


def dawsn(x: ArrayLike) -> Array:
    """Computes Dawson's integral, exp(-x**2) times the integral of exp(t**2) from 0 to x.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.dawsn(jnp.array([0.0, 1.0])).round(4)
      Array([0.    , 0.5381], dtype=float32)
    """
    return in_float32(_dawsn)(*real_operands("dawsn", x))


# --- the normal distribution ----------------------------------------------------------------------


def ndtr(x: ArrayLike) -> Array:
    """Computes the cumulative distribution function of the standard normal distribution.

    Args:
      x: array, float32 or float64.

    Returns: array of the shape of x.

    Raises:
      TypeError: if x is neither float32 nor float64.

    Example:
      >>> jax.scipy.special.ndtr(jnp.array([-jnp.inf, 0.0]))
      Array([0. , 0.5], dtype=float32)
    """
    return strong(_ndtr(full_precision("ndtr", x)))


def _ndtr(x: Array) -> Array:
    half_root_two = lax.full_like(x, _HALF_ROOT_TWO, shape=())
    w = x * half_root_two
    size = lax.abs(w)
    is_near = size < half_root_two
    near = 1 + lax.erf(w)
    # In the tails, erfc is accurate relative to its small value.
    is_above = w > 0
    above = 2 - lax.erfc(size)
    tails = lax.select(is_above, above, lax.erfc(size))
    return 0.5 * lax.select(is_near, near, tails)


# PPND16: polynomials in 0.425^2 - q^2, q = p - 1/2; in r - 1.6 and r - 5, r = sqrt(-log(min(p, 1 -
# p)))
_CENTRE_TOP = (
    3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
    1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
    3.3430575583588128105e4, 2.5090809287301226727e3,
)  # fmt: skip
_CENTRE_BOTTOM = (
    1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
    2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
    5.2264952788528545610e3,
)  # fmt: skip
_TAIL_TOP = (
    1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
    3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
    2.27238449892691845833e-2, 7.74545014278341407640e-4,
)  # fmt: skip
_TAIL_BOTTOM = (
    1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
    1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
    1.05075007164441684324e-9,
)  # fmt: skip
_FAR_TOP = (
    6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
    2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
    2.71155556874348757815e-5, 2.01033439929228813265e-7,
)  # fmt: skip
_FAR_BOTTOM = (
    1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
    7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
    2.04426310338993978564e-15,
)  # fmt: skip
_QUANTILES = (
    (_CENTRE_TOP, _CENTRE_BOTTOM), (_TAIL_TOP, _TAIL_BOTTOM), (_FAR_TOP, _FAR_BOTTOM),
)  # fmt: skip
# PPND7, for float32
_QUANTILES_FLOAT32 = (
    (
        (3.3871327179, 50.434271938, 159.29113202, 59.109374720),
        (1.0, 17.895169469, 78.757757664, 67.187563600),
    ),
    (
        (1.4234372777, 2.7568153900, 1.3067284816, 0.17023821103),
        (1.0, 0.73700164250, 0.12021132975),
    ),
    (
        (6.6579051150, 3.0812263860, 0.42868294337, 0.017337203997),
        (1.0, 0.24197894225, 0.012258202635),
    ),
)


@custom_jvp
def _ndtri(p: Array) -> Array:
    inside = (p > 0) & (p < 1)
    safe = guarded(inside, p, 0.5)
    q = safe - 0.5
    is_central = lax.abs(q) <= 0.425
    r = lax.sqrt(-lax.log(lax.min(safe, 1 - safe)))
    points = lax.max(0.425**2 - q * q, lax.full_like(q, 0)), r - 1.6, r - 5
    fits = _QUANTILES if p.dtype == np.float64 else _QUANTILES_FLOAT32
    # Select before dividing: divisions are expensive.
    top, bottom = (
        where(is_central, center, where(r <= 5, tail, far))
        for center, tail, far in (
            [horner(x, fit[part]) for x, fit in zip(points, fits, strict=True)] for part in (0, 1)
        )
    )
    value = top / bottom
    result = where(is_central, q * value, where(q < 0, -value, value))
    edge = where(p == 0, -jnp.inf, where(p == 1, jnp.inf, jnp.nan))
    return where(inside, result, edge.astype(p.dtype))


@_ndtri.defjvp
def _ndtri_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (p,), (dp,) = primals, tangents
    x = _ndtri(p)
    return x, dp * (_ROOT_TWO_PI * lax.exp(0.5 * lax.square(x)))


def ndtri(p: ArrayLike) -> Array:
    """Computes the quantile function of the standard normal distribution, the inverse of `ndtr`.

    Args:
      p: array, float32 or float64, in [0, 1].

    Returns: array of the shape of p; NaN outside [0, 1].

    Raises:
      TypeError: if p is neither float32 nor float64.

    Accuracy: the relative error is below 1e-15 (float32: 5e-7).

    Example:
      >>> jax.scipy.special.ndtri(jnp.array([0.0, 0.5]))
      Array([-inf,   0.], dtype=float32)
    """
    return _ndtri(full_precision("ndtri", p))


@custom_jvp
def _erfcinv(y: Array) -> Array:
    return 0 - _HALF_ROOT_TWO * _ndtri(0.5 * strong(y))  # 0 - ... makes the zero at y = 1 positive


@_erfcinv.defjvp
def _erfcinv_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (y,), (dy,) = primals, tangents
    x = _erfcinv(y)
    return x, dy * (-0.5 * _ROOT_PI * lax.exp(lax.square(x)))


def erfcinv(y: ArrayLike) -> Array:
    """Computes the inverse of `erfc`, accurate where y is small.

    Args:
      y: real array in [0, 2]; integers are converted to the default float.

    Returns: array of the shape of y: inf at 0, -inf at 2, NaN outside [0, 2].

    Accuracy: the relative error is below 1e-15 (float32: 5e-7), unless y is subnormal.

    Example:
      >>> jax.scipy.special.erfcinv(jnp.array([1.0, 2.0]))
      Array([  0., -inf], dtype=float32)
    """
    return in_float32(_erfcinv)(*real_operands("erfcinv", y))


@custom_jvp
def _log_ndtr(x: Array) -> Array:
    x = strong(x)
    # The factor exp(-x^2 / 2) is separated below -1, so that nothing underflows.
    is_low = x < -1
    low = guarded(is_low, x, -1.0)
    below = lax.log(0.5 * _erfcx(low * -_HALF_ROOT_TWO)) - 0.5 * low * low
    above = guarded(is_low, lax.full_like(x, 0), 0.0) + guarded(~is_low, x, 0.0)
    upper = lax.log1p(-0.5 * lax.erfc(above * _HALF_ROOT_TWO))
    return where(is_low, below, upper)


@_log_ndtr.defjvp
def _log_ndtr_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    x = strong(x)
    # Density / CDF, where the common factor exp(-x^2 / 2) cancels below -1.
    is_low = x < -1
    low = guarded(is_low, x, -1.0)
    below = (2 / _ROOT_TWO_PI) / _erfcx(low * -_HALF_ROOT_TWO)
    above = guarded(~is_low, x, 0.0)
    upper = lax.exp(-0.5 * lax.square(above)) / (_ROOT_TWO_PI * _ndtr(above))
    return _log_ndtr(x), lax.mul(dx, where(is_low, below, upper))


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Computes log(ndtr(x)), accurate in both tails.

    Args:
      x: array, float32 or float64.
      series_order: accepted for compatibility, an integer from 0 to 30; no effect.

    Returns: array of the shape of x.

    Raises:
      TypeError: if x is neither float32 nor float64, or `series_order` is not an integer.
      ValueError: if `series_order` is negative or larger than 30.

    Example:
      >>> jax.scipy.special.log_ndtr(jnp.array([-100.0, 0.0])).round(3)
      Array([-5.005524e+03, -6.930000e-01], dtype=float32)
    """
    if not isinstance(series_order, int):
        raise TypeError(
            f"log_ndtr: `series_order` must be a Python int, but got {type(series_order)}"
        )
    if not 0 <= series_order <= 30:
        raise ValueError(f"log_ndtr: `series_order` must be from 0 to 30, but got {series_order}")
    return _log_ndtr(full_precision("log_ndtr", x))


# --- Owen's T ---------------------------------------------------------------------------------------

_NODES = 24  # of the Gauss-Legendre rule, exact to double precision on the range below
_RANGE = 8.6  # exp(-range^2 / 2) is below 1e-16


@cache
def _gauss() -> tuple[list[float], list[float]]:
    """Returns nodes and weights of the Gauss-Legendre rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (0.5 + 0.5 * nodes).tolist(), (0.5 * weights).tolist()


def _owens_integral(h: Array, a: Array) -> Array:
    """Computes T(h, a) for h >= 0, 0 <= a <= 1, integrating until the integrand is negligible."""
    h = lax.min(h, lax.full_like(h, 50))  # exp(-h^2 / 2) is 0 from there on
    end = lax.min(a, _RANGE / lax.max(h, lax.full_like(h, 1e-3)))
    half = 0.5 * h * h
    total = lax.full_like(end, 0)
    for node, weight in zip(*_gauss(), strict=True):
        square = lax.square(end * node)
        total = total + weight * lax.exp(-half * square) / (1 + square)
    return end * lax.exp(-half) * total * (0.5 / math.pi)


@custom_jvp
def _owens_t(h: Array, a: Array) -> Array:
    height, slope = lax.abs(h), lax.abs(a)
    steep = slope > 1
    inverse = 1 / guarded(steep, slope, 1.0)
    wide = where(slope == jnp.inf, jnp.inf, guarded(steep, slope, 1.0) * height)
    wide = where(height == 0, 0.0, wide).astype(h.dtype)
    inner = _owens_integral(where(steep, wide, height), where(steep, inverse, slope))
    # T(h, a) = (Q(h) + Q(a h)) / 2 - Q(h) Q(a h) - T(a h, 1 / a), where Q is the upper tail
    tail, wide_tail = 0.5 * lax.erfc(height * _HALF_ROOT_TWO), 0.5 * lax.erfc(wide * _HALF_ROOT_TWO)
    mirrored = 0.5 * (tail + wide_tail) - tail * wide_tail - inner
    result = where(steep, mirrored, inner)
    return jnp.copysign(result, a)


@_owens_t.defjvp
def _owens_t_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (h, a), (dh, da) = primals, tangents
    density = lax.exp(-0.5 * h * h)
    by_h = -density * lax.erf(a * h * _HALF_ROOT_TWO) / (2 * _ROOT_TWO_PI)
    square = 1 + a * a
    by_a = lax.exp(-0.5 * h * h * square) / (2 * math.pi * square)
    return _owens_t(h, a), lax.mul(dh, by_h) + lax.mul(da, by_a)


def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Computes Owen's T function: P(X > h and 0 < Y < a X) for independent normal X and Y.

    The function is even in h and odd in a.

    Args:
      h: real array; integers are converted to the default float.
      a: real array, broadcast against h.

    Returns: array of the default float dtype, even for narrower operands.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.owens_t(0.0, jnp.array([0.0, 1.0]))
      Array([0.   , 0.125], dtype=float32)
    """
    h, a = jnp.broadcast_arrays(*real_operands("owens_t", h, a))
    dtype = dtypes.canonicalize_dtype(float)
    return _owens_t(h.astype(dtype), a.astype(dtype))
