"""The error function erf, its complement erfc, and the inverse of erf.

The coefficients are minimax fits computed by `tools/minimax.py`.
"""

from __future__ import annotations

from jitney.compiler.llvm.emit import Emitter
from jitney.compiler.llvm.values import Value
from jitney.compiler.scalar.exponential import exp_inside
from jitney.compiler.scalar.logarithm import log
from jitney.compiler.scalar.polynomial import INF, horner, two_product

# erf(x) / x - 1 in x^2, |x| <= 1
_ERF_NEAR = {
    "f32": (0.12837912, -0.37612325, 0.11280175, -0.026711227, 0.004917484, -0.00056312163),
    "f64": (
        0.12837916709551256, -0.3761263890318346, 0.11283791670942665, -0.026866170642932573,
        0.005223977604943971, -0.0008548325882087585, 0.00012055292355143987,
        -1.4924691555121063e-05, 1.6446901616772989e-06, -1.62047119185215e-07,
        1.3704615224884872e-08, -7.768464268121023e-10,
    ),
}  # fmt: skip

# log erfc(x), from x = 1 to the x at which erf(x) rounds to 1
_ERF_END = {"f32": 3.95, "f64": 5.95}
_LOG_ERFC = {
    "f32": (-0.0026310766, -1.1175802, -0.6542954, -0.08876348, 0.0148203205, -0.0011557997),
    "f64": (
        -1.0636265628476433e-06, -1.1283687118505945, -0.6366675804291012, -0.10263764492093687,
        0.018865374110448065, 0.0005840805789611166, -0.0020987965803891174,
        0.0009199653215857342, -0.00023066521620586426, 2.8008054623563732e-05,
        3.6068133197248002e-06, -2.671763593467048e-06, 6.874908610848837e-07,
        -1.0818099569352692e-07, 1.0899185737413027e-08, -6.515503601732693e-10,
        1.7696491715560387e-11,
    ),
}  # fmt: skip

# (1 + 2 x) exp(x^2) erfc(x) in (x - 4) / (x + 4), from x = 0 to the x at which erfc underflows
_ERFC_END = {"f32": 10.06, "f64": 27.3}
_ERFC = {
    "f32": (
        1.2329952, -0.1396201, 0.015379455, 0.068058945, -0.10107473, 0.09408665,
        -0.06577892, 0.036305934, -0.018300913, 0.0043886653,
    ),
    "f64": (
        1.2329951186255526, -0.13962111684056316, 0.0153796521026056, 0.06809705425476227,
        -0.10103906603554269, 0.09373283499624693, -0.06633036582848469, 0.03716751556520586,
        -0.016197733877771188, 0.005031969791194148, -0.0007577744565938552,
        -0.00019925603450285216, 0.0001506263938122387, -2.4400208248713802e-05,
        -1.123415767590693e-05, 5.708961895669102e-06, 3.1343875700983153e-07,
        -8.199483280296191e-07, 5.563443503413818e-08, 1.0151455814791741e-07,
        -8.231993322293351e-09, -8.44511952093171e-09,
    ),
}  # fmt: skip

# erf_inv(x) / x, with w = -log(1 - x^2): in w - 2.5 for w < 5, in sqrt(w) - 3 above (Giles)
_INVERSE32_LOW = (
    1.5014094, 0.2466403, -0.0041775, -0.0012527587, 0.00021841048, -4.954128e-06,
    -3.4769228e-06, 4.6426223e-07, 2.4250793e-08, -8.658193e-09,
)  # fmt: skip
_INVERSE32_HIGH = (
    2.832977, 1.0016743, 0.009434713, -0.007626396, 0.0057653, -0.003657339, 0.0012948735,
    8.4008876e-05, -0.00016247087,
)  # fmt: skip

