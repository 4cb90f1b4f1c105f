"""Integer functions, compiled, are total: division by 0, the least number, shifts past the width."""

import numpy as np
import pytest
from tests.accuracy.harness import apply

from jitney.compiler.scalar import integers

DTYPES = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]


def pairs(dtype):
    info = np.iinfo(dtype)
    parts = [info.min, info.min + 1, 0, 1, 2, 7, info.max // 3, info.max - 1, info.max]
    parts += [-1, -5] if info.min else []
    return [
        np.array([f(a, b) for a in parts for b in parts], dtype)
        for f in (lambda a, b: a, lambda a, b: b)
    ]


def wrapped(values, dtype):
    info = np.iinfo(dtype)
    size = 1 << info.bits
    return np.array([(int(v) - int(info.min)) % size + int(info.min) for v in values], dtype)


def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_remainders_and_products(dtype):
    x, y = pairs(dtype)
    signed = bool(np.iinfo(dtype).min)
    numbers = [(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    quotients = wrapped([truncated(a, b) if b else -1 for a, b in numbers], dtype)
    remainders = wrapped([a - b * truncated(a, b) if b else a for a, b in numbers], dtype)
    np.testing.assert_array_equal(
        apply(lambda e, a, b: integers.div(e, a, b, signed), x, y), quotients
    )
    np.testing.assert_array_equal(
        apply(lambda e, a, b: integers.rem(e, a, b, signed), x, y), remainders
    )
    np.testing.assert_array_equal(
        apply(integers.mul, x, y), wrapped([a * b for a, b in numbers], dtype)
    )
    if np.iinfo(dtype).bits <= 64:
        high = [a * b >> np.iinfo(dtype).bits for a, b in numbers]
        found = apply(lambda e, a, b: integers.mulhi(e, a, b, signed), x, y)
        np.testing.assert_array_equal(found, wrapped(high, dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64"])
def test_shifts_past_the_width(dtype):
    bits = np.iinfo(dtype).bits
    x = pairs(dtype)[0][::5]
    for by in (0, 3, bits - 1, bits, bits + 7):
        y = np.full_like(x, by)
        left = wrapped([int(v) << by for v in x], dtype)
        logical = wrapped([(int(v) % (1 << bits)) >> by for v in x], dtype)
        signs = x.astype(f"int{bits}")
        arithmetic = wrapped([int(v) >> by for v in signs], dtype)
        for rule, wanted in (
            (integers.shift_left, left if by < bits else 0 * x),
            (integers.shift_right_logical, logical),
            (integers.shift_right_arithmetic, arithmetic),
        ):
            if by in (3, bits):
                np.testing.assert_array_equal(apply(rule, x, y), wanted)
            found = apply(lambda e, x, rule=rule, by=by: rule(e, x, e.const(by, x)), x)
            np.testing.assert_array_equal(found, wanted)


def test_signs_and_counts_of_bits():
    x = np.array([-128, -1, 0, 1, 64, 127], np.int8)
    np.testing.assert_array_equal(apply(lambda e, x: integers.sign(e, x, True), x), np.sign(x))
    np.testing.assert_array_equal(apply(integers.absolute, x), [-128, 1, 0, 1, 64, 127])
    np.testing.assert_array_equal(apply(integers.clz, x), [0, 0, 8, 7, 1, 1])
    np.testing.assert_array_equal(apply(integers.population_count, x), [1, 8, 0, 1, 1, 7])
    words = x.view(np.uint8)
    found = apply(lambda e, x: integers.sign(e, x, False), words)
    np.testing.assert_array_equal(found, [1, 1, 0, 1, 1, 1])


def test_constants_are_read_back():
    seen = []

    def rule(e, x):
        seen.extend(integers.constant_of(e.const(v, x)) for v in (5, -3))
        return x

    apply(rule, np.zeros(3, np.int16))
    assert seen == [5, -3]
