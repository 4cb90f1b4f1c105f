"""The scalar functions, elementwise on ndarrays of any dtype.

    function(name)(*arrays) -> array        convert(array, dtype) -> array

Names are those of JAX's primitives, but that `round` is `round_even` or `round_away`, and that `select`
takes (predicate, on true, on false). float16 and bfloat16 are computed in float32 and rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.core import dtypes

if TYPE_CHECKING:
    from jitney.core.typing import DTypeLike

Function = Callable[..., np.ndarray]

_BOOL = np.dtype(bool)
_table: dict[str, Function] = {}


def function(name: str) -> Function:
    """The reference implementation of the scalar function `name`."""
    return _table[name]


def apply(name: str, xs: Sequence[np.ndarray]) -> np.ndarray:
    """`function(name)(*xs)`, for integers of 4 and 2 bits, too."""
    dtype = xs[-1].dtype
    if dtype.kind == "V" and _is_integer(dtype):
        return _of_narrow_integers(name, xs, dtype)
    return _table[name](*xs)


_OF_BITS = {"shift_right_logical", "population_count", "clz"}


def _of_narrow_integers(name: str, xs: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """`name` computed in 8 bits, and wrapped."""
    bits = dtypes.iinfo(dtype).bits
    is_signed = dtypes.issubdtype(dtype, np.signedinteger)
    wide = [x.astype(np.int8) if x.dtype == dtype else x for x in xs]
    if name in _OF_BITS or (not is_signed and name != "shift_right_arithmetic"):
        wide = [
            (x & np.int8(2**bits - 1)).view(np.uint8) if x.dtype == np.int8 else x for x in wide
        ]
    elif not is_signed:  # the sign bit is that of 4 bits
        wide = [(x << np.int8(8 - bits)) >> np.int8(8 - bits) for x in wide]
    result = np.asarray(_table[name](*wide))
    if name == "clz":
        result = result - np.uint8(8 - bits)
    return result if result.dtype == _BOOL else result.astype(np.int8).astype(dtype)


def names() -> list[str]:
    """All scalar functions."""
    return list(_table)


def declare(name: str, rule: Function) -> None:
    """Enters a scalar function that is defined elsewhere."""
    assert name not in _table, name
    _table[name] = rule


def _meaning(name: str) -> Callable[[Function], Function]:
    def enter(rule: Function) -> Function:
        _table[name] = rule
        return rule

    return enter


def _is_float(dtype: DTypeLike) -> bool:
    return dtypes.issubdtype(dtype, np.floating)


def _is_integer(dtype: DTypeLike) -> bool:
    return dtypes.issubdtype(dtype, np.integer)


# --- conversion ---------------------------------------------------------------------------------


def convert(x: np.ndarray, dtype: Any) -> np.ndarray:
    """`x` as `dtype`.

    Floats are truncated to integers and clamped into range, NaN gives 0; integers wrap; everything
    but 0 is True. Complex numbers lose their imaginary part first.
    """
    old = x.dtype
    if old == dtype:
        return x
    if old.kind == "c" and np.dtype(dtype).kind != "c":
        return convert(np.real(x), dtype)
    if dtype == _BOOL:
        return x != 0 if old.kind != "V" else x.astype(np.float32) != 0
    if _is_integer(dtype) and _is_float(old):
        return _truncate(x, dtype)
    if _is_integer(old) and old.kind == "V":  # no casts between the smallest integers
        x = x.astype(np.int8)
    return x.astype(dtype)


def _truncate(x: np.ndarray, dtype: Any) -> np.ndarray:
    info = dtypes.iinfo(dtype)
    if old_is_narrow := x.dtype.itemsize < 4:
        x = x.astype(np.float32)
    if dtype.itemsize > 2 or old_is_narrow:
        x = x.astype(np.float64)
    high = float(info.max)
    if int(high) > info.max:  # 64 bits: the next double below
        high = np.nextafter(high, 0)
    inside = np.clip(np.where(np.isnan(x), 0, x), float(info.min), high).astype(dtype)
    return np.where(x >= float(info.max), np.asarray(info.max, dtype), inside)


# --- NumPy's own --------------------------------------------------------------------------------

# Elements from which a loop is worth dividing among threads: where an element takes some computation,
# and where it takes little more than to read and to write it.
LARGE, LARGE_IF_LIGHT = 1 << 17, 1 << 19

Threaded = Callable[[np.ufunc, tuple[np.ndarray, ...]], np.ndarray | None]
_threaded: Threaded | None = None


def use_threads(apply_ufunc: Threaded) -> None:
    """Has large arrays computed by `apply_ufunc`(ufunc, operands), which may decline with None."""
    global _threaded
    _threaded = apply_ufunc


def _numpy(ufunc: np.ufunc) -> Function:
    large = LARGE_IF_LIGHT if ufunc in _LIGHT else LARGE

    def compute(*xs: np.ndarray) -> np.ndarray:
        if (xs[0].size >= large or xs[-1].size >= large) and _threaded is not None:
            found = _threaded(ufunc, xs)
            if found is not None:
                return found
        return ufunc(*xs)

    compute.__name__ = ufunc.__name__
    return compute


_LIGHT = frozenset([
    np.negative, np.abs, np.square, np.floor, np.ceil, np.isfinite, np.sqrt, np.conj, np.add,
    np.subtract, np.multiply, np.divide, np.bitwise_xor, np.equal, np.not_equal, np.less,
    np.less_equal, np.greater, np.greater_equal, np.rint,
])  # fmt: skip
UFUNCS: dict[str, np.ufunc] = dict(  # noqa: C408
    neg=np.negative, abs=np.abs, square=np.square, floor=np.floor, ceil=np.ceil,
    is_finite=np.isfinite, sqrt=np.sqrt, cbrt=np.cbrt, exp=np.exp, exp2=np.exp2, expm1=np.expm1,
    log=np.log, sin=np.sin, cos=np.cos, tan=np.tan, asin=np.arcsin,
    acos=np.arccos, atan=np.arctan, sinh=np.sinh, cosh=np.cosh, tanh=np.tanh, asinh=np.arcsinh,
    acosh=np.arccosh, atanh=np.arctanh, conj=np.conj, add=np.add, mul=np.multiply,
    pow=np.power, atan2=np.arctan2,
    xor=np.bitwise_xor, eq=np.equal, ne=np.not_equal, lt=np.less, le=np.less_equal,
    gt=np.greater, ge=np.greater_equal, round_even=np.rint, logaddexp=np.logaddexp,
)  # fmt: skip
_table.update({name: _numpy(ufunc) for name, ufunc in UFUNCS.items()})
_subtract, _divide = _numpy(np.subtract), _numpy(np.divide)
_table["select"] = np.where
_table["and"] = np.bitwise_and
_table["or"] = np.bitwise_or
_table["not"] = np.invert


def _for_half(name: str) -> None:
    """Computes `name` in float32 for float16 and bfloat16: NumPy has no such loop."""
    inner = _table[name]

    def rule(*xs: np.ndarray) -> np.ndarray:
        dtype = xs[0].dtype
        if dtype.itemsize == 2 and _is_float(dtype):
            return np.asarray(inner(*[x.astype(np.float32) for x in xs])).astype(dtype)
        return inner(*xs)

    _table[name] = rule


@_meaning("sub")
def _sub(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.bitwise_xor(x, y) if x.dtype == _BOOL else _subtract(x, y)


def _extreme(name: str, order: np.ufunc, of_zeros: Function) -> None:
    """Enters `order`; of zeros of both signs, NumPy's takes either, depending on their place."""

    def rule(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = order(x, y)
        if not _is_float(x.dtype) or out.all():
            return out
        return np.where((x == 0) & (y == 0), of_zeros(x, y), out)

    _table[name] = rule


_extreme("max", np.maximum, np.add)
_extreme("min", np.minimum, lambda x, y: -(-x - y))


@_meaning("clamp")
def _clamp(low: np.ndarray, x: np.ndarray, high: np.ndarray) -> np.ndarray:
    return _table["min"](_table["max"](low, x), high)


_power = _table["pow"]


@_meaning("pow")
def _pow(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = _power(x, y)
    # For the exponent 0.5 NumPy takes the square root, which is -0 at -0 and NaN at -inf.
    if (
        out.dtype.kind in "fV"
        and out.size
        and not any(np.asarray(y).strides)
        and np.asarray(y).flat[0] == 0.5
    ):
        out = np.where(np.isinf(x), np.abs(x), out + np.zeros((), out.dtype)).astype(out.dtype)
    return out


@_meaning("nextafter")
def _nextafter(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(x == y, y, np.nextafter(x, y))  # NumPy keeps the sign of x in float16


@_meaning("log1p")
def _log1p(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.log1p(x)
    # NumPy's adds 1 first, and loses the digits of small numbers.
    out = np.asarray(np.log1p(x))
    re, im = np.real(x), np.imag(x)
    with np.errstate(all="ignore"):
        near = np.maximum(np.abs(re), np.abs(im)) < 0.5
        out.real = np.where(near, np.log1p(re * (2 + re) + im * im) / 2, np.real(out))
    return out


@_meaning("sign")
def _sign(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        size = np.abs(x)
        return np.where(size == 0, x.dtype.type(0), x / np.where(size == 0, 1, size)).astype(
            x.dtype
        )
    if _is_float(x.dtype):
        # NumPy's gives +0.0 for -0.0.
        return np.where(x == 0, x, np.sign(x))
    return np.sign(x)


@_meaning("rsqrt")
def _rsqrt(x: np.ndarray) -> np.ndarray:
    if x.dtype.itemsize == 2:
        return (1 / np.sqrt(x.astype(np.float32))).astype(x.dtype)
    return np.divide(x.dtype.type(1), np.sqrt(x))


@_meaning("logistic")
def _logistic(x: np.ndarray) -> np.ndarray:
    if x.dtype.itemsize == 2:
        return _logistic(x.astype(np.float32)).astype(x.dtype)
    one = x.dtype.type(1)
    return np.divide(one, one + np.exp(-x))


@_meaning("round_away")
def _round_away(x: np.ndarray) -> np.ndarray:
    whole = np.trunc(x)
    half = np.asarray(0.5, x.dtype)
    one = np.asarray(1, x.dtype)
    more = np.where(np.abs(x - whole) >= half, one, one - one)
    return np.copysign(np.abs(whole) + more, x).astype(x.dtype)


@_meaning("real")
def _real(x: Any) -> np.ndarray:
    return x.real


@_meaning("imag")
def _imag(x: Any) -> np.ndarray:
    return x.imag


@_meaning("complex")
def _complex(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), np.result_type(x.dtype, np.complex64))
    out.real = x
    out.imag = y
    return out


# --- division -----------------------------------------------------------------------------------


@_meaning("div")
def _div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not _is_integer(x.dtype):
        return _divide(x, y)
    zero = y == 0
    safe = np.where(zero, np.ones((), y.dtype), y)
    quotient = np.floor_divide(x - np.fmod(x, safe), safe)
    return np.where(zero, np.invert(np.zeros((), x.dtype)), quotient)


@_meaning("rem")
def _rem(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if not _is_integer(x.dtype):
        return np.fmod(x, y)
    zero = y == 0
    return np.where(zero, x, np.fmod(x, np.where(zero, np.ones((), y.dtype), y)))


# --- bits ---------------------------------------------------------------------------------------


def _unsigned(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"uint{dtype.itemsize * 8}")


def _inside(y: np.ndarray) -> np.ndarray:
    return (
        y.view(_unsigned(y.dtype)) < y.dtype.itemsize * 8
        if y.ndim
        else (y.reshape(1).view(_unsigned(y.dtype)).reshape(()) < y.dtype.itemsize * 8)
    )


@_meaning("shift_left")
def _shift_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    inside = _inside(y)
    zero = np.zeros((), x.dtype)
    return np.where(inside, np.left_shift(x, np.where(inside, y, zero)), zero)


@_meaning("shift_right_logical")
def _shift_right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    kind = _unsigned(x.dtype)
    inside = _inside(y)
    ux, uy = x.astype(kind), y.astype(kind)
    zero = np.zeros((), kind)
    return np.where(inside, np.right_shift(ux, np.where(inside, uy, zero)), zero).astype(x.dtype)


@_meaning("shift_right_arithmetic")
def _shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    kind = np.dtype(f"int{x.dtype.itemsize * 8}")
    most = np.asarray(x.dtype.itemsize * 8 - 1, kind)
    amount = np.where(_inside(y), y.astype(kind), most)
    return np.right_shift(x.astype(kind), amount).astype(x.dtype)


@_meaning("population_count")
def _population_count(x: np.ndarray) -> np.ndarray:
    return np.bitwise_count(x.astype(_unsigned(x.dtype))).astype(x.dtype)


@_meaning("clz")
def _clz(x: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    word = x.astype(_unsigned(x.dtype))
    shift = 1
    while shift < bits:
        word = word | (word >> np.asarray(shift, word.dtype))
        shift *= 2
    return (bits - np.bitwise_count(word).astype(np.int64)).astype(x.dtype)


@_meaning("mulhi")
def _mulhi(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{'int' if x.dtype.kind == 'i' else 'uint'}{2 * bits}")
        return ((x.astype(wide) * y.astype(wide)) >> np.asarray(bits, wide)).astype(x.dtype)
    u, v = x.astype(np.uint64), y.astype(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    u0, u1, v0, v1 = u & low, u >> half, v & low, v >> half
    middle = u1 * v0 + ((u0 * v0) >> half)
    high = u1 * v1 + (middle >> half) + (((middle & low) + u0 * v1) >> half)
    if x.dtype.kind == "i":  # two's complement: take back what the sign bits added
        zero = np.uint64(0)
        high = high - np.where(x < 0, v, zero) - np.where(y < 0, u, zero)
    return high.astype(x.dtype)


# --- total order --------------------------------------------------------------------------------


def _ordered(x: np.ndarray) -> np.ndarray:
    """Integers in the total order of floats `x`."""
    if not _is_float(x.dtype):
        return x
    kind = np.dtype(f"int{x.dtype.itemsize * 8}")
    word = np.ascontiguousarray(x).view(kind).reshape(x.shape)
    return np.where(word < 0, np.invert(word) ^ np.asarray(np.iinfo(kind).min, kind), word)


@_meaning("eq_to")
def _eq_to(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.equal(_ordered(x), _ordered(y))


@_meaning("lt_to")
def _lt_to(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.less(_ordered(x), _ordered(y))


@_meaning("le_to")
def _le_to(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.less_equal(_ordered(x), _ordered(y))


# --- special functions --------------------------------------------------------------------------


@cache
def _special() -> Any:
    # Loading SciPy takes longer than loading jitney; most programs use none of these.
    import scipy.special

    return scipy.special


_ODD = {"erf_inv", "bessel_i1e"}  # SciPy's lose the sign of zero


def _from_scipy(name: str, scipy_name: str) -> None:
    def rule(*xs: np.ndarray) -> np.ndarray:
        dtype = xs[0].dtype
        if dtype.itemsize == 2:
            xs = tuple([x.astype(np.float32) for x in xs])
        out = np.asarray(getattr(_special(), scipy_name)(*xs)).astype(dtype)
        return np.copysign(out, xs[0]).astype(dtype) if name in _ODD else out

    _table[name] = rule


for _name, _scipy_name in {
    "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv",
    "bessel_i0e": "i0e", "bessel_i1e": "i1e", "igamma": "gammainc", "igammac": "gammaincc",
    "zeta": "zeta", "regularized_incomplete_beta": "betainc",
}.items():  # fmt: skip
    _from_scipy(_name, _scipy_name)


@_meaning("lgamma")
def _lgamma(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return np.where(np.isinf(wide), np.inf, _special().gammaln(wide)).astype(x.dtype)


@_meaning("digamma")
def _digamma(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    pole = (wide <= 0) & (wide == np.floor(wide))
    return np.where(pole, np.nan, _special().psi(wide)).astype(x.dtype)


@_meaning("polygamma")
def _polygamma(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    special = _special()
    m64, x64 = m.astype(np.float64), x.astype(np.float64)
    sign = np.where(np.mod(m64, 2) == 0, -1.0, 1.0)
    value = sign * special.gamma(m64 + 1) * special.zeta(m64 + 1, x64)
    value = np.where(m64 == 0, special.psi(x64), value)
    valid = (m64 >= 0) & (m64 == np.floor(m64))
    return np.where(valid, value, np.nan).astype(x.dtype)


@_meaning("igamma_grad_a")
def _igamma_grad_a(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    # Central difference of the regularized function, extrapolated twice (Richardson).
    a64, x64 = a.astype(np.float64), x.astype(np.float64)
    step = 1e-2 * np.maximum(a64, 1e-3)
    fall: list[np.ndarray] = []
    for _ in range(4):
        low, high = _special().gammainc(a64 - step, x64), _special().gammainc(a64 + step, x64)
        fall.append((high - low) / (2 * step))
        step = step / 2
    order = 4.0
    while len(fall) > 1:
        fall = [(order * q - p) / (order - 1) for p, q in pairwise(fall)]
        order *= 4
    return fall[0].astype(a.dtype)


@_meaning("random_gamma_grad")
def _random_gamma_grad(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    a64, x64 = a.astype(np.float64), x.astype(np.float64)
    density = np.exp((a64 - 1) * np.log(x64) - x64 - _special().gammaln(a64))
    return (-_igamma_grad_a(a64, x64) / density).astype(a.dtype)


@_meaning("round_to_bfloat16")
def _round_to_bfloat16(x: np.ndarray) -> np.ndarray:
    return x.astype(dtypes.bfloat16).astype(x.dtype)


@_meaning("round_to_float16")
def _round_to_float16(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float16).astype(x.dtype)


for _name in ("logaddexp", "round_away"):
    _for_half(_name)


# --- complex operands of real functions -----------------------------------------------------------


def _for_complex(name: str, complex_rule: Function) -> None:
    """Computes `name` by `complex_rule` for complex operands."""
    inner = _table[name]
    _table[name] = lambda x, y: (complex_rule if x.dtype.kind == "c" else inner)(x, y)


def _complex_extreme(exceeds: np.ufunc) -> Function:
    """The operand whose (real, imaginary) exceeds the other's; the second if neither does."""

    def rule(x: Any, y: Any) -> np.ndarray:
        first = exceeds(x.real, y.real) | ((x.real == y.real) & exceeds(x.imag, y.imag))
        return np.where(first, x, y)

    return rule


def _complex_logaddexp(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log(exp(x) + exp(y)), the larger real part taken out of the logarithm."""
    first = np.real(x) >= np.real(y)
    large, small = np.where(first, x, y), np.where(first, y, x)
    empty = np.isneginf(np.real(large))
    with np.errstate(all="ignore"):
        total = large + np.log1p(np.exp(np.where(empty, 0, small - large)))
        angle = np.arctan2(np.sin(np.imag(total)), np.cos(np.imag(total)))
    result = np.empty(total.shape, total.dtype)
    result.real, result.imag = np.where(empty, -np.inf, np.real(total)), angle
    return result


def _complex_atan2(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """-i log((x + i y) / sqrt(x^2 + y^2)): the angle of the point (y, x), continued."""
    u, v = x.astype(np.complex128), y.astype(np.complex128)  # the quotient is next to 1
    return (-1j * np.log((u + 1j * v) / np.sqrt(u * u + v * v))).astype(y.dtype)


_for_complex("atan2", _complex_atan2)
_for_complex("max", _complex_extreme(np.greater))
_for_complex("min", _complex_extreme(np.less))
_for_complex("logaddexp", _complex_logaddexp)
