"""Records of reductions, running folds, and positions of extremes."""

from __future__ import annotations

import numpy as np

from records.record import (
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
    return (np.exp(rng.normal(size=shape) * 0.2)).astype(dtype)


def edges(rng, dtype, shape):
    """Special values, NaN in some places, and many equal values."""
    values = special(dtype, subnormal=False)
    rare = rng.random(shape) < 0.03
    usual = small(rng, dtype, shape)
    return np.where(rare, values[rng.integers(0, len(values), shape)], usual).astype(dtype)


AXES = ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2), ())
FEW_AXES = ((0,), (1, 2), (0, 1, 2))


def over(name):
    def fn(lax, x):
        axes = AXES if x.dtype in (F32, np.int32) else FEW_AXES
        return [getattr(lax, name)(x, a) for a in axes]

    return fn


def reduction(name, dtypes, make=random, tag="", large=True, **options) -> Record:
    return Record(name + tag, over(name), blocks(make, large), dtypes, **options)


def positions(name):
    def fn(lax, x):
        return [getattr(lax, name)(x, axis, dtype) for axis, dtype in ((0, np.int32), (2, np.int8))]

    def make(dtype, rng):
        out = [(edges(rng, dtype, s),) for s in ((6, 5, 8), (7, 1, 33), (3, 0, 2), (1, 1, 1))]
        return [*out, (random(rng, dtype, (6, 5, 8)).transpose(1, 2, 0),)]

    return Record(name, fn, make, (*REAL, BOOL))


def running(name, dtypes, make, tag="", **options):
    def fn(lax, x):
        f = getattr(lax, name)
        return [f(x, 0), f(x, 1, reverse=True), f(x, 2)]

    return Record(name + tag, fn, blocks(make), dtypes, **options)


def general(lax, x):
    """Folds by functions that are and that are not known."""
    zero = np.zeros((), x.dtype)
    one = np.ones((), x.dtype)
    return [
        lax.reduce(x, zero, lax.add, (1,)),
        lax.reduce(x, one, lax.max, (0, 2)),
        lax.reduce(x, one, lambda a, b: lax.add(a, lax.mul(b, b)), (2,)),
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


RECORDS = [
    reduction("reduce_sum", NUMERIC, ulp=SUM, jit_ulp=SUM, floor=100.0),
    reduction("reduce_sum", NUMERIC, small, "_exact"),
    reduction("reduce_sum", FLOATS, edges, "_special", ulp=2, jit_ulp=2, floor=8.0),
    reduction("reduce_prod", NUMERIC, unit, ulp=PRODUCT, jit_ulp=PRODUCT),
    # JAX may lose NaN here; jitney does not. For small arrays they agree.
    reduction("reduce_max", (*REAL, BOOL)),
    reduction("reduce_max", FLOATS, edges, "_special", False, signed_zeros=False),
    reduction("reduce_max", COMPLEX, small, "_complex"),
    reduction("reduce_min", (*REAL, BOOL)),
    reduction("reduce_min", FLOATS, edges, "_special", False, signed_zeros=False),
    reduction("reduce_min", COMPLEX, small, "_complex"),
    reduction("reduce_and", BITS),
    reduction("reduce_or", BITS),
    reduction("reduce_xor", BITS),
    positions("argmax"),
    positions("argmin"),
    running("cumsum", NUMERIC, small),
    running("cumsum", INEXACT, random, "_rounded", ulp=SUM, jit_ulp=SUM, floor=1000.0),
    running("cumprod", (F32, F64, C64, *INTEGERS), unit, ulp=PRODUCT, jit_ulp=PRODUCT),
    running("cummax", (F32, *INTEGERS), random),
    running("cummax", FLOATS, edges, "_special", signed_zeros=False),
    running("cummin", (F32, *INTEGERS), random),
    running("cummin", FLOATS, edges, "_special", signed_zeros=False),
    running("cumlogsumexp", FLOATS, random, ulp=SUM, jit_ulp=SUM, floor=1.0),
    Record(
        "reduce", general, whole_blocks, tuple([d for d in ALL if d != BOOL and d not in COMPLEX])
    ),
]
