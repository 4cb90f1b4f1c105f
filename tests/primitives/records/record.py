"""Records: an operation, the dtypes and operands it is tried on, and how close it must be to JAX.

The operands of a record are made from a seed, so that all runs see the same ones. Values cover the
range of the dtype, its special values (zeros of both signs, infinities, NaN, subnormal numbers, the
extreme integers), and shapes: scalars, empty, of size one, larger than a vector, strided, transposed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np

Operands = tuple[Any, ...]
Make = Callable[[np.dtype, np.random.Generator], Sequence[Operands]]

F16, BF16, F32, F64 = [
    np.dtype(d) for d in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
]
C64, C128 = np.dtype(np.complex64), np.dtype(np.complex128)
BOOL = np.dtype(bool)
FLOATS = (F16, BF16, F32, F64)
COMPLEX = (C64, C128)
SIGNED = tuple([np.dtype(f"int{b}") for b in (8, 16, 32, 64)])
UNSIGNED = tuple([np.dtype(f"uint{b}") for b in (8, 16, 32, 64)])
INTEGERS = SIGNED + UNSIGNED
INEXACT = FLOATS + COMPLEX
NUMERIC = INEXACT + INTEGERS
REAL = FLOATS + INTEGERS
BITS = (BOOL, *INTEGERS)
ALL = (BOOL, *NUMERIC)
# One of each kind and width: for operations that only move values.
SAMPLE = (BOOL, F32, BF16, C128, SIGNED[1], UNSIGNED[3])

Bound = float | dict[Any, float]


@dataclass(frozen=True)
class Record:
    """One operation.

    Attributes:
      name: of the record; starts with that of the operation.
      fn: (lax, *operands) -> result or results; lax is JAX's or jitney's.
      make: (dtype, random generator) -> operands of each case.
      dtypes: to try.
      ulp: how far results may be from JAX's, in units in the last place, by dtype name or for all
        dtypes; complex results are measured against their modulus.
      jit_ulp: how far compiled results may be from eager ones.
      reference: the function of NumPy that has the exact values, where JAX's are not good enough to
        compare with; infinities and NaN are JAX's all the same.
      floor: results smaller than this are as accurate as results of this size.
      signed_zeros: whether zeros must agree in sign.
      avoid: (dtype, operands) -> mask of results that are not compared, with the reason given beside
        the record.
    """

    name: str
    fn: Callable[..., Any]
    make: Make
    dtypes: tuple[np.dtype, ...] = NUMERIC
    ulp: Bound = 0
    jit_ulp: Bound = 0
    reference: Callable[..., Any] | None = field(default=None, repr=False)
    floor: float = 0.0
    signed_zeros: bool = True
    avoid: Callable[..., Any] | None = field(default=None, repr=False)

    def named(self, name: str) -> Record:
        """This record under another name."""
        return replace(self, name=name)

    def cases(self, dtype: np.dtype) -> Sequence[Operands]:
        """Operands to try with `dtype`, the same in each run."""
        rng = np.random.default_rng(zlib.crc32(f"{self.name} {dtype}".encode()))
        return self.make(dtype, rng)


def bound(of: Bound, dtype: np.dtype) -> float:
    """The bound for `dtype`, or for `None` where it has none of its own."""
    if isinstance(of, dict):
        return of.get(dtype.name, of.get(None, 0))
    return of


# --- values -----------------------------------------------------------------------------------


def is_float(dtype: np.dtype) -> bool:
    return dtype in FLOATS


def special(dtype: np.dtype, *, subnormal: bool = True) -> np.ndarray:
    """The values of `dtype` where things go wrong, as a vector."""
    if dtype == BOOL:
        return np.array([False, True])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        near = [-3, -2, -1, 0, 1, 2, 3, 7, 8, 31, 32, 63, 64, 100]
        values = [info.min, info.min + 1, info.max - 1, info.max, info.max // 2, *near]
        return np.array([v for v in values if info.min <= v <= info.max], dtype)
    if dtype in COMPLEX:
        parts = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan])
        re, im = np.meshgrid(parts, parts)
        out = np.empty(re.shape, dtype)
        out.real, out.imag = re, im
        return out.ravel()
    info = ml_dtypes.finfo(dtype)
    near = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, 2.5, -2.5, 3.0, -7.25, 100.0]
    edges = [np.inf, -np.inf, np.nan, info.max, info.min, info.tiny, -info.tiny, info.eps]
    if subnormal:
        edges += [info.smallest_subnormal, info.tiny / 2]
    return np.array([float(v) for v in near + edges]).astype(dtype)


def finite(dtype: np.dtype) -> np.ndarray:
    """The finite ones of `special`, subnormal numbers left out."""
    values = special(dtype, subnormal=False)
    return values[np.isfinite(values)] if dtype in INEXACT else values


def random(rng: np.random.Generator, dtype: np.dtype, shape: Any, scale: float = 3.0) -> np.ndarray:
    """Random values of `dtype`: all integers, or floats of the order of `scale`."""
    if dtype == BOOL:
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        return np.asarray(values, dtype)
    if dtype in COMPLEX:
        values = rng.normal(size=shape) * scale + 1j * rng.normal(size=shape) * scale
        return np.asarray(values, dtype)
    return np.asarray(rng.normal(size=shape) * scale).astype(dtype)


def small(rng: np.random.Generator, dtype: np.dtype, shape: Any, limit: int = 4) -> np.ndarray:
    """Random whole numbers up to `limit`: sums and products of them are exact, and ties common."""
    low = 0 if dtype in UNSIGNED or dtype == BOOL else -limit
    values = rng.integers(low, limit, shape, endpoint=True)
    if dtype in COMPLEX:
        values = values + 1j * rng.integers(-limit, limit, shape, endpoint=True)
    return np.asarray(values).astype(dtype)


SHAPES = ((), (1,), (0,), (2, 0, 3), (3, 4), (1, 1, 1), (7, 33))


def arrays(rng: np.random.Generator, dtype: np.dtype, scale: float = 3.0) -> list[np.ndarray]:
    """Arrays of many shapes and layouts, the last ones strided, transposed and reversed.

    All of them for the dtypes that are used most, three for others.
    """
    plain = [random(rng, dtype, shape, scale) for shape in SHAPES]
    base = random(rng, dtype, (6, 5, 4), scale)
    every = [*plain, base[::2, 1:, ::-1], base.transpose(2, 0, 1), base[:, 0][::-2]]
    return every if dtype in (F32, SIGNED[2]) else [every[0], every[6], every[7]]


def magnitudes(rng: np.random.Generator, low: int, high: int, n: int) -> np.ndarray:
    """`n` numbers from 2^low to 2^high, of all orders of magnitude; the same on all machines."""
    return np.ldexp(1 + rng.random(n), rng.integers(low, high, n))


def over(rng: np.random.Generator, dtype: np.dtype, low: float, high: float, n: int) -> np.ndarray:
    """`n` values, half of them evenly in [low, high], half of them of all orders of magnitude."""
    even = rng.uniform(low, high, n // 2)
    small_part = magnitudes(rng, -44, 0, n - n // 2)
    small_part *= rng.choice([low, high], n - n // 2)
    return np.concatenate([even, small_part]).astype(dtype)
