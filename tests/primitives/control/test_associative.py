"""Prefixes by an associative function are those of a loop, in order, for any size."""

import numpy as np
import pytest

from jitney.primitives.calculus import add, mul
from jitney.primitives.control.associative import associative_scan


def after(f, g):
    """Composes maps x -> a x + b, which do not commute."""
    return {"a": mul(f["a"], g["a"]), "b": add(mul(f["b"], g["a"]), g["b"])}


def prefixes(a, b):
    factor, offset, out = 1, 0, []
    for p, q in zip(a, b, strict=True):
        factor, offset = factor * p, offset * p + q
        out.append((factor, offset))
    return np.array(out, a.dtype).reshape(-1, 2).T


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 8, 13])
def test_prefixes(n):
    a, b = np.arange(1, n + 1, dtype=np.int32) % 4 - 1, np.arange(n, dtype=np.int32)
    got = associative_scan(after, {"a": a, "b": b})
    np.testing.assert_array_equal([got["a"], got["b"]], prefixes(a, b))
    got = associative_scan(after, {"a": a, "b": b}, reverse=True)
    np.testing.assert_array_equal([got["a"], got["b"]], prefixes(a[::-1], b[::-1])[:, ::-1])


def test_an_axis_from_the_end():
    x = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    np.testing.assert_array_equal(associative_scan(add, x, axis=-2), np.cumsum(x, -2))


def test_few_calls():
    calls = []

    def count(x, y):
        calls.append(x.shape[0])
        return add(x, y)

    associative_scan(count, np.ones(16, np.float32))
    assert calls == [8, 4, 2, 1, 0, 1, 3, 7]


def test_what_is_refused():
    with pytest.raises(TypeError, match="`fn` must be a function, but is None"):
        associative_scan(None, np.ones(2))
    with pytest.raises(
        ValueError, match=r"along axis 0, all sizes must be equal, but the shapes are \[\(2,\)"
    ):
        associative_scan(after, {"a": np.ones(2, np.float32), "b": np.ones(3, np.float32)})
