"""The incomplete gamma functions and their derivatives. f32 is computed in f64, with fewer digits.

    igamma  P(a, x) = 1/gamma(a) * the integral of t^(a-1) e^-t from 0 to x;    igammac  Q = 1 - P

The method depends on the region of the operands, and a vector runs all methods that any of its
lanes needs. The methods are from the NIST Handbook of Mathematical Functions, 8.7.1, 8.9.2, 8.12,
and Temme, "The asymptotic expansion of the incomplete gamma functions", 1979; the regions follow
Moshier's Cephes:

    x < a                      P by its power series
    x >= a, x > 1.1            Q by its continued fraction
    x < 1.1, a small           Q by a series for 1 - P without cancellation
    a >= 20, |x - a| < 0.3 a   the smaller of P, Q by Temme's expansion, uniform in x / a
"""

from __future__ import annotations

from collections.abc import Callable

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value, constant
from jitney.compiler.scalar.error_functions import erfc
from jitney.compiler.scalar.exponential import exp, expm1
from jitney.compiler.scalar.gamma import digamma, log1p_less, log_gamma_near_1, stirling_rest
from jitney.compiler.scalar.logarithm import log
from jitney.compiler.scalar.polynomial import INF, NAN, horner

_TWO_PI = 6.283185307179586

# Temme's coefficients d(k, n) of eta^n / a^k. If mu is the series of x / a - 1 in eta, they are the
# coefficients of c(0) = 1 / mu - 1 / eta and c(k) = c(k-1)' / eta - d(k-1, 1) / mu.
_TEMME = (
    (
        -0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073,
        0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05,
        -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07,
        -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240309e-08,
        -4.382036018453353e-09, 9.14769958223679e-10,
    ),
    (
        -0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
        0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05,
        7.64916091608111e-06, -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07,
        -5.752545603517705e-08, 1.1951628599778148e-08, -1.7543241719747647e-11,
        -1.0091543710600413e-09,
    ),
    (
        0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
        -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05,
        3.423578734096138e-08, 1.3721957309062934e-06, -6.298992138380055e-07,
        1.4280614206064242e-07, -2.0477098421990866e-10, -1.409252991086752e-08,
        6.228974084922022e-09,
    ),
    (
        0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557,
        0.00026772063206283885, -7.561801671883977e-05, -2.396505113867297e-07,
        1.1082654115347302e-05, -5.6749528269915965e-06, 1.4230900732435883e-06,
        -2.7861080291528143e-11, -1.6958404091930278e-07, 8.099464905388083e-08,
    ),
    (
        -0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902,
        -1.4638452578843418e-06, 6.641498215465122e-05, -3.968365047179435e-05,
        1.1375726970678419e-05, 2.507497226237533e-10, -1.6954149536558305e-06,
        8.907507532205309e-07, -2.292934834000805e-07,
    ),
    (
        -0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392,
        -0.00019932570516188847, 6.797780477937208e-05, 1.419062920643967e-07,
        -1.3594048189768693e-05, 8.018470256334202e-06, -2.291481176508095e-06,
    ),
    (
        0.0005313079364639922, -0.0005921664373536939, 0.0002708782096718045, 7.902353232660328e-07,
        -8.153969367561969e-05, 5.61168275310625e-05, -1.8329116582843375e-05,
    ),
    (
        0.00034436760689237765, 5.171790908260592e-05, -0.00033493161081142234,
        0.0002812695154763237, -0.00010976582244684731, -1.2741009095484485e-07,
        2.7744451511563645e-05,
    ),
    (
        -0.0006526239185953094, 0.0008394987206720873, -0.000438297098541721,
        -6.969091458420552e-07, 0.00016644846642067547, -0.00012783517679769218,
    ),
    (
        -0.0005967612901927463, -7.204895416020011e-05, 0.0006782308837667328,
        -0.0006401475260262758,
    ),
    (
        0.0013324454494800656, -0.0019144384985654776,
    ),
)  # fmt: skip

