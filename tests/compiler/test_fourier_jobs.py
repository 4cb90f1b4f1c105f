"""Lengths of transforms are split into factors that native code has passes for."""

import math

import numpy as np
import pytest

from jitney.compiler.fourier_jobs import (
    OF_COMPLEX,
    OF_REAL,
    TO_REAL,
    Job,
    chirped_length,
    factors,
    split,
    values,
)


def job(kind, n, lines=3, **more):
    given = dict.fromkeys(("planes_from", "planes_to", "after_from", "after_to"), 0)
    return Job(kind, lines, n, **given, inverse=0, divisor=1, **more)


@pytest.mark.parametrize("of_complex", [True, False])
def test_factors_multiply_to_the_length(of_complex):
    for n in range(1, 400):
        found = factors(n, of_complex)
        assert math.prod(found) == n
        odd = [p for p in found if p % 2]
        assert odd == sorted(odd) and all(p % q for p in odd for q in range(3, p, 2))
        assert of_complex or 8 not in found


@pytest.mark.parametrize(
    ("n", "of_complex", "expected"),
    [(1, True, []), (64, True, [8, 8]), (32, True, [8, 4]), (32, False, [2, 4, 4]),
     (16, True, [2, 8]), (2, True, [2]), (90, True, [2, 3, 3, 5])],
)  # fmt: skip
def test_a_factor_of_two_comes_first(n, of_complex, expected):
    assert factors(n, of_complex) == expected


def test_large_prime_lengths_are_convolved_with_a_chirp():
    for n in (1021, 2 * 1021):
        size = chirped_length(n, True)
        assert size >= 2 * n - 1 and max(factors(size)) <= 11
    assert chirped_length(1024, True) == chirped_length(49, True) == chirped_length(47, True) == 0
    assert chirped_length(8191, False) > 0


@pytest.mark.parametrize(("n", "first"), [(4096, 64), (8, 0), (13, 0), (12, 0), (60, 4), (100, 4)])
def test_lengths_are_split_near_their_square_root(n, first):
    found = split(n)
    assert found == first and (not found or n % found == 0)


def test_real_transforms_keep_half_of_the_spectrum():
    counts = [(j.numbers_from, j.numbers_to) for j in (job(k, 10) for k in range(3))]
    assert (OF_COMPLEX, OF_REAL, TO_REAL) == (0, 1, 2)
    assert counts == [(30, 30), (30, 18), (18, 30)]
    matrix = job(OF_COMPLEX, 6, lines=8, columns=5, rows=4)
    assert matrix.to_half and not matrix.of_half
    assert matrix.numbers_to == 2 * (5 * 6 // 2 + 1)


def test_the_first_options_are_the_fields_of_the_job():
    one = job(OF_COMPLEX, 24)
    options = one.options(tiles=2)
    assert tuple(options[: len(values(one))]) == values(one)
    chirped, tiles, room, count, *radices = options[len(values(one)) :]
    assert (chirped, tiles, room, count) == (0, 2, one.room, 2)
    assert radices[:count] == [8, 3] and not any(radices[count:])


@pytest.mark.parametrize("n", [6, 59])
def test_constants_are_roots_of_unity(n):
    """Of a chirp, the filter is that with which products of chirps are a transform."""
    one = job(OF_COMPLEX, n)
    tables = [t[:, 0] + 1j * t[:, 1] for t in one.constants(np.dtype(np.float64))]
    x = np.random.default_rng(n).normal(size=n) + 1j
    if len(tables) == 1:
        powers = np.outer(np.arange(n), np.arange(n)) % n
        found = tables[0][powers] @ x
    else:
        _, chirp, filter_ = tables
        padded = np.zeros(one.chirped, complex)
        padded[:n] = x * chirp
        # The filter is divided by the length, as the inverse transform is not.
        found = chirp * (np.fft.ifft(np.fft.fft(padded) * filter_) * one.chirped)[:n]
    np.testing.assert_allclose(found, np.fft.fft(x), atol=1e-11)


def test_twiddle_factors_of_rows_and_columns():
    roots = job(OF_REAL, 6, columns=4, width=4).factors()
    j, k = np.mgrid[:4, :4]
    np.testing.assert_allclose(roots, np.exp(-2j * np.pi * j * k / 24), atol=1e-15)
