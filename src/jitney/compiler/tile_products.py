"""Declares three library functions for products of narrow dtypes by instructions for them.

`runtime/native/multiply.h` contains the functions. Operands are laid out in tiles of 16 rows of 64
bytes, which two sets of instructions multiply: AMX, in tile registers, and the dot products of
AVX-512 (VNNI for 8-bit integers, BF16 for bfloat16). The best one that the processor has is used.
If it has none, `is_native` returns False, and the functions are never called.

This module determines the options of the functions, and the division of their work into items. The
division depends only on sizes, so that results do not depend on the number of threads.

    tiles.rows {...}     [batch, m, k] -> [batch, m / 16, k * size / 64, 16, 64 / size]
    tiles.columns {...}  [batch, k, n] -> [batch, n / 16, k * size / 64, 16, 64 / size]
    tiles.product {...}  both          -> [batch, m, n] of int32, or float32 for bfloat16

Sums of integers are exact modulo 2**32. Sums of bfloat16 products are float32. AMX rounds them after
each pair of products, AVX-512 after each product, and both flush subnormal operands and subnormal
sums to zero.
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

# The sets of instructions of `multiply.h`: dot products of AVX-512, and the tile registers of AMX.
DOTS, TILES = 1, 2


def is_native(x: np.dtype, y: np.dtype) -> bool:
    """Returns whether this processor has instructions for products of these dtypes."""
    return (x, y) in _KINDS and instructions(x) != 0


def instructions(x: np.dtype) -> int:
    """Returns the instructions that multiply operands of dtype `x`: `DOTS`, `TILES`, or 0 if none."""
    sets = _Native.allowed & _Native.sets(x.itemsize)
    return TILES if sets & TILES else sets


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
    """The runtime's machine code; see `_multiply.pyi`.

    Attributes:
      sets: returns the sets of instructions that the processor has for elements of a size.
      address: returns the address of a function, given its index and the set of instructions.
      allowed: the sets that may be used.
    """

    sets: Callable[[int], int] = lambda size: 0
    address: Callable[[int, int], int] = lambda which, instructions: 0
    allowed = DOTS | TILES


def use_native(sets: Callable[[int], int], address: Callable[[int, int], int]) -> None:
    """Sets the functions that return instructions and addresses of machine code."""
    _Native.sets, _Native.address = sets, address


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
    """Returns the work of an item of products, in cycles."""
    blocks = 2 * min(params["columns"], y.shape[1]) * _depth(params)
    cycles = COSTS.dot_product if instructions(x.dtype) == DOTS else COSTS.tile_product
    return max(blocks * cycles, 1)


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
        return _Native.address(which, instructions(dtype))

    native = NativeCode(address, _computes, _options, items=items)
    library.declare(LibraryFunction(f"tiles.{name}", types, reference, native, work, operations))


_declare(0, "rows", _row_types, _rows, _row_items, _packed_bytes, _none)
_declare(1, "columns", _column_types, _columns, _column_items, _packed_bytes, _none)
_declare(2, "product", _product_types, _product, _product_items, _products, _of_products)