_FROM = 20.0  # the smallest a for Temme's expansion
_STIRLING = 12.0  # the smallest a for Stirling's series

# Relative errors at which series and fractions are terminated, and the number of terms of the
# series for small x. Lanes that have finished keep their values: results must not depend on other
# lanes, and the rounding error of fractions grows with every step.
_TOLERANCE = {"f32": 2.0**-28, "f64": 2.0**-51}
_TERMS = {"f32": 11, "f64": 19}
_LARGE = 2.0**100  # larger numerators and denominators of fractions are scaled down
_MOST_STEPS = 20_000.0  # of series and fractions; enough for a up to a few million


def igamma(e: Emitter, a: Value, x: Value) -> Value:
    """Returns P(a, x); NaN if a < 0 or x < 0."""
    return _by_doubles(e, a, x, lambda e, a, x, kind: _regularized(e, a, x, kind, False))


def igammac(e: Emitter, a: Value, x: Value) -> Value:
    """Returns Q(a, x); NaN if a < 0 or x < 0."""
    return _by_doubles(e, a, x, lambda e, a, x, kind: _regularized(e, a, x, kind, True))


def igamma_grad_a(e: Emitter, a: Value, x: Value) -> Value:
    """Returns the derivative of P with respect to a."""
    return _by_doubles(e, a, x, lambda e, a, x, kind: _derivative(e, a, x, kind, False))


def random_gamma_grad(e: Emitter, a: Value, x: Value) -> Value:
    """Returns dx / da for constant P(a, x), that is, the derivative of a quantile x."""
    return _by_doubles(e, a, x, lambda e, a, x, kind: _derivative(e, a, x, kind, True))


def _by_doubles(
    e: Emitter, a: Value, x: Value, rule: Callable[[Emitter, Value, Value, str], Value]
) -> Value:
    if a.kind == "f32":
        return e.fptrunc(rule(e, e.fpext(a, "f64"), e.fpext(x, "f64"), "f32"), "f32")
    return rule(e, a, x, "f64")


def _regularized(e: Emitter, a: Value, x: Value, kind: str, upper: bool) -> Value:
    zero, one = e.const(0.0, a), e.const(1.0, a)
    safe_a, safe_x, is_inner = _inner(e, a, x)

    def inner(e: Emitter, xs: list[Value]) -> Value:
        return _one_of_both(e, xs[0], xs[1], kind, upper)

    name = f"{'igammac' if upper else 'igamma'}.{kind}"
    result = e.outline(name, [safe_a, safe_x], a.kind, inner)
    # At the edges, P is 1 if x = inf or a = 0, and 0 otherwise; it is undefined at (inf, inf) and
    # (0, 0).
    is_one = e.or_(e.fcmp("oeq", x, e.const(INF, a)), e.fcmp("oeq", a, zero))
    edge = e.select(is_one, zero if upper else one, one if upper else zero)
    inf = e.const(INF, a)
    both = e.and_(e.fcmp("oeq", a, inf), e.fcmp("oeq", x, inf))
    both = e.or_(both, e.and_(e.fcmp("oeq", a, zero), e.fcmp("oeq", x, zero)))
    undefined = e.or_(e.fcmp("ult", a, zero), e.fcmp("ult", x, zero))
    edge = e.select(e.or_(both, undefined), e.const(NAN, a), edge)
    return e.select(is_inner, result, edge)


def _inner(e: Emitter, a: Value, x: Value) -> tuple[Value, Value, Value]:
    """Returns (a, x, mask): the mask is true if both operands are finite and positive.

    Other operands are replaced by 1.
    """
    zero, one, inf = e.const(0.0, a), e.const(1.0, a), e.const(INF, a)
    mask = e.and_(e.fcmp("ogt", a, zero), e.fcmp("olt", a, inf))
    mask = e.and_(mask, e.and_(e.fcmp("ogt", x, zero), e.fcmp("olt", x, inf)))
    return e.select(mask, a, one), e.select(mask, x, one), mask


