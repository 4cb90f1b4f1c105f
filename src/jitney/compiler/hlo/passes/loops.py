"""Makes loops smaller: fewer carries, and less work in an iteration.

    while (a, b) ...   where nothing needs b   ->   while (a) ...

    while (a, b) ...   where b starts as a and is updated as a   ->   while (a) ...

    while (a, c) ...   where c is a constant and stays so   ->   while (a) ... c itself

    while (a) ...  y = f(a), z = f(a')   where a' is the next a
        ->  while (a, y = f(a)) ...  z = f(a'), and that is the next y

    while (...)  y = xs[i] @ w   where xs and w are loop-invariant
        ->  ys = xs @ w;  while (...)  y = ys[i]

    while (...)  w @ x   where w is loop-invariant, and its rows are short
        ->  t = transpose(w);  while (...)  transpose(t) @ x

`carries` has the first four; `sink_reductions` handles reductions over iterations, `loop_fission`
splits loops. The fourth applies to the forces in Verlet integration, and to Runge-Kutta methods
whose last stage is the first of the next step. The fifth, loop-invariant code motion of the matrix
and batching of the products, applies to the inputs of a recurrent network: one large product reads
`w` once, where 500 small ones read it 500 times. The order of reductions within a product is
unspecified, so it may change. The last, a choice of layout, lets kernels read along the long axis
(`simplify.dot_of_narrow_constant` does it for constants). The cost of each pass is linear in the
loop's nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.loop_analysis import CountedLoop, count_trips, is_invariant
from jitney.compiler.hlo.passes.carries import (
    add_carries,
    common_across_iterations,
    congruent_carries,
    live_carries,
    project_carries,
    with_carries,
    with_known,
)
from jitney.compiler.hlo.passes.loop_fission import run_in_parts
from jitney.compiler.hlo.passes.simplify import is_narrow, with_turned
from jitney.compiler.hlo.passes.sink_reductions import sums_over_turns, without_sums
from jitney.core.record import record, replace

_FLOATS = ("float32", "float64")


def run(module: ir.Module) -> ir.Module:
    """Returns `module` with smaller loops, including nested ones."""
    return replace(module, region=_region(module.region))


def has_loops(module: ir.Module) -> bool:
    """Returns whether `module` has loops that `run` may change."""
    return any(isinstance(n, ir.While | ir.Cond) for n in _nodes(module.region))


def _nodes(region: ir.Region) -> list[ir.Node]:
    return traversal.topological_order(traversal.roots(region))


def _region(region: ir.Region) -> ir.Region:
    used: dict[ir.Node, set[int]] = {}
    for node in _nodes(region):
        if isinstance(node, ir.Project):
            used.setdefault(node.node, set()).add(node.index)

    def make(b: Builder, node: ir.Node, new: Mapping[ir.Node, Any]) -> Any:
        match node:
            case ir.While():
                return _loop(b, node, [new[x] for x in node.init], used.get(node, set()))
            case _:
                return traversal.rebuild(b, traversal.with_regions(node, _region), new.__getitem__)

    return traversal.rewrite(region, make)


def _loop(
    b: Builder, node: ir.While, init: Sequence[ir.Node], used: Iterable[int]
) -> list[ir.Node]:
    """Returns the results of the loop `node`, built in `b` as a smaller loop.

    Results that are not `used` are the initial values.
    """
    loop = ir.While(node.type, -1, node.cond, node.body, tuple(init))
    needed = live_carries(loop, used)
    if len(needed) < len(init):
        loop = project_carries(loop, needed)
    loop = ir.While(loop.type, -1, _region(loop.cond), _region(loop.body), loop.init)
    start = loop.init
    kept, place = congruent_carries(loop)
    if len(kept) < len(start):
        loop = with_carries(loop, kept, place)
    known = common_across_iterations(loop)
    if known:
        loop = with_known(b, loop, known)
    products = _products_of_rows(loop)
    if products:
        loop = _without_products(b, loop, products)
    narrow = _narrow_matrices(loop)
    if narrow:
        loop = _with_turned(b, loop, narrow)
    sums = sums_over_turns(loop)
    if sums:
        results = without_sums(b, loop, sums, lambda remaining: run_in_parts(b, remaining))
    else:
        results = run_in_parts(b, loop)
    values = list(init)
    for i, j, x in zip(needed, place, start, strict=True):
        values[i] = results[j] if isinstance(j, int) else x
    return values


# --- products of rows -----------------------------------------------------------------------------


@record(eq=False)
class _Product:
    """A product of one row of `rows` with the matrix `matrix`, both loop-invariant.

    Attributes:
      node: the product.
      side: which of its operands is the row.
      row: the slice that reads the row.
    """

    node: ir.Dot
    side: int
    row: ir.DynamicSlice

    @property
    def rows(self) -> ir.Parameter:
        assert isinstance(self.row.x, ir.Parameter)
        return self.row.x

    @property
    def operands(self) -> tuple[ir.Node, ir.Node]:
        """The row and the matrix."""
        x, y = self.node.x, self.node.y
        return (x, y) if self.side == 0 else (y, x)


def _products_of_rows(loop: ir.While) -> list[_Product]:
    trips = count_trips(loop)
    if trips is None or loop.body.ordered:
        return []
    products: list[_Product] = []
    for node in _nodes(loop.body):
        if isinstance(node, ir.Dot) and not node.batch[0] and node.dtype.name in _FLOATS:
            for side, x in enumerate((node.x, node.y)):
                row = _row_of(loop.body, x)
                if row is not None and _pays(loop, trips, product := _Product(node, side, row)):
                    products.append(product)
                    break
    return products


def _row_of(body: ir.Region, node: ir.Node) -> ir.DynamicSlice | None:
    """Returns the slice if `node` is one row of a loop-invariant array, else None."""
    while isinstance(node, ir.Reshape):
        node = node.x
    if not isinstance(node, ir.DynamicSlice) or not is_invariant(body, node.x):
        return None
    whole = node.sizes and node.sizes[0] == 1 and node.sizes[1:] == node.x.shape[1:]
    return node if whole else None


def _pays(loop: ir.While, trips: CountedLoop, product: _Product) -> bool:
    """Returns whether one product of all rows is much less work than one in each iteration."""
    row, matrix = product.operands
    if not (is_invariant(loop.body, matrix) or isinstance(matrix, ir.Constant)):
        return False
    contracted = math.prod(row.shape[j] for j in product.node.contract[product.side])
    few = math.prod(row.shape) <= COSTS.few_rows * contracted
    count = product.rows.shape[0]
    nbytes = count * product.node.tensor_type.nbytes
    return (
        few
        and math.prod(matrix.shape) >= COSTS.large_matrix
        and 8 <= count <= 2 * trips.count
        and nbytes <= COSTS.stacked_bytes
    )


def _without_products(b: Builder, loop: ir.While, products: Sequence[_Product]) -> ir.While:
    """Returns `loop` with `products` read from arrays that are computed before it, in `b`."""
    ready = [_all_rows(b, loop, product) for product in products]

    def look_up(inner: Builder, new: dict[ir.Node, Any], every: Sequence[ir.Node]) -> None:
        for product, rows in zip(products, every, strict=True):
            start = product.row.starts[0]
            traversal.rebuild_all(inner, [start], new)
            new[product.node] = _looked_up(inner, product, rows, new[start])

    return add_carries(loop, ready, look_up)


def _all_rows(b: Builder, loop: ir.While, product: _Product) -> ir.Node:
    """Returns the products of all rows.

    Its axes are the rows, the row's free axes, and the matrix's free axes.
    """
    row, matrix = product.operands
    rows = b.reshape(loop.init[product.rows.index], (product.rows.shape[0], *row.shape))
    if isinstance(matrix, ir.Constant):
        other = b.constant(matrix.value)
    else:
        assert isinstance(matrix, ir.Parameter)
        other = loop.init[matrix.index]
    along = tuple([j + 1 for j in product.node.contract[product.side]])
    contract = (along, product.node.contract[1 - product.side])
    return b.dot(rows, other, contract, ((), ()), product.node.dtype)


def _looked_up(b: Builder, product: _Product, every: ir.Node, start: ir.Node) -> ir.Node:
    """Returns the product of this iteration's row."""
    out = b.row(every, start)
    if product.side == 0:
        return out
    of_row = len(product.operands[0].shape) - len(product.node.contract[1])
    rank = len(out.shape)
    return b.transpose(out, (*range(of_row, rank), *range(of_row)))


