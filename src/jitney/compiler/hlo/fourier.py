"""Fourier transforms of several axes and of real numbers, and of any length, by complex ones of good
lengths.

    rfft, irfft, n <= 16  written out: real numbers have no imaginary parts to multiply
    rfft of an even n     one complex transform of n / 2 elements: even ones are real, odd ones
                          imaginary parts (Cooley, Lewis and Welch 1970)
    a large prime factor  a convolution with a chirp, by transforms of a greater, good length
                          (Bluestein 1970)

What stands around the transforms is arithmetic of real arrays, which fuses with what is next to it.
Kernels compute transforms of good lengths (`plan/fourier.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.reference.fourier import unit_roots
from jitney.compiler.scalar_functions.declaration import ComplexArray

Pair = tuple[ir.Node, ir.Node]

SMALL_PRIMES = (2, 3, 5, 7, 11, 13)
"""The prime factors of good lengths."""


def is_good(n: int) -> bool:
    """Whether `n` has small prime factors only."""
    for factor in SMALL_PRIMES:
        while n % factor == 0:
            n //= factor
    return n == 1


def _is_written_out(n: int) -> bool:
    """Whether a transform of, or to, `n` real numbers is one kernel."""
    from jitney.compiler.cost import COSTS  # late: importing jitney needs no costs

    return 1 < n <= COSTS.real_transform and is_good(n)


def fft(b: Builder, x: ir.Node, kind: str, lengths: Sequence[int]) -> ir.Node:
    """The transform of the last axes of `x`, as `reference.fourier.fft`; nothing in it is empty."""
    first = len(x.shape) - len(lengths)
    axes = list(range(first, len(x.shape)))
    if kind == "RFFT":
        z = _real(b, x, axes.pop())
    else:
        z = b.apply("real", x), b.apply("imag", x)
    if kind == "IRFFT":
        last = axes.pop()
        for axis in axes:
            z = _complex(b, z, axis, inverse=True)
        return _to_real(b, z, last, lengths[-1])
    for axis in axes:
        z = _complex(b, z, axis, inverse=kind == "IFFT")
    return b.apply("complex", *z)


def _complex(b: Builder, z: Pair, dim: int, inverse: bool) -> Pair:
    """The transform along `dim`; an inverse one divides by the length."""
    n = z[0].shape[dim]
    if is_good(n):
        re, im = b.dft(*z, dim, inverse, normalized=inverse)
        return re, im
    if not inverse:
        return _bluestein(b, z, dim)
    # The transform of what has its parts exchanged, with its parts exchanged.
    im, re = _bluestein(b, (z[1], z[0]), dim)
    factor = b.full(re.shape, 1 / n, re.dtype)
    return b.apply("mul", re, factor), b.apply("mul", im, factor)


def _bluestein(b: Builder, z: Pair, dim: int) -> Pair:
    """The transform of any length n: jk = (j^2 + k^2 - (k - j)^2) / 2 makes it a convolution."""
    n = z[0].shape[dim]
    size = 2 * n - 1
    while not is_good(size):
        size += 1
    squares = np.arange(n, dtype=np.int64) ** 2
    chirp = unit_roots(2 * n, squares)
    filter_ = np.zeros(size, np.complex128)
    filter_[:n] = chirp.conj()
    filter_[size - n + 1 :] = chirp[1:][::-1].conj()
    spectrum = np.fft.fft(filter_) / size
    w = _along(b, chirp, z[0], dim)
    padded = [_padded(b, part, dim, size) for part in _times(b, z, w)]
    u = b.dft(padded[0], padded[1], dim)
    u = _times(b, (u[0], u[1]), _along(b, spectrum, padded[0], dim))
    v = b.dft(*u, dim, inverse=True)
    return _times(b, (_first(b, v[0], dim, n), _first(b, v[1], dim, n)), w)


def _real(b: Builder, x: ir.Node, dim: int) -> Pair:
    """The first n / 2 + 1 elements of the transform of real numbers."""
    n = x.shape[dim]
    m = n // 2
    if _is_written_out(n):
        re, im = b.dft(x, x, dim, of_real=True)
        return re, im
    if n % 2 or n < 4:
        re, im = _complex(b, (x, b.full(x.shape, 0, x.dtype)), dim, inverse=False)
        return _first(b, re, dim, m + 1), _first(b, im, dim, m + 1)
    even, odd = (_every_second(b, x, dim, start) for start in (0, 1))
    z = _complex(b, (even, odd), dim, inverse=False)
    # Of the sequences of even and odd elements: their transforms are the parts of z that are
    # symmetric and antisymmetric under conjugation and k -> m - k.
    # Halved before sums of two are taken, which do not overflow then.
    u = [_halved(b, b.concatenate([part, _first(b, part, dim, 1)], dim)) for part in z]
    v = [b.reverse(part, (dim,)) for part in u]
    add, sub = partial(b.apply, "add"), partial(b.apply, "sub")
    # The first and the last element are real, also where differences of infinities are not 0.
    k = np.arange(m + 1)
    inner = b.broadcast(b.constant((k > 0) & (k < m)), u[0].shape, (dim,))
    zero = b.full(u[0].shape, 0, x.dtype)

    def within(value: ir.Node) -> ir.Node:
        return b.apply("select", inner, value, zero)

    ends = add(u[0], v[0]), within(sub(u[1], v[1]))
    odds = add(u[1], v[1]), within(sub(v[0], u[0]))
    turned = _times(b, odds, _along(b, unit_roots(n, k), u[0], dim))
    return b.apply("add", ends[0], turned[0]), within(b.apply("add", ends[1], turned[1]))


def _to_real(b: Builder, z: Pair, dim: int, n: int) -> ir.Node:
    """The n real numbers whose transform begins with `z`, n / 2 + 1 elements along `dim`.

    The imaginary parts of those elements that stand for themselves do not count.
    """
    m = n // 2
    re, im = z
    if _is_written_out(n):
        return b.dft(re, im, dim, inverse=True, normalized=True, to_real=n)[0]
    inner = _between(b, im, dim, 1, (n + 1) // 2)
    im = _padded(b, inner, dim, m + 1, before=1)
    if n % 2 or n < 4:
        rest = [b.reverse(_between(b, part, dim, 1, (n + 1) // 2), (dim,)) for part in (re, im)]
        rest[1] = b.apply("neg", rest[1])
        full = [b.concatenate([p, q], dim) for p, q in zip((re, im), rest, strict=True)]
        return _complex(b, (full[0], full[1]), dim, inverse=True)[0]
    u = [_first(b, part, dim, m) for part in (re, im)]
    v = [b.reverse(_between(b, part, dim, 1, m + 1), (dim,)) for part in (re, im)]

    def add(p: ir.Node, q: ir.Node) -> ir.Node:
        return _halved(b, b.apply("add", p, q))

    def sub(p: ir.Node, q: ir.Node) -> ir.Node:
        return _halved(b, b.apply("sub", p, q))

    even = add(u[0], v[0]), sub(u[1], v[1])
    roots = _along(b, unit_roots(n, -np.arange(m)), u[0], dim)
    odd = _times(b, (sub(u[0], v[0]), add(u[1], v[1])), roots)
    z = b.apply("sub", even[0], odd[1]), b.apply("add", even[1], odd[0])
    first, second = _complex(b, z, dim, inverse=True)
    shape = (*first.shape[: dim + 1], 1, *first.shape[dim + 1 :])
    pairs = b.concatenate([b.reshape(first, shape), b.reshape(second, shape)], dim + 1)
    return b.reshape(pairs, (*first.shape[:dim], n, *first.shape[dim + 1 :]))


# --- parts of arrays, and constants ---------------------------------------------------------------


def _halved(b: Builder, x: ir.Node) -> ir.Node:
    """x / 2"""
    return b.apply("mul", x, b.full(x.shape, 0.5, x.dtype))


def _times(b: Builder, z: Pair, w: Pair) -> Pair:
    """z w"""
    mul = partial(b.apply, "mul")
    re = b.apply("sub", mul(z[0], w[0]), mul(z[1], w[1]))
    return re, b.apply("add", mul(z[0], w[1]), mul(z[1], w[0]))


def _along(b: Builder, values: ComplexArray, like: ir.Node, dim: int) -> Pair:
    """Complex constants along axis `dim`, of the shape of `like`."""
    re, im = (
        b.broadcast(b.constant(part.astype(like.dtype)), like.shape, (dim,))
        for part in (values.real, values.imag)
    )
    return re, im


def _between(b: Builder, x: ir.Node, dim: int, start: int, limit: int, step: int = 1) -> ir.Node:
    starts, limits, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
    starts[dim], limits[dim], steps[dim] = start, limit, step
    return b.slice(x, starts, limits, steps)


def _first(b: Builder, x: ir.Node, dim: int, n: int) -> ir.Node:
    return _between(b, x, dim, 0, n)


def _every_second(b: Builder, x: ir.Node, dim: int, start: int) -> ir.Node:
    return _between(b, x, dim, start, x.shape[dim], 2)


def _padded(b: Builder, x: ir.Node, dim: int, size: int, before: int = 0) -> ir.Node:
    """`x` between zeros, of extent `size` along `dim`."""
    low, high = [0] * len(x.shape), [0] * len(x.shape)
    low[dim], high[dim] = before, size - before - x.shape[dim]
    zero = b.constant(np.zeros((), x.dtype))
    return b.pad(x, zero, low, high, [0] * len(low))