def _one_of_both(e: Emitter, a: Value, x: Value, kind: str, upper: bool) -> Value:
    """Returns P, or Q if `upper`, for finite positive operands."""
    zero, one = e.const(0.0, a), e.const(1.0, a)
    mu = e.fdiv(e.fsub(x, a), a)
    near = e.and_(e.fcmp("oge", a, e.const(_FROM, a)), e.fcmp("olt", e.fabs(mu), e.const(0.3, a)))
    # x is small and P is near 1, so Q should not be computed as 1 - P.
    bound = e.select(
        e.fcmp("ole", x, e.const(0.5, a)),
        e.fdiv(e.const(-0.4, a), log(e, x)),
        e.fmul(x, e.const(1.1, a)),
    )
    is_small = e.fcmp("ole", x, e.const(1.1, a))
    small = e.and_(is_small, e.fcmp("ole", a, bound))
    low = e.select(is_small, e.not_(small), e.fcmp("olt", x, a))
    low = e.and_(low, e.not_(near))
    high = e.not_(e.or_(e.or_(near, small), low))
    power = _power(e, a, x, mu)
    exponent, _ = power

    def near_a(e: Emitter, xs: list[Value]) -> Value:
        return _temme(e, xs[0], xs[1], xs[2])

    def by_series(e: Emitter, xs: list[Value]) -> Value:
        return _series(e, xs[0], xs[1], kind)

    def by_fraction(e: Emitter, xs: list[Value]) -> Value:
        return _fraction(e, xs[0], xs[1], kind)

    def near_0(e: Emitter, xs: list[Value]) -> Value:
        return _small(e, xs[0], xs[1], kind)

    density = e.fmul(exp(e, exponent), power[1])
    value = e.where_any(f"igamma.temme.{kind}", near, zero, [a, mu, exponent], near_a)
    value = e.where_any(
        f"igamma.small.{kind}", small, value,
        [e.select(small, a, one), e.select(small, x, one)], near_0,
    )  # fmt: skip
    series = e.where_any(f"igamma.series.{kind}", low, one, [a, e.select(low, x, zero)], by_series)
    value = e.select(low, e.fmul(density, series), value)
    fraction = e.where_any(
        f"igamma.fraction.{kind}", high, one, [e.select(high, a, one), e.select(high, x, one)],
        by_fraction,
    )  # fmt: skip
    value = e.select(high, e.fmul(e.fmul(density, a), fraction), value)
    is_upper = e.select(near, e.fcmp("oge", mu, zero), e.not_(low))
    wanted = is_upper if upper else e.not_(is_upper)
    return e.select(wanted, value, e.fsub(one, value))


def _power(e: Emitter, a: Value, x: Value, mu: Value) -> tuple[Value, Value]:
    """Returns (t, f) with f e^t = x^a e^-x / gamma(a + 1); mu = x / a - 1.

    For large a, t is a (log(x / a) - mu).
    """
    one = e.const(1.0, a)
    is_large = e.fcmp("oge", a, e.const(_STIRLING, a))
    large = e.select(is_large, a, e.const(_STIRLING, a))
    t = e.fmul(large, log1p_less(e, e.fdiv(x, large), mu))
    factor = e.fdiv(
        exp(e, e.fneg(stirling_rest(e, large))), e.sqrt(e.fmul(large, e.const(_TWO_PI, a)))
    )
    few = e.select(is_large, one, a)
    direct = e.fsub(e.fmul(few, log(e, x)), x)
    direct = e.fsub(direct, _log_gamma_above(e, few))
    return e.select(is_large, t, direct), e.select(is_large, factor, one)


def _log_gamma_above(e: Emitter, a: Value) -> Value:
    """Returns log gamma(a + 1) for a in [0, 12]."""
    # gamma(a + 1) = gamma(u + 1) (u + 1) ... a, with u in (0, 2]
    product, u = e.const(1.0, a), a
    for _ in range(10):
        above = e.fcmp("ogt", u, e.const(2.0, a))
        product = e.select(above, e.fmul(product, u), product)
        u = e.select(above, e.fsub(u, e.const(1.0, a)), u)
    return e.fadd(log_gamma_near_1(e, u), log(e, product))


