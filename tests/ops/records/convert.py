"""Records of conversions: by value, by bits, by rounding, between all pairs of dtypes."""

from __future__ import annotations

import numpy as np

from records.record import (
    ALL,
    BF16,
    F16,
    F32,
    F64,
    FLOATS,
    INTEGERS,
    Operands,
    Record,
    random,
    special,
)

WIDTHS = {
    1: ("int8", "uint8"),
    2: ("int16", "uint16", F16, BF16),
    4: ("int32", "uint32", F32),
    8: ("int64", "uint64", F64),
}


def values(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Special values, values around the limits of integer dtypes, values of all sizes."""
    cases: list[Operands] = [(special(dtype, subnormal=False),), (random(rng, dtype, (4, 3)).T,)]
    if dtype in FLOATS:
        edges = [2.0**k for k in (7, 8, 11, 15, 16, 24, 31, 32, 53, 63, 64)]
        near = [e + d for e in edges for d in (-1, -0.5, 0, 0.5, 1)]
        both = np.array([*near, *[-x for x in near], 2.5, 3.5, 1e30, -1e30])
        with np.errstate(all="ignore"):
            cases.append((both.astype(dtype),))
            cases.append(((rng.normal(size=300) * np.exp(rng.uniform(-9, 40, 300))).astype(dtype),))
    if dtype in INTEGERS:
        cases.append((random(rng, dtype, 300),))
    return cases


def between_floats(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Ties and near ties of narrower formats, with an exponent of each size, subnormal results too."""
    mantissa = rng.integers(0, 1 << 14, 600) / (1 << 13) + 1
    exponent = rng.integers(-26, 17, 600)
    with np.errstate(all="ignore"):
        return [((mantissa * 2.0**exponent).astype(dtype),), (special(dtype, subnormal=False),)]


def to(new: np.dtype) -> Record:
    def fn(lax, x):
        return lax.convert_element_type(x, new)

    # The parts of complex numbers are converted like floats; infinite ones to bool, too.
    return Record(f"convert[{new.name}]", fn, values, ALL)


def bits_to(new: np.dtype) -> Record:
    def make(dtype, rng):
        shape = (3, 8 // dtype.itemsize)
        raw = rng.integers(0, 255, (*shape, dtype.itemsize), np.uint8, endpoint=True)
        x = raw.view(dtype)[..., 0]
        if new.itemsize > dtype.itemsize:
            x = x.reshape(-1, new.itemsize // dtype.itemsize)
        if new in FLOATS:  # other NaN than the usual one need not be kept
            return [(x,)]
        return [(x,), (x.T,)] if new.itemsize <= dtype.itemsize else [(x,)]

    dtypes = tuple([d for d in (*FLOATS, *INTEGERS) if d != new])
    return Record(
        f"bitcast[{new.name}]", lambda lax, x: lax.bitcast_convert_type(x, new), make, dtypes
    )


def rounded(exponent_bits: int, mantissa_bits: int) -> Record:
    def fn(lax, x):
        return lax.reduce_precision(x, exponent_bits, mantissa_bits)

    return Record(f"reduce_precision[{exponent_bits},{mantissa_bits}]", fn, between_floats, FLOATS)


RECORDS = [
    *[to(new) for new in ALL],
    *[bits_to(np.dtype(new)) for width in WIDTHS.values() for new in width],
    *[rounded(e, m) for e, m in ((5, 10), (8, 7), (4, 3), (5, 2), (2, 20), (11, 52), (3, 1))],
]
