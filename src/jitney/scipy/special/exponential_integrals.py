"""Exponential, sine, cosine and Fresnel integrals, and the dilogarithm.

Near 0 the functions are computed by series. Farther out, the exponential, or the sine and cosine,
are factored out. The remaining function is smooth up to infinity; it is approximated by one
polynomial on a half-line, or by a few on segments (Abramowitz and Stegun, chapters 5 and 7). The
polynomials are minimax fits by `tools/minimax.py`, or interpolants at Chebyshev nodes computed with
40 digits.
"""

from __future__ import annotations

import math

from jitney import lax, numpy as jnp
from jitney.api.autodiff.custom_jvp import custom_jvp
from jitney.core.array import Array
from jitney.core.typing import ArrayLike
from jitney.numpy.promotion import broadcast_arrays, dtype_of, is_complex
from jitney.numpy.selection import where
from jitney.scipy.special.support import (
    full_precision,
    guarded,
    half_line,
    horner,
    in_float32,
    is_whole,
    real_values,
    segment,
    strong,
)

_EULER_GAMMA = 0.5772156649015329

# --- exponential integrals ------------------------------------------------------------------------

# Coefficients of (E1(x) + log(x) + gamma) / x on [0, 1]
_EIN = (
    1.0, -0.25, 0.05555555555555546, -0.010416666666663256, 0.0016666666666171617,
    -0.00023148148109345694, 2.8344669338090756e-05, -3.1001925633684083e-06,
    3.061800463637856e-07, -2.7539426196119573e-08, 2.260021126051314e-09,
    -1.6289617680196408e-10, 8.117383669769318e-12,
)  # fmt: skip
# Coefficients of x exp(x) E1(x) for x >= 1, in (x - 5) / (x + 3)
_E1_FAR = (
    0.852110881423661, 0.18026446166714455, -0.04516805055284047, 0.017605114271179383,
    -0.0069532705126927954, 0.0030822766138274417, -0.0013894159697248219,
    0.0006605606275012303, -0.00031817337185630377, 0.00015805098817903938,
    -7.928160209590715e-05, 4.059375940568537e-05, -2.0933458736226236e-05,
    1.0907926443063306e-05, -5.737328442827178e-06, 3.194324676839122e-06,
    -1.7108682124461124e-06, 6.00014865395274e-07, -3.169204548217554e-07,
    6.919975622703283e-07, -3.870422474661214e-07, -3.8053323999701265e-07,
    2.171517078191053e-07, 3.484141801666412e-07, -1.9727036655924934e-07,
    -1.336541123451017e-07, 7.583306190624312e-08, 3.2420790174243825e-08,
    -1.8349163022564723e-08,
)  # fmt: skip
# Ei(x) = log(x / root) + (x - root) p(x) on [0, 6]
_EI_ROOT = 0.3725074107813666
_EI_ROOT_REST = 1.31401834144e-17  # the low part of the root
_EI_NEAR = (
    2.986772243435986, 3.8535675550242976, 3.434770585137441, 2.3217200962908175,
    1.2664576815080513, 0.5800776053968251, 0.22925545808417094, 0.07974156050349365,
    0.024780457940862928, 0.006961836119633811, 0.001785125450887397, 0.0004210738004950217,
    9.197224049461442e-05, 1.870688551744826e-05, 3.560404460916248e-06,
    6.368735998760581e-07, 1.0742505868458603e-07, 1.7060220113266324e-08,
    2.5866726858859605e-09, 4.115968665316195e-10, 5.614405084140444e-11,
)  # fmt: skip
# Coefficients of x exp(-x) Ei(x) in 1 / x, on [6, 12], [12, 24], and above
_EI_6 = (
    1.181847986987208, 0.09097863630348535, 0.010157308753615011, -0.0033533886601696708,
    -0.0011258914511446544, 0.00037313842220706647, 4.205947134647935e-05,
    -4.5551153575024644e-05, 9.196638286644545e-06, 1.433339444375473e-06,
    -1.4452234836489171e-06, 4.2452857730877414e-07, -2.9683200159758566e-08,
    -3.056143241229143e-08, 1.6879236328094838e-08, -4.760742928866699e-09,
    5.327040140642781e-10, 2.787713515689599e-10, -2.0209122558718902e-10,
    5.483586705229665e-11, -4.316418407072676e-12,
)  # fmt: skip
_EI_12 = (
    1.0723449766623854, 0.02839154997859364, 0.0019403040279250604, 0.0002684049246146103,
    3.961169130380161e-05, -5.372759701615993e-06, -5.160184181493744e-06,
    -2.2547708464142323e-07, 4.922985883935642e-07, 4.034168668172609e-09,
    -4.9658882546576627e-08, 7.119061047668788e-09, 3.716916996691103e-09,
    -1.5886132756780633e-09, -1.0173767020404385e-11, 1.6583967865641683e-10,
    -2.80154715383793e-11, -5.9854774250229294e-12,
)  # fmt: skip
_EI_24 = (
    1.0217607036601566, 0.022753072027360807, 0.001063768785548425, 7.863790798815602e-05,
    8.21196744410551e-06, 1.1430188367231466e-06, 2.0531329140372163e-07,
    4.68450260435756e-08, 1.356619684594922e-08, 5.035795002752103e-09,
    2.464351310274203e-09, 1.6504250761403584e-09, 1.0386957818258405e-09,
    -6.934658369939307e-11, -9.091314868488403e-10, -5.730345810660945e-10,
    1.6172702268416403e-10, 2.622634121564957e-10, 2.502961531968355e-11,
    -4.282715747182846e-11, -1.0822742560240426e-11,
)  # fmt: skip


