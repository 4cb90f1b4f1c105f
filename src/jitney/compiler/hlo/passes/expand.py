"""Operations written with others, of which kernels are made.

    arg_reduce x            ->  m = max of x;  min of the indices i where x[i] = m or x[i] is NaN

    running fold of x       ->  for i < n  a = a + x[i];  y[i] = a

NumPy would compute them as well, but a call of Python takes longer than a small one, keeps other
threads waiting, and stands in the way of fusion and of native loops. Complex numbers are left to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jitney.compiler.hlo import ir, walk
from jitney.compiler.hlo.build import Builder

_INT32 = np.dtype(np.int32)
_BOOL = np.dtype(bool)


def is_needed(region: ir.Region) -> bool:
    """Whether `region`, or one within it, has such an operation."""
    for node in walk.schedule(walk.ends(region)):
        if _is_expanded(node) or any(is_needed(inner) for _, inner in walk.regions(node)):
            return True
    return False


def run(module: ir.Module) -> ir.Module:
    """`module` without such operations."""
    return ir.Module(module.name, _region(module.region))


def _region(region: ir.Region) -> ir.Region:
    return walk.rewrite(region, _made)


def _made(b: Builder, node: ir.Node, new: Mapping[ir.Node, Any]) -> Any:
    match node:
        case ir.While():
            init = [new[x] for x in node.init]
            return b.while_(_region(node.cond), _region(node.body), init)
        case ir.Cond():
            branches = [_region(r) for r in node.branches]
            return b.cond(new[node.index], branches, [new[a] for a in node.args])
        case ir.ArgReduce() if _is_expanded(node):
            return arg_reduce(b, new[node.x], node.kind, node.dim, node.dtype)
        case ir.Cumulative() if _is_expanded(node):
            return cumulative(b, new[node.x], node.fn, node.dim, node.reverse)
        case _:
            return walk.rebuild(b, node, new.__getitem__)


def _is_expanded(node: ir.Node) -> bool:
    if not isinstance(node, ir.ArgReduce | ir.Cumulative) or node.x.dtype.kind == "c":
        return False
    return node.x.type.size > 0  # type: ignore[union-attr]


def _wide(dtype: np.dtype) -> np.dtype:
    """The dtype in which folds of `dtype` are carried."""
    return np.dtype(np.float32) if dtype.itemsize == 2 and dtype.kind in "fV" else dtype


def arg_reduce(b: Builder, x: ir.Node, kind: str, dim: int, dtype: np.dtype) -> ir.Node:
    """Index along `dim` of the first largest or smallest element; NaN counts as such."""
    x = b.convert(x, np.dtype(np.int8) if x.dtype == _BOOL else _wide(x.dtype))
    extreme = b.reduce(x, kind, (dim,))  # type: ignore[arg-type]
    rest = tuple([k for k in range(len(x.shape)) if k != dim])
    found = b.apply("eq", x, b.broadcast(extreme, x.shape, rest))
    if x.dtype.kind == "f":
        found = b.apply("or", found, b.apply("ne", x, x))
    places = b.iota(_INT32, x.shape, dim)
    last = b.full(x.shape, x.shape[dim] - 1, _INT32)
    first = b.reduce(b.apply("select", found, places, last), "min", (dim,))
    return b.convert(first, dtype)


def cumulative(b: Builder, x: ir.Node, fn: str, dim: int, reverse: bool) -> ir.Node:
    """Running fold of `x` along `dim`, from the end if `reverse`: a loop over rows."""
    n = x.shape[dim]
    if n == 1:
        return x
    dtype, wide = x.dtype, _wide(x.dtype)
    order = (dim, *[k for k in range(len(x.shape)) if k != dim])
    rows = b.transpose(b.convert(x, wide), order)
    shape = rows.shape[1:]

    def test(inner: Builder, i: ir.Node, *_: ir.Node) -> Sequence[ir.Node]:
        return [inner.apply("lt", i, inner.constant(np.int32(n)))]

    def turn(inner: Builder, i: ir.Node, sofar: ir.Node, xs: ir.Node, ys: ir.Node) -> list[ir.Node]:
        zero = inner.constant(np.int32(0))
        at = inner.apply("sub", inner.constant(np.int32(n - 1)), i) if reverse else i
        starts = [at, *[zero] * len(shape)]
        row = inner.reshape(inner.dynamic_slice(xs, starts, (1, *shape)), shape)
        sofar = _combined(inner, fn, sofar, row)
        ys = inner.dynamic_update_slice(ys, inner.reshape(sofar, (1, *shape)), starts)
        return [inner.apply("add", i, inner.constant(np.int32(1))), sofar, xs, ys]

    start = b.full(shape, _neutral(fn, wide), wide)
    init = [b.constant(np.int32(0)), start, rows, b.full(rows.shape, 0, wide)]
    types = [x.type for x in init]
    folded = b.while_(b.region(types, test), b.region(types, turn), init)[3]  # type: ignore[arg-type]
    back = [order.index(k) for k in range(len(order))]
    return b.convert(b.transpose(folded, back), dtype)


def _combined(b: Builder, fn: str, sofar: ir.Node, row: ir.Node) -> ir.Node:
    """`fn` of what a fold has come to and a row; a NaN stays.

    Turns wait for each other here: of the largest, they wait for a comparison and a choice alone.
    """
    if fn not in ("max", "min") or row.dtype.kind != "f":
        return b.apply(fn, sofar, row)
    beyond = b.apply("gt" if fn == "max" else "lt", row, sofar)
    return b.apply("select", b.apply("or", beyond, b.apply("ne", row, row)), row, sofar)


def _neutral(fn: str, dtype: np.dtype) -> Any:
    """What gives x, bit for bit, when it is combined with x."""
    match fn:
        case "add":
            return -0.0 if dtype.kind == "f" else 0
        case "mul":
            return 1
        case "logaddexp":
            return -np.inf
        case _ if dtype == _BOOL:
            return fn == "min"
        case _ if dtype.kind == "f":
            return -np.inf if fn == "max" else np.inf
        case _:
            info = np.iinfo(dtype)
            return info.min if fn == "max" else info.max
