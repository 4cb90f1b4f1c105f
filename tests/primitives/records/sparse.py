"""Records of sparse arrays: positions are drawn at random, so some repeat, and some are padding."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.primitives.records.record import C128, F32, F64, SIGNED, Operands, Record, small

import jitney.experimental.sparse  # noqa: F401  # declares the primitives

INT = SIGNED[2]
DTYPES = (F32, C128, INT)
SHAPE = (3, 4, 2)
ROWS, COLUMNS, NSE = 4, 3, 6
# (batch axes, dense axes) of SHAPE
LAYOUTS = ((0, 0), (1, 0), (0, 1), (1, 1))

Fn = Callable[..., Any]


def sparse_of(lax: Any) -> Any:
    """`experimental.sparse` of JAX or jitney."""
    package = lax.__name__.removesuffix(".lax")
    return importlib.import_module(f"{package}.experimental.sparse")


def stored(
    rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...], n_batch: int, n_dense: int
) -> tuple[np.ndarray, np.ndarray]:
    """(data, indices) of a BCOO array."""
    batch, dense = shape[:n_batch], shape[len(shape) - n_dense :]
    sparse = shape[n_batch : len(shape) - n_dense]
    indices = rng.integers(0, [n + 1 for n in sparse], (*batch, NSE, len(sparse)))
    return small(rng, dtype, (*batch, NSE, *dense)), indices.astype(np.int32)


def whole(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """An array of which about half is zero."""
    return np.where(rng.random(shape) < 0.5, small(rng, dtype, shape), 0).astype(dtype)


def parts(mat: Any) -> tuple[Any, ...]:
    """The arrays of a sparse array."""
    return mat.tree_flatten()[0]


def bcoo(
    name: str, fn: Fn, n_batch: int, n_dense: int, *others: tuple[int, ...], **options: Any
) -> Record:
    """A record of `fn(sparse, BCOO array, *arrays of shapes others)`."""

    def operands(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        more = [small(rng, dtype, shape) for shape in others]
        return [(*stored(rng, dtype, SHAPE, n_batch, n_dense), *more)]

    def run(lax: Any, data: Any, indices: Any, *arrays: Any) -> Any:
        sparse = sparse_of(lax)
        return fn(sparse, sparse.BCOO((data, indices), shape=SHAPE), *arrays)

    return Record(f"{name}[{n_batch},{n_dense}]", run, operands, **{"dtypes": DTYPES} | options)


def dense(name: str, fn: Fn, *shapes: tuple[int, ...], **options: Any) -> Record:
    """A record of `fn(sparse, *arrays)`.

    There are no zeros in the first case, by which rules are tested: differences would store them.
    """

    def operands(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        cases = [tuple(whole(rng, dtype, shape) for shape in shapes) for _ in range(2)]
        return [tuple(np.where(x == 0, dtype.type(5), x) for x in cases[0]), cases[1]]

    def run(lax: Any, *arrays: Any) -> Any:
        return fn(sparse_of(lax), *arrays)

    return Record(name, run, operands, **{"dtypes": DTYPES} | options)


def matrix(name: str, kind: str, fn: Fn, *others: tuple[int, ...]) -> Record:
    """A record of `fn(sparse, matrix of a format, *arrays)`; the last elements are padding."""

    def operands(dtype: np.dtype, rng: np.random.Generator) -> list[Operands]:
        data = small(rng, dtype, (NSE,))
        columns = rng.integers(0, COLUMNS, NSE).astype(np.int32)
        rows = np.sort(rng.integers(0, ROWS, NSE).astype(np.int32))
        pointers = np.searchsorted(rows, np.arange(ROWS + 1)).astype(np.int32)
        at = (rows, columns) if kind == "COO" else (columns, pointers)
        return [(data, *at, *[small(rng, dtype, shape) for shape in others])]

    def run(lax: Any, data: Any, at: Any, more: Any, *arrays: Any) -> Any:
        sparse = sparse_of(lax)
        mat = getattr(sparse, kind)((data, at, more), shape=(ROWS, COLUMNS))
        return fn(sparse, mat, *arrays)

    return Record(name, run, operands, (F32, C128))


def product(numbers: Any) -> Fn:
    return lambda sparse, *operands: sparse.bcoo_dot_general(*operands, dimension_numbers=numbers)


def summed(sparse: Any, mat: Any) -> Any:
    """What padding holds is anyone's."""
    out = sparse.bcoo_sum_duplicates(mat, nse=7)
    return out.todense(), out.indices