def _e1(x: Array) -> Array:
    """Computes E1(x) for x >= 0."""
    is_near = x < 1
    near = guarded(is_near, x, 1.0)
    series = near * horner(near, _EIN) - (lax.log(near) + _EULER_GAMMA)
    far = lax.max(x, lax.full_like(x, 1))
    decaying = lax.exp(-far) / far * half_line(far, 1.0, 4.0, _E1_FAR)
    return where(is_near, series, decaying)


def _ei(x: Array) -> Array:
    """Computes Ei(x) for x >= 0."""
    is_near = x < 6
    near = guarded(is_near, x, 1.0)
    distance = (near - _EI_ROOT) - _EI_ROOT_REST
    # Near the root, log1p avoids cancellation in log(x / root).
    close = lax.abs(distance) < 0.15
    logarithm = where(
        close,
        lax.log1p(guarded(close, distance, 0.0) / _EI_ROOT),
        lax.log(near / _EI_ROOT),
    )
    small = logarithm + distance * segment(near, 0.0, 6.0, _EI_NEAR)
    inverse = 1 / lax.max(x, lax.full_like(x, 6))
    first = segment(inverse, 1 / 12, 1 / 6, _EI_6)
    second = segment(inverse, 1 / 24, 1 / 12, _EI_12)
    last = segment(inverse, 0.0, 1 / 24, _EI_24)
    scaled = where(x < 12, first, where(x < 24, second, last))
    # exp(x) may overflow where exp(x) / x does not.
    half = lax.exp(0.5 * x)
    large = half * (inverse * scaled) * half
    return where(is_near, small, where(x == jnp.inf, jnp.inf, large)).astype(x.dtype)


@custom_jvp
def _expi(x: Array) -> Array:
    x = strong(x)
    size = lax.abs(x)
    return where(x < 0, -_e1(size), _ei(size))


@_expi.defjvp
def _expi_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _expi(x), dx * lax.exp(x) / x


def expi(x: ArrayLike) -> Array:
    """Computes the exponential integral Ei, the principal value of the integral of exp(t) / t.

    The integration is over t from -inf to x.

    Args:
      x: real array; integers are converted to the default float.

    Returns: array of the shape of x; -inf at 0.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.expi(jnp.array([-1.0, 0.0, 1.0])).round(4)
      Array([-0.2194,    -inf,  1.8951], dtype=float32)
    """
    return in_float32(_expi)(*real_values("expi", x))


@custom_jvp
def _exp1(x: Array) -> Array:
    x = strong(x)
    return where(x < 0, jnp.nan, _e1(lax.abs(x))).astype(x.dtype)


@_exp1.defjvp
def _exp1_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    x = strong(x)
    return _exp1(x), lax.div(lax.mul(lax.neg(dx), lax.exp(lax.neg(x))), x)


