"""Records of operations that move elements: shapes, joins, padding, slices."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import BOOL, F32, SAMPLE, Operands, Record, random

I32 = np.int32


def of_shapes(*shapes):
    """One case for each group of operand shapes; arrays are C-ordered, or transposed views."""

    def make(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        out = []
        for k, group in enumerate(shapes):
            group = [group] if not group or isinstance(group[0], int) else group
            arrays = [random(rng, dtype, shape) for shape in group]
            if k % 2:  # the same shape, stored the other way round
                arrays = [np.asfortranarray(x) for x in arrays]
            out.append(tuple(arrays))
        return out

    return make


def shaped(name, fn, *shapes, dtypes=SAMPLE, **options) -> Record:
    return Record(name, fn, of_shapes(*shapes), dtypes, **options)


def starts(*shapes, indices, extra=()):
    """Operands of `shapes`, then start indices: inside, negative, beyond the end."""

    def make(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        return [
            (*[random(rng, dtype, s) for s in shapes], *[np.asarray(i, d) for i in at])
            for at in indices
            for d in (I32, np.int8, np.uint8)
            if d is I32 or (max(at) < 100 and (min(at) >= 0 or d is np.int8))
        ]

    return make


IN = ((0, 0), (1, 2), (4, 5), (-1, -2), (100, -100), (-2, 200))

PADS = [
    [(0, 0, 0), (0, 0, 0)],
    [(1, 2, 0), (0, 3, 0)],
    [(-1, 2, 0), (2, -1, 0)],
    [(0, 0, 1), (0, 0, 2)],
    [(1, -2, 1), (-3, 1, 2)],
    [(-1, -1, 3), (-2, -2, 0)],
    [(-2, -2, 0), (0, 0, 0)],
    [(3, -8, 2), (0, 0, 0)],
]


def padded(lax, x, value):
    return [lax.pad(x, value, config) for config in PADS]


def padded_empty(lax, x, value):
    return [lax.pad(x, value, [(1, 2, 0), (0, 0, 0)]), lax.pad(x, value, [(0, 0, 2), (2, 1, 3)])]


def reversed_all(lax, x):
    return [lax.rev(x, dims) for dims in ((0,), (1,), (0, 2), (0, 1, 2), ())]


def transposed_all(lax, x):
    return [lax.transpose(x, p) for p in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1))]


def reshaped(lax, x):
    return [lax.reshape(x, s) for s in ((24,), (6, 4), (2, 1, 12), (4, 3, 2))]


def reshaped_dimensions(lax, x):
    return [lax.reshape(x, (24,), dimensions=(2, 0, 1)), lax.reshape(x, (8, 3), (1, 0, 2))]


def broadcasts(lax, x):
    return [
        lax.broadcast_in_dim(x, (3, 4), (0, 1)),
        lax.broadcast_in_dim(x, (2, 3, 4, 5), (1, 2)),
        lax.broadcast(x, (2, 1)),
        lax.broadcast_in_dim(x, (0, 3, 4), (1, 2)),
        lax.broadcast_in_dim(x, (3, 1, 4), (0, 2)),
    ]


def slices(lax, x):
    return [
        lax.slice(x, (0, 0), (6, 7)),
        lax.slice(x, (1, 2), (5, 6)),
        lax.slice(x, (0, 1), (6, 7), (2, 3)),
        lax.slice(x, (3, 0), (3, 7)),
        lax.slice(x, (5, 6), (6, 7), (4, 4)),
        lax.slice_in_dim(x, -3, None),
        lax.index_in_dim(x, -1, 1, keepdims=False),
    ]


def iotas(dtype):
    return Record(
        f"iota[{np.dtype(dtype).name}]",
        lambda lax, x: [
            lax.iota(dtype, 5),
            lax.broadcasted_iota(dtype, (3, 4), 0),
            lax.broadcasted_iota(dtype, (2, 3, 4), 1),
            lax.broadcasted_iota(dtype, (0, 3), 1),
            lax.full((2, 3), 3, dtype),
            lax.full_like(x, 2, dtype),
        ],
        of_shapes((2, 2)),
        (np.dtype(F32),),
    )


RECORDS = [
    shaped("reshape", reshaped, (2, 3, 4), (24,), (1, 24, 1)),
    shaped("reshape_dimensions", reshaped_dimensions, (2, 3, 4), (4, 2, 3)),
    shaped("reshape_empty", lambda lax, x: lax.reshape(x, (5, 0, 2)), (0,), (3, 0)),
    shaped("reshape_scalar", lambda lax, x: [lax.reshape(x, ()), lax.reshape(x, (1, 1))], (1,), ()),
    shaped("squeeze", lambda lax, x: [lax.squeeze(x, (0,)), lax.squeeze(x, (0, -2))], (1, 3, 1, 2)),
    shaped("expand_dims", lambda lax, x: lax.expand_dims(x, (0, 2)), (2, 3), (0, 1)),
    shaped("broadcast_in_dim", broadcasts, (3, 4), (3, 1), (1, 4)),
    shaped("broadcast_scalar", lambda lax, x: lax.broadcast_in_dim(x, (2, 3), ()), ()),
    shaped("transpose", transposed_all, (2, 3, 4), (33, 2, 17), (2, 0, 4)),
    shaped("rev", reversed_all, (2, 3, 4), (5, 1, 9), (0, 3, 2)),
    shaped(
        "concatenate",
        lambda lax, *xs: lax.concatenate(xs, 1),
        ((2, 3), (2, 1), (2, 0), (2, 17)),
        ((0, 3), (0, 2)),
    ),
    shaped(
        "concatenate_0",
        lambda lax, *xs: lax.concatenate(xs, 0),
        ((3,), (1,), (8,)),
        ((2, 3), (4, 3)),
        ((5,),),
    ),
    shaped(
        "stack",
        lambda lax, *xs: [lax.stack(xs, 0), lax.stack(xs, -1)],
        ((2, 3), (2, 3), (2, 3)),
        ((), ()),
    ),
    shaped("split", lambda lax, x: lax.split(x, (1, 0, 3), axis=1), (2, 4), (0, 4)),
    shaped("unstack", lambda lax, x: lax.unstack(x, axis=1), (2, 4)),
    shaped("tile", lambda lax, x: [lax.tile(x, (2, 3)), lax.tile(x, (1, 0))], (2, 3), (1, 5)),
    shaped("pad", padded, ((4, 5), ())),
    shaped("pad_empty", padded_empty, ((0, 3), ())),
    shaped("slice", slices, (6, 7), (6, 7)),
    Record(
        "dynamic_slice",
        lambda lax, x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
        starts((6, 7), indices=IN),
        SAMPLE,
    ),
    Record(
        "dynamic_slice_whole",
        lambda lax, x, i, j: lax.dynamic_slice(x, (i, j), (6, 0)),
        starts((6, 7), indices=IN[:4]),
        SAMPLE[:3],
    ),
    Record(
        "dynamic_update_slice",
        lambda lax, x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
        starts((6, 7), (2, 3), indices=IN),
        SAMPLE,
    ),
    Record(
        "dynamic_index_in_dim",
        lambda lax, x, i, j: lax.dynamic_index_in_dim(x, i, 1, False),
        starts((6, 7), indices=IN),
        SAMPLE[:3],
    ),
    shaped(
        "copy", lambda lax, x: lax.optimization_barrier(x), (2, 3), (0,), (), dtypes=(*SAMPLE, BOOL)
    ),
    *[iotas(d) for d in ("int8", "uint16", "int32", "float32", "bfloat16", "complex64", "float16")],
]
