"""Loop-invariant code motion for matrices: hoists products and transposes out of loops.

    while (...)  y = xs[i] @ w   where xs and w are loop-invariant
        ->  ys = xs @ w;  while (...)  y = ys[i]

    while (...)  w @ x   where w is loop-invariant and has short rows
        ->  t = transpose(w);  while (...)  transpose(t) @ x

The first rewrite batches the products of all iterations into one, which reads `w` once instead of,
say, 500 times. It applies to the inputs of recurrent networks. It can change the order of the
additions in a product, which is unspecified. The second rewrite changes the layout of a matrix so
that kernels read it along its long axis; `simplify.dot_of_narrow_constant` does the same for
constants. The compile time is linear in the number of nodes of the loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.loop_analysis import CountedLoop, count_trips, is_invariant
from jitney.compiler.hlo.passes.carries import add_carries
from jitney.compiler.hlo.passes.loops import change_loops
from jitney.compiler.hlo.passes.simplify import is_narrow, with_transposed
from jitney.core.util.record import record

_FLOATS = ("float32", "float64")


def run(module: ir.Module) -> ir.Module:
    """Returns `module` with work on loop-invariant matrices hoisted out of its loops."""
    return change_loops(module, _loop)


def _loop(b: Builder, loop: ir.While, used: set[int]) -> list[ir.Node]:
    products = _products_of_rows(loop)
    if products:
        loop = _without_products(b, loop, products)
    narrow = _narrow_matrices(loop)
    if narrow:
        loop = _with_transposed(b, loop, narrow)
    return b.while_(loop.cond, loop.body, loop.init)


# --- products of rows -----------------------------------------------------------------------------


@record(eq=False)
class _Product:
    """A product in a loop, of the current iteration's row of an array with a matrix.

    The array and the matrix are loop-invariant.

    Attributes:
      node: the product.
      side: the index of the operand that is the row.
      row: the slice that reads the row from the array.
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
    for node in traversal.topological_order(traversal.roots(loop.body)):
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
    """Returns whether one product of all rows is much cheaper than one product per iteration."""
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
    """Returns `loop` with `products` looked up in arrays that `b` computes before the loop."""
    ready = [_all_rows(b, loop, product) for product in products]

    def look_up(inner: Builder, new: dict[ir.Node, Any], every: Sequence[ir.Node]) -> None:
        for product, rows in zip(products, every, strict=True):
            start = product.row.starts[0]
            traversal.rebuild_all(inner, [start], new)
            new[product.node] = _looked_up(inner, product, rows, new[start])

    return add_carries(loop, ready, look_up)


def _all_rows(b: Builder, loop: ir.While, product: _Product) -> ir.Node:
    """Returns the product of all rows with the matrix.

    Its axes are the rows, the free axes of a row, and the free axes of the matrix.
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
    """Returns the product of this iteration's row, looked up in the products of all rows."""
    out = b.row(every, start)
    if product.side == 0:
        return out
    of_row = len(product.operands[0].shape) - len(product.node.contract[1])
    rank = len(out.shape)
    return b.transpose(out, (*range(of_row, rank), *range(of_row)))


# --- matrices of short rows -----------------------------------------------------------------------


def _narrow_matrices(loop: ir.While) -> dict[ir.Parameter, list[tuple[ir.Dot, int]]]:
    """Returns the loop-invariant matrices with short rows, and their uses in products.

    A use is a product and the side on which the matrix occurs.
    """
    uses: dict[ir.Parameter, list[tuple[ir.Dot, int]]] = {}
    for node in traversal.topological_order(traversal.roots(loop.body)):
        if isinstance(node, ir.Dot) and node.x is not node.y:
            for side, x in enumerate((node.x, node.y)):
                if is_narrow(node, side) and is_invariant(loop.body, x):
                    uses.setdefault(x, []).append((node, side))  # type: ignore[arg-type]  # a parameter
                    break
    return uses


def _with_transposed(
    b: Builder, loop: ir.While, narrow: dict[ir.Parameter, list[tuple[ir.Dot, int]]]
) -> ir.While:
    """Returns `loop` with the matrices `narrow` transposed in `b` before it starts."""
    ready = [b.transpose(loop.init[p.index], (1, 0)) for p in narrow]

    def step(inner: Builder, new: dict[ir.Node, Any], matrices: Sequence[ir.Node]) -> None:
        for uses, matrix in zip(narrow.values(), matrices, strict=True):
            for node, side in uses:
                other = (node.x, node.y)[1 - side]
                traversal.rebuild_all(inner, [other], new)
                new[node] = with_transposed(inner, node, side, matrix, new[other])

    return add_carries(loop, ready, step)
