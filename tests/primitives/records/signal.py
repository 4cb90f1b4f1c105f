"""Records of Fourier transforms."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import C64, C128, F32, F64, Operands, Record

# Errors are relative to the largest element, which is some units.
UNITS, FLOOR = 8, 16.0

LENGTHS = (1, 2, 5, 8, 12, 17, 64)


def rows(*lengths: int, half: bool = False):
    """Two rows of each length, or of the first half of a spectrum; of small numbers."""

    def operands(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        cases: list[Operands] = []
        for n in lengths:
            shape = (2, n // 2 + 1 if half else n)
            x = rng.normal(size=shape)
            if dtype.kind == "c":
                x = x + 1j * rng.normal(size=shape)
            cases.append((x.astype(dtype),))
        return cases

    return operands


def transform(kind: str, n: int, dtypes: tuple[np.dtype, ...]) -> Record:
    return Record(
        f"fft {kind} {n}",
        lambda lax, x: lax.fft(x, kind, (n,)),
        rows(n, half=kind == "IRFFT"),
        dtypes,
        ulp=UNITS,
        jit_ulp=UNITS,
        floor=FLOOR,
    )


RECORDS = [
    transform(kind, n, (F32, F64) if kind == "RFFT" else (C64, C128))
    for kind in ("FFT", "IFFT", "RFFT", "IRFFT")
    for n in LENGTHS
]