def _temme(e: Emitter, a: Value, mu: Value, t: Value) -> Value:
    """Returns the smaller of P and Q for a >= 20 and |mu| < 0.3; t = -a eta^2 / 2."""
    one = e.const(1.0, a)
    inverse = e.fdiv(one, a)
    y = e.fneg(t)
    eta = e.copysign(e.sqrt(e.fmul(e.fmul(y, e.const(2.0, a)), inverse)), mu)
    total = horner(e, eta, _TEMME[-1])
    for row in reversed(_TEMME[:-1]):
        total = e.fma(total, inverse, horner(e, eta, row))
    correction = e.fmul(total, e.fdiv(exp(e, t), e.sqrt(e.fmul(a, e.const(_TWO_PI, a)))))
    half = e.fmul(e.const(0.5, a), erfc(e, e.sqrt(y)))
    below = e.fcmp("olt", mu, e.const(0.0, a))
    return e.select(below, e.fsub(half, correction), e.fadd(half, correction))


def _series(e: Emitter, a: Value, x: Value, kind: str) -> Value:
    """Returns the power series of P gamma(a + 1) / (x^a e^-x).

    The series is 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...
    """
    one, tolerance = e.const(1.0, a), e.const(_TOLERANCE[kind], a)

    def step(state: list[Value]) -> tuple[list[Value], Value]:
        r, term, total = state
        for _ in range(2):
            r = e.fadd(r, one)
            term = e.fmul(term, e.fdiv(x, r))
            total = e.fadd(total, term)
        active = e.fcmp("ogt", term, e.fmul(total, tolerance))
        return [r, e.select(active, term, e.const(0.0, a)), total], e.any(active)

    return e.repeat([a, one, one], step)[2]


def _fraction(e: Emitter, a: Value, x: Value, kind: str) -> Value:
    """Returns the continued fraction of Q gamma(a) / (x^a e^-x).

    The fraction is 1 / (x+1-a - 1 (1-a) / (x+3-a - 2 (2-a) / (x+5-a - ...))).
    """
    one, tolerance = e.const(1.0, a), e.const(_TOLERANCE[kind], a)
    y = e.fsub(one, a)
    z = e.fadd(e.fadd(x, y), one)
    top, bottom = e.fadd(x, one), e.fmul(z, x)

    def step(state: list[Value]) -> tuple[list[Value], Value]:
        active, c, y, z, top0, bottom0, top, bottom, before, before_that = state
        for _ in range(2):
            c, y, z = e.fadd(c, one), e.fadd(y, one), e.fadd(z, e.const(2.0, a))
            product = e.fmul(y, c)
            top0, top = top, e.fsub(e.fmul(top, z), e.fmul(top0, product))
            bottom0, bottom = bottom, e.fsub(e.fmul(bottom, z), e.fmul(bottom0, product))
        value = e.select(active, e.fdiv(top, bottom), before)
        # The differences change sign, so a single small difference does not imply convergence.
        change = e.fabs(e.fsub(value, before))
        change = e.fadd(change, e.fabs(e.fsub(value, before_that)))
        has_changed = e.fcmp("ogt", change, e.fabs(e.fmul(value, tolerance)))
        large = e.fcmp("ogt", e.fabs(top), e.const(_LARGE, a))
        down = e.select(large, e.const(1 / _LARGE, a), one)
        scaled = [e.fmul(v, down) for v in (top0, bottom0, top, bottom)]
        few = e.fcmp("olt", c, e.const(_MOST_STEPS, a))
        active = e.and_(has_changed, few)
        return [active, c, y, z, *scaled, value, before], e.any(active)

    zero, always = e.const(0.0, a), constant(True, "i1", a.lanes)
    start = [always, zero, y, z, one, x, top, bottom, e.fdiv(top, bottom), zero]
    return e.repeat(start, step)[8]


