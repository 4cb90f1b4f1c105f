"""Records of elementwise operations of two operands."""

from __future__ import annotations

import numpy as np

from records.record import (
    BITS,
    C64,
    C128,
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
    arrays,
    random,
    special,
)


def pairs(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Special values with each other, arrays of one shape, stretched ones, scalars."""
    edge = special(dtype, subnormal=False)
    xs, ys = [a.ravel() for a in np.meshgrid(edge, edge)]
    cases: list[Operands] = [(xs, ys)]
    cases += list(zip(arrays(rng, dtype), arrays(rng, dtype), strict=True))
    row, column = random(rng, dtype, (1, 5)), random(rng, dtype, (4, 1))
    cases += [(row, column), (random(rng, dtype, (4, 5)), row), (column[0, 0], row)]
    cases += [(row, column[1, 0]), (random(rng, dtype, (0, 5)), row)]
    if dtype in (F32, F64):
        cases += [(1.5, row), (row, 2.0), (1.5, 2.0), (1.5, row[0, 0])]
    if dtype == np.int32:
        cases += [(7, row), (row, 3), (7, 2), (7, row[0, 0])]
    return cases


def float_int_pairs(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Floats, and integers that are neither small nor large, for powers."""
    edge = special(dtype, subnormal=False)
    exponents = np.array([-3, -2, -1, 0, 1, 2, 3, 8], np.int32)
    xs, ys = [a.ravel() for a in np.meshgrid(edge, exponents)]
    return [(xs, ys), (edge, np.int32(3)), (random(rng, dtype, (3, 4)), np.int8(-2))]


def power_pairs(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Bases and exponents: special ones, and random positive bases."""
    cases = pairs(dtype, rng)[:1] if dtype in FLOATS else []
    base = np.abs(random(rng, dtype, (7, 33)))
    exponent = random(rng, dtype, (7, 33), 2.0)
    return [*cases, (base.astype(dtype), exponent), (base[:1, :1].astype(dtype), exponent)]


def complex_pairs(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Numbers without infinities: products and quotients of these are nobody's standard."""
    cases = pairs(dtype, rng)
    return cases[1:]


def _named(lax, name):
    return getattr(lax, name)


def record(name, dtypes, make=pairs, **options) -> Record:
    return Record(name, lambda lax, x, y: _named(lax, name)(x, y), make, dtypes, **options)


# Exponents of complex powers multiply the error of a logarithm.
POWER = {None: 4, "complex64": 16, "complex128": 16}
REAL_BITS = (np.dtype(bool), *REAL)

RECORDS = [
    record("add", NUMERIC),
    record("sub", NUMERIC),
    record("mul", REAL),
    Record(
        "mul_complex", lambda lax, x, y: lax.mul(x, y), complex_pairs, COMPLEX, ulp=2, jit_ulp=2
    ),
    record("div", REAL, ulp=1),  # JAX multiplies by the reciprocal of what it stretches
    Record(
        "div_complex", lambda lax, x, y: lax.div(x, y), complex_pairs, COMPLEX, ulp=8, jit_ulp=8
    ),
    record("rem", REAL),
    record("max", (*REAL_BITS, C64, C128)),
    record("min", (*REAL_BITS, C64, C128)),
    record("nextafter", FLOATS),
    record("mulhi", INTEGERS),
    record("pow", INEXACT, power_pairs, ulp=POWER, jit_ulp=POWER),
    Record(
        "pow_integers", lambda lax, x, y: lax.pow(x, y), float_int_pairs, FLOATS, ulp=4, jit_ulp=4
    ),
    record("atan2", FLOATS, ulp=4, jit_ulp=4),
    record("complex", (F32, F64)),
    record("bitwise_and", BITS),
    record("bitwise_or", BITS),
    record("bitwise_xor", BITS),
    record("shift_left", INTEGERS),
    record("shift_right_arithmetic", INTEGERS),
    record("shift_right_logical", INTEGERS),
    *[record(name, (*NUMERIC, np.dtype(bool))) for name in ("eq", "ne")],
    *[record(name, REAL_BITS) for name in ("lt", "le", "gt", "ge")],
]
