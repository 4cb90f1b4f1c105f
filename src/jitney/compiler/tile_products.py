"""Declares three library functions for products of narrow dtypes in tile registers.

`runtime/native/multiply.h` contains them and describes the layout of blocks. This module determines
their options, and the division of their work into items. The division depends only on sizes, so
that results do not depend on the number of threads. If the processor has no tile registers,
`is_native` returns False, and the functions are never called.

    tiles.rows {...}     [batch, m, k] -> [batch, m / 16, k * size / 64, 16, 64 / size]
    tiles.columns {...}  [batch, k, n] -> [batch, n / 16, k * size / 64, 16, 64 / size]
    tiles.product {...}  both          -> [batch, m, n] of int32, or float32 for bfloat16

Sums of integers are exact modulo 2**32. Sums of bfloat16 products are float32 and are rounded after
each pair of products; subnormal operands and subnormal sums are flushed to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict, Unpack

import ml_dtypes
import numpy as np

from jitney.compiler import library
from jitney.compiler.cost import COSTS
from jitney.compiler.library import LibraryFunction, NativeCode, Param
from jitney.compiler.tensor_type import TensorType

# Constants of `multiply.h`: the rows of a block, and the bytes of each row.
_BLOCK, _ROW = 16, 64

_BFLOAT16, _INT8, _UINT8 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.int8), np.dtype(np.uint8)
DTYPES = (_INT8, _UINT8, _BFLOAT16)
_KINDS = {
    (_INT8, _INT8): 0, (_INT8, _UINT8): 1, (_UINT8, _INT8): 2, (_UINT8, _UINT8): 3,
    (_BFLOAT16, _BFLOAT16): 4,
}  # fmt: skip


def is_native(x: np.dtype, y: np.dtype) -> bool:
    """Returns whether this processor multiplies operands of these dtypes in tile registers."""
    if (x, y) not in _KINDS:
        return False
    return _Native.address is not None and _Native.address(0) != 0


def sum_dtype(x: np.dtype) -> np.dtype:
    """Returns the dtype of sums of products of operands of dtype `x`."""
    return np.dtype(np.float32 if x == _BFLOAT16 else np.int32)


class _Params(TypedDict):
    m: int
    n: int
    k: int
    size: int
    kind: int
    columns: int


def routine(name: str, x: np.dtype, y: np.dtype, m: int, n: int, k: int) -> library.Routine:
    """Returns the library function `name` for products of [m, k] and [k, n] matrices.

    Args:
      name: "rows", "columns" or "product".
      x, y: the dtypes of the operands.
      m, n, k: the sizes of the product.
    """
    held = COSTS.tile_panel // (_BLOCK * _ceil(k * x.itemsize, _ROW) * _ROW)
    columns = max(held // 2 * 2, 2)
    return library.routine(
        f"tiles.{name}", m=m, n=n, k=k, size=x.itemsize, kind=_KINDS[x, y], columns=columns
    )


def _ceil(n: int, size: int) -> int:
    return -(-n // size)


def _depth(params: _Params) -> int:
    """Returns the number of blocks along the contracted axis."""
    return _ceil(params["k"] * params["size"], _ROW)


# --- types, references ------------------------------------------------------------------------------


def _row_types(x: TensorType, **params: Unpack[_Params]) -> list[TensorType]:
    return _blocked(x, params["m"], params)


def _column_types(y: TensorType, **params: Unpack[_Params]) -> list[TensorType]:
    return _blocked(y, params["n"], params)


def _blocked(x: TensorType, extent: int, params: _Params) -> list[TensorType]:
    inner = (_BLOCK, _ROW // x.dtype.itemsize)
    return [TensorType((x.shape[0], _ceil(extent, _BLOCK), _depth(params), *inner), x.dtype)]


def _product_types(x: TensorType, y: TensorType, **params: Unpack[_Params]) -> list[TensorType]:
    return [TensorType((x.shape[0], params["m"], params["n"]), sum_dtype(x.dtype))]


def _rows(x: np.ndarray, **params: Unpack[_Params]) -> list[np.ndarray]:
    (blocked,) = _row_types(TensorType(x.shape, x.dtype), **params)
    batch, down, deep, rows, width = blocked.shape
    padded = np.zeros((batch, down * rows, deep * width), x.dtype)
    padded[:, : x.shape[1], : x.shape[2]] = x
    return [padded.reshape(batch, down, rows, deep, width).swapaxes(2, 3).copy()]


def _columns(y: np.ndarray, **params: Unpack[_Params]) -> list[np.ndarray]:
    (blocked,) = _column_types(TensorType(y.shape, y.dtype), **params)
    batch, across, deep, rows, width = blocked.shape
    together = width // _BLOCK
    padded = np.zeros((batch, deep * rows * together, across * _BLOCK), y.dtype)
    padded[:, : y.shape[1], : y.shape[2]] = y
    parts = padded.reshape(batch, deep, rows, together, across, _BLOCK)
    return [parts.transpose(0, 4, 1, 2, 5, 3).reshape(blocked.shape)]


def _product(x: np.ndarray, y: np.ndarray, **params: Unpack[_Params]) -> list[np.ndarray]:
    batch, down, deep, rows, width = x.shape
    across, together = y.shape[1], width // _BLOCK
    dtype = sum_dtype(x.dtype)
    left = x.swapaxes(2, 3).reshape(batch, down * rows, deep * width)
    parts = y.reshape(batch, across, deep, rows, _BLOCK, together)
    right = parts.transpose(0, 2, 3, 5, 1, 4).reshape(batch, deep * width, across * _BLOCK)
    products = left.astype(dtype) @ right.astype(dtype)
    return [products[:, : params["m"], : params["n"]].copy()]


# --- the native functions ---------------------------------------------------------------------------


class _Native:
    """The runtime's machine code: its addresses by index, 0 if there are no tile registers."""

    address: Callable[[int], int] | None = None


