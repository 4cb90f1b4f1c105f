"""Scalar functions as compiled vector code, against longdouble, and against their NumPy meanings."""

import functools
import warnings

import ml_dtypes
import numpy as np
import pytest
from tests.accuracy.harness import Loop, samples, ulps
from tests.accuracy.reference import REFERENCES, SAMPLED, domain

from jitney.compiler.llvm.target import X86_AVX2, X86_SSE4, host
from jitney.compiler.reference import scalar as reference
from jitney.compiler.scalar import powers, table
from jitney.compiler.scalar_functions import lookup, rows
from jitney.compiler.scalar_functions.complex_functions import COMPLEX_FUNCTIONS

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
FLOATS = [np.dtype(d) for d in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]
INTEGERS = [np.dtype(f"{s}int{b}") for s in ("", "u") for b in (8, 16, 32, 64)]
BOOL = np.dtype(bool)

# What the host's code path is not: no AVX-512, no fused multiply-add, no vectors at all.
TARGETS = {
    "host": (None, None), "avx2": (X86_AVX2, None), "sse4": (X86_SSE4, None), "scalar": (None, 1),
}  # fmt: skip


pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast")


def code_path(target):
    """The processor and number of lanes that `Loop` takes."""
    where, lanes = TARGETS[target]
    if where is not None and not host().is_x86:
        pytest.skip("needs an x86 processor")
    if where is not None and not where.features <= host().features | {"cx16", "64bit"}:
        pytest.skip("this processor cannot run the code")
    return where, lanes


def compiled(fn, operands, result, target="host"):
    dtype = operands[1] if fn == "select" else operands[0]
    return Loop(
        lambda e, xs: table.emit(e, fn, dtype, xs, result), operands, result, *code_path(target)
    )


# --- accuracy -----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=2)  # targets follow one another
def question(fn, dtype, n):
    """Operands of a function, and its results in longdouble."""
    reference, count = REFERENCES[fn]
    arrays = [samples(dtype, n, seed) for seed in range(count)]
    inside = domain(fn, *arrays)
    arrays = [x[inside] for x in arrays]
    with np.errstate(all="ignore"):
        return arrays, reference(*[x.astype(np.longdouble) for x in arrays])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("fn", REFERENCES)
def test_error_stays_within_the_stated_bound(fn, dtype, target):
    n = 1_000_000 if target == "host" and fn in ("exp", "log", "sin", "tanh") else 60_000
    arrays, want = question(fn, dtype, n)
    errors = ulps(compiled(fn, [dtype] * len(arrays), dtype, target)(*arrays), want)
    bound = lookup(fn).ulp_bound(dtype)
    bound += 0.5 if target == "sse4" else 0
    bound += 3 if fn in SAMPLED and dtype == F64 else 0
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound, f"{errors[worst]} ulp at {[x[worst] for x in arrays]}"


@pytest.mark.parametrize("fn", ["sin", "cos", "tan"])
def test_huge_angles(fn):
    # By multiple-precision arithmetic.
    known = {
        "sin": (-0.8522008497671888, 0.37782010936075202, 0.0049619547891840618),
        "cos": (0.52321478539513895, -0.92587902285483787, -0.99998768942655994),
        "tan": (-1.6287782256068989, -0.40806638884180424, -0.0049620158744448949),
    }
    x = np.array([1e22, 2.0**120, np.finfo(np.float64).max])
    want = np.array(known[fn])
    got = compiled(fn, [F64], F64)(x)
    np.testing.assert_allclose(got, want, rtol=5e-16)
    small = compiled(fn, [F32], F32)(x[1:2].astype(F32))
    np.testing.assert_allclose(small, want[1:2], rtol=3e-7)


def test_sine_and_cosine_stay_within_one():
    x = np.concatenate([samples(F32, 400_000), np.arange(-100, 101) * np.float32(np.pi / 2)])
    x = x[np.isfinite(x)].astype(F32)
    for fn in ("sin", "cos", "tanh", "erf"):
        assert np.abs(compiled(fn, [F32], F32)(x)).max() <= 1


