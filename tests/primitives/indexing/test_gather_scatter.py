"""Gather and scatter with real jax and with jitney: random dimension numbers, dtypes and modes."""

import ml_dtypes
import numpy as np
import pytest
from tests.helpers.oracle import of_jax
from tests.parity.facts import facts

import jitney
from jitney import lax

DTYPES = [np.float32, np.int8, np.uint16, bool, np.complex64, ml_dtypes.bfloat16, np.int32]
INDEX_DTYPES = [np.int32, np.uint8, np.int8, np.uint32]
NARROW = [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2]
MODES = ["clip", "fill", "promise_in_bounds"]
SCATTERS = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]


def values(rng, shape, dtype):
    if dtype is bool:
        return rng.integers(0, 2, shape).astype(bool)
    low = 0 if np.dtype(dtype).kind == "u" else -9
    real = rng.integers(low, 9, shape)
    return (real + 1j * rng.integers(-9, 9, shape) if dtype is np.complex64 else real).astype(dtype)


class Case:
    """Operand, indices, updates and dimension numbers that go together, by a seed."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        rank = int(rng.integers(1, 5))
        shape = [int(n) for n in rng.integers(1, 5, rank)]
        dtype = DTYPES[rng.integers(len(DTYPES))]
        self.x = values(rng, shape, dtype)
        batching = sorted(rng.permutation(rank)[: rng.integers(0, min(2, rank - 1) + 1)].tolist())
        rest = [k for k in range(rank) if k not in batching]
        collapsed = [k for k in rest if rng.random() < 0.4]
        index_map = rng.permutation([k for k in rest if rng.random() < 0.7] or rest[:1]).tolist()
        batch_rank = len(batching) + int(rng.integers(0, 3))
        batch = [int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 4, batch_rank)]
        index_batching = rng.permutation(batch_rank)[: len(batching)].tolist()
        for axis, at in zip(batching, index_batching, strict=True):
            batch[at] = shape[axis]
        self.sizes = [
            1 if k in batching or k in collapsed else int(rng.choice([n, rng.integers(1, n + 1)]))
            for k, n in enumerate(shape)
        ]
        index_dtype = INDEX_DTYPES[rng.integers(4)]
        info = np.iinfo(index_dtype)
        self.mode = MODES[rng.integers(3)]
        indices = rng.integers(max(info.min, -3), 6, [*batch, len(index_map)])
        indices = np.where(rng.random(indices.shape) < 0.1, info.max, indices)
        if self.mode == "promise_in_bounds":
            most = [shape[k] - self.sizes[k] for k in index_map]
            indices = np.clip(indices, 0, most)
        self.indices = indices.astype(index_dtype)
        window = [k for k in range(rank) if k not in batching and k not in collapsed]
        out_rank = batch_rank + len(window)
        offset = sorted(rng.permutation(out_rank)[: len(window)].tolist())
        self.numbers = tuple(map(tuple, (offset, collapsed, index_map, batching, index_batching)))
        extents, windows = iter(batch), iter([self.sizes[k] for k in window])
        update_shape = [next(windows) if k in offset else next(extents) for k in range(out_rank)]
        self.updates = values(rng, update_shape, dtype)
        names = SCATTERS if dtype is not bool else ["scatter", "scatter_min", "scatter_max"]
        self.scatter = names[rng.integers(len(names))]


def check(fun, *args):
    expected = of_jax(lambda j: fun(j.lax, *map(j.numpy.asarray, args))).array
    for f in (lambda *a: fun(lax, *a), jitney.jit(lambda *a: fun(lax, *a))):
        got = np.asarray(f(*[jitney.numpy.asarray(a) for a in args]))
        assert got.dtype == expected.dtype
        wide = [a.astype(np.float32) if a.dtype.kind == "V" else a for a in (got, expected)]
        np.testing.assert_array_equal(*wide)


@pytest.mark.parametrize("seed", range(40))
def test_random(seed):
    case = Case(seed)
    numbers, sizes, mode, scatter = case.numbers, case.sizes, case.mode, case.scatter

    def gathered(lax, x, indices):
        dims = lax.GatherDimensionNumbers(*numbers)
        return lax.gather(x, indices, dims, sizes, mode=mode, fill_value=1)

    def scattered(lax, x, indices, updates):
        dims = lax.ScatterDimensionNumbers(*numbers)
        return getattr(lax, scatter)(x, indices, updates, dims, mode=mode)

    check(gathered, case.x, case.indices)
    check(scattered, case.x, case.indices, case.updates)


ROWS = np.array([[0], [2], [2], [7]], np.int32)
X = np.arange(12, dtype=np.float32).reshape(3, 4) % 8  # within the range of every dtype here


@pytest.mark.parametrize("dtype", [*DTYPES, np.float16, ml_dtypes.int4, ml_dtypes.float8_e4m3fn])
def test_default_fill_values(dtype):
    def rows(lax, x, i):
        return lax.gather(x, i, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4), mode="fill")

    check(rows, X.astype(dtype), ROWS)


@pytest.mark.parametrize("fill_value", [3, 3.7, -1, 300, True, np.float32(2.5)])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_fill_values(dtype, fill_value):
    def rows(lax, x, i):
        numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
        return lax.gather(x, i, numbers, (1, 4), mode="fill", fill_value=fill_value)

    check(rows, X.astype(dtype), ROWS)


@pytest.mark.parametrize("name", SCATTERS[1:3])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_sums_of_short_floats_are_rounded_each_time(name, dtype):
    def summed(lax, x, i, u):
        return getattr(lax, name)(x, i, u, lax.ScatterDimensionNumbers((), (0,), (0,)))

    check(summed, np.ones(3, dtype), np.zeros((300, 1), np.int32), np.full(300, 0.01, dtype))


@pytest.mark.parametrize(
    "func",
    [
        lambda a: a * a + 1,
        lambda a: np.float32(2),
        lambda a: a * np.arange(3, dtype=np.float32)[1],
    ],
)
def test_scatter_apply(func):
    def applied(lax, x, i):
        numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
        return lax.scatter_apply(x, i, func, numbers, update_shape=(4, 4))

    check(applied, X, ROWS)


def test_scatter_apply_of_a_program_that_is_not_elementwise():
    def func(a):
        return lax.squeeze(lax.slice(lax.mul(lax.full((3,), 2.0, "float32"), a), (1,), (2,)), (0,))

    out = lax.scatter_apply(
        X, ROWS, func, lax.ScatterDimensionNumbers((1,), (0,), (0,)), update_shape=(4, 4)
    )
    np.testing.assert_array_equal(np.asarray(out), X * np.array([[2], [1], [4]], np.float32))


def test_programs():
    def everything(lax, x, i, u):
        numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
        rows = lax.gather(x, i, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4), mode="fill")
        parts = [getattr(lax, name)(x, i, u, numbers, mode="clip") for name in SCATTERS]
        applied = lax.scatter_apply(x, i, lax.sin, numbers, update_shape=u.shape)
        return rows, *parts, applied

    args = X, ROWS, np.ones((4, 4), np.float32)

    def text(j):
        return str(j.make_jaxpr(lambda *a: everything(j.lax, *a))(*args))

    assert text(jitney) == of_jax(text)


GATHER_NUMBERS = [
    ((1,), (0,), (0, 1)), ((1,), (0,), (5,)), ((1,), (5,), (0,)), ((2,), (0,), (0,)),
    ((1, 1), (0,), (0,)), ((1, 0), (0,), (0,)), ((), (0,), (0,)), ((1,), (0, 0), (0,)),
    ((1,), (), (0,), (0,), (0,)), ((1,), (), (1,), (0,), (0,)), ((1,), (), (1,), (0,), (1,)),
    ((1,), (), (1,), (5,), (0,)), ((1,), (0,), (1,), (0,), (0,)), ((), (1,), (1,), (0,), (5,)),
]  # fmt: skip
SCATTER_NUMBERS = [
    ((1,), (), (0,)), ((5,), (0,), (0,)), ((1,), (5,), (0,)), ((1, 1), (0,), (0,)),
    ((1,), (0, 0), (0,)), ((1,), (), (1,), (0,), (0,)), ((1,), (0,), (1,), (0,), (0,)),
]  # fmt: skip


def check_error(fun):
    def refusal(j):
        """The error's class, and the facts in its first line."""
        with pytest.raises((TypeError, ValueError)) as found:
            fun(j.lax, j.numpy)
        return found.type.__name__, list(facts(str(found.value).split("\n")[0]))

    expected, wanted = of_jax(refusal)
    with pytest.raises((TypeError, ValueError)) as got:
        fun(lax, jitney.numpy)
    assert got.type.__name__ == expected
    assert [fact for fact in wanted if fact not in str(got.value)] == []