# --- matrices of short rows -----------------------------------------------------------------------


def _narrow_matrices(loop: ir.While) -> dict[ir.Parameter, list[tuple[ir.Dot, int]]]:
    """Returns loop-invariant matrices of short rows, with the products (and sides) they are in."""
    uses: dict[ir.Parameter, list[tuple[ir.Dot, int]]] = {}
    for node in _nodes(loop.body):
        if isinstance(node, ir.Dot) and node.x is not node.y:
            for side, x in enumerate((node.x, node.y)):
                if is_narrow(node, side) and is_invariant(loop.body, x):
                    uses.setdefault(x, []).append((node, side))  # type: ignore[arg-type]  # a parameter
                    break
    return uses


def _with_turned(
    b: Builder, loop: ir.While, narrow: dict[ir.Parameter, list[tuple[ir.Dot, int]]]
) -> ir.While:
    """Returns `loop` with the matrices `narrow` transposed in `b` before it starts."""
    ready = [b.transpose(loop.init[p.index], (1, 0)) for p in narrow]

    def step(inner: Builder, new: dict[ir.Node, Any], turned: Sequence[ir.Node]) -> None:
        for uses, matrix in zip(narrow.values(), turned, strict=True):
            for node, side in uses:
                other = (node.x, node.y)[1 - side]
                traversal.rebuild_all(inner, [other], new)
                new[node] = with_turned(inner, node, side, matrix, new[other])

    return add_carries(loop, ready, step)
