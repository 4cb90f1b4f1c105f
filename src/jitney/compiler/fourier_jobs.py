"""Factors the lengths of Fourier transforms, and determines options of the native code.

The order of the factors, and the choice of lengths with large prime factors that are computed by a
convolution with a chirp, are the same as in pocketfft.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.reference.fourier import unit_roots
from jitney.compiler.scalar_functions.declaration import ComplexArray
from jitney.core.util.record import fields, record

# Constants of `fourier.h`: kinds, bytes of a tile's row and of its widest vector, slots for the
# factors of a length, and the largest factor that a pass supports.
OF_COMPLEX, OF_REAL, TO_REAL = 0, 1, 2
TILE, _RADICES, _LARGEST_FACTOR = 64, 40, 272


# --- lengths --------------------------------------------------------------------------------------


def factors(n: int, of_complex: bool = True) -> list[int]:
    """Returns the factors of `n` in the order in which passes use them.

    These are 8 (only for complex elements), 4, and odd factors. If a factor of 2 remains, it
    changes places with the first factor of 4 or 8.
    """
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
    """Returns the length of the convolution with a chirp by which `n` elements are transformed.

    It is 0 if the transform is computed by passes over the factors of `n` instead.
    """
    largest = max(factors(n), default=1)
    if n < 50 or (largest * largest <= n and largest <= _LARGEST_FACTOR):
        return 0
    size = 2 * n - 1
    while max(factors(size)) > 11:
        size += 1
    by_passes = _cost_of_passes(n) * (1 if of_complex else 0.5)
    return size if 3 * _cost_of_passes(size) < by_passes or largest > _LARGEST_FACTOR else 0


def _cost_of_passes(n: int) -> float:
    """Returns the cost of all passes by pocketfft's estimate, which is 2 for each factor of 2."""
    costs = {4: 4.0, 8: 6.0}
    return n * sum([costs.get(p, p if p <= 5 else 1.1 * p) for p in factors(n)])


def columns_of(n: int, of_complex: bool, few: bool) -> int:
    """Returns n1 if a line of length `n` = n1 n2 should be treated as a matrix, else 0.

    Args:
      n: the length.
      of_complex: whether the elements are complex.
      few: whether there are too few lines to fill the lanes of vectors.
    """
    if n <= (COSTS.transform_alone if few else COSTS.transform_line):
        return 0
    if n > COSTS.exact_transform:
        return split(n)
    # Only the first factor is used, so that each element is computed exactly as without a matrix.
    first = factors(n)[0]
    return first if of_complex and first >= 4 and n // first >= 8 else 0


def split(n: int) -> int:
    """Returns the product of leading factors of `n` that is nearest to the square root of `n`.

    The product and its cofactor must be at least 4, and a pass must support each factor in the
    product. The result is 0 if there is no such product.
    """
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
    """Transforms of many lines by `jt_fourier`.

    The fields are in the order of the options of `jt_fourier`, where each of them is documented.
    """

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
        """The length of the convolution with a chirp, or 0."""
        return chirped_length(self.n, self.kind == OF_COMPLEX)

    @property
    def of_half(self) -> bool:
        """Whether the operand is half of the spectrum of a matrix."""
        return self.columns > 0 and self.inverse > 0

    @property
    def to_half(self) -> bool:
        """Whether the result is half of the spectrum of a matrix."""
        return self.columns > 0 and not self.inverse

    @property
    def is_split_to(self) -> bool:
        """Whether real and imaginary parts are separate results."""
        return self.planes_to > 0 and self.kind != TO_REAL

    @property
    def half(self) -> int:
        """The number of elements of half of the spectrum of a matrix."""
        return self.columns * self.n // 2 + 1

    @property
    def numbers_from(self) -> int:
        """The number of elements of the operand, or of each of its parts if they are separate."""
        if self.of_half:
            return self.lines // self.rows * self.half
        return self.lines * (self.n // 2 + 1 if self.kind == TO_REAL else self.n)

    @property
    def numbers_to(self) -> int:
        """The number of elements of the result, or of each of its parts if they are separate."""
        if self.to_half:
            return self.lines // self.rows * self.half
        return self.lines * (self.n // 2 + 1 if self.kind == OF_REAL else self.n)

    @property
    def room(self) -> int:
        """The workspace of a tile in bytes: two arrays of complex vectors, or three for a chirp."""
        return (3 if self.chirped else 2) * ((self.chirped or self.n) + 2) * 2 * TILE

    @property
    def operations(self) -> float:
        """The number of operations: 5 n log2(n) per complex line, half as many per real line."""
        each = 5.0 if self.kind == OF_COMPLEX else 2.5
        return each * self.lines * self.n * math.log2(max(self.n, 1))

    @property
    def line_work(self) -> int:
        """The cost of a line in vector additions."""
        n = self.chirped or self.n
        return n * n.bit_length() * (2 if self.chirped else 1) // 2

    def options(self, tiles: int = 0) -> list[int]:
        """Returns the options of `jt_fourier` for `tiles` tiles per item."""
        radices = factors(self.chirped or self.n, self.kind == OF_COMPLEX or self.chirped > 0)
        return [
            *values(self), self.chirped, tiles, self.room, len(radices), *radices,
            *[0] * (_RADICES - len(radices)),
        ]  # fmt: skip

    def constants(self, dtype: np.dtype) -> list[np.ndarray]:
        """Returns the constant operands, which follow the operands to transform."""
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
        """Returns the twiddle factors exp(-2 pi i j k / (n1 n2)) of lines, [elements, lines]."""
        elements = self.n // 2 + 1 if self.kind == OF_REAL else self.n
        powers = np.arange(elements)[:, None] * np.arange(self.width)
        return unit_roots(self.n * (self.columns or self.width), powers)


def values(job: Job) -> tuple[int, ...]:
    """Returns the fields of a job, in order."""
    return tuple([getattr(job, name) for name in fields(Job)])


def _pairs(values: ComplexArray, dtype: np.dtype) -> np.ndarray:
    """Returns complex elements as pairs of real and imaginary parts along a new last axis."""
    return np.stack([values.real, values.imag], -1).astype(dtype)