@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
def test_power_has_the_special_cases_of_c99(dtype):
    values = [0, 1, 2, 3, 0.5, 2.5, 1e30, np.inf, np.finfo(dtype).max, np.finfo(dtype).tiny]
    values = np.array([*values, *[-v for v in values], np.nan], dtype)
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    assert ulps(compiled("pow", [dtype, dtype], dtype)(x, y), want).max() <= 2


@functools.lru_cache(maxsize=2)
def question_of_power(exponent, dtype):
    """Bases, and their powers in longdouble."""
    info = np.finfo(dtype)
    ends = [0, 1, 2, 2.5, np.inf, info.max, info.tiny, info.smallest_subnormal, np.nan]
    x = np.concatenate([samples(dtype, 40_000, 0), np.array([*ends, *[-v for v in ends]], dtype)])
    with np.errstate(all="ignore"):
        return x, np.power(x.astype(np.longdouble), np.longdouble(exponent))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [F32, F64], ids=str)
@pytest.mark.parametrize("halves", [n for n in range(-8, 9) if n])
def test_powers_with_constant_exponents(halves, dtype, target):
    exponent = halves / 2
    x, want = question_of_power(exponent, dtype)

    def emit(e, xs):
        short = powers.constant_power(e, xs[0], exponent)
        return powers.power(e, xs[0], e.const(exponent, xs[0])) if short is None else short

    errors = ulps(Loop(emit, [dtype], dtype, *code_path(target))(x), want)
    tiny = np.finfo(dtype).tiny
    near_end = (np.abs(want) < 16 * tiny) | (np.abs(x) < 16 * tiny)
    bound = lookup("pow").ulp_bound(dtype) + (0.5 if target == "sse4" else 0)
    assert errors[~near_end].max() <= bound and errors.max() <= bound + 0.5


def test_other_exponents_have_no_shorter_way():
    for exponent in (0.3, 4.5, -5.0, 1e300, np.inf, np.nan):
        assert powers.constant_power(None, None, exponent) is None


# --- exact functions ------------------------------------------------------------------------------

ONE = {
    "f": ["neg", "abs", "square", "floor", "ceil", "is_finite", "sqrt", "sign", "round_even",
          "round_away"],
    "i": ["neg", "abs", "square", "not", "sign", "population_count", "clz"],
    "b": ["not"],
}  # fmt: skip
TWO = {
    "f": ["add", "sub", "mul", "div", "rem", "max", "min", "eq", "ne", "lt", "le", "gt", "ge",
          "eq_to", "lt_to", "le_to", "nextafter"],
    "i": ["add", "sub", "mul", "div", "rem", "max", "min", "and", "or", "xor", "shift_left",
          "shift_right_logical", "shift_right_arithmetic", "mulhi", "eq", "ne", "lt", "le", "gt",
          "ge"],
    "b": ["and", "or", "xor", "eq", "ne", "lt", "le", "max", "min"],
}  # fmt: skip


def family(dtype):
    return "b" if dtype == BOOL else "i" if dtype.kind in "iu" else "f"


def values(dtype, seed):
    rng = np.random.default_rng(seed)
    n = 4000
    if dtype == BOOL:
        return rng.integers(0, 2, n).astype(bool)
    x = rng.integers(0, 256, n * dtype.itemsize).astype(np.uint8).view(dtype).copy()
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        x[::3] = rng.integers(max(info.min, -40), 40, len(x[::3])).astype(dtype)
        ends = [0, 1, info.max, info.min, info.max - 1, info.min + 1]
    else:
        x[::3] = rng.normal(size=len(x[::3])).astype(dtype)
        x[1::7] = np.round(rng.normal(size=len(x[1::7])) * 3).astype(dtype)
        ends = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2]
    ends = np.array(ends, dtype)
    x[-(len(ends) ** 2) :] = np.tile(ends, len(ends)) if seed else np.repeat(ends, len(ends))
    return x


def same(got, want):
    """Equal in value; zeros of either sign are."""
    if got.dtype.kind in "biu":
        return got == want
    got, want = got.astype(np.float64), want.astype(np.float64)
    return (got == want) | (np.isnan(got) & np.isnan(want))


def meaning(rule, *xs):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(rule(*xs))


