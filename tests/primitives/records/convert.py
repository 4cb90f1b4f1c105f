"""Records of conversions: by value, by bits, by rounding, between all pairs of dtypes."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import (
    ALL,
    FLOATS,
    INTEGERS,
    Operands,
    Record,
    magnitudes,
    random,
    special,
)


def values(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Special values, values around the limits of integer dtypes, values of all sizes."""
    cases: list[Operands] = [(special(dtype, subnormal=False),), (random(rng, dtype, (4, 3)).T,)]
    if dtype in FLOATS:
        edges = [2.0**k for k in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64)]
        near = [e + d for e in edges for d in (-1, -0.5, 0, 0.5, 1)]
        both = np.array([*near, *[-x for x in near], 2.5, 3.5, 1e30, -1e30])
        with np.errstate(all="ignore"):
            cases.append((both.astype(dtype),))
            cases.append(((rng.normal(size=300) * magnitudes(rng, -13, 58, 300)).astype(dtype),))
    if dtype in INTEGERS:
        cases.append((random(rng, dtype, 300),))
    return cases


def between_floats(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Ties and near ties of narrower formats, with an exponent of each size, subnormal results too."""
    mantissa = rng.integers(0, 1 << 14, 600) / (1 << 13) + 1
    exponent = rng.integers(-26, 17, 600)
    with np.errstate(all="ignore"):
        return [((mantissa * 2.0**exponent).astype(dtype),), (special(dtype, subnormal=False),)]


def to_all(lax, x):
    return [lax.convert_element_type(x, new) for new in ALL]


def any_bits(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Random bytes, the last axis of which holds 8."""
    raw = rng.integers(0, 255, (4, 3, 8), np.uint8, endpoint=True)
    return [(raw.view(dtype),)]


def bits_to_all(lax, x):
    every = [d for d in (*FLOATS, *INTEGERS) if d.itemsize <= x.dtype.itemsize]
    wider = [d for d in (*FLOATS, *INTEGERS) if d.itemsize > x.dtype.itemsize]
    out = [lax.bitcast_convert_type(x, d) for d in every]
    for d in wider if lax.convert_element_type(x, np.int64).dtype == np.int64 else ():
        n = d.itemsize // x.dtype.itemsize
        out.append(lax.bitcast_convert_type(lax.reshape(x, (4, 3, x.shape[-1] // n, n)), d))
    return out


FORMATS = ((5, 10), (8, 7), (4, 3), (5, 2), (2, 20), (11, 52), (3, 1))


def rounded(lax, x):
    return [lax.reduce_precision(x, e, m) for e, m in FORMATS]


RECORDS = [
    Record("convert_element_type", to_all, values, ALL),
    Record("bitcast_convert_type", bits_to_all, any_bits, (*FLOATS, *INTEGERS)),
    Record("reduce_precision", rounded, between_floats, FLOATS),
]