def exp1(x: ArrayLike) -> Array:
    """Computes the exponential integral E1, the integral of exp(-t) / t over t from x to inf.

    Args:
      x: non-negative real array; integers are converted to the default float.

    Returns: array of the shape of x; inf at 0, NaN for negative x.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.exp1(jnp.array([0.0, 1.0])).round(4)
      Array([   inf, 0.2194], dtype=float32)
    """
    return in_float32(_exp1)(*real_values("exp1", x))


_SERIES_END = 2.0  # of the range of x where E_n is computed by its series
_SERIES_TERMS = 28
_FRACTION_TERMS = 48  # of the continued fraction; they suffice at x = 2


@custom_jvp
def _expn(n: Array, x: Array) -> Array:
    n, x = strong(n), strong(x)
    valid = (n >= 0) & (n < jnp.inf) & (x >= 0)
    n = lax.floor(n)
    order = guarded(valid & (n >= 1), n, 1.0)
    inside = valid & (x > 0) & (x < jnp.inf)
    y = guarded(inside, x, 1.0)
    is_near = y < _SERIES_END
    near = _expn_series(order, guarded(is_near, y, 1.0))
    value = where(is_near, near, _expn_fraction(order, guarded(~is_near, y, _SERIES_END)))
    value = where(n == 0, lax.exp(-y) / y, value)
    at_zero = where(n <= 1, jnp.inf, 1 / (where(n <= 1, 2.0, n) - 1))
    value = where(x == 0, at_zero, where(x == jnp.inf, 0.0, value))
    return where(valid, value, jnp.nan).astype(x.dtype)


