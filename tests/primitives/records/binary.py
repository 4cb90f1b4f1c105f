"""Records of elementwise operations of two operands."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import (
    BITS,
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
    """Numbers without infinities: those of products and quotients follow no standard."""
    cases = pairs(dtype, rng)
    return cases[1:]


def record(name, dtypes, make=pairs, **options) -> Record:
    return Record(name, lambda lax, x, y: getattr(lax, name)(x, y), make, dtypes, **options)


def several(name, functions, dtypes) -> Record:
    """Functions of a kind, exact all of them, in one program."""

    def fn(lax, x, y):
        return [getattr(lax, f)(x, y) for f in functions]

    return Record(name, fn, pairs, dtypes)


def close(name, make, dtypes, ulp, **options) -> Record:
    return record(name, dtypes, make, ulp=ulp, jit_ulp=ulp, **options)


# Exponents of complex powers multiply the error of a logarithm.
POWER = {None: 4, "complex64": 16, "complex128": 16}
REAL_BITS = (np.dtype(bool), *REAL)


def total_order(lax, x, y):
    return [p.bind(x, y) for p in (lax.eq_to_p, lax.lt_to_p, lax.le_to_p)]


def complex_angle(y, x):
    """The exact value: JAX computes that of complex64 in complex64, and loses digits."""
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


RECORDS = [
    record("add", NUMERIC),
    record("sub", NUMERIC),
    record("mul", REAL),
    close("mul", complex_pairs, COMPLEX, 2),
    record("div", REAL, ulp=1),  # JAX multiplies by the reciprocal of what it stretches
    close("div", complex_pairs, COMPLEX, 8),
    record("rem", REAL),
    several("extremes", ("max", "min"), (*REAL_BITS, *COMPLEX)),
    record("nextafter", FLOATS),
    record("mulhi", INTEGERS),
    close("pow", power_pairs, INEXACT, POWER),
    close("pow", float_int_pairs, FLOATS, 4).named("pow_integers"),
    close("atan2", pairs, FLOATS, 4),
    close("atan2", complex_pairs, COMPLEX, 16, reference=complex_angle),
    record("complex", (F32, F64)),
    several("bitwise", ("bitwise_and", "bitwise_or", "bitwise_xor"), BITS),
    several("shifts", ("shift_left", "shift_right_arithmetic", "shift_right_logical"), INTEGERS),
    several("equality", ("eq", "ne"), (*NUMERIC, np.dtype(bool))),
    Record("total_order", total_order, pairs, (*FLOATS, np.dtype(np.int32))),
    several("order", ("lt", "le", "gt", "ge"), REAL_BITS),
]