def use_native(address: Callable[[int], int]) -> None:
    """Sets the function that returns addresses of machine code; see `_multiply.pyi`."""
    _Native.address = address


def _computes(*types: TensorType, **params: Param) -> bool:
    return is_native(types[0].dtype, types[-1].dtype)


def _options(**params: Unpack[_Params]) -> Sequence[int]:
    return [params[name] for name in ("m", "n", "k", "size", "kind", "columns")]


def _row_items(x: TensorType, **params: Unpack[_Params]) -> int:
    return x.shape[0] * _ceil(params["m"], _BLOCK)


def _column_items(y: TensorType, **params: Unpack[_Params]) -> int:
    return y.shape[0] * _ceil(params["n"], _BLOCK)


def _product_items(x: TensorType, y: TensorType, **params: Unpack[_Params]) -> int:
    batch, down, across = x.shape[0], x.shape[1], y.shape[1]
    return batch * _ceil(down, 2) * _ceil(across, params["columns"])


def _packed_bytes(x: TensorType, **params: Unpack[_Params]) -> int:
    """Returns the work of packing an item: one operation per eight bytes."""
    return max(_BLOCK * _ROW * _depth(params) // 8, 1)


def _products(x: TensorType, y: TensorType, **params: Unpack[_Params]) -> int:
    """Returns the work of an item of products, in cycles of the tile instructions."""
    blocks = 2 * min(params["columns"], y.shape[1]) * _depth(params)
    return max(blocks * COSTS.tile_product, 1)


def _none(*types: TensorType, **params: Unpack[_Params]) -> float:
    return 0.0


def _of_products(x: TensorType, y: TensorType, **params: Unpack[_Params]) -> float:
    return 2.0 * x.shape[0] * params["m"] * params["n"] * params["k"]


def _declare(
    which: int, name: str, types: Callable[..., Sequence[TensorType]],
    reference: library.Implementation, items: Callable[..., int], work: Callable[..., int],
    operations: Callable[..., float],
) -> None:  # fmt: skip
    def address(dtype: np.dtype) -> int:
        assert _Native.address is not None
        return _Native.address(which)

    native = NativeCode(address, _computes, _options, items=items)
    library.declare(LibraryFunction(f"tiles.{name}", types, reference, native, work, operations))


_declare(0, "rows", _row_types, _rows, _row_items, _packed_bytes, _none)
_declare(1, "columns", _column_types, _columns, _column_items, _packed_bytes, _none)
_declare(2, "product", _product_types, _product, _product_items, _products, _of_products)
