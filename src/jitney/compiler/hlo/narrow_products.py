"""Lowers contractions of 8-bit integers and of bfloat16 to products of tiles, or to BLAS.

    dot (convert x), (convert y) of int8 as int32
        ->  tiles.product (tiles.rows x), (tiles.columns y)

Processors with AMX, or with the dot products of AVX-512, multiply narrow elements and accumulate
wide sums (`compiler/tile_products.py`). On other processors, BLAS multiplies 8-bit integers as
float32. The contracted indices are split into blocks so small that all partial sums are integers
below 2**24, and therefore exact.
"""

from __future__ import annotations

import math

import numpy as np

from jitney.compiler import tile_products
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.contractions import extents

_INT32, _UINT32 = np.dtype(np.int32), np.dtype(np.uint32)
_FLOAT32, _INT8, _UINT8 = np.dtype(np.float32), np.dtype(np.int8), np.dtype(np.uint8)
# Result dtypes for products of 8-bit integers; signed and unsigned sums are equal modulo 2**32.
_WIDE = (_INT32, _UINT32, _INT8, _UINT8)


def narrow_operands(node: ir.Dot) -> tuple[ir.Node, ir.Node] | None:
    """Returns the narrow operands of `node`, before their conversion to its dtype.

    Returns None if the operands are not narrow, or if narrow products do not pay off.
    """
    x, y = (_narrow(v) for v in (node.x, node.y))
    bytes_ = x.dtype in (_INT8, _UINT8) and y.dtype in (_INT8, _UINT8) and node.dtype in _WIDE
    halves = x.dtype == y.dtype and x.dtype in tile_products.DTYPES and not bytes_
    if not bytes_ and not (halves and node.dtype in (_FLOAT32, x.dtype)):
        return None
    batch, m, n, k = extents(node)
    if batch * m * n * k < COSTS.narrow_products or min(m, n) < 2:
        return None
    if tile_products.is_native(x.dtype, y.dtype):
        return (x, y) if _tiles_pay_off(x.dtype, m, n, k) else None
    return (x, y) if bytes_ and -(-k // _exact(x.dtype, y.dtype)) <= COSTS.narrow_parts else None


def _tiles_pay_off(x: np.dtype, m: int, n: int, k: int) -> bool:
    """Returns whether the tiles of operands of dtype `x` are not mostly padding."""
    if tile_products.instructions(x) == tile_products.DOTS and k < COSTS.dot_terms:
        return False
    width = 64 // x.itemsize
    padded = math.prod(-(-extent // size) * size for extent, size in ((m, 16), (n, 16), (k, width)))
    return padded <= COSTS.narrow_padding * m * n * k


def _narrow(x: ir.Node) -> ir.Node:
    """Returns the operand of a conversion `x` if it is narrow, else `x`."""
    if isinstance(x, ir.Apply) and x.fn == "convert" and x.args[0].dtype in tile_products.DTYPES:
        return x.args[0]
    return x


def _exact(x: np.dtype, y: np.dtype) -> int:
    """Returns how many products of elements of dtypes `x` and `y` have an exact sum in float32."""
    largest = math.prod(128 if dtype == _INT8 else 255 for dtype in (x, y))
    return (1 << 24) // largest


def product(b: Builder, node: ir.Dot, x: ir.Node, y: ir.Node) -> ir.Node:
    """Returns the contraction `node`, computed from its narrow operands `x` and `y`."""
    batch, m, n, k = extents(node)
    rows = _matrices(b, x, node, 0, (batch, m, k))
    columns = _matrices(b, y, node, 1, (batch, k, n))
    if tile_products.is_native(x.dtype, y.dtype):
        result = _by_tiles(b, rows, columns)
    else:
        result = _by_floats(b, rows, columns)
    return b.convert(b.reshape(result, node.shape), node.dtype)


def _matrices(
    b: Builder, x: ir.Node, node: ir.Dot, side: int, shape: tuple[int, int, int]
) -> ir.Node:
    """Returns an operand as matrices: [batch, m, k] for side 0, [batch, k, n] for side 1."""
    batch, contract = node.batch[side], node.contract[side]
    free = [j for j in range(len(x.shape)) if j not in batch and j not in contract]
    order = (*batch, *free, *contract) if side == 0 else (*batch, *contract, *free)
    return b.reshape(b.transpose(x, order), shape)


def _by_tiles(b: Builder, x: ir.Node, y: ir.Node) -> ir.Node:
    (_, m, k), n = x.shape, y.shape[2]

    def call(name: str, *args: ir.Node) -> ir.Node:
        routine = tile_products.routine(name, x.dtype, y.dtype, m, n, k)
        return b.library_call(routine.name, routine.params, args)[0]

    return call("product", call("rows", x), call("columns", y))


def _by_floats(b: Builder, x: ir.Node, y: ir.Node) -> ir.Node:
    (batch, m, k), n = x.shape, y.shape[2]
    step, total = _exact(x.dtype, y.dtype), None
    left, right = b.convert(x, _FLOAT32), b.convert(y, _FLOAT32)
    for first in range(0, k, step):
        last = min(first + step, k)
        part = b.dot(
            b.slice(left, (0, 0, first), (batch, m, last), (1, 1, 1)),
            b.slice(right, (0, first, 0), (batch, last, n), (1, 1, 1)),
            ((2,), (1,)), ((0,), (0,)),
        )  # fmt: skip
        part = b.convert(part, _INT32)
        total = part if total is None else b.apply("add", total, part)
    assert total is not None
    return total
