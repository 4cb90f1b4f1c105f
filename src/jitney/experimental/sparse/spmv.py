"""`coo_spmv_p` and `coo_spmm_p`: products of a COO matrix, given as three arrays.

In JAX these primitives exist on GPUs only. They compute the same products as `coo_matvec_p` and
`coo_matmat_p`, but take the shape of the matrix in place of a `COOInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitney.experimental.sparse.composed import composed
from jitney.experimental.sparse.coo import product_by_positions, product_type

if TYPE_CHECKING:
    from jitney.core.types.avals import Shape, ShapedArray
    from jitney.core.typing import Array


def _product(
    data: Array, row: Array, col: Array, x: Array, *, transpose: bool, shape: Shape
) -> Array:
    return product_by_positions(data, row, col, x, shape, transpose)


def _check(name: str, data: ShapedArray, row: ShapedArray, col: ShapedArray) -> None:
    if not data.shape == row.shape == col.shape or data.ndim != 1:
        raise TypeError(
            f"{name}: elements, rows and columns must be vectors of the same size, but got shapes "
            f"{data.shape}, {row.shape} and {col.shape}"
        )
    if row.dtype != col.dtype:
        raise TypeError(
            f"{name}: rows and columns must have equal dtypes, but got {row.dtype} and {col.dtype}"
        )


def _spmv_type(
    data: ShapedArray, row: ShapedArray, col: ShapedArray, x: ShapedArray, *, transpose: bool,
    shape: Shape,
) -> ShapedArray:  # fmt: skip
    _check("coo_spmv", data, row, col)
    return product_type("coo_spmv", 1, data, x, shape, transpose)


def _spmm_type(
    data: ShapedArray, row: ShapedArray, col: ShapedArray, x: ShapedArray, *, transpose: bool,
    shape: Shape,
) -> ShapedArray:  # fmt: skip
    _check("coo_spmm", data, row, col)
    return product_type("coo_spmm", 2, data, x, shape, transpose)


coo_spmv_p = composed("coo_spmv", _product, _spmv_type, linear_in=(0, 3))
coo_spmm_p = composed("coo_spmm", _product, _spmm_type, linear_in=(0, 3))