def square(sparse: Any, x: Any, y: Any) -> Any:
    """The product of two sparse matrices, as a whole: the order of what is stored is anyone's."""
    x, y = (sparse.BCOO.fromdense(m, nse=9) for m in (x, y))
    return (x @ y).todense()


def sampled(sparse: Any, mat: Any, a: Any, b: Any) -> Any:
    numbers = (((2,), (1,)), ((0,), (0,)))
    return sparse.bcoo_dot_general_sampled(a, b, mat.indices, dimension_numbers=numbers)


def solve(sparse: Any, x: Any, b: Any) -> Any:
    mat = sparse.CSR.fromdense(x + 9 * np.eye(4, dtype=x.dtype), nse=16)
    return sparse.linalg.spsolve(mat.data, mat.indices, mat.indptr, b)


RECORDS = [
    *[bcoo("bcoo_todense", lambda sparse, m: m.todense(), *layout) for layout in LAYOUTS],
    *[
        dense(
            f"bcoo_fromdense[{b},{d}]",
            lambda sparse, x, b=b, d=d: parts(
                sparse.BCOO.fromdense(x, n_batch=b, n_dense=d, nse=24)
            ),
            SHAPE,
        )
        for b, d in LAYOUTS
    ],
    *[
        bcoo(
            "bcoo_extract",
            lambda sparse, m, x: sparse.bcoo_extract(m, x, assume_unique=True).data,
            *layout,
            SHAPE,
        )
        for layout in LAYOUTS
    ],
    *[
        bcoo("bcoo_dot_general", product((((1,), (0,)), ((), ()))), *layout, (4, 5))
        for layout in LAYOUTS
    ],
    bcoo("bcoo_dot_general_batch", product((((2,), (1,)), ((0,), (2,)))), 1, 0, (5, 2, 3)),
    bcoo("bcoo_dot_general_inner", product((((0, 1, 2), (0, 1, 2)), ((), ()))), 0, 0, SHAPE),
    bcoo("bcoo_dot_general_sampled", sampled, 1, 0, (3, 4, 5), (3, 5, 2)),
    dense("bcoo_spdot_general", square, (4, 3), (3, 4)),
    bcoo("bcoo_sort_indices", lambda sparse, m: parts(m.sort_indices()), 1, 0),
    bcoo("bcoo_sum_duplicates", summed, 1, 1),
    bcoo(
        "bcoo_transpose",
        lambda sparse, m: parts(sparse.bcoo_transpose(m, permutation=(0, 2, 1))),
        1,
        0,
    ),
    matrix("bcsr_todense", "BCSR", lambda sparse, m: m.todense()),
    dense("bcsr_fromdense", lambda sparse, x: parts(sparse.BCSR.fromdense(x, nse=12)), (4, 3)),
    matrix(
        "bcsr_extract",
        "BCSR",
        lambda sparse, m, x: sparse.bcsr_extract(m.indices, m.indptr, x),
        (ROWS, COLUMNS),
    ),
    matrix("bcsr_dot_general", "BCSR", lambda sparse, m, x: m @ x, (COLUMNS, 2)),
    matrix("coo_todense", "COO", lambda sparse, m: m.todense()),
    dense("coo_fromdense", lambda sparse, x: parts(sparse.COO.fromdense(x, nse=12)), (4, 3)),
    matrix("coo_matvec", "COO", lambda sparse, m, x: m @ x, (COLUMNS,)),
    matrix("coo_matmat", "COO", lambda sparse, m, x: m.T @ x, (ROWS, 2)),
    matrix("csr_todense", "CSR", lambda sparse, m: m.todense()),
    dense("csr_fromdense", lambda sparse, x: parts(sparse.CSR.fromdense(x, nse=12)), (4, 3)),
    matrix("csr_matvec", "CSR", lambda sparse, m, x: m.T @ x, (ROWS,)),
    matrix("csr_matmat", "CSR", lambda sparse, m, x: m @ x, (COLUMNS, 2)),
    bcoo("todense", lambda sparse, m: sparse.todense(m), 1, 0),
    dense("spsolve", solve, (4, 4), (4,), dtypes=(F64,), ulp=4),
]
