"""Factorizations and triangular solves of small matrices, fully unrolled into scalar operations.

A call of LAPACK, which factors larger matrices, takes a microsecond even for the smallest one and
cannot be fused. The matrices of filters, controllers and small models have a few rows and need at
most a few hundred operations. Unrolled, the operations become one kernel, or part of a loop's
kernel. Each matrix element is a node with the shape of the batch, so batches of matrices are
vectorized.

The algorithms are those of Golub and Van Loan, Matrix Computations: Cholesky by columns (4.2),
Gaussian elimination with partial pivoting (3.4), substitution by rows (3.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder

Elements: TypeAlias = list[list[ir.Node]]
_INT32 = np.dtype(np.int32)
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def have_at_most(rows: int, x: ir.Node) -> bool:
    """Returns whether `x` consists of float32 or float64 matrices of at most `rows` x `rows`.

    The matrices and the batch must not be empty.
    """
    return x.dtype in _DTYPES and 0 not in x.shape and max(x.shape[-2:]) <= rows


def transposed(b: Builder, x: ir.Node) -> ir.Node:
    """Returns the transposes of a batch of matrices."""
    rank = len(x.shape)
    return b.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def elements(b: Builder, x: ir.Node) -> Elements:
    """Returns the elements of a batch of matrices, each as a node with the shape of the batch."""
    *batch, m, n = x.shape
    return [[_at(b, x, (*([None] * len(batch)), i, j)) for j in range(n)] for i in range(m)]


def _at(b: Builder, x: ir.Node, index: Sequence[int | None]) -> ir.Node:
    """Returns `x` at fixed indices of some axes, which are removed; None keeps an axis."""
    starts = [0 if i is None else i for i in index]
    limits = [n if i is None else i + 1 for i, n in zip(index, x.shape, strict=True)]
    part = b.slice(x, starts, limits, [1] * len(starts))
    return b.reshape(part, [n for i, n in zip(index, x.shape, strict=True) if i is None])


def matrix(b: Builder, rows: Elements) -> ir.Node:
    """Returns the batch of matrices with the elements `rows`; the inverse of `elements`."""
    return b.concatenate([_joined(b, row, 2) for row in rows], len(rows[0][0].shape))


def vector(b: Builder, parts: Sequence[ir.Node]) -> ir.Node:
    """Returns the batch of vectors with the elements `parts`."""
    return _joined(b, parts, 1)


def _joined(b: Builder, parts: Sequence[ir.Node], axes: int) -> ir.Node:
    batch = parts[0].shape
    return b.concatenate(
        [b.reshape(x, (*batch, *[1] * axes)) for x in parts], len(batch) + axes - 1
    )


def cholesky(b: Builder, x: ir.Node) -> ir.Node | None:
    """Returns the lower triangular L with x = L @ L^T, or None if `x` is large.

    L is NaN if `x` is not positive definite.
    """
    n = x.shape[-1]
    if not have_at_most(COSTS.written_out_rows, x):
        return None
    a = elements(b, x)
    zero = b.full(x.shape[:-2], 0, x.dtype)
    low: Elements = [[zero] * n for _ in range(n)]
    failed: ir.Node | None = None  # NaN is not a failure, since it propagates
    for j in range(n):
        square = _less_products(b, a[j][j], [(low[j][k], low[j][k]) for k in range(j)])
        wrong = b.apply("le", square, zero)
        failed = wrong if failed is None else b.apply("or", failed, wrong)
        low[j][j] = b.apply("sqrt", square)
        for i in range(j + 1, n):
            residual = _less_products(b, a[i][j], [(low[i][k], low[j][k]) for k in range(j)])
            low[i][j] = b.apply("div", residual, low[j][j])
    assert failed is not None
    nan = b.full(x.shape[:-2], np.nan, x.dtype)
    return matrix(b, [[b.apply("select", failed, nan, e) for e in row] for row in low])


def lu(b: Builder, x: ir.Node) -> list[ir.Node] | None:
    """Returns [L below the diagonal and U, pivots, permutation] of `x`, or None if `x` is large."""
    m, n = x.shape[-2:]
    if not have_at_most(COSTS.written_out_rows, x):
        return None
    a = elements(b, x)
    batch = x.shape[:-2]
    zero = b.full(batch, 0, x.dtype)
    numbers = [b.full(batch, i, _INT32) for i in range(m)]
    order = list(numbers)
    pivots: list[ir.Node] = []
    for j in range(min(m, n)):
        pivot = numbers[j]
        largest = b.apply("abs", a[j][j])
        for i in range(j + 1, m):
            size = b.apply("abs", a[i][j])
            beyond = b.apply("gt", size, largest)
            pivot = b.apply("select", beyond, numbers[i], pivot)
            largest = b.apply("select", beyond, size, largest)
        pivots.append(pivot)
        for i in range(j + 1, m):
            chosen = b.apply("eq", pivot, numbers[i])
            a[i], a[j] = _exchanged(b, chosen, a[i], a[j])
            (order[i],), (order[j],) = _exchanged(b, chosen, [order[i]], [order[j]])
        is_zero = b.apply("eq", a[j][j], zero)
        for i in range(j + 1, m):
            factor = b.apply("div", a[i][j], a[j][j])
            a[i][j] = b.apply("select", is_zero, a[i][j], factor)
            for k in range(j + 1, n):
                a[i][k] = _less_products(b, a[i][k], [(a[i][j], a[j][k])])
    return [matrix(b, a), vector(b, pivots), vector(b, order)]


def _exchanged(
    b: Builder, chosen: ir.Node, x: Sequence[ir.Node], y: Sequence[ir.Node]
) -> tuple[list[ir.Node], list[ir.Node]]:
    """Returns (y, x) where `chosen` is true, and (x, y) elsewhere."""
    pairs = list(zip(x, y, strict=True))
    return (
        [b.apply("select", chosen, q, p) for p, q in pairs],
        [b.apply("select", chosen, p, q) for p, q in pairs],
    )


def triangular_solve(
    b: Builder,
    a: ir.Node,
    right: ir.Node,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    unit_diagonal: bool,
    **_: Any,
) -> ir.Node | None:
    """Solves op(a) @ X = right, or X @ op(a) = right, for X.

    Returns None if `a` is large.
    """
    if transpose_a != (not left_side):  # X @ A = B is A^T @ X^T = B^T
        a = transposed(b, a)
        lower = not lower
    if left_side:
        return _solved(b, a, right, lower, unit_diagonal)
    x = _solved(b, a, transposed(b, right), lower, unit_diagonal)
    return None if x is None else transposed(b, x)


def _solved(
    b: Builder, a: ir.Node, right: ir.Node, lower: bool, unit_diagonal: bool
) -> ir.Node | None:
    """Solves a @ X = right for X by substitution; returns None if `a` is large."""
    n, columns = right.shape[-2:]
    if (
        not have_at_most(COSTS.written_out_rows, a)
        or n * n * columns > 2 * COSTS.written_out_products
        or not columns
    ):
        return None
    t, r = elements(b, a), elements(b, right)
    x: Elements = [[] for _ in range(n)]
    for i in range(n) if lower else range(n - 1, -1, -1):
        known = range(i) if lower else range(i + 1, n)
        for c in range(columns):
            residual = _less_products(b, r[i][c], [(t[i][k], x[k][c]) for k in known])
            x[i].append(residual if unit_diagonal else b.apply("div", residual, t[i][i]))
    return matrix(b, x)


def _less_products(b: Builder, x: ir.Node, pairs: Sequence[tuple[ir.Node, ir.Node]]) -> ir.Node:
    """Returns `x` minus the products of `pairs`."""
    for p, q in pairs:
        x = b.apply("sub", x, b.apply("mul", p, q))
    return x


def permutation(b: Builder, pivots: ir.Node, size: int) -> ir.Node:
    """Returns the permutation of `size` rows that swaps rows i and pivots[..., i], for ascending i.

    Pivots that are out of bounds swap nothing. The result is computed by a loop over pivots, in
    which each iteration processes all rows.
    """
    *batch, count = pivots.shape
    flat = b.convert(b.reshape(pivots, (math.prod(batch), count)), np.int32)
    shape = (size, math.prod(batch))
    places = b.iota(np.int32, shape, 0)

    def step(
        inner: Builder, i: ir.Node, rows: ir.Node, pivots: ir.Node, places: ir.Node
    ) -> list[ir.Node]:
        here = inner.row(rows, i)
        chosen = inner.apply("eq", places, inner.broadcast(inner.row(pivots, i), shape, (1,)))
        there = inner.reduce(
            inner.apply("select", chosen, rows, inner.full(shape, -1, np.int32)), "max", (0,)
        )
        is_exchange = inner.apply("ge", there, inner.full(shape[1:], 0, np.int32))
        rows = inner.apply("select", chosen, inner.broadcast(here, shape, (1,)), rows)
        return [
            inner.with_row(rows, i, inner.apply("select", is_exchange, there, here)),
            pivots,
            places,
        ]

    rows = b.for_(count, [places, b.transpose(flat, (1, 0)), places], step)[0]
    return b.reshape(b.transpose(rows, (1, 0)), (*batch, size))
