"""Records of reductions, running folds, and positions of extremes."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import (
    ALL,
    BITS,
    BOOL,
    C64,
    COMPLEX,
    F32,
    F64,
    FLOATS,
    INEXACT,
    INTEGERS,
    NUMERIC,
    REAL,
    Operands,
    Record,
    random,
    small,
    special,
)

# Sums of n rounded terms, in units of the last place of the sum of their sizes.
SUM = 16
# Products of many rounded factors.
PRODUCT = 128


def blocks(make, large=True):
    """Arrays of three axes: strided, empty, transposed; one of size one, and a large one."""

    def operands(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        x = make(rng, dtype, (6, 5, 8))
        cases = [(x[::-2, :, ::3],), (make(rng, dtype, (3, 0, 2)),)]
        cases += [(make(rng, dtype, (9, 33, 2)).T,)]
        if large and dtype in (F32, np.int32):
            cases += [(make(rng, dtype, (1, 1, 1)),), (make(rng, dtype, (2, 3, 1000)),)]
        return cases

    return operands


def unit(rng, dtype, shape):
    """Values around 1, of which long products stay in range."""
    if dtype in INTEGERS:
        return random(rng, dtype, shape)
    return (1 + np.clip(rng.normal(size=shape), -3, 3) / 5).astype(dtype)


def edges(rng, dtype, shape):
    """Special values, NaN in some places, and many equal values."""
    values = special(dtype, subnormal=False)
    rare = rng.random(shape) < 0.03
    usual = small(rng, dtype, shape)
    return np.where(rare, values[rng.integers(0, len(values), shape)], usual).astype(dtype)


AXES = ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2), ())
FEW_AXES = ((0,), (1, 2), (0, 1, 2))


def reduction(name, functions, dtypes, make=random, large=True, **options) -> Record:
    def fn(lax, x):
        axes = AXES if x.dtype in (F32, np.int32) else FEW_AXES
        return [getattr(lax, f)(x, a) for f in functions for a in axes]

    return Record(name, fn, blocks(make, large), dtypes, **options)


def positions(lax, x):
    wanted = ((lax.argmax, 0, np.int32), (lax.argmax, 2, np.int8), (lax.argmin, 0, np.int8))
    return [f(x, axis, dtype) for f, axis, dtype in (*wanted, (lax.argmin, 2, np.int32))]


def ties(dtype, rng):
    out = [(edges(rng, dtype, s),) for s in ((6, 5, 8), (7, 1, 33), (3, 0, 2), (1, 1, 1))]
    return [*out, (random(rng, dtype, (6, 5, 8)).transpose(1, 2, 0),)]


def running(name, functions, dtypes, make, **options):
    def fn(lax, x):
        out = []
        for f in [getattr(lax, f) for f in functions]:
            out += [f(x, 1, reverse=True), f(x, 2)]
        return out

    return Record(name, fn, blocks(make), dtypes, **options)


def general(lax, x):
    """Folds by functions that are and that are not known; all are associative, as folds need it."""
    zero = np.zeros((), x.dtype)
    one = np.ones((), x.dtype)
    return [
        lax.reduce(x, zero, lax.add, (1,)),
        lax.reduce(x, one, lax.max, (0, 2)),
        lax.reduce(x, zero, lambda a, b: lax.sub(b, lax.neg(a)), (2,)),
        *lax.reduce(
            (x, x), (zero, one), lambda a, b: (lax.add(a[0], b[0]), lax.max(a[1], b[1])), (0,)
        ),
    ]


def whole_blocks(dtype, rng):
    return [
        (small(rng, dtype, (3, 4, 5)),),
        (small(rng, dtype, (2, 1, 3)),),
        (small(rng, dtype, (2, 0, 3)),),
    ]


EXTREMES = ("reduce_max", "reduce_min")

RECORDS = [
    reduction("reduce_sum", ["reduce_sum"], INEXACT, ulp=SUM, jit_ulp=SUM, floor=100.0),
    reduction("reduce_sum_exact", ["reduce_sum"], NUMERIC, small),
    reduction("reduce_sum_special", ["reduce_sum"], FLOATS, edges, ulp=2, jit_ulp=2, floor=8.0),
    reduction("reduce_prod", ["reduce_prod"], NUMERIC, unit, ulp=PRODUCT, jit_ulp=PRODUCT),
    reduction("extremes", EXTREMES, (*REAL, BOOL)),
    # JAX may lose NaN in large arrays; jitney does not.
    reduction("extremes_special", EXTREMES, FLOATS, edges, False, signed_zeros=False),
    reduction("extremes_complex", EXTREMES, COMPLEX, small),
    reduction("bitwise", ("reduce_and", "reduce_or", "reduce_xor"), BITS),
    Record("positions", positions, ties, (*REAL, BOOL)),
    running("cumsum_exact", ["cumsum"], NUMERIC, small),
    running("cumsum", ["cumsum"], INEXACT, random, ulp=SUM, jit_ulp=SUM, floor=1000.0),
    running("cumprod", ["cumprod"], (F32, F64, C64, *INTEGERS), unit, ulp=PRODUCT, jit_ulp=PRODUCT),
    running("cummax", ("cummax", "cummin"), (F32, *INTEGERS), random),
    running("cummax_special", ("cummax", "cummin"), FLOATS, edges, signed_zeros=False),
    running("cumlogsumexp", ["cumlogsumexp"], FLOATS, random, ulp=SUM, jit_ulp=SUM, floor=1.0),
    Record(
        "reduce", general, whole_blocks, tuple([d for d in ALL if d != BOOL and d not in COMPLEX])
    ),
]