@pytest.mark.parametrize("numbers", GATHER_NUMBERS)
def test_errors_of_gather(numbers):
    check_error(
        lambda lax, np: lax.gather(
            np.asarray(X), np.asarray(ROWS), lax.GatherDimensionNumbers(*numbers), (1, 4)
        )
    )


@pytest.mark.parametrize("numbers", SCATTER_NUMBERS)
def test_errors_of_scatter(numbers):
    check_error(
        lambda lax, np: lax.scatter(
            np.asarray(X), np.asarray(ROWS), np.ones((4, 4)), lax.ScatterDimensionNumbers(*numbers)
        )
    )


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.complex64])
def test_indices_that_are_not_integers(dtype):
    x, indices = np.zeros(3, np.float32), np.ones((1, 1), dtype)
    check_error(
        lambda lax, np: lax.gather(x, indices, lax.GatherDimensionNumbers((), (0,), (0,)), (1,))
    )
    check_error(
        lambda lax, np: lax.scatter_add(
            x, indices, x[:1], lax.ScatterDimensionNumbers((), (0,), (0,))
        )
    )


@pytest.mark.parametrize("sizes", [(1, 5), (2, 4), (1,), (1, -1)])
def test_errors_of_slice_sizes(sizes):
    check_error(
        lambda lax, np: lax.gather(
            np.asarray(X), np.asarray(ROWS), lax.GatherDimensionNumbers((1,), (0,), (0,)), sizes
        )
    )


