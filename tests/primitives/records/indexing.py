"""Records of gather and scatter: dimension numbers, modes, dtypes of indices, functions."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import (
    ALL,
    BOOL,
    COMPLEX,
    F32,
    NUMERIC,
    REAL,
    SAMPLE,
    Operands,
    Record,
    random,
    small,
)

I32 = np.dtype(np.int32)
FEW = (F32, np.dtype(np.float64), np.dtype(np.int16), np.dtype(np.uint64))
OUTSIDE = ("clip", "fill")
INSIDE = ("promise_in_bounds",)

# name -> (operand shape, indices shape, updates shape, size of index, dimension numbers); the latter
# are (window dims of output or updates, dims without window, dims of operand that indices name).
PLACES = {
    "rows": ((6, 5), (4, 1), (4, 5), 6, ((1,), (0,), (0,)), (1, 5)),
    "columns": ((6, 5), (3, 1), (6, 3), 5, ((0,), (1,), (1,)), (6, 1)),
    "points": ((6, 5), (7, 2), (7,), 5, ((), (0, 1), (0, 1)), (1, 1)),
    "windows": ((6, 5), (2, 3, 2), (2, 3, 2, 4), 3, ((2, 3), (), (0, 1)), (2, 4)),
    "one_row": ((6, 5), (1,), (5,), 6, ((0,), (0,), (0,)), (1, 5)),
    "nothing": ((6, 5), (0, 1), (0, 5), 6, ((1,), (0,), (0,)), (1, 5)),
    "swapped": ((4, 4), (9, 2), (9,), 4, ((), (0, 1), (1, 0)), (1, 1)),
}


def gather_numbers(lax, place):
    window, collapsed, start = PLACES[place][4]
    return lax.GatherDimensionNumbers(window, collapsed, start)


def scatter_numbers(lax, place):
    window, inserted, dims = PLACES[place][4]
    return lax.ScatterDimensionNumbers(window, inserted, dims)


def places(place, outside, with_updates, values=random, index_dtypes=(I32,)):
    """Operand, indices (some `outside` the operand), and updates."""
    shape, index_shape, update_shape, limit, _, _ = PLACES[place]

    def make(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        cases = []
        for index_dtype in index_dtypes:
            low = 0 if not outside or index_dtype.kind == "u" else -3
            index = rng.integers(low, limit + (3 if outside else 0), index_shape)
            case = [values(rng, dtype, shape), index.astype(index_dtype)]
            if with_updates:
                case.append(values(rng, dtype, update_shape))
            cases.append(tuple(case))
        return cases

    return make


INDEX_DTYPES = tuple([np.dtype(d) for d in ("int8", "uint8", "int32", "uint32", "int64")])


def gather(place, modes=OUTSIDE, dtypes=FEW, index_dtypes=(I32,), **params):
    def fn(lax, x, i):
        numbers = gather_numbers(lax, place)
        return [lax.gather(x, i, numbers, PLACES[place][5], mode=m, **params) for m in modes]

    make = places(place, modes == OUTSIDE, False, index_dtypes=index_dtypes)
    return Record(f"gather[{place},{','.join(modes)}]", fn, make, dtypes)


def scatter(name, place, modes=OUTSIDE, dtypes=FEW, index_dtypes=(I32,), **options):
    def fn(lax, x, i, u):
        f, numbers = getattr(lax, name), scatter_numbers(lax, place)
        return [f(x, i, u, numbers, mode=m) for m in modes]

    make = places(place, modes == OUTSIDE, True, small, index_dtypes)
    return Record(f"{name}[{place},{','.join(modes)}]", fn, make, dtypes, **options)


def distinct(dtype, rng):
    """Indices that name each row once: where they repeat, any update may win."""
    outside, inside = [np.asarray(rng.permutation(n) - k)[:, None] for n, k in ((8, 1), (6, 0))]
    x, u = random(rng, dtype, (6, 5)), random(rng, dtype, (8, 5))
    return [(x, outside.astype(np.int32), u), (x, inside.astype(np.int8), u[:6])]


def replaced(lax, x, i, u):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    modes = ("fill",) if len(u) == 8 else ("fill", "clip", "promise_in_bounds")
    return [lax.scatter(x, i, u, numbers, mode=m, unique_indices=True) for m in modes]


def applied(lax, x, i):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return lax.scatter_apply(
        x, i, lambda y: lax.mul(y, y), numbers, mode="fill", update_shape=(3, 5)
    )


def batched(lax, x, i):
    numbers = lax.GatherDimensionNumbers(
        (1,), (1,), (1,), operand_batching_dims=(0,), start_indices_batching_dims=(0,)
    )
    return [lax.gather(x, i, numbers, (1, 1, 4), mode=m) for m in ("clip", "fill")]


def batched_scatter(lax, x, i, u):
    numbers = lax.ScatterDimensionNumbers(
        (2,), (1,), (1,), operand_batching_dims=(0,), scatter_indices_batching_dims=(0,)
    )
    return [f(x, i, u, numbers, mode="fill") for f in (lax.scatter_add, lax.scatter_max)]


def batches(with_updates):
    def make(dtype, rng):
        index = rng.integers(-2, 7, (3, 2, 1)).astype(np.int32)
        x, u = small(rng, dtype, (3, 5, 4)), small(rng, dtype, (3, 2, 4))
        return [(x, index, u)] if with_updates else [(x, index)]

    return make


def rows_once(dtype, rng):
    return [(small(rng, dtype, (6, 5)), np.array([[1], [4], [9]], np.int32))]


def taken(lax, x, i, j):
    return lax.index_take(x, (i, j), (0, 2))


def index_pairs(dtype, rng):
    return [
        (
            random(rng, dtype, (4, 3, 5)),
            rng.integers(0, 4, 7).astype(np.int32),
            rng.integers(0, 5, 7).astype(np.int32),
        )
    ]


MONOIDS = {"scatter_add": NUMERIC, "scatter_mul": NUMERIC, "scatter_min": REAL, "scatter_max": REAL}

RECORDS = [
    *[gather(place, m) for place in PLACES for m in (OUTSIDE, INSIDE)],
    gather("windows", OUTSIDE, ALL).named("gather_all_dtypes"),
    gather("rows", OUTSIDE, SAMPLE[:4], INDEX_DTYPES).named("gather_index_dtypes"),
    gather("rows", ("fill",), (F32,), fill_value=7).named("gather_fill_value"),
    Record("gather_batched", batched, batches(False), SAMPLE),
    Record("scatter", replaced, distinct, (BOOL, *NUMERIC)),
    *[scatter("scatter_add", place, m) for place in PLACES for m in (OUTSIDE, INSIDE)],
    *[
        scatter(n, "points", OUTSIDE, d, signed_zeros=False).named(f"{n}_all_dtypes")
        for n, d in MONOIDS.items()
    ],
    scatter("scatter_add", "rows", OUTSIDE, (F32, I32), INDEX_DTYPES).named("scatter_index_dtypes"),
    scatter("scatter_sub", "rows", dtypes=(F32, I32)),
    Record("scatter_batched", batched_scatter, batches(True), (F32, I32)),
    Record("scatter_apply", applied, rows_once, (F32, I32, *COMPLEX)),
    Record("index_take", taken, index_pairs, SAMPLE),
]