def _expn_series(n: Array, x: Array) -> Array:
    """Computes E_n(x) by its power series.

    E_n(x) is (-x)^(n-1) (psi(n) - log(x)) / (n-1)! minus the sum of (-x)^m / ((m - n + 1) m!) over
    m != n - 1.
    """

    def term(m: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        power, total = carry
        m = m.astype(x.dtype)
        distance = m - n + 1
        is_zero = distance == 0
        total = total - where(is_zero, 0.0, power / where(is_zero, 1.0, distance))
        return power * (-x / (m + 1)), total

    start = (lax.full_like(x, 1), lax.full_like(x, 0))
    total = lax.fori_loop(0, _SERIES_TERMS, term, start)[1]
    factor = lax.exp((n - 1) * lax.log(x) - lax.lgamma(n))
    factor = where(is_whole((n - 1) / 2), factor, -factor)
    return factor * (lax.digamma(n) - lax.log(x)) + total


def _expn_fraction(n: Array, x: Array) -> Array:
    """Computes E_n(x) by a continued fraction.

    The result is exp(-x) times 1 / (x + n - n / (x + n + 2 - 2 (n + 1) / (x + n + 4 - ...))).
    """

    def step(k: Array, below: Array) -> Array:
        i = _FRACTION_TERMS - k.astype(x.dtype)
        return x + n + 2 * (i - 1) - i * (n + i - 1) / below

    below = lax.fori_loop(0, _FRACTION_TERMS, step, x + n + 2.0 * _FRACTION_TERMS)
    return lax.exp(-x) / below


@_expn.defjvp
def _expn_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (n, x), dx = map(strong, primals), tangents[1]
    n = lax.floor(n)
    below = where(n == 0, lax.exp(-x) * (1 + 1 / x) / x, _expn(lax.abs(n - 1), x))
    return _expn(n, x), lax.mul(lax.neg(dx), below.astype(x.dtype))


def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Computes the exponential integral E_n(x): exp(-x t) / t**n integrated over t from 1 to inf.

    Args:
      n: non-negative orders, rounded down to integers. The derivative with respect to n is 0.
      x: non-negative real array, broadcast against n.

    Returns: array of floating dtype; NaN for negative or infinite n, and for negative x.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> jax.scipy.special.expn(jnp.array([1, 2, 3]), 0.0)
      Array([inf, 1. , 0.5], dtype=float32)
    """
    return in_float32(_expn)(*broadcast_arrays(*real_values("expn", n, x)))


# --- sines and cosines ----------------------------------------------------------------------------

_TRIGONOMETRIC_END = 4.0
# Coefficients of Si(x) / x and (Ci(x) - gamma - log(x)) / x^2 in x^2, x <= 4
_SI = (
    1.0, -0.05555555555555555, 0.0016666666666666583, -2.8344671201805475e-05,
    3.061924358174349e-07, -2.2774643971766744e-09, 1.2353110331098287e-11,
    -5.098104811692937e-14, 1.653757704849173e-16, -4.3241078758643128e-19,
    9.218562026922503e-22, -1.4430877364921383e-24,
)  # fmt: skip
_CIN = (
    -0.25, 0.010416666666666666, -0.00023148148148148014, 3.1001984126972163e-06,
    -2.755731922342613e-08, 1.7397297474134294e-10, -8.193389427126171e-13,
    2.9871698864382544e-15, -8.67705735572855e-18, 2.053648290180364e-20,
    -3.9919837305830483e-23, 5.675463052455671e-26,
)  # fmt: skip
# Coefficients of x f(x) and x^2 g(x) for x >= 4, in (x - 14) / (x + 6)
_SI_F = (
    0.9903444712754641, 0.026196849569696534, -0.02638450057757043, 0.013725839778415622,
    -0.00506817365909031, 0.0015289690040342703, -0.0004540567862450137,
    0.00014631753303585396, -4.6861187303901925e-05, 1.4940513337292307e-05,
    -5.083760130105345e-06, 1.7111689894830287e-06, -5.770496944832986e-07,
    2.0737359474537274e-07, -7.138745373761371e-08, 2.5037183244470646e-08,
    -9.291035608946756e-09, 3.604011844579808e-09, -1.4181813827173167e-09,
    2.174052310594348e-10, -5.0995371463047223e-11, 1.5124191281765964e-10,
    -5.870981715258754e-11,
)  # fmt: skip
_SI_G = (
    0.9720066765766766, 0.07361389020617332, -0.06845730970341095, 0.028557033411476532,
    -0.006175387226301214, 0.00041213712172518725, 3.270450618935447e-05,
    1.1270838476515101e-06, 1.632472496647496e-05, -8.154359947283568e-06,
    1.743956209489361e-06, -1.1628506758978943e-06, 4.148086089501783e-07,
    -9.471857721370173e-08, 7.087778829544573e-08, -1.5446701096762102e-08,
    5.875246044888262e-09, -4.844467078305542e-09, 5.937256959398145e-11,
    -3.0362467033801723e-10, 2.360598173218179e-10, -4.848344539728065e-11,
    5.784854871461897e-11,
)  # fmt: skip


@custom_jvp
def _si(x: Array) -> Array:
    return _sici(x)[0]


@custom_jvp
def _ci(x: Array) -> Array:
    return _sici(x)[1]


def _sici(x: Array) -> tuple[Array, Array]:
    x = strong(x)
    size = lax.abs(x)
    is_near = size < _TRIGONOMETRIC_END
    near = guarded(is_near, size, 0.0)
    y = near * near
    si_near = near * horner(y, _SI)
    ci_near = (_EULER_GAMMA + lax.log(near)) + y * horner(y, _CIN)
    far = lax.max(size, lax.full_like(size, _TRIGONOMETRIC_END))
    end = far == jnp.inf
    angle = guarded(~end, far, _TRIGONOMETRIC_END)
    sine, cosine = lax.sin(angle), lax.cos(angle)
    inverse = 1 / far
    f = half_line(far, 4.0, 10.0, _SI_F) * inverse
    g = half_line(far, 4.0, 10.0, _SI_G) * inverse * inverse
    si_far = math.pi / 2 - f * cosine - g * sine
    ci_far = f * sine - g * cosine
    si = jnp.copysign(where(is_near, si_near, si_far), x)
    ci = where(is_near, ci_near, ci_far)
    return si, where(x < 0, where(end, jnp.nan, ci), ci).astype(x.dtype)


@_si.defjvp
def _si_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _si(x), dx * where(x == 0, 1.0, lax.sin(x) / where(x == 0, 1.0, x))


@_ci.defjvp
def _ci_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _ci(x), dx * lax.cos(x) / x


def sici(x: ArrayLike) -> tuple[Array, Array]:
    """Computes the sine integral Si and the cosine integral Ci.

    Args:
      x: real array; integers are converted to the default float.

    Returns: (Si, Ci), arrays of the shape of x. For negative x, where Ci is complex, its real part
      Ci(-x) is returned.

    Raises:
      ValueError: if an operand is complex.

    Example:
      >>> si, ci = jax.scipy.special.sici(jnp.array([0.0, 1.0]))
      >>> si.round(4)
      Array([0.    , 0.9461], dtype=float32)
    """
    if is_complex(dtype_of(x)):
        raise ValueError(f"sici: `x` must be real, but it is {dtype_of(x)}")
    (value,) = real_values("sici", x)
    return in_float32(_si)(value), in_float32(_ci)(value)


_FRESNEL_END = 1.6
# Coefficients of S(x) / x^3 and C(x) / x in x^4, x <= 1.6
_FRESNEL_S = (
    0.5235987755982988, -0.09228058535803416, 0.007244784204192267, -0.0003121169423450254,
    8.444272873169196e-06, -1.5647143824978186e-07, 2.1082093970543932e-09,
    -2.1573553601190625e-11, 1.7320914415865414e-13, -1.1078072115801841e-15,
    5.059520466535632e-18,
)  # fmt: skip
_FRESNEL_C = (
    1.0, -0.2467401100272339, 0.028185500877893687, -0.0016048831356410727,
    5.407413381204748e-05, -1.2000972541849818e-06, 1.8843498237826e-08,
    -2.2022738831190286e-10, 1.9896150082095132e-12, -1.4298239005994224e-14,
    8.276325250614203e-17, -3.4531821726779774e-19,
)  # fmt: skip
# Coefficients of pi x f(x) for x >= 1.6, in (x - 3.6) / (x + 0.4)
_FRESNEL_F = (
    0.9982264341824224, 0.007730095857161538, -0.013098415641730428, 0.010347905471707589,
    -0.002876301935483132, -0.0011792042641966445, 0.00102272046561236,
    4.392686267158589e-05, -0.0003181311418358581, 3.520954519613325e-05,
    0.00011074566849718061, -1.9049680446883565e-05, -4.510267253640383e-05,
    6.032802846140615e-06, 2.0802789673082175e-05, -7.679530620811165e-08,
    -1.0102895749470016e-05, -1.8673895356915943e-06, 4.755557829156958e-06,
    1.866320649190174e-06, -1.998372799489864e-06, -1.1573663317480168e-06,
    6.885519137057324e-07, 4.82515806360469e-07, -1.759172594429986e-07,
    -1.2384304271510312e-07, 2.8736545075405998e-08, 1.4774750211474366e-08,
    -2.1870276184909014e-09,
)  # fmt: skip
# Coefficients of pi^2 x^3 g(x) for x >= 1.6, in (x - 4.6) / (x + 1.4)
_FRESNEL_G = (
    0.9966525308698352, 0.017227651731567872, -0.03774719044616198, 0.04616634229738713,
    -0.03402583654473069, 0.01319012610386723, 0.002034298222747269, -0.006803078457462643,
    0.004218572633718412, -9.323520913926566e-05, -0.001742720455215142,
    0.0010802589658625262, 0.00019454266815816253, -0.0006019886369457322,
    0.0001859679267538974, 0.000217339424098092, -0.00017598042029174212,
    -5.2323247120779135e-05, 0.00010686810912671149, 1.1119664702833097e-06,
    -5.5628023397952775e-05, 7.925814707851039e-06, 2.5985134274095202e-05,
    -5.466349766729509e-06, -1.046405175206903e-05, 2.178876011789141e-06,
    3.300792532503065e-06, -5.20850181881046e-07, -6.991871305447469e-07,
    5.7826146731127035e-08, 7.251603151121719e-08,
)  # fmt: skip


@custom_jvp
def _fresnel_s(x: Array) -> Array:
    return _fresnel(x)[0]


@custom_jvp
def _fresnel_c(x: Array) -> Array:
    return _fresnel(x)[1]


def _half_angle(x: Array) -> Array:
    """Computes pi x^2 / 2 modulo 2 pi; reduces x^2 before multiplying it by pi, for accuracy."""
    square = lax.square(lax.min(lax.abs(x), lax.full_like(x, 1 / _EPSILON)))
    return (square - 4 * jnp.round(square / 4)) * (math.pi / 2)


_EPSILON = 1e-8  # beyond its reciprocal, the functions are 1/2 in double precision


def _fresnel(x: Array) -> tuple[Array, Array]:
    x = strong(x)
    size = lax.abs(x)
    is_near = size < _FRESNEL_END
    near = guarded(is_near, size, 0.0)
    square = near * near
    fourth = square * square
    s_near = near * square * horner(fourth, _FRESNEL_S)
    c_near = near * horner(fourth, _FRESNEL_C)
    far = lax.max(size, lax.full_like(size, _FRESNEL_END))
    angle = _half_angle(far)
    sine, cosine = lax.sin(angle), lax.cos(angle)
    inverse = 1 / (math.pi * far)
    f = half_line(far, 1.6, 2.0, _FRESNEL_F) * inverse
    g = half_line(far, 1.6, 3.0, _FRESNEL_G) * (inverse * inverse / far)
    s_far = 0.5 - f * cosine - g * sine
    c_far = 0.5 + f * sine - g * cosine
    return (
        jnp.copysign(where(is_near, s_near, s_far), x),
        jnp.copysign(where(is_near, c_near, c_far), x),
    )


@_fresnel_s.defjvp
def _fresnel_s_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _fresnel_s(x), dx * lax.sin(_half_angle(x))


@_fresnel_c.defjvp
def _fresnel_c_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _fresnel_c(x), dx * lax.cos(_half_angle(x))


def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Computes the Fresnel integrals of sin(pi t**2 / 2) and cos(pi t**2 / 2) over t from 0 to x.

    Args:
      x: real array; integers are converted to the default float.

    Returns: (S, C), arrays of the shape of x.

    Raises:
      NotImplementedError: if x is complex.

    Example:
      >>> s, c = jax.scipy.special.fresnel(jnp.array([0.0, jnp.inf]))
      >>> s
      Array([0. , 0.5], dtype=float32)
    """
    if is_complex(dtype_of(x)):
        raise NotImplementedError("fresnel: complex operands are not supported")
    (value,) = real_values("fresnel", x)
    return in_float32(_fresnel_s)(value), in_float32(_fresnel_c)(value)


# --- the dilogarithm --------------------------------------------------------------------------------

# u^(2k+1) B_2k / (2k + 1)!, k = 1, ...: terms of the dilogarithm of 1 - exp(-u) after u - u^2 / 4
_DILOGARITHM = (
    1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000,
    1 / 1120863744000, -3617 / 181400588328960000,
)  # fmt: skip


def _dilogarithm(u: Array) -> Array:
    """Computes the dilogarithm of 1 - exp(-u), for |u| <= log(2)."""
    square = u * u
    return u * (1 + square * horner(square, _DILOGARITHM)) - 0.25 * square


@custom_jvp
def _spence(x: Array) -> Array:
    low, high = x < 0.5, x > 2
    inside = (x > 0) & (x < jnp.inf)
    y = guarded(inside, x, 1.0)
    z = where(high, 1 / y, y)  # in (0, 2]; below 1/2 where x is not in [1/2, 2]
    log_z = lax.log(z)
    mirrored = low | high
    # spence(z) = pi^2 / 6 - log(z) log(1 - z) - spence(1 - z)
    log_complement = lax.log1p(guarded(mirrored, -z, 0.0))
    small = math.pi**2 / 6 - log_z * log_complement - _dilogarithm(-log_complement)
    value = where(mirrored, small, _dilogarithm(guarded(~mirrored, 0.0 - log_z, 0.0)))
    # spence(x) = -log(x)^2 / 2 - spence(1 / x)
    value = where(high, -0.5 * log_z * log_z - value, value)
    edge = where(x == 0, math.pi**2 / 6, where(x == jnp.inf, -jnp.inf, jnp.nan))
    return where(inside, value, edge).astype(x.dtype)


@_spence.defjvp
def _spence_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    near = lax.abs(x - 1) < 1e-4
    off = 1 - guarded(~near, x, 0.5)
    # The derivative is log(x) / (1 - x) = -1 + w / 2 - w^2 / 3 + ... at x = 1 + w.
    w = x - 1
    slope = where(near, -1 + w * (0.5 - w / 3), lax.log(guarded(~near, x, 0.5)) / off)
    return _spence(x), dx * slope.astype(dx.dtype)


def spence(x: ArrayLike) -> Array:
    """Computes Spence's function, the integral of log(t) / (1 - t) over t from 1 to x.

    Args:
      x: non-negative array, float32 or float64.

    Returns: array of the shape of x; NaN for negative operands.

    Raises:
      TypeError: if x is neither float32 nor float64.

    Example:
      >>> jax.scipy.special.spence(jnp.array([0.0, 1.0])).round(4)
      Array([1.6449, 0.    ], dtype=float32)
    """
    return _spence(full_precision("spence", x))
