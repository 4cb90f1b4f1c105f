"""Records of gather and scatter: dimension numbers, modes, dtypes of indices, functions."""

from __future__ import annotations

import numpy as np

from records.record import (
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
MODES = ("clip", "fill", "promise_in_bounds")

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


def gather(place, mode, dtypes=FEW, index_dtypes=(I32,), **params):
    def fn(lax, x, i):
        numbers = gather_numbers(lax, place)
        return lax.gather(x, i, numbers, PLACES[place][5], mode=mode, **params)

    tag = "".join(f",{k}={v}" for k, v in params.items())
    make = places(place, mode != "promise_in_bounds", False, index_dtypes=index_dtypes)
    return Record(f"gather[{place},{mode}{tag}]", fn, make, dtypes)


def scatter(
    name, place, mode, dtypes=FEW, values=random, index_dtypes=(I32,), unique=False, **options
):
    def fn(lax, x, i, u):
        numbers = scatter_numbers(lax, place)
        return getattr(lax, name)(x, i, u, numbers, mode=mode, unique_indices=unique)

    outside = mode != "promise_in_bounds"
    make = places(place, outside, True, values, index_dtypes)
    return Record(f"{name}[{place},{mode}]", fn, make, dtypes, **options)


def distinct(dtype, rng):
    """Indices that name each row once: for results that do not depend on an order."""
    return [
        (
            random(rng, dtype, (6, 5)),
            rng.permutation(8)[:, None].astype(np.int32) - 1,
            random(rng, dtype, (8, 5)),
        )
    ]


def replace_distinct(lax, x, i, u):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return [lax.scatter(x, i, u, numbers, mode=m) for m in ("fill", "clip")]


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


ORDERED = (*REAL, BOOL)
MONOIDS = {"scatter_add": NUMERIC, "scatter_mul": NUMERIC, "scatter_min": REAL, "scatter_max": REAL}

RECORDS = [
    *[gather(place, mode) for place in PLACES for mode in MODES],
    gather("windows", "fill", ALL),
    gather("rows", "clip", SAMPLE, INDEX_DTYPES),
    gather("rows", "fill", SAMPLE, INDEX_DTYPES),
    gather("rows", "fill", (F32,), fill_value=7),
    Record("gather_batched", batched, batches(False), SAMPLE),
    # Where indices repeat, any update may win: those are tried with equal ones only.
    Record("scatter_distinct", replace_distinct, distinct, (BOOL, *NUMERIC)),
    *[scatter("scatter_add", p, m, FEW, small) for p in PLACES for m in MODES],
    *[scatter(n, "points", "fill", ds, small, signed_zeros=False) for n, ds in MONOIDS.items()],
    scatter("scatter_add", "rows", "clip", (F32, I32), small, INDEX_DTYPES),
    scatter("scatter_sub", "rows", "fill", (F32, I32), small),
    Record(
        "scatter_batched",
        batched_scatter,
        batches(True),
        (F32, *[d for d in SAMPLE if d.kind == "i"]),
    ),
    Record("scatter_apply", applied, rows_once, (F32, I32, *COMPLEX)),
    Record("index_take", taken, index_pairs, SAMPLE),
]