# Exact functions that other tests look at.
ELSEWHERE = {"select", "clamp", "convert", "bitcast", "round_to_bfloat16", "round_to_float16"}


def test_every_exact_function_is_compared():
    compared = set().union(*ONE.values(), *TWO.values(), ELSEWHERE)
    assert compared == {row.name for row in rows() if row.is_exact}


@pytest.mark.parametrize("target", ["host", "sse4", "scalar"])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, BOOL], ids=str)
def test_exact_functions_have_their_numpy_meaning(dtype, target):
    for fn in ONE[family(dtype)] + TWO[family(dtype)]:
        if fn == "abs" and dtype.kind == "u":
            continue
        xs = [values(dtype, seed) for seed in range(1 + (fn in TWO[family(dtype)]))]
        want = meaning(reference.function(fn), *xs)
        got = compiled(fn, [dtype] * len(xs), want.dtype, target)(*xs)
        wrong = np.flatnonzero(~same(got, want))
        assert not len(wrong), (fn, [(*[x[i] for x in xs], got[i], want[i]) for i in wrong[:3]])


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, BOOL], ids=str)
def test_conversions_have_their_numpy_meaning(source):
    x = values(source, 0)
    for target in [*FLOATS, *INTEGERS, BOOL]:
        want = meaning(reference.convert, x, target)
        for path in ("host", "scalar"):
            got = compiled("convert", [source], target, path)(x)
            assert same(got, want).all(), target


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_order_of_zeros(dtype):
    x = np.array([0.0, -0.0, 0.0, -0.0]).astype(dtype)
    y = np.array([-0.0, 0.0, 0.0, -0.0]).astype(dtype)
    larger = compiled("max", [dtype, dtype], dtype)(x, y)
    smaller = compiled("min", [dtype, dtype], dtype)(x, y)
    assert np.signbit(larger.astype(F32)).tolist() == [False, False, False, True]
    assert np.signbit(smaller.astype(F32)).tolist() == [True, True, False, True]


def test_half_precision_rounds_after_each_function():
    bfloat = np.dtype(ml_dtypes.bfloat16)
    for dtype in (np.dtype(np.float16), bfloat):
        x = np.arange(-4, 4, 0.01).astype(dtype)
        with np.errstate(all="ignore"):
            want = np.exp(x.astype(F64)).astype(dtype)
        got = compiled("exp", [dtype], dtype)(x)
        assert (got != want).mean() < 0.01
        np.testing.assert_allclose(got.astype(F64), want.astype(F64), rtol=2.0**-7)


def test_dtypes_without_native_code_say_so():
    from jitney.compiler.llvm.emit import Emitter
    from jitney.compiler.llvm.values import Value

    assert table.emit(Emitter(host()), "exp", np.dtype(np.int32), [Value("%x", "i32")], F32) is None


# --- complex --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fn", sorted(COMPLEX_FUNCTIONS))
@pytest.mark.parametrize("kind", [F32, F64], ids=str)
def test_complex_functions(fn, kind):
    rng = np.random.default_rng(0)
    names = COMPLEX_FUNCTIONS[fn].parts
    count = COMPLEX_FUNCTIONS[fn].operands
    n = 3000
    parts = [
        (rng.normal(size=n) * np.exp(rng.normal(size=n))).astype(kind) for _ in range(2 * count)
    ]
    loops = [
        Loop(
            lambda e, xs, name=name: table.emit(e, name, kind, xs, kind), [kind] * (2 * count), kind
        )
        for name in names
    ]
    got = [loop(*parts) for loop in loops]
    zs = [(parts[2 * i] + 1j * parts[2 * i + 1]).astype(np.clongdouble) for i in range(count)]
    want = np.asarray(reference.function(fn)(*zs))
    off = [x - part for x, part in zip(got, (want.real, want.imag), strict=False)]
    error = np.hypot(off[0], off[-1] if len(off) > 1 else 0) / np.abs(want)
    # Rounding of the exponent counts as often as it is large; 1 + exp(-x) may cancel.
    bound = {"pow": 300, "exp2": 16, "logistic": 64}.get(fn, 4)
    assert error.max() < bound * np.finfo(kind).eps
