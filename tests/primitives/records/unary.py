"""Records of elementwise operations of one operand, and of `clamp`, `select_n` and the like."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import (
    BF16,
    BITS,
    BOOL,
    C64,
    COMPLEX,
    F16,
    F32,
    F64,
    FLOATS,
    INEXACT,
    INTEGERS,
    NUMERIC,
    SIGNED,
    Operands,
    Record,
    arrays,
    over,
    random,
    special,
)


def plain(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Special values, and arrays of all layouts."""
    # Subnormal numbers are 0 for JAX, but not where only bits count.
    cases = [(special(dtype, subnormal=False),), *[(x,) for x in arrays(rng, dtype)]]
    if dtype in (F32, F64):
        cases += [(1.5,), (-1.5,)]
    if dtype == np.int32:
        cases += [(7,), (0,)]
    return cases


def within(low: float, high: float):
    """Special values, and real numbers between `low` and `high`; complex ones around 0."""

    def make(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        if dtype in COMPLEX:
            limit = min(abs(low), abs(high), 20.0)
            x = over(rng, F64, -limit, limit, 300) + 1j * over(rng, F64, -limit, limit, 300)[::-1]
            return [(x.astype(dtype),), (random(rng, dtype, (3, 4), limit / 4).T,)]
        x = over(rng, F64, low, high, 400).astype(dtype)
        wide = [(special(dtype, subnormal=False),), (x,), (x[:40].reshape(5, 8).T,), (x[0],)]
        return wide if dtype.itemsize < 4 else [*wide, (x[:0],), (x[3:4],)]

    return make


def unary(name, dtypes, make=plain, **options) -> Record:
    return Record(name, lambda lax, x: getattr(lax, name)(x), make, dtypes, **options)


def smooth(name, low, high, numpy_name="", dtypes=INEXACT, ulp=4, **options) -> Record:
    """A function of analysis, close to its exact value; compiled and eager are each within `ulp`."""
    if numpy_name:
        options["reference"] = getattr(np, numpy_name)
    return unary(name, dtypes, within(low, high), ulp=ulp, jit_ulp=twice(ulp), **options)


def exact_log1p(z):
    """log(1 + z); NumPy's is not exact for small complex numbers, whatever the format."""
    re, im = z.real, z.imag
    with np.errstate(all="ignore"):
        return np.log1p(re * (2 + re) + im * im) / 2 + 1j * np.arctan2(im, 1 + re)


def exact_logistic(z):
    with np.errstate(all="ignore"):
        return 1 / (1 + np.exp(-z))


def near_pole(dtype, z):
    """Where 1 + exp(-z) cancels, and JAX's and NumPy's results have few digits."""
    with np.errstate(all="ignore"):
        return np.abs(1 + np.exp(-z)) < 0.1


def twice(ulp):
    return {k: 2 * u for k, u in ulp.items()} if isinstance(ulp, dict) else 2 * ulp


def powers(exponents, dtypes, make) -> Record:
    def fn(lax, x):
        return [lax.integer_pow(x, y) for y in exponents]

    ulp = {None: 1, "float32": 4, "float64": 4, "complex64": 16}
    return Record("integer_pow", fn, make, dtypes, ulp=ulp, jit_ulp=ulp)


def triples(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Bounds and values for `clamp`, bounds in the wrong order among them."""
    edge = special(dtype, subnormal=False)
    n = len(edge)
    low, x, high = edge[rng.integers(0, n, (3, 300))]
    cases = [(low, x, high), (edge[0], x, edge[1]), (low[0], x, high)]
    cases += [(random(rng, dtype, ()), y, random(rng, dtype, ())) for y in arrays(rng, dtype)]
    return cases


def choices(which_dtype):
    """Predicate or index, and two cases or four."""

    def make(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        count = 2 if which_dtype == BOOL else 4
        out: list[Operands] = []
        for x in arrays(rng, dtype):
            which = rng.integers(0, count, x.shape).astype(which_dtype)
            out.append((which, x, *[random(rng, dtype, x.shape) for _ in range(count - 1)]))
        out.append((np.asarray(1, which_dtype), *random(rng, dtype, (count, 3, 5))))
        return out

    return make


def rounded(lax, x):
    even = lax.RoundingMethod.TO_NEAREST_EVEN
    return [lax.floor(x), lax.ceil(x), lax.round(x), lax.round(x, even)]


def bit_counts(lax, x):
    return [lax.population_count(x), lax.clz(x)]


def select_n(lax, which, *cases):
    return lax.select_n(which, *cases)


RECORDS = [
    unary("neg", NUMERIC),
    # The modulus is one of the functions that JAX approximates.
    unary("abs", (*FLOATS, *SIGNED)),
    smooth("abs", -20, 20, "abs", COMPLEX),
    unary("sign", (*FLOATS, *INTEGERS)),
    Record("sign_complex", lambda lax, x: lax.sign(x), within(-9, 9), COMPLEX, ulp=4, jit_ulp=4),
    unary("square", (*FLOATS, *INTEGERS)),
    Record(
        "square_complex", lambda lax, x: lax.square(x), within(-9, 9), COMPLEX, ulp=4, jit_ulp=4
    ),
    Record("rounding", rounded, plain, FLOATS),
    unary("is_finite", FLOATS),
    unary("real", COMPLEX),
    unary("imag", COMPLEX),
    unary("conj", (F32, F64, *COMPLEX)),
    unary("bitwise_not", BITS),
    Record("bit_counts", bit_counts, plain, INTEGERS),
    smooth("sqrt", 0, 1e4, "sqrt"),
    smooth("rsqrt", 0, 1e4, ulp=6),
    smooth("cbrt", -1e4, 1e4, "cbrt", FLOATS),
    smooth("exp", -80, 80, "exp"),
    smooth("exp2", -100, 100, "exp2", ulp={None: 4, "complex64": 16, "complex128": 32}),
    smooth("expm1", -80, 80, "expm1"),
    smooth("log", 0, 1e4, "log"),
    smooth("log1p", -1, 1e4, "log1p", FLOATS),
    smooth("log1p", -1, 1e4, dtypes=COMPLEX, reference=exact_log1p),
    smooth("logistic", -20, 20, dtypes=FLOATS, ulp=6),
    smooth("logistic", -20, 20, dtypes=COMPLEX, ulp=6, reference=exact_logistic, avoid=near_pole),
    smooth("sin", -100, 100, "sin"),
    smooth("cos", -100, 100, "cos"),
    smooth("tan", -100, 100, "tan"),
    smooth("asin", -1, 1, "arcsin"),
    smooth("acos", -1, 1, "arccos"),
    smooth("atan", -100, 100, "arctan"),
    smooth("sinh", -80, 80, "sinh"),
    smooth("cosh", -80, 80, "cosh"),
    smooth("tanh", -20, 20, "tanh"),
    smooth("asinh", -100, 100, "arcsinh"),
    smooth("acosh", 1, 100, "arccosh"),
    smooth("atanh", -1, 1, "arctanh"),
    powers((-3, -1, 0, 1, 2, 3, 7), (*FLOATS, C64), within(-20, 20)),
    powers((0, 1, 2, 5), INTEGERS, plain),
    smooth("erf", -4, 4, dtypes=FLOATS, ulp={None: 1, "float32": 8, "float64": 8}),
    smooth("erfc", -4, 4, dtypes=FLOATS, ulp={None: 1, "float32": 16, "float64": 16}),
    smooth("erf_inv", -1, 1, dtypes=FLOATS, ulp={None: 1, "float32": 16, "float64": 64}),
    smooth(
        "lgamma", 0.1, 60, dtypes=FLOATS, ulp={None: 2, "float32": 16, "float64": 16}, floor=1.0
    ),
    smooth(
        "digamma", 0.1, 60, dtypes=FLOATS, ulp={None: 2, "float32": 16, "float64": 16}, floor=1.0
    ),
    smooth("bessel_i0e", -20, 20, dtypes=(F32, F64), ulp=8),
    smooth("bessel_i1e", -20, 20, dtypes=(F32, F64), ulp=8),
    Record("clamp", lambda lax, a, x, b: lax.clamp(a, x, b), triples, (*FLOATS, *INTEGERS, BOOL)),
    Record("select_n_bool", select_n, choices(BOOL), (BOOL, BF16, F16, F32, F64, C64, *INTEGERS)),
    Record("select_n_int", select_n, choices(np.dtype(np.int32)), (F32, F64, BF16, *INTEGERS[:3])),
]
