"""Records of special functions of several operands."""

from __future__ import annotations

import numpy as np
from tests.primitives.records.record import BF16, F32, F64, Operands, Record

DTYPES = (F32, F64, BF16)
ULP = {None: 4, "float32": 64, "float64": 256}


def positive(*ranges, edges=()):
    """Values within `ranges`, one for each operand; then the rows of `edges`."""

    def make(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        # One array: JAX takes seconds to compile each of these functions.
        grid = [rng.uniform(low, high, 60) for low, high in ranges]
        columns = list(zip(*edges, strict=True)) or [()] * len(grid)
        return [tuple([np.append(g, c).astype(dtype) for g, c in zip(grid, columns, strict=True)])]

    return make


def special(name, make, ulp=ULP, dtypes=DTYPES, **options) -> Record:
    return Record(name, lambda lax, *xs: getattr(lax, name)(*xs), make, dtypes, ulp, ulp, **options)


INF, NAN = np.inf, np.nan
GAMMA_EDGES = ((1, 0), (2.5, INF), (NAN, 1), (1, NAN), (-1, 1), (1, -1), (0.5, 0.5))

RECORDS = [
    special("igamma", positive((0.5, 9), (0.1, 15), edges=GAMMA_EDGES)),
    special("igammac", positive((0.5, 9), (0.1, 9), edges=GAMMA_EDGES), {**ULP, "float32": 512}),
    special("zeta", positive((1.5, 9), (0.5, 9), edges=((1, 1), (2, 1), (2, NAN), (0.5, 1)))),
    special("polygamma", positive((1, 1.01), (0.5, 9)), dtypes=(F32, F64)),
    special(
        "betainc",
        positive(
            (0.5, 4), (0.5, 4), (0, 1), edges=((1, 2, 0), (1, 2, 1), (1, 2, NAN), (-1, 1, 0.5))
        ),
        {**ULP, "float32": 512, "float64": 1024},
        floor=0.1,
    ),
    special("random_gamma_grad", positive((0.5, 9), (0.5, 9)), 2e4, dtypes=(F32,)),
    special("igamma_grad_a", positive((0.5, 9), (0.5, 9)), 2e4, dtypes=(F32,), floor=0.1),
]