def _small(e: Emitter, a: Value, x: Value, kind: str) -> Value:
    """Returns Q for x <= 1.1 and small a.

    Q = 1 - x^a / gamma(a + 1) (1 + a sum((-x)^n / (n! (a + n)))), n > 0.
    """
    total, term = e.const(0.0, a), e.const(1.0, a)
    minus = e.fneg(x)
    for n in range(1, _TERMS[kind] + 1):
        term = e.fmul(e.fmul(term, minus), e.const(1.0 / n, a))
        total = e.fadd(total, e.fdiv(term, e.fadd(a, e.const(float(n), a))))
    exponent = e.fsub(e.fmul(a, log(e, x)), log_gamma_near_1(e, a))
    product = e.fmul(e.fmul(exp(e, exponent), a), total)
    return e.fneg(e.fadd(expm1(e, exponent), product))


# --- derivatives with respect to a -----------------------------------------------------------------


def _derivative(e: Emitter, a: Value, x: Value, kind: str, of_quantile: bool) -> Value:
    zero = e.const(0.0, a)
    safe_a, safe_x, is_inner = _inner(e, a, x)

    def inner(e: Emitter, xs: list[Value]) -> Value:
        return _inner_derivative(e, xs[0], xs[1], kind, of_quantile)

    name = f"{'random_gamma_grad' if of_quantile else 'igamma_grad_a'}.{kind}"
    result = e.outline(name, [safe_a, safe_x], a.kind, inner)
    undefined = e.or_(e.fcmp("ule", a, zero), e.fcmp("ult", x, zero))
    undefined = e.or_(undefined, e.fcmp("oeq", a, e.const(INF, a)))
    edge = e.select(undefined, e.const(NAN, a), zero)
    return e.select(is_inner, result, edge)


def _inner_derivative(e: Emitter, a: Value, x: Value, kind: str, of_quantile: bool) -> Value:
    """Returns the derivative for finite positive operands, by the power series or the fraction."""
    zero, one = e.const(0.0, a), e.const(1.0, a)
    low = e.or_(e.fcmp("ole", x, one), e.fcmp("ole", x, a))
    # The logarithmic derivatives of x^a / gamma(a + 1), and of x^a / gamma(a), which is greater by
    # 1 / a.
    slope = e.fsub(log(e, x), digamma(e, e.fadd(a, one)))
    inverse = e.fdiv(one, a)

    def by_series(e: Emitter, xs: list[Value]) -> Value:
        return _series_slope(e, xs[0], xs[1], xs[2], kind)

    def by_fraction(e: Emitter, xs: list[Value]) -> Value:
        return _fraction_slope(e, xs[0], xs[1], xs[2], kind)

    series = e.where_any(
        f"igamma.series_slope.{kind}", low, zero, [a, e.select(low, x, zero), slope], by_series
    )
    safe = [e.select(low, one, v) for v in (a, x)]
    fraction = e.where_any(
        f"igamma.fraction_slope.{kind}", e.not_(low), zero,
        [*safe, e.fadd(slope, inverse)], by_fraction,
    )  # fmt: skip
    # Both omit the factor d = x^a e^-x / gamma(a + 1). The density of the distribution is d a / x.
    if of_quantile:
        return e.select(low, e.fneg(e.fmul(e.fmul(x, inverse), series)), e.fmul(x, fraction))
    mu = e.fdiv(e.fsub(x, a), a)
    exponent, factor = _power(e, a, x, mu)
    density = e.fmul(exp(e, exponent), factor)
    relative = e.select(low, series, e.fneg(e.fmul(a, fraction)))
    # If the density vanishes, the other factor may be infinite.
    return e.select(e.fcmp("oeq", density, zero), zero, e.fmul(density, relative))


