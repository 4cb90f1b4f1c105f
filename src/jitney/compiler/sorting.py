"""Declares two library functions, sorting and top-k, implemented in native code.

`runtime/native/sort.h` contains them and describes their algorithms. They sort along the last axis.
This module determines their options, their workspace, and the division of their work into items.
The reference implementations in `reference/order.py` have the same results, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import ml_dtypes
import numpy as np

from jitney.compiler import library
from jitney.compiler.library import LibraryFunction, NativeCode, Param
from jitney.compiler.reference import order
from jitney.compiler.tensor_type import TensorType

Array: TypeAlias = np.ndarray

# The dtypes, in the order of `sort.h`.
_DTYPES: tuple[type, ...] = (
    np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.uint64, np.int64,
    np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128,
)  # fmt: skip
_NUMBERS = {np.dtype(dtype): k for k, dtype in enumerate(_DTYPES)} | {np.dtype(bool): 0}

# Constants of `sort.h`.
_OPERANDS = 64
_PART, _PARTS = 1 << 15, 64  # elements that a thread moves together; maximum parts of a row
_PLACES = 8 << 8  # bytes of the 256 counts that each part, or each digit, has
_DIGITS = 8
_BLOCK = 64
_POSITIONS = 1 << 31  # maximum elements of a row


def is_native(types: Sequence[TensorType], dim: int) -> bool:
    """Returns whether native code supports arrays of these types along `dim`.

    The answer is the same for sorting and for top-k.
    """
    shape = types[0].shape
    return (
        _Native.address is not None
        and all(t.dtype in _NUMBERS for t in types)
        and len(types) <= _OPERANDS
        and len(shape) > 0
        and 0 not in shape
        and shape[dim] <= _POSITIONS
    )


def is_faster(types: Sequence[TensorType]) -> bool:
    """Returns whether native code sorts arrays of these types faster than NumPy.

    NumPy sorts a single array of 32-bit or 64-bit real elements with a vectorized quicksort. On
    processors with AVX-512, this takes half as long as native code, but compiled programs have to
    call NumPy through Python. For small arrays, native code is therefore faster.
    """
    from jitney.compiler.cost import COSTS  # late: importing jitney does not need it

    (first, *others) = types
    if others or first.dtype.kind == "c" or first.dtype.itemsize < 4:
        return True
    return first.size <= COSTS.host_sort_above


# --- options of the functions --------------------------------------------------------------------


def _lines(count: int) -> int:
    """Returns `count` bytes rounded up to whole cache lines."""
    return -(-count // 64) * 64


def _width(types: Sequence[TensorType], keys: int) -> int:
    """Returns the size in bytes of a word that is sorted.

    Such a word contains a key, and the data that moves with it.
    """
    key, sizes = types[0].dtype, [t.dtype.itemsize for t in types]
    if keys == 1 and key.kind != "c":
        if len(types) == 1:
            return max(sizes[0], 4)
        if len(types) == 2 and sizes[1] == 8:
            return 16
    wide = [t.dtype.itemsize // (2 if t.dtype.kind == "c" else 1) == 8 for t in types[:keys]]
    return 16 if any(wide) else 8


def _room(n: int, width: int) -> int:
    """Returns the bytes of workspace for a row of n elements."""
    parts = min(max(n // _PART, _DIGITS), _PARTS)
    return parts * _PLACES + 2 * _lines(n * width) + _lines(4 * n)


def _items(rows: int, n: int) -> int:
    """Returns the number of work items; if rows are long, all threads share each row."""
    from jitney.compiler.cost import COSTS  # late: importing jitney does not need it

    return 1 if n >= COSTS.shared_sort_above else min(rows, COSTS.sort_items)


def _routine(
    name: str, types: Sequence[TensorType], keys: int, k: int, kept: int, width: int
) -> library.Routine:
    *leading, n = types[0].shape
    rows = math.prod(leading)
    return library.routine(
        name, rows=rows, n=n, items=_items(rows, n), room=_room(kept, width), width=width,
        operands=len(types), keys=keys, k=k, types=tuple([_NUMBERS[t.dtype] for t in types]),
    )  # fmt: skip


def sort_routine(types: Sequence[TensorType], num_keys: int) -> library.Routine:
    """Returns the library function that sorts operands along their last axis by `num_keys` keys."""
    width = _width(types, num_keys)
    return _routine("sort", types, num_keys, 0, types[0].shape[-1], width)


def top_k_routine(x: TensorType, k: int) -> library.Routine:
    """Returns the library function for the k largest elements along the last axis.

    `k` must be positive. The function also returns the indices of the elements.
    """
    width = 16 if x.dtype.itemsize == 8 else 8
    kept = min(4 * k + 2 * _BLOCK, x.shape[-1]) + _BLOCK
    return _routine("top_k", [x], 1, k, kept, width)


# --- the functions --------------------------------------------------------------------------------


def _sort_types(*xs: TensorType, **params: Param) -> Sequence[TensorType]:
    return xs


def _sort(*xs: Array, keys: int, **params: Param) -> list[Array]:
    return order.sort(xs, xs[0].ndim - 1, keys, True)


def _top_k_types(x: TensorType, *, k: int, **params: Param) -> list[TensorType]:
    shape = (*x.shape[:-1], k)
    return [TensorType(shape, x.dtype), TensorType(shape, np.dtype(np.int32))]


def _top_k(x: Array, *, k: int, **params: Param) -> list[Array]:
    return list(order.top_k(x, k, x.ndim - 1))


def _computes(*types: TensorType, **params: Param) -> bool:
    return is_native(types, len(types[0].shape) - 1)


def _options(*, types: tuple[int, ...], **params: int) -> list[int]:
    return [*params.values(), *types]


def _item_count(*types: TensorType, items: int, **params: Param) -> int:
    return items


def _item_work(*types: TensorType, rows: int, n: int, items: int, **params: Param) -> int:
    from jitney.compiler.cost import COSTS  # late: importing jitney does not need it

    return COSTS.sort_steps * len(types) * n * (-(-rows // items))


def _item_room(*types: TensorType, room: int, **params: Param) -> int:
    return room


# --- the native functions -------------------------------------------------------------------------


class _Native:
    """The functions of the runtime; they are None until `use_native` sets them.

    Attributes:
      address: returns the address of the native function with a given index.
      call: runs a native function on arrays; the arguments are the address of the function, the
        arrays, the batch, the grain, and whether BLAS is restricted to one thread.
    """

    address: Callable[[int], int] | None = None
    call: Callable[..., None] | None = None


def use_native(address: Callable[[int], int], call: Callable[..., None]) -> None:
    """Sets the native functions; see `_Native`."""
    _Native.address, _Native.call = address, call


def run(routine: library.Routine, operands: Sequence[Array]) -> list[Array]:
    """Runs a sort or top-k routine in native code, and returns its results."""
    assert _Native.call is not None
    held = [np.ascontiguousarray(x) for x in operands]
    types = tuple([TensorType(x.shape, x.dtype) for x in held])
    results = library.result_types(routine, types)
    native = library.native_call(library.Call(routine, types, results))
    assert native is not None, routine
    out = [np.empty(t.shape, t.dtype) for t in results]
    workspace = np.empty(native.workspace, np.uint8)
    slots = (native.options, *held, *out, workspace)
    _Native.call(library.address(native.symbol), slots, native.batch, native.grain, False)
    return out


def _declare(
    number: int, name: str, types: Callable[..., Sequence[TensorType]],
    reference: library.Implementation,
) -> None:  # fmt: skip
    def address(dtype: np.dtype) -> int:
        assert _Native.address is not None
        return _Native.address(number)

    native = NativeCode(address, _computes, _options, items=_item_count, workspace=_item_room)
    library.declare(LibraryFunction(name, types, reference, native, _item_work))


_declare(0, "sort", _sort_types, _sort)
_declare(1, "top_k", _top_k_types, _top_k)
