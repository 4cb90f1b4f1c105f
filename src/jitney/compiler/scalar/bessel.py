"""Modified Bessel functions of the first kind, of orders 0 and 1, scaled by exp(-|x|).

For |x| < 8 they are computed as exp(-|x|) times a polynomial in x^2 with positive terms, so that
there is no cancellation; for larger |x|, as a polynomial in 1 / |x| divided by the square root of
|x|. These forms are from Blair, Rational Chebyshev approximations for the modified Bessel functions
I0(x) and I1(x), Mathematics of Computation 28 (1974), 581-583. The coefficients are those of
interpolants at Chebyshev nodes, computed with 48 digits.
"""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.exponential import exp_inside
from jitney.compiler.scalar.polynomial import horner

_END = 8.0  # upper end of the range near 0

# I0(x) in x^2
_I0_NEAR = {
    "f32": (
        1.0, 0.24999996, 0.015625022, 0.00043402216, 6.7823785e-06, 6.776679e-08, 4.73191e-10,
        2.3387778e-12, 1.0548993e-14, 1.612712e-17, 1.4828904e-19,
    ),
    "f64": (
        1.0, 0.25, 0.015625000000000007, 0.00043402777777777445, 6.78168402777882e-06,
        6.781684027758072e-08, 4.709502797313533e-10, 2.402807547397442e-12, 9.385967122738159e-15,
        2.896902786535184e-17, 7.24227907083928e-20, 1.4962821580600773e-22, 2.598786220717598e-25,
        3.8293884542786716e-28, 5.032875772398412e-31, 4.600650617496926e-34, 8.489079967240371e-37,
    ),
}  # fmt: skip

# exp(-x) I0(x) sqrt(x) in 16 / x - 1
_I0_FAR = {
    "f32": (
        0.4021765, 0.0033605557, 0.00013615603, 1.1112148e-05, 1.6391349e-06, 3.6266704e-07,
    ),
    "f64": (
        0.4021765094450081, 0.0033605519836678614, 0.00013621607438984735, 1.1143033790932038e-05,
        1.4838476651250266e-06, 2.9735985885673923e-07, 8.872034383314144e-08,
        3.932584334552952e-08, 2.1566251453104354e-08, 7.554691881248808e-09,
        -6.8493381882867694e-09, -1.340891754008974e-08, -5.0381064879032845e-09,
        7.552583062123384e-09, 6.560138746917057e-09, -3.505966530879332e-09,
        -4.575553424534973e-09, 1.5200816953924232e-09, 2.1968921378829006e-09,
        -5.715843864202709e-10, -6.633287112547084e-10, 1.5279202694981569e-10,
        9.36508689281819e-11, -2.0260604287413626e-11,
    ),
}  # fmt: skip

# I1(x) / x in x^2
_I1_NEAR = {
    "f32": (
        0.5, 0.0625, 0.0026041677, 5.425325e-05, 6.7819605e-07, 5.649409e-09, 3.3728693e-11,
        1.4761743e-13, 5.680074e-16, 9.324253e-19, 6.3634096e-21,
    ),
    "f64": (
        0.5, 0.06250000000000001, 0.0026041666666666574, 5.425347222222714e-05,
        6.781684027764253e-07, 5.6514033567062535e-09, 3.3639305668839624e-11,
        1.5017547368904685e-13, 5.21442511666455e-16, 1.4484555512565449e-18,
        3.2918255700128937e-21, 6.2370262972245455e-24, 9.956903092564813e-27,
        1.408977785612294e-29, 1.380579477192139e-32, 2.717003032172177e-35,
    ),
}  # fmt: skip

# exp(-x) I1(x) sqrt(x) in 16 / x - 1
_I1_FAR = {
    "f32": (
        0.38939846, -0.009749581, -0.00021916808, -1.5003965e-05, -2.009789e-06, -4.2103503e-07,
    ),
    "f64": (
        0.38939845902587233, -0.009749577193235737, -0.0002192357638317243, -1.5038547200567216e-05,
        -1.8349102358955385e-06, -3.483855761044295e-07, -1.000109565963654e-07,
        -4.312917729178349e-08, -2.339250374801858e-08, -8.427766093735185e-09,
        6.8401389977069586e-09, 1.4034238782067183e-08, 5.59337010179061e-09, -7.64239413436356e-09,
        -6.983839624895866e-09, 3.4262341490077958e-09, 4.810597405089944e-09,
        -1.4387250533041013e-09, -2.297004161885201e-09, 5.295625441161261e-10,
        6.917089294193807e-10, -1.4011625179770627e-10, -9.752397204138195e-11,
        1.8515118828852956e-11,
    ),
}  # fmt: skip


def i0e(e: Emitter, x: Value) -> Value:
    """Returns exp(-|x|) I0(x), within 4 ulp."""
    size = e.fabs(x)
    return _joined(e, size, _near(e, size, _I0_NEAR), _far(e, size, _I0_FAR))


def i1e(e: Emitter, x: Value) -> Value:
    """Returns exp(-|x|) I1(x), within 4 ulp; the function is odd."""
    size = e.fabs(x)
    near = e.fmul(size, _near(e, size, _I1_NEAR))
    return e.copysign(_joined(e, size, near, _far(e, size, _I1_FAR)), x)


def _near(e: Emitter, size: Value, coefficients: dict[str, tuple[float, ...]]) -> Value:
    bounded = e.at_most(size, _END)
    p = horner(e, e.fmul(bounded, bounded), coefficients[size.kind])
    return e.fmul(exp_inside(e, e.fneg(bounded)), p)


def _far(e: Emitter, size: Value, coefficients: dict[str, tuple[float, ...]]) -> Value:
    t = e.fsub(e.fdiv(e.const(2 * _END, size), size), e.const(1.0, size))
    return e.fdiv(horner(e, t, coefficients[size.kind]), e.sqrt(size))


def _joined(e: Emitter, size: Value, near: Value, far: Value) -> Value:
    return e.select(e.fcmp("olt", size, e.const(_END, size)), near, far)
