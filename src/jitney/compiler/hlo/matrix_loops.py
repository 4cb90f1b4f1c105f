"""Factorisations and triangular systems as loops over columns: for matrices of some rows.

Larger ones than `matrices` writes out, and smaller ones than LAPACK is worth a call of Python for. A
turn works on whole matrices, of which masks choose a part; a batch of them goes through the same loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder

MOST_ROWS = 32
MOST_ELEMENTS = 1 << 14  # of a batch; NumPy's own loop over more is as fast
_INT32 = np.dtype(np.int32)
_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def have_at_most(rows: int, x: ir.Node) -> bool:
    """Whether `x` are matrices of floats, none of them empty, of at most so many rows and columns."""
    return x.dtype in _DTYPES and 0 not in x.shape and max(x.shape[-2:]) <= rows


def transposed(b: Builder, x: ir.Node) -> ir.Node:
    """Matrices with rows for columns."""
    rank = len(x.shape)
    return b.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


class _Matrix:
    """Matrices of one shape in a builder, and what masks and broadcasts of them take."""

    def __init__(self, b: Builder, shape: Sequence[int], dtype: np.dtype) -> None:
        self.b = b
        self.shape = tuple(shape)
        self.dtype = dtype
        self.batch = len(shape) - 2
        self.rows = b.iota(_INT32, shape, self.batch)
        self.columns = b.iota(_INT32, shape, self.batch + 1)

    def of_column(self, x: ir.Node) -> ir.Node:
        """[..., m] as matrices of equal columns."""
        return self.b.broadcast(x, self.shape, tuple(range(self.batch + 1)))

    def of_row(self, x: ir.Node) -> ir.Node:
        """[..., n] as matrices of equal rows."""
        return self.b.broadcast(x, self.shape, (*range(self.batch), self.batch + 1))

    def of_number(self, x: ir.Node) -> ir.Node:
        """[...] as matrices of one number, or a number as matrices of it."""
        return self.b.broadcast(x, self.shape, tuple(range(len(x.shape))))

    def compare(self, fn: str, x: ir.Node, i: ir.Node) -> ir.Node:
        return self.b.apply(fn, x, self.of_number(i))

    def select(self, mask: ir.Node, x: ir.Node, y: ir.Node) -> ir.Node:
        return self.b.apply("select", mask, x, y)


def cholesky(b: Builder, x: ir.Node) -> ir.Node | None:
    """Lower triangular L with x = L @ L^T, all NaN if there is none; None if `x` is large."""
    if not have_at_most(MOST_ROWS, x) or x.type.size > MOST_ELEMENTS:  # type: ignore[union-attr]
        return None
    shape, dtype = x.shape, x.dtype
    batch = len(shape) - 2

    def turn(b: Builder, j: ir.Node, a: ir.Node, failed: ir.Node) -> list[ir.Node]:
        m = _Matrix(b, shape, dtype)
        below = b.row(a, j, batch + 1)
        pivot = b.row(below, j, batch)
        zero = b.full(shape[:-2], 0, dtype)
        failed = b.apply("or", failed, b.apply("le", pivot, zero))
        root = b.apply("sqrt", pivot)
        scaled = b.apply("div", m.of_column(below), m.of_number(root))
        here = m.select(m.compare("eq", m.rows, j), m.of_number(root), scaled)
        rest = b.apply("sub", a, b.apply("mul", scaled, transposed(b, scaled)))
        later = m.select(m.compare("gt", m.columns, j), rest, a)
        return [m.select(m.compare("eq", m.columns, j), here, later), failed]

    a, failed = b.for_(shape[-1], [x, b.full(shape[:-2], False, np.dtype(bool))], turn)
    m = _Matrix(b, shape, dtype)
    low = m.select(b.apply("ge", m.rows, m.columns), a, b.full(shape, 0, dtype))
    return m.select(m.of_number(failed), b.full(shape, np.nan, dtype), low)


def lu(b: Builder, x: ir.Node) -> list[ir.Node] | None:
    """[L below the diagonal and U, pivots, permutation] of `x`; None if `x` is large."""
    if not have_at_most(MOST_ROWS, x):
        return None
    shape, dtype = x.shape, x.dtype
    batch, m_rows = shape[:-2], shape[-2]
    count = min(shape[-2:])

    def turn(b: Builder, j: ir.Node, a: ir.Node, pivots: ir.Node, order: ir.Node) -> list[ir.Node]:
        m = _Matrix(b, shape, dtype)
        places = b.iota(_INT32, (*batch, m_rows), len(batch))
        at = b.broadcast(j, places.shape, ())
        sizes = b.apply("abs", b.row(a, j, len(batch) + 1))
        less = b.full(places.shape, -1, dtype)
        candidates = b.apply("select", b.apply("lt", places, at), less, sizes)
        pivot = _first_largest(b, candidates, places, j)
        # Rows j and pivot change places: those of a batch have pivots of their own.
        chosen = b.apply("eq", m.rows, m.of_number(pivot))
        zeros = b.full(shape, 0, dtype)
        upper = b.reduce(b.apply("select", chosen, a, zeros), "add", (len(batch),))
        mine = b.row(a, j, len(batch))
        a = m.select(chosen, m.of_row(mine), a)
        a = m.select(m.compare("eq", m.rows, j), m.of_row(upper), a)
        largest = b.row(upper, j, len(batch))
        is_zero = m.of_number(b.apply("eq", largest, b.full(batch, 0, dtype)))
        left = m.of_column(b.row(a, j, len(batch) + 1))
        factors = m.select(is_zero, left, b.apply("div", left, m.of_number(largest)))
        under = m.compare("gt", m.rows, j)
        rest = b.apply("sub", a, b.apply("mul", factors, m.of_row(upper)))
        changed = m.select(m.compare("gt", m.columns, j), rest, a)
        changed = m.select(m.compare("eq", m.columns, j), factors, changed)
        a = m.select(under, changed, a)
        is_j, is_pivot = b.apply("eq", places, at), b.apply("eq", places, _along(b, pivot, m_rows))
        others = b.full(order.shape, 0, _INT32)
        of_j = b.row(order, j, len(batch))
        of_pivot = b.reduce(b.apply("select", is_pivot, order, others), "add", (len(batch),))
        order = b.apply("select", is_pivot, _along(b, of_j, m_rows), order)
        order = b.apply("select", is_j, _along(b, of_pivot, m_rows), order)
        return [a, b.with_row(pivots, j, pivot, len(batch)), order]

    order = b.iota(_INT32, (*batch, m_rows), len(batch))
    return b.for_(count, [x, b.full((*batch, count), 0, _INT32), order], turn)


def _first_largest(b: Builder, sizes: ir.Node, places: ir.Node, j: ir.Node) -> ir.Node:
    """The first place along the last axis where `sizes` is largest; j if that is nowhere."""
    axis = len(sizes.shape) - 1
    largest = b.reduce(sizes, "max", (axis,))
    found = b.apply("eq", sizes, _along(b, largest, sizes.shape[-1]))
    past = b.full(sizes.shape, sizes.shape[-1], _INT32)
    first = b.reduce(b.apply("select", found, places, past), "min", (axis,))
    nowhere = b.apply("eq", first, b.full(first.shape, sizes.shape[-1], _INT32))
    return b.apply("select", nowhere, b.broadcast(j, first.shape, ()), first)


def _along(b: Builder, x: ir.Node, n: int) -> ir.Node:
    """`x`, the same n times along a new last axis."""
    return b.broadcast(x, (*x.shape, n), tuple(range(len(x.shape))))


def triangular_solve(
    b: Builder, a: ir.Node, right: ir.Node, lower: bool, unit_diagonal: bool
) -> ir.Node | None:
    """X with a @ X = right; None if they are large."""
    if not have_at_most(MOST_ROWS, a) or not 0 < right.shape[-1] <= MOST_ROWS:
        return None
    n, shape, dtype = a.shape[-1], right.shape, a.dtype
    batch = len(shape) - 2

    def turn(b: Builder, k: ir.Node, x: ir.Node, a: ir.Node, right: ir.Node) -> list[ir.Node]:
        i = k if lower else b.apply("sub", b.constant(np.int32(n - 1)), k)
        m = _Matrix(b, shape, dtype)
        factors = b.row(a, i, batch)  # of unknown rows, which are 0 as yet, too
        known = m.compare("lt" if lower else "gt", m.rows, i)
        products = b.apply("mul", m.of_column(factors), x)
        products = m.select(known, products, b.full(shape, 0, dtype))
        total = b.reduce(products, "add", (batch,))
        found = b.apply("sub", b.row(right, i, batch), total)
        if not unit_diagonal:
            found = b.apply("div", found, _along(b, b.row(factors, i, batch), shape[-1]))
        return [b.with_row(x, i, found, batch), a, right]

    return b.for_(n, [b.full(shape, 0, dtype), a, right], turn)[0]