def _series_slope(e: Emitter, a: Value, x: Value, slope: Value, kind: str) -> Value:
    """Returns s' + slope s, for the power series s."""
    zero, one, tolerance = e.const(0.0, a), e.const(1.0, a), e.const(_TOLERANCE[kind], a)

    def step(state: list[Value]) -> tuple[list[Value], Value]:
        r, term, term_slope, total, total_slope = state
        r = e.fadd(r, one)
        inverse = e.fdiv(one, r)
        ratio = e.fmul(x, inverse)
        term_slope = e.fmul(ratio, e.fsub(term_slope, e.fmul(term, inverse)))
        term = e.fmul(term, ratio)
        total, total_slope = e.fadd(total, term), e.fadd(total_slope, term_slope)
        active = e.fcmp("ogt", e.fabs(term_slope), e.fabs(e.fmul(total_slope, tolerance)))
        few = e.fcmp("olt", e.fsub(r, a), e.const(_MOST_STEPS, a))
        active = e.and_(active, few)
        term, term_slope = e.select(active, term, zero), e.select(active, term_slope, zero)
        return [r, term, term_slope, total, total_slope], e.any(active)

    final_state = e.repeat([a, one, zero, one, zero], step)
    return e.fma(slope, final_state[3], final_state[4])


def _fraction_slope(e: Emitter, a: Value, x: Value, slope: Value, kind: str) -> Value:
    """Returns f' + slope f, for the continued fraction f."""
    zero, one, tolerance = e.const(0.0, a), e.const(1.0, a), e.const(_TOLERANCE[kind], a)
    y = e.fsub(one, a)
    z = e.fadd(e.fadd(x, y), one)
    top, bottom = e.fadd(x, one), e.fmul(z, x)
    first = e.fdiv(top, bottom)
    first_slope = e.fdiv(e.fmul(first, x), bottom)  # the derivative of the bottom is -x

    def step(state: list[Value]) -> tuple[list[Value], Value]:
        active, c, y, z, *pairs, before, before_slope = state
        c, y, z = e.fadd(c, one), e.fadd(y, one), e.fadd(z, e.const(2.0, a))
        product = e.fmul(y, c)  # its derivative is -c, that of z is -1
        following: list[Value] = []
        for old, old_slope, new, new_slope in (pairs[:4], pairs[4:]):
            value = e.fsub(e.fmul(new, z), e.fmul(old, product))
            tangent = e.fsub(e.fmul(new_slope, z), e.fmul(old_slope, product))
            tangent = e.fadd(tangent, e.fsub(e.fmul(old, c), new))
            following += [new, new_slope, value, tangent]
        top, top_slope, bottom, bottom_slope = following[2], following[3], *following[6:]
        ratio = e.fdiv(top, bottom)
        ratio_slope = e.fdiv(e.fsub(top_slope, e.fmul(ratio, bottom_slope)), bottom)
        ratio = e.select(active, ratio, before)
        ratio_slope = e.select(active, ratio_slope, before_slope)
        total = e.fma(slope, ratio, ratio_slope)
        change = e.fadd(
            e.fabs(e.fsub(ratio_slope, before_slope)),
            e.fabs(e.fmul(slope, e.fsub(ratio, before))),
        )
        has_changed = e.fcmp("ogt", change, e.fabs(e.fmul(total, tolerance)))
        few = e.fcmp("olt", c, e.const(_MOST_STEPS, a))
        large = e.fcmp("ogt", e.fabs(top), e.const(_LARGE, a))
        down = e.select(large, e.const(1 / _LARGE, a), one)
        scaled = [e.fmul(v, down) for v in following]
        active = e.and_(has_changed, few)
        return [active, c, y, z, *scaled, ratio, ratio_slope], e.any(active)

    always = constant(True, "i1", a.lanes)
    tops, bottoms = [one, zero, top, zero], [x, zero, bottom, e.fneg(x)]
    start = [always, zero, y, z, *tops, *bottoms, first, first_slope]
    *_, ratio, ratio_slope = e.repeat(start, step)
    return e.fma(slope, ratio, ratio_slope)