# The same in w - 3.125 for w < 6.25, in sqrt(w) - 3.25 for w < 16, in sqrt(w) - 5 above
_INVERSE64_LOW = (
    1.6536545626831027, 0.2401581824255904, -0.006033670871428589, -0.0007407025341725212,
    0.00018673420802728583, -1.3882523348076354e-05, -1.3654691880339973e-06,
    4.234787625358979e-07, -2.9070380937899456e-08, -4.112624775813673e-09,
    1.0512180499588951e-09, -5.4157338264168935e-11, -1.2977006828134664e-11,
    2.6342111571125e-12, -8.113301236890859e-14, -4.0641952598109586e-14,
    6.5869075745225846e-15, 2.904571998289593e-17, -1.292110280507887e-16,
    1.0780134794889991e-17, 1.0991988728092619e-18, -1.6094924871923743e-19,
)  # fmt: skip
_INVERSE64_MIDDLE = (
    3.0838856104922203, 1.0052589676941597, 0.005370914553624053, -0.0037512085076030154,
    0.002491442094840155, -0.0016882755552100216, 0.0009532894001578387,
    -0.00035503752924695865, 2.403093780069293e-05, 6.828490321417983e-05,
    -4.731738995555731e-05, 1.2475132901910644e-05, 2.921015114300158e-06,
    -4.01354303612221e-06, 1.5068779746431568e-06, 1.7913756977123923e-08,
    -2.789965586548337e-07, 9.089135790925075e-08, 3.691492386018579e-09,
)  # fmt: skip
_INVERSE64_HIGH = (
    4.849906401408584, 1.0103004648645262, -0.0001387193183917003, -0.00021503011898264663,
    7.599527832637504e-05, -1.9681781582849907e-05, 4.52605139151992e-06,
    -9.929661413388805e-07, 2.29051376973488e-07, -6.775232281839697e-08,
    2.9044541726242786e-08, -1.4907800589024286e-08, 7.74150984980028e-09,
    -3.82378101402201e-09, 1.4286373531489832e-09, -2.4657010611309664e-10,
    -7.077106697518251e-12,
)  # fmt: skip


def erf(e: Emitter, x: Value) -> Value:
    """Returns the error function, within 2 ulp."""
    size = e.fabs(x)
    z = e.fmul(x, x)
    near = e.fma(size, horner(e, z, _ERF_NEAR[x.kind]), size)
    bounded = e.at_most(size, _ERF_END[x.kind])
    complement = exp_inside(e, horner(e, bounded, _LOG_ERFC[x.kind]))
    one = e.const(1.0, x)
    result = e.select(e.fcmp("olt", size, one), near, e.fsub(one, complement))
    return e.copysign(result, x)


def erfc(e: Emitter, x: Value) -> Value:
    """Returns 1 - erf(x), within 5 ulp, even if it is close to 0."""
    size = e.at_most(e.fabs(x), _ERFC_END[x.kind])
    one, four = e.const(1.0, x), e.const(4.0, x)
    t = e.fdiv(e.fsub(size, four), e.fadd(size, four))
    p = horner(e, t, _ERFC[x.kind])
    p = e.fdiv(p, e.fma(size, e.const(2.0, x), one))
    # exp(-x^2), corrected for the rounding error of the square.
    square, lost = two_product(e, size, size)
    power = exp_inside(e, e.fneg(square))
    p = e.fma(e.fneg(lost), p, p)
    result = e.fmul(power, p)
    negative = e.fcmp("olt", x, e.const(0.0, x))
    result = e.select(negative, e.fsub(e.const(2.0, x), result), result)
    z = e.fmul(x, x)
    near = e.fsub(one, e.fma(x, horner(e, z, _ERF_NEAR[x.kind]), x))
    return e.select(e.fcmp("olt", size, e.const(0.5, x)), near, result)


def erf_inv(e: Emitter, x: Value) -> Value:
    """Returns the inverse of erf, within 4 ulp; infinite at -1 and 1, NaN outside."""
    one = e.const(1.0, x)
    if e.target.has_fma:
        complement = e.fma(e.fneg(x), x, one)
    else:
        complement = e.fmul(e.fsub(one, x), e.fadd(one, x))
    w = e.fneg(log(e, complement))
    root = e.sqrt(w)

    def shifted(v: Value, by: float) -> Value:
        return e.fsub(v, e.const(by, x))

    if x.kind == "f32":
        low = horner(e, shifted(w, 2.5), _INVERSE32_LOW)
        high = horner(e, shifted(root, 3.0), _INVERSE32_HIGH)
        p = e.select(e.fcmp("olt", w, e.const(5.0, x)), low, high)
    else:
        low = horner(e, shifted(w, 3.125), _INVERSE64_LOW)
        middle = horner(e, shifted(root, 3.25), _INVERSE64_MIDDLE)
        high = horner(e, shifted(root, 5.0), _INVERSE64_HIGH)
        p = e.select(e.fcmp("olt", w, e.const(16.0, x)), middle, high)
        p = e.select(e.fcmp("olt", w, e.const(6.25, x)), low, p)
    end = e.fcmp("oeq", e.fabs(x), one)
    return e.fmul(e.select(end, e.const(INF, x), p), x)
