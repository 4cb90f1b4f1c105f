"""Records of contractions and of sorting."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import (
    ALL,
    BOOL,
    F32,
    FLOATS,
    INTEGERS,
    NUMERIC,
    REAL,
    Operands,
    Record,
    random,
    small,
    special,
)

# (shapes, contracting axes, batch axes)
PRODUCTS = [
    ((4, 5), (5, 3), ((1,), (0,)), ((), ())),
    ((5, 4), (5, 3), ((0,), (0,)), ((), ())),
    ((4, 5), (3, 5), ((1,), (1,)), ((), ())),
    ((5,), (5,), ((0,), (0,)), ((), ())),
    ((4, 5), (5,), ((1,), (0,)), ((), ())),
    ((5,), (5, 6), ((0,), (0,)), ((), ())),
    ((3,), (4,), ((), ()), ((), ())),
    ((), (2, 3), ((), ()), ((), ())),
    ((2, 4, 5), (2, 5, 3), ((2,), (1,)), ((0,), (0,))),
    ((4, 2, 5), (3, 5, 2), ((2,), (1,)), ((1,), (2,))),
    ((2, 3, 4, 5), (5, 3, 6, 2), ((1, 3), (1, 0)), ((0,), (3,))),
    ((4, 0), (0, 3), ((1,), (0,)), ((), ())),
    ((0, 5), (5, 3), ((1,), (0,)), ((), ())),
    ((2, 3), (2, 3), ((), ()), ((0, 1), (0, 1))),
    ((2, 3), (2, 3), ((0, 1), (0, 1)), ((), ())),
    ((17, 33), (33, 20), ((1,), (0,)), ((), ())),
]


def products(make):
    def operands(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        cases = [(make(rng, dtype, s), make(rng, dtype, t)) for s, t, *_ in PRODUCTS]
        return [(tuple(x for x, _ in cases) + tuple(y for _, y in cases))]

    return operands


def contract(**params):
    def fn(lax, *operands):
        half = len(operands) // 2
        pairs = zip(operands[:half], operands[half:], PRODUCTS, strict=True)
        out = []
        for x, y, (_, _, contracting, batch) in pairs:
            out.append(lax.dot_general(x, y, (contracting, batch), **params))
        return out

    return fn


def transposed(lax, x, y):
    return [lax.dot(x, y), lax.dot_general(x, x, (((0,), (0,)), ((), ())))]


def layouts(dtype, rng):
    a, b = small(rng, dtype, (9, 8)), small(rng, dtype, (7, 9))
    return [(a.T, b.T), (a.T[::2], b.T[:, ::-1]), (np.asfortranarray(a.T), b.T.copy())]


def rows_of_groups(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    return [(small(rng, dtype, (7, 4)), small(rng, dtype, (3, 4, 2)))]


def by_group(lax, x, y):
    return lax.ragged_dot(x, y, np.array([2, 0, 4], np.int32))


def narrow_matrices(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    return [(small(rng, dtype, (3, 6)), small(rng, dtype, (6, 2)), small(rng, dtype, (3, 3)))]


def with_scale(lax, x, y, scale):
    return lax.scaled_dot(x, y, lhs_scale=scale)


DOT = {None: 8, "float16": 2, "bfloat16": 2}


# --- order --------------------------------------------------------------------------------------


def keys(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """Special values and ties, for the order of NaN and zeros; random values; no values."""
    edge = special(dtype, subnormal=False)
    shuffled = rng.permutation(np.concatenate([edge, edge]))
    grid = small(rng, dtype, (5, 6))
    return [
        (shuffled,),
        (grid,),
        (grid.T[::2],),
        (random(rng, dtype, (3, 40)),),
        (random(rng, dtype, (4, 0)),),
        (random(rng, dtype, (1,)),),
    ]


def sorted_one(lax, x):
    return [lax.sort(x), lax.sort(x, 0)]


def sorted_with_values(lax, x):
    index = lax.broadcasted_iota(np.int32, x.shape, x.ndim - 1)
    k, v = lax.sort_key_val(x, index)
    return [k, v, *lax.sort((x, index), dimension=0)]


def sorted_two_keys(lax, x):
    other = lax.rem(lax.broadcasted_iota(np.int32, x.shape, 0), np.int32(2))
    index = lax.broadcasted_iota(np.int32, x.shape, x.ndim - 1)
    return list(lax.sort((other, x, index), num_keys=2))


def largest(lax, x):
    n = x.shape[-1]
    return [y for k in {0, min(1, n), min(3, n), n} for y in lax.top_k(x, k)]


def distinct(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
    """No ties, whose order is real jax's alone."""
    return [(rng.permutation(30).reshape(5, 6).astype(dtype),), (np.ones((0, 3), dtype),)]


def nearly_largest(lax, x):
    return [*lax.approx_max_k(x, 2), *lax.approx_min_k(x, 3)]


RECORDS = [
    Record("dot_general_exact", contract(), products(small), (BOOL, *NUMERIC), signed_zeros=False),
    Record("dot_general", contract(), products(random), NUMERIC, ulp=DOT, jit_ulp=DOT, floor=100.0),
    Record(
        "dot_general_f32",
        contract(preferred_element_type=F32),
        products(small),
        (*FLOATS[:3], *INTEGERS[:3]),
        signed_zeros=False,
    ),
    Record(
        "dot_general_i32", contract(preferred_element_type=np.int32), products(random), INTEGERS[:2]
    ),
    Record("ragged_dot", by_group, rows_of_groups, NUMERIC, signed_zeros=False),
    Record("scaled_dot", with_scale, narrow_matrices, INTEGERS[:1], signed_zeros=False),
    Record("dot_layouts", transposed, layouts, NUMERIC),
    Record("sort", sorted_one, keys, ALL),
    Record(
        "sort_unstable", lambda lax, x: lax.sort(x, is_stable=False), keys, ALL, signed_zeros=False
    ),
    Record("sort_key_val", sorted_with_values, keys, ALL),
    Record("sort_two_keys", sorted_two_keys, keys, (*REAL, BOOL)),
    Record("top_k", largest, keys, REAL),
    Record("approx_top_k", nearly_largest, distinct, FLOATS),
]