@pytest.mark.parametrize("mode", ["clip", "fill", "drop", "promise_in_bounds", "one_hot", None])
def test_modes(mode):
    def text(j):
        return str(j.lax.GatherScatterMode.from_any(mode))

    assert text(jitney) == of_jax(text)


def test_unknown_mode():
    check_error(lambda lax, np: lax.GatherScatterMode.from_any("foo"))


def test_index_take():
    check(lambda lax, x, i, j: lax.index_take(x, (i, j), (0, 1)), X, ROWS[:, 0], ROWS[:, 0] - 3)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(
    "f",
    [
        lambda lax, x, i: x[i],
        lambda lax, x, i: x.at[i].add(9),
        lambda lax, x, i: x.at[i].set(i.astype(x.dtype)[:, None], mode="drop"),
        lambda lax, x, i: lax.dynamic_slice(x, (i[0], i[1]), (1, 2)),
        lambda lax, x, i: lax.dynamic_update_slice(x, 2 * x[:1], (i[0], i[1])),
        lambda lax, x, i: lax.fori_loop(0, 3, lambda _, c: c.at[i].multiply(c[i]), x),
        lambda lax, x, i: lax.fori_loop(
            0, 3, lambda _, c: lax.dynamic_update_slice(c, c[:1] + 1, (i[0], i[1])), x
        ),
    ],
)
def test_positions_of_few_bits(f, dtype):
    """Kernels do not know them. (XLA neither: the oracle takes wider ones.)"""
    x, i = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([1, 0, -1], dtype)
    k = i.astype("int32")
    want = of_jax(lambda j: f(j.lax, j.numpy.asarray(x), j.numpy.asarray(k)))
    got = jitney.jit(lambda x, i: f(lax, x, i))(x, i)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_extremes_of_complex_numbers_that_are_not_numbers():
    nan = np.nan
    x = np.array([1 + 2j, nan + 1j, 2, 0, nan], np.complex64)
    u = np.array([nan, 3, 2 + 1j, 1, nan], np.complex64)
    i = np.array([0, 1, 2, 2, 4])
    for name in ("max", "min"):
        expected = of_jax(lambda j, n=name: getattr(j.numpy.asarray(x).at[i], n)(u))
        for f in (lambda f: f, jitney.jit):
            found = f(lambda x, u, n=name: getattr(jitney.numpy.asarray(x).at[i], n)(u))(x, u)
            np.testing.assert_array_equal(found, expected)


def test_index_vectors_are_no_batch():
    """Also where the axes have one extent."""
    check_error(
        lambda lax, np: lax.gather(
            np.ones((1, 4)),
            np.zeros((3, 1), int),
            lax.GatherDimensionNumbers((1,), (), (1,), (0,), (1,)),
            (1, 1),
        )
    )
