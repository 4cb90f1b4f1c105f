"""Decomposition (legalization): rewrites operations into simpler ones that have kernels.

    arg_reduce x            ->  m = max of x;  min of the indices i where x[i] = m or x[i] is NaN

    running reduction of x  ->  for i < n  a = a + x[i];  y[i] = a

    reduce_region of x      ->  for i < n  a = region(a, x[i])

    dot x, y of bfloat16    ->  a float32 dot, converted to bfloat16, if it is large

    dot x, y of 8-bit ints  ->  calls of native code, or float32 dots; see
                                `hlo/narrow_products.py`, also for products of bfloat16

    dot x, y                ->  dot of transposes, if BLAS or tiles do not support the layouts

    convolution x, w        ->  calls of native code, or dots; see `hlo/convolutions.py`

    sort x                  ->  r[i] = number of elements that precede x[i];  y[r[i]] = x[i]

    sort x of many elements ->  transpose, call of native code, transpose; see `compiler/sorting.py`

NumPy could compute these operations as well. But for small operands, a call into Python takes
longer than the operation itself, blocks other threads, and prevents fusion and native loops.

Short arrays are sorted by comparison counting (Knuth, vol. 3, 5.2, algorithm C): each element is
compared with all others, in n**2 comparisons without branches. 64 elements take less than a
microsecond. Longer arrays are sorted by native code (radix sort), or by NumPy where it is faster. A
sorting network would take n log(n)**2 comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import ml_dtypes
import numpy as np

from jitney.compiler import sorting
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import convolutions, ir, narrow_products, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.contractions import (
    contract_orders,
    is_scattered,
    is_small_dot,
    operand_order,
    rhs_permutation,
)
from jitney.compiler.reference.reduction import LONG_RUN, ROUNDED, RUN, carrier
from jitney.core.util.record import replace

_INT32, _FLOAT64 = np.dtype(np.int32), np.dtype(np.float64)
_BOOL = np.dtype(bool)
_SORTED = frozenset([np.dtype(d) for d in "?bhilBHILefd"] + [np.dtype(ml_dtypes.bfloat16)])


def is_needed(region: ir.Region) -> bool:
    """Returns whether `region`, or a region nested in it, has operations to decompose."""
    for node in traversal.topological_order(traversal.roots(region)):
        if _is_expanded(node) or any(is_needed(inner) for _, inner in traversal.regions(node)):
            return True
    return False


def run(module: ir.Module) -> ir.Module:
    """Returns `module` with the operations listed above decomposed."""
    return replace(module, region=_region(module.region))


def _region(region: ir.Region) -> ir.Region:
    return traversal.rewrite(region, _made)


def _made(b: Builder, node: ir.Node, new: Mapping[ir.Node, Any]) -> ir.Node | Sequence[ir.Node]:
    if not _is_expanded(node):
        return traversal.rebuild(b, traversal.with_regions(node, _region), new.__getitem__)
    match node:
        case ir.ArgReduce():
            return arg_reduce(b, new[node.x], node.kind, node.dim, node.dtype)
        case ir.Cumulative():
            return cumulative(b, new[node.x], node.fn, node.dim, node.reverse)
        case ir.ReduceRegion():
            xs, inits = ([new[x] for x in nodes] for nodes in (node.xs, node.inits))
            return fold(b, xs, inits, node.dims, _region(node.body))
        case ir.Sort():
            make = sort if _is_compared(node.xs, node.dim) else sort_rows
            return make(b, [new[x] for x in node.xs], node.dim, node.num_keys)
        case ir.Dot():
            narrow = narrow_products.narrow_operands(node)
            if narrow is not None:
                return narrow_products.product(b, node, new[narrow[0]], new[narrow[1]])
            x, y = (b.convert(new[v], carrier(v.dtype)) for v in (node.x, node.y))
            return b.convert(with_layouts(b, b.dot(x, y, node.contract, node.batch)), node.dtype)
        case ir.Convolution():
            wide = convolutions.carrier(node.dtype)
            x, w = (b.convert(new[v], wide) for v in (node.x, node.w))
            return b.convert(convolutions.convolution(b, x, w, node.dims), node.dtype)
        case ir.TopK():
            make = top_k if _is_compared([node.x], node.dim) else top_k_of_rows
            return make(b, new[node.x], node.k, node.dim)
        case _:
            raise AssertionError(f"{type(node).__name__} is not decomposed")


def _is_expanded(node: ir.Node) -> bool:
    match node:
        case ir.ArgReduce() | ir.Cumulative():
            return node.x.dtype.kind != "c" and 0 not in node.x.shape
        case ir.ReduceRegion():
            is_complex = any(x.dtype.kind == "c" for x in node.xs)
            whole = len(node.dims) == len(node.xs[0].shape)
            made_here = not is_complex and not node.body.ordered
            return made_here and (whole or _is_elementwise(node.body))
        case ir.Sort():
            return _is_compared(node.xs, node.dim) or _has_code(node.xs, node.dim)
        case ir.Dot():  # BLAS has no half precision, and sums are float32 anyway
            wider = carrier(node.dtype) != node.dtype and not is_small_dot(node)
            with_layouts = is_scattered(node) or rhs_permutation(node) is not None
            return wider or with_layouts or narrow_products.narrow_operands(node) is not None
        case ir.Convolution():
            return convolutions.is_written(node)
        case ir.TopK():
            known = sorting.is_native([node.x.tensor_type], node.dim)
            return node.k > 0 and (known or _is_compared([node.x], node.dim))
        case _:
            return False


def _is_compared(xs: Sequence[ir.Node], dim: int) -> bool:
    """Returns whether a sort of `xs` is small enough for comparison counting."""
    return all(x.dtype in _SORTED for x in xs) and _is_short(xs[0].shape, dim)


def _has_code(xs: Sequence[ir.Node], dim: int) -> bool:
    """Returns whether native code can sort `xs`, and is faster than NumPy."""
    types = [x.tensor_type for x in xs]
    return sorting.is_native(types, dim) and sorting.is_faster(types)


def _is_short(shape: Sequence[int], dim: int) -> bool:
    """Returns whether `dim` is short enough to compare all pairs of elements along it."""
    if not shape or 0 in shape:
        return False
    return (
        shape[dim] <= COSTS.sorted_elements and math.prod(shape) * shape[dim] <= COSTS.sorted_pairs
    )


def with_layouts(b: Builder, node: ir.Node) -> ir.Node:
    """Returns the contraction `node` with operands in the layouts that its implementation needs."""
    if not isinstance(node, ir.Dot):
        return node
    order = rhs_permutation(node)
    if order is not None:
        batch, contract = (tuple([order.index(j) for j in axes]) for axes in _axes_of_y(node))
        y, contracts = b.transpose(node.y, order), (node.contract[0], contract)
        return b.dot(node.x, y, contracts, (node.batch[0], batch))
    return gathered_dot(b, node) if is_scattered(node) else node


def _axes_of_y(node: ir.Dot) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return node.batch[1], node.contract[1]


def gathered_dot(b: Builder, node: ir.Dot) -> ir.Node:
    """Returns the contraction `node` with operands in layouts that BLAS supports.

    Operands in other layouts are transposed. A transpose reads and writes an operand once, whereas
    NumPy, the fallback for such a contraction, may loop over all products.
    """

    def scattered(contract: tuple[tuple[int, ...], tuple[int, ...]]) -> list[bool]:
        return [
            operand_order(len(v.shape), node.batch[side], contract[side]) is None
            for side, v in enumerate((node.x, node.y))
        ]

    contract = min(contract_orders(node.contract), key=lambda each: sum(scattered(each)))
    operands, batches, contracts = [node.x, node.y], list(node.batch), list(contract)
    for side, moves in enumerate(scattered(contract)):
        if moves:
            own, first, last = operands[side], node.batch[side], contract[side]
            rank = len(own.shape)
            free = [k for k in range(rank) if k not in first and k not in last]
            operands[side] = b.transpose(own, [*first, *free, *last])
            batches[side] = tuple(range(len(first)))
            contracts[side] = tuple(range(rank - len(last), rank))
    left, right = operands
    return b.dot(left, right, (contracts[0], contracts[1]), (batches[0], batches[1]))


def arg_reduce(
    b: Builder, x: ir.Node, kind: Literal["max", "min"], dim: int, dtype: np.dtype
) -> ir.Node:
    """Returns the index along `dim` of the first largest or smallest element, or the first NaN."""
    x = b.convert(x, np.dtype(np.int8) if x.dtype == _BOOL else carrier(x.dtype))
    extreme = b.reduce(x, kind, (dim,))
    kept_dims = tuple([k for k in range(len(x.shape)) if k != dim])
    is_extreme = b.apply("eq", x, b.broadcast(extreme, x.shape, kept_dims))
    if x.dtype.kind == "f":
        is_extreme = b.apply("or", is_extreme, b.apply("ne", x, x))
    places = b.iota(_INT32, x.shape, dim)
    last = b.full(x.shape, x.shape[dim] - 1, _INT32)
    first = b.reduce(b.apply("select", is_extreme, places, last), "min", (dim,))
    return b.convert(first, dtype)


def cumulative(b: Builder, x: ir.Node, fn: str, dim: int, reverse: bool) -> ir.Node:
    """Returns the running reduction of `x` along `dim`, from the end if `reverse`, as a loop."""
    n = x.shape[dim]
    if n == 1:
        return x
    dtype, wide = x.dtype, carrier(x.dtype)
    order = (dim, *[k for k in range(len(x.shape)) if k != dim])
    rows = b.transpose(b.convert(x, wide), order)

    def step(inner: Builder, i: ir.Node, sofar: ir.Node, xs: ir.Node, ys: ir.Node) -> list[ir.Node]:
        at = inner.apply("sub", inner.constant(np.int32(n - 1)), i) if reverse else i
        sofar = _combined(inner, fn, sofar, inner.row(xs, at))
        return [sofar, xs, inner.with_row(ys, at, sofar)]

    if fn in ROUNDED and wide.kind == "f" and n > LONG_RUN:
        folded = _long_run(b, fn, rows, reverse)
    else:
        start, zeros = b.full(rows.shape[1:], _neutral(fn, wide), wide), b.full(rows.shape, 0, wide)
        folded = b.for_(n, [start, rows, zeros], step)[2]
    back = [order.index(k) for k in range(len(order))]
    return b.convert(b.transpose(folded, back), dtype)


def _long_run(b: Builder, fn: str, rows: ir.Node, reverse: bool) -> ir.Node:
    """Returns the running sum, product or logaddexp of many rows.

    float32 is accumulated in float64, which costs a conversion per step. float64 is accumulated in
    order within blocks, which are combined as in the reference implementation.
    """
    n, dtype = rows.shape[0], rows.dtype
    start = b.full(rows.shape[1:], _neutral(fn, _FLOAT64), _FLOAT64)
    zeros = b.full(rows.shape, 0, dtype)

    def wide_step(
        inner: Builder, i: ir.Node, sofar: ir.Node, xs: ir.Node, ys: ir.Node
    ) -> list[ir.Node]:
        at = inner.apply("sub", inner.constant(np.int32(n - 1)), i) if reverse else i
        sofar = inner.apply(fn, sofar, inner.convert(inner.row(xs, at), _FLOAT64))
        return [sofar, xs, inner.with_row(ys, at, inner.convert(sofar, dtype))]

    if dtype != _FLOAT64:
        return b.for_(n, [start, rows, zeros], wide_step)[2]

    def step(
        inner: Builder, i: ir.Node, sofar: ir.Node, before: ir.Node, xs: ir.Node, ys: ir.Node
    ) -> list[ir.Node]:
        at = inner.apply("sub", inner.constant(np.int32(n - 1)), i) if reverse else i
        place = inner.apply("and", i, inner.constant(np.int32(RUN - 1)))
        begins = inner.broadcast(
            inner.apply("eq", place, inner.constant(np.int32(0))), sofar.shape, ()
        )
        before = inner.apply("select", begins, inner.apply(fn, before, sofar), before)
        neutral = inner.full(sofar.shape, _neutral(fn, _FLOAT64), sofar.dtype)
        sofar = inner.apply("select", begins, neutral, sofar)
        sofar = inner.apply(fn, sofar, inner.row(xs, at))
        return [sofar, before, xs, inner.with_row(ys, at, inner.apply(fn, sofar, before))]

    return b.for_(n, [start, start, rows, zeros], step)[3]


def _combined(b: Builder, fn: str, sofar: ir.Node, row: ir.Node) -> ir.Node:
    """Combines a partial result with a row by `fn`; NaN propagates.

    For short rows, the loop is bound by the latency of this dependence, which for the maximum and
    minimum of floats therefore consists only of a comparison and a select. The maximum of 0.0 and
    -0.0 is 0.0, and the minimum is -0.0. To achieve this, the zero that wins is replaced by the
    adjacent float in comparisons.
    """
    if (
        fn not in ("max", "min")
        or row.dtype.kind != "f"
        or row.tensor_type.size > COSTS.waiting_row
    ):
        return b.apply(fn, sofar, row)
    further = "gt" if fn == "max" else "lt"
    zero, one = (b.full(row.shape, value, row.dtype) for value in (0, 1))
    next_to_zero = np.nextafter(row.dtype.type(0), row.dtype.type(1 if fn == "max" else -1))
    # 0.0 and -0.0 compare equal, but their reciprocals differ.
    is_further_zero = b.apply(
        "and", b.apply("eq", row, zero), b.apply(further, b.apply("div", one, row), zero)
    )
    key = b.apply("select", is_further_zero, b.full(row.shape, next_to_zero, row.dtype), row)
    beyond = b.apply(further, key, sofar)
    return b.apply("select", b.apply("or", beyond, b.apply("ne", row, row)), row, sofar)


def _neutral(fn: str, dtype: np.dtype) -> float:
    """Returns the neutral element of `fn`: combined with any x, it yields x bit for bit."""
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


def fold(
    b: Builder,
    xs: Sequence[ir.Node],
    inits: Sequence[ir.Node],
    dims: Sequence[int],
    body: ir.Region,
) -> list[ir.Node]:
    """Reduces arrays jointly over `dims` by a region of scalars, in a loop in row-major order."""
    kept = [k for k in range(len(xs[0].shape)) if k not in dims]
    shape = tuple([xs[0].shape[k] for k in kept])
    n = math.prod([xs[0].shape[k] for k in dims])
    count = len(xs)
    start = [b.broadcast(init, shape, ()) for init in inits]
    if n == 0:
        return start
    rows = [b.reshape(b.transpose(x, (*dims, *kept)), (n, *shape)) for x in xs]

    def step(inner: Builder, i: ir.Node, *carry: ir.Node) -> list[ir.Node]:
        sofar, arrays = carry[:count], carry[count:]
        now = [inner.row(x, i) for x in arrays]
        return [*_on_arrays(inner, body, [*sofar, *now], shape), *arrays]

    return b.for_(n, [*start, *rows], step)[:count]


def _is_elementwise(body: ir.Region) -> bool:
    """Returns whether a region of scalars consists of scalar functions only."""
    nodes = traversal.topological_order(body.results)
    return all(isinstance(node, ir.Parameter | ir.Constant | ir.Apply) for node in nodes)


def _on_arrays(
    b: Builder, body: ir.Region, args: Sequence[ir.Node], shape: tuple[int, ...]
) -> list[ir.Node]:
    """Applies a region of scalars elementwise to arrays of shape `shape`."""
    new: dict[ir.Node, Any] = dict(zip(body.parameters, args, strict=True))

    def rebuild(node: ir.Node) -> ir.Node | Sequence[ir.Node]:
        if isinstance(node, ir.Apply):
            return b.apply_again(node.fn, [new[x] for x in node.args], node.dtype)
        rebuilt = traversal.rebuild(b, node, new.__getitem__)
        return b.broadcast(rebuilt, shape, ()) if isinstance(node, ir.Constant) else rebuilt

    traversal.rebuild_all(b, body.results, new, rebuild)
    return [new[x] for x in body.results]


# --- sorting --------------------------------------------------------------------------------------


def sort(b: Builder, xs: Sequence[ir.Node], dim: int, num_keys: int) -> list[ir.Node]:
    """Sorts `xs` jointly and stably along `dim`, by the first `num_keys` of them."""
    moved = [_to_last(b, x, dim) for x in xs]

    def before(x: Sequence[ir.Node], y: Sequence[ir.Node]) -> ir.Node:
        return _less(b, x[:num_keys], y[:num_keys])

    ranks = _ranks(b, moved, before)
    return [_from_last(b, _placed(b, x, ranks, x.shape[-1]), dim) for x in moved]


def top_k(b: Builder, x: ir.Node, k: int, dim: int) -> list[ir.Node]:
    """Returns the k largest elements of `x` along `dim`, in descending order, and their indices.

    Of equal elements, those with lower indices come first. Floats are ordered by their bits: NaN is
    the largest value, and -0.0 is less than 0.0.
    """
    x = _to_last(b, x, dim)
    ranks = _ranks(b, [_ordered(b, x)], lambda x, y: _less(b, y, x))
    places = b.iota(_INT32, x.shape, len(x.shape) - 1)
    return [_from_last(b, _placed(b, y, ranks, k), dim) for y in (x, places)]


def sort_rows(b: Builder, xs: Sequence[ir.Node], dim: int, num_keys: int) -> list[ir.Node]:
    """Sorts like `sort`, but by native code, which sorts along the last axis."""
    rows = [_to_last(b, x, dim) for x in xs]
    routine = sorting.sort_routine([x.tensor_type for x in rows], num_keys)
    sorted_ = b.library_call(routine.name, routine.params, rows)
    return [_from_last(b, x, dim) for x in sorted_]


def top_k_of_rows(b: Builder, x: ir.Node, k: int, dim: int) -> list[ir.Node]:
    """Computes `top_k` by native code, which works along the last axis."""
    rows = _to_last(b, x, dim)
    routine = sorting.top_k_routine(rows.tensor_type, k)
    results = b.library_call(routine.name, routine.params, [rows])
    return [_from_last(b, y, dim) for y in results]


def _to_last(b: Builder, x: ir.Node, dim: int) -> ir.Node:
    axes = [k for k in range(len(x.shape)) if k != dim]
    return b.transpose(x, (*axes, dim))


def _from_last(b: Builder, x: ir.Node, dim: int) -> ir.Node:
    last = len(x.shape) - 1
    return b.transpose(x, (*range(dim), last, *range(dim, last)))


_Before = Callable[[Sequence[ir.Node], Sequence[ir.Node]], ir.Node]


def _ranks(b: Builder, xs: Sequence[ir.Node], before: _Before) -> ir.Node:
    """Returns the rank of each element along the last axis; all ranks are distinct."""
    shape = xs[0].shape
    n, last = shape[-1], len(shape) - 1
    square = (*shape, n)
    here = [b.broadcast(x, square, tuple(range(len(shape)))) for x in xs]
    other = [b.broadcast(x, square, (*range(last), last + 1)) for x in xs]
    earlier = b.apply("lt", b.iota(_INT32, square, last + 1), b.iota(_INT32, square, last))
    equal_or_less = b.apply("not", before(here, other))
    counts = b.apply("or", before(other, here), b.apply("and", equal_or_less, earlier))
    return b.reduce(b.convert(counts, _INT32), "add", (last + 1,))


def _less(b: Builder, xs: Sequence[ir.Node], ys: Sequence[ir.Node]) -> ir.Node:
    """Returns whether `xs` precede `ys` lexicographically; NaN is the largest value."""
    result: ir.Node | None = None
    for x, y in reversed(list(zip(xs, ys, strict=True))):
        less, greater = _one_less(b, x, y), _one_less(b, y, x)
        if result is None:
            result = less
        else:
            result = b.apply("or", less, b.apply("and", b.apply("not", greater), result))
    assert result is not None
    return result


def _one_less(b: Builder, x: ir.Node, y: ir.Node) -> ir.Node:
    if x.dtype == _BOOL:
        return b.apply("and", b.apply("not", x), y)
    less = b.apply("lt", x, y)
    if x.dtype.kind not in "fV":
        return less
    number, is_nan = b.apply("eq", x, x), b.apply("ne", y, y)
    return b.apply("or", less, b.apply("and", number, is_nan))


def _ordered(b: Builder, x: ir.Node) -> ir.Node:
    """Returns integers that are ordered like `x`: -inf ... -0.0, 0.0 ... inf, NaN."""
    if x.dtype.kind not in "fV":
        return x
    width = 8 * x.dtype.itemsize
    dtype = np.dtype(f"int{width}")
    bits = b.bitcast(x, dtype)
    sign = b.apply("shift_right_arithmetic", bits, b.full(x.shape, width - 1, dtype))
    mask = b.full(x.shape, np.iinfo(dtype).max, dtype)
    return b.apply("xor", bits, b.apply("and", sign, mask))


def _placed(b: Builder, x: ir.Node, ranks: ir.Node, k: int) -> ir.Node:
    """Returns the elements of `x` with ranks 0 to k - 1, in this order, bit for bit."""
    dtype, last = x.dtype, len(x.shape) - 1
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    bits = b.convert(x, unsigned) if dtype == _BOOL else b.bitcast(x, unsigned)
    square = (*x.shape[:-1], k, x.shape[-1])
    axes = (*range(last), last + 1)
    chosen = b.apply("eq", b.broadcast(ranks, square, axes), b.iota(_INT32, square, last))
    zeros = b.full(square, 0, unsigned)
    placed = b.reduce(
        b.apply("select", chosen, b.broadcast(bits, square, axes), zeros), "or", (last + 1,)
    )
    return b.convert(placed, dtype) if dtype == _BOOL else b.bitcast(placed, dtype)
