"""Native sorts and largest elements, against their reference implementations, bit for bit."""

import ml_dtypes
import numpy as np
import pytest

from jitney.compiler import sorting
from jitney.compiler.reference import order
from jitney.compiler.tensor_type import TensorType
from jitney.runtime.native import _native

DTYPES = [
    np.dtype(d)
    for d in (*"?BbHhIiLlefdFD", ml_dtypes.bfloat16)
]  # fmt: skip
# Few elements, which are inserted and merged; some; rows in several items of work; parts for threads.
SHAPES = [(1,), (30,), (300,), (70, 45), (9, 157), (3, 500), (140_000,)]
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.nan, -np.nan, np.inf, -np.inf)


def numbers(dtype, shape, seed=0):
    """Numbers of all sizes, many of them equal; special values of floats."""
    r = np.random.default_rng(seed)
    if dtype.kind == "c":
        part = np.dtype("f4" if dtype.itemsize == 8 else "f8")
        out = np.empty(shape, dtype)
        out.real, out.imag = numbers(part, shape, seed), numbers(part, shape, seed + 1)
        return out
    if dtype.kind in "fV":
        x = r.standard_normal(shape) * 10.0 ** r.integers(-3, 3, shape)
        return np.where(r.random(shape) < 0.3, r.choice(SPECIAL, shape), x).astype(dtype)
    if dtype.kind == "b":
        return r.random(shape) < 0.5
    info = np.iinfo(dtype)
    x = r.integers(info.min, info.max, shape, dtype, endpoint=True)
    return np.where(r.random(shape) < 0.5, x >> np.array(4 * dtype.itemsize, dtype), x)


def assert_same_bits(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        np.testing.assert_array_equal(*[np.ascontiguousarray(x).view(np.uint8) for x in (a, b)])


def types(xs):
    return [TensorType(x.shape, x.dtype) for x in xs]


def assert_sorts(xs, keys=1):
    found = sorting.run(sorting.sort_routine(types(xs), keys), xs)
    assert_same_bits(found, order.sort(xs, xs[0].ndim - 1, keys, True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sort(dtype, shape):
    x = numbers(dtype, shape)
    assert_sorts([x])
    for along in "bhidD":
        assert_sorts([x, numbers(np.dtype(along), shape, 7)])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_several_keys(dtype):
    shape = (4, 700)
    xs = [
        numbers(np.dtype("b"), shape, 3) % 4,
        numbers(dtype, shape),
        numbers(np.dtype("d"), shape, 5),
    ]
    for keys in (1, 2, 3):
        assert_sorts(xs, keys)
    assert_sorts([xs[1], xs[0], xs[2]], 2)


@pytest.mark.parametrize(
    "x",
    [
        np.arange(5000),
        np.arange(5000)[::-1],
        np.zeros(5000, np.int64),
        np.random.default_rng(0).integers(-(2**31), 2**31, 5000),
        # Equal in their highest digits: an insertion sort would take long.
        np.random.default_rng(0).integers(0, 2**30, 5000) | (np.arange(5000) % 2 << 62),
        np.random.default_rng(0).integers(0, 2**20, 5000) << 40,
    ],
)
def test_numbers_of_64_bits(x):
    for values in (x, x.astype(np.float64), x.astype(np.uint64)):
        assert_sorts([values])
        assert_sorts([values, np.arange(x.size)])


@pytest.mark.parametrize("shape", [*SHAPES, (5000,)], ids=str)
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.kind not in "?cb"], ids=str)
def test_top_k(dtype, shape):
    n = shape[-1]
    x = numbers(dtype, shape)
    for values in (x, np.sort(x, axis=-1)):
        for k in sorted({1, min(7, n), (n + 1) // 2, n}):
            found = sorting.run(sorting.top_k_routine(types([values])[0], k), [values])
            assert_same_bits(found, order.top_k(values, k, values.ndim - 1))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(threads, monkeypatch):
    pool = _native.ThreadPool(threads)
    monkeypatch.setattr(sorting._Native, "call", pool.run_over_batch)
    for shape in ((300_000,), (40, 3000)):
        x, y = numbers(np.dtype("f"), shape), numbers(np.dtype("d"), shape, 1)
        assert_sorts([x])
        assert_sorts([y, x])
        assert_sorts([x, y], 2)
