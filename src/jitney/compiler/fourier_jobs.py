"""Lengths of Fourier transforms, and the options of native code for transforms of many lines.

The order of factors, and which lengths with a large prime factor are convolutions with a chirp, are
pocketfft's.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.reference.fourier import unit_roots
from jitney.compiler.scalar_functions.declaration import ComplexArray
from jitney.core.record import fields, record

# Of `fourier.h`: kinds, bytes of a tile's row and of its widest vector, places for factors of one
# length, and the largest factor that has a pass.
OF_COMPLEX, OF_REAL, TO_REAL = 0, 1, 2
TILE, _RADICES, _LARGEST_FACTOR = 64, 40, 272


# --- lengths --------------------------------------------------------------------------------------


def factors(n: int, of_complex: bool = True) -> list[int]:
    """The factors of a transform of `n` numbers, in their order: 8 of complex ones, 4, 2, odd ones."""
    radices: list[int] = []
    for radix in (8, 4) if of_complex else (4,):
        while n % radix == 0:
            radices.append(radix)
            n //= radix
    if n % 2 == 0:
        radices.append(2)
        radices[0], radices[-1] = radices[-1], radices[0]
        n //= 2
    radix = 3
    while radix * radix <= n:
        while n % radix == 0:
            radices.append(radix)
            n //= radix
        radix += 2
    return [*radices, n] if n > 1 else radices


@cache
def chirped_length(n: int, of_complex: bool) -> int:
    """The length of the convolution with a chirp that transforms `n` numbers; 0 if passes do."""
    largest = max(factors(n), default=1)
    if n < 50 or (largest * largest <= n and largest <= _LARGEST_FACTOR):
        return 0
    size = 2 * n - 1
    while max(factors(size)) > 11:
        size += 1
    by_passes = _cost_of_passes(n) * (1 if of_complex else 0.5)
    return size if 3 * _cost_of_passes(size) < by_passes or largest > _LARGEST_FACTOR else 0


def _cost_of_passes(n: int) -> float:
    """Returns what passes take, by pocketfft's measure: 2 for each factor 2."""
    costs = {4: 4.0, 8: 6.0}
    return n * sum([costs.get(p, p if p <= 5 else 1.1 * p) for p in factors(n)])


def columns_of(n: int, of_complex: bool, few: bool) -> int:
    """n1 of a transform of `n` numbers as a matrix; 0 if it is better not to be one.

    Args:
      n: the length.
      of_complex: whether of complex numbers.
      few: whether there are fewer lines than a vector has lanes for.
    """
    if n <= (COSTS.transform_alone if few else COSTS.transform_line):
        return 0
    if n > COSTS.exact_transform:
        return split(n)
    # The first factor alone: then all is done as if there were no matrix, number by number.
    first = factors(n)[0]
    return first if of_complex and first >= 4 and n // first >= 8 else 0


def split(n: int) -> int:
    """The product of the first factors of `n` that is nearest to its root; 0 if there is none."""
    best, radices = 0, factors(n)
    for count in range(1, len(radices)):
        first = math.prod(radices[:count])
        is_possible = max(radices[:count]) <= _LARGEST_FACTOR and min(first, n // first) >= 4
        if is_possible and (not best or abs(first**2 - n) < abs(best**2 - n)):
            best = first
    return best


# --- options of the functions ---------------------------------------------------------------------


@record(frozen=True)
class Job:
    """Transforms of lines, in the order of `jt_fourier`, which says what each number is."""

    kind: int
    lines: int
    n: int
    planes_from: int
    planes_to: int
    after_from: int
    after_to: int
    inverse: int
    divisor: int
    columns: int = 0
    rows: int = 0
    beside: int = 0
    width: int = 0

    @property
    def chirped(self) -> int:
        """The length of a convolution with a chirp, or 0."""
        return chirped_length(self.n, self.kind == OF_COMPLEX)

    @property
    def of_half(self) -> bool:
        """Whether half of a matrix's spectrum is transformed."""
        return self.columns > 0 and self.inverse > 0

    @property
    def to_half(self) -> bool:
        """Whether half of a matrix's spectrum is the result."""
        return self.columns > 0 and not self.inverse

    @property
    def is_split_to(self) -> bool:
        """Whether there are two results, one for each part."""
        return self.planes_to > 0 and self.kind != TO_REAL

    @property
    def half(self) -> int:
        """How many numbers are kept of the spectrum of a matrix."""
        return self.columns * self.n // 2 + 1

    @property
    def numbers_from(self) -> int:
        """How many are transformed: of complex ones, or of each part, where there are two."""
        if self.of_half:
            return self.lines // self.rows * self.half
        return self.lines * (self.n // 2 + 1 if self.kind == TO_REAL else self.n)

    @property
    def numbers_to(self) -> int:
        """How many are the result: of complex ones, or of each part, where there are two."""
        if self.to_half:
            return self.lines // self.rows * self.half
        return self.lines * (self.n // 2 + 1 if self.kind == OF_REAL else self.n)

    @property
    def room(self) -> int:
        """Bytes of memory of a tile: arrays of complex vectors, two, or three for a chirp."""
        return (3 if self.chirped else 2) * ((self.chirped or self.n) + 2) * 2 * TILE

    @property
    def operations(self) -> float:
        """Floating-point operations: 5 n log2(n) for a line of complex numbers, half for real ones."""
        each = 5.0 if self.kind == OF_COMPLEX else 2.5
        return each * self.lines * self.n * math.log2(max(self.n, 1))

    @property
    def line_work(self) -> int:
        """Additions for a line, in vectors."""
        n = self.chirped or self.n
        return n * n.bit_length() * (2 if self.chirped else 1) // 2

    def options(self, tiles: int = 0) -> list[int]:
        """Returns the numbers for `jt_fourier`; an item has `tiles` tiles."""
        radices = factors(self.chirped or self.n, self.kind == OF_COMPLEX or self.chirped > 0)
        return [
            *values(self), self.chirped, tiles, self.room, len(radices), *radices,
            *[0] * (_RADICES - len(radices)),
        ]  # fmt: skip

    def constants(self, dtype: np.dtype) -> list[np.ndarray]:
        """Returns the operands after those that are transformed."""
        n, chirped = self.n, self.chirped
        tables = [_pairs(unit_roots(chirped or n, np.arange(chirped or n)), dtype)]
        if chirped:
            chirp = unit_roots(2 * n, np.arange(n, dtype=np.int64) ** 2)
            filter_ = np.zeros(chirped, np.complex128)
            filter_[:n] = chirp.conj()
            filter_[chirped - n + 1 :] = chirp[1:][::-1].conj()
            tables += [_pairs(chirp, dtype), _pairs(np.fft.fft(filter_) / chirped, dtype)]
        if self.beside:
            roots = self.factors()
            tables += [
                np.ascontiguousarray(part.astype(dtype)) for part in (roots.real, roots.imag)
            ]
        return tables

    def factors(self) -> ComplexArray:
        """exp(-2 pi i j k / (n1 n2)), of which elements of lines are multiples: [elements, lines]."""
        elements = self.n // 2 + 1 if self.kind == OF_REAL else self.n
        powers = np.arange(elements)[:, None] * np.arange(self.width)
        return unit_roots(self.n * (self.columns or self.width), powers)


def values(job: Job) -> tuple[int, ...]:
    """Returns the fields of a job, in order."""
    return tuple([getattr(job, name) for name in fields(Job)])


def _pairs(values: ComplexArray, dtype: np.dtype) -> np.ndarray:
    """Complex numbers as parts side by side."""
    return np.stack([values.real, values.imag], -1).astype(dtype)
