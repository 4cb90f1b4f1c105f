"""Products with masks: x times a converted boolean is computed as `select(mask, x, 0)`.

In IEEE arithmetic, inf * 0 is NaN, yet programs multiply by masks to drop infinities. As in XLA, a
product becomes a selection if a factor is a boolean that was converted to the dtype of the product,
has the shape of the product, and is not a constant of the program (`_is_folded`). Within programs,
the lowering does this. In eager mode, JAX runs one program for each function of `jax.numpy`, so
only masks that such a function itself converts become selections: it opens a context, `noting`, in
which conversions are recorded for the products that follow.

Products of bfloat16, and of floats narrower than 16 bits, remain multiplications even if a factor
is a mask: XLA computes them in float32.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.reference import reduction
from jitney.core.array import Array
from jitney.core.contexts import Within
from jitney.core.tracing.trace import Tracer, is_recorded

if TYPE_CHECKING:
    from jitney.core.typing import ArrayLike
    from jitney.primitives.rule_types import Builder, DotDimensionNumbers, Node

BOOL = np.dtype(np.bool_)
_WIDE = (np.float32, np.float64, np.complex64, np.complex128)
_SELECTED: frozenset[Any] = frozenset(map(np.dtype, (np.float16, *_WIDE)))
_SUMMED: frozenset[Any] = frozenset(map(np.dtype, _WIDE))  # dtypes of contractions


# --- evaluation -----------------------------------------------------------------------------------


class _Local(threading.local):
    """A thread-local map: id of a converted mask -> (converted, mask); None outside of contexts."""

    noted: dict[int, tuple[np.ndarray, np.ndarray]] | None = None


local = _Local()
_NOTED = ("noted",)


def noting() -> Within:
    """Returns a context that records conversions of masks.

    Products with masks that were converted within the context become selections.
    """
    return Within(local, _NOTED, ({},))


def is_mask(x: ArrayLike) -> bool:
    """Returns whether `x` is a boolean array or scalar."""
    if isinstance(x, Array | np.ndarray | np.generic):
        return x.dtype == BOOL
    return type(x) is bool


def among(operands: Sequence[ArrayLike]) -> bool:
    """Returns whether some but not all operands are masks."""
    flags = [is_mask(x) for x in operands]
    return any(flags) and not all(flags)


def as_arrays(operands: Sequence[ArrayLike]) -> list[ArrayLike]:
    """Converts boolean scalars to NumPy arrays in eager mode, so that conversions are recorded.

    In programs, boolean scalars remain literals, and operands are multiplied by them.
    """
    if is_recorded():
        return list(operands)
    return [
        np.asarray(x) if is_mask(x) and not isinstance(x, Tracer | Array) else x for x in operands
    ]


def note(converted: Any, mask: np.ndarray) -> np.ndarray:
    """Records within a context that `converted` is `mask` in another dtype; returns the former."""
    noted = local.noted
    if noted is None or converted.dtype not in _SELECTED:
        return converted
    array = np.asarray(converted)
    noted[id(array)] = array, mask
    return array


def _mask_of(x: np.ndarray) -> np.ndarray | None:
    entry = (local.noted or {}).get(id(x))
    return entry[1] if entry is not None and entry[0] is x else None


def selected(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Returns the product of `x` and `y` if one is a recorded mask of its shape, else None."""
    for converted, other in ((x, y), (y, x)):
        mask = _mask_of(converted)
        if mask is not None:
            product = _select(mask, other)
            if product.shape == mask.shape:
                return product
    return None


def _select(mask: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.where(mask, x, x.dtype.type(0))


def sum_of_selected(
    x: np.ndarray, y: np.ndarray, dimension_numbers: DotDimensionNumbers, dtype: np.dtype
) -> np.ndarray | None:
    """Contracts `x` and `y` in `dtype` if one is a mask (see `_is_product`), or returns None."""
    if x.dtype == y.dtype or (x.dtype != BOOL and y.dtype != BOOL) or dtype not in _SUMMED:
        return None
    mask, other = (x, y) if x.dtype == BOOL else (y, x)
    rank = mask.ndim
    if not _is_product(rank, other.ndim, dimension_numbers):
        return None
    part = other if dtype.kind == "c" else np.real(other)
    wide = part.reshape(part.shape + (1,) * (rank - part.ndim))
    product = _select(mask, wide).astype(dtype, copy=False)
    total = reduction.reduce(product, "add", tuple(dimension_numbers[0][0]))
    return total.transpose(_places(rank, dimension_numbers))


def _is_product(mask: int, other: int, dimension_numbers: DotDimensionNumbers) -> bool:
    """Returns whether a contraction is an elementwise product with a mask, and perhaps a sum.

    `mask` and `other` are the ranks of the operands. Either no axis is free; or only the mask has
    free axes, its batch axes come first, and no axis is contracted.
    """
    (cx, cy), (bx, by) = dimension_numbers
    if (*cx, *bx) != (*cy, *by) or other != len(cx) + len(bx):
        return False
    return mask == other or (not cx and tuple(bx) == tuple(range(len(bx))))


# --- programs -------------------------------------------------------------------------------------


def note_node(b: Builder, converted: Node, mask: Node) -> Node:
    """Records that the node `converted` is `mask` in another dtype; returns `converted`."""
    if converted.dtype in _SELECTED and not _is_folded(mask, converted.dtype):
        b.converted_masks[converted] = mask
    return converted


def _is_folded(mask: Node, dtype: np.dtype) -> bool:
    """Returns whether XLA folds the conversion of a mask to `dtype`, and therefore multiplies.

    XLA folds constants, but for complex dtypes only scalars, arrays that are broadcast from a
    scalar, and arrays of several elements that are all False, which are broadcast, too.
    """
    from jitney.compiler.hlo import ir  # late: imports the compiler

    constant = mask.x if isinstance(mask, ir.Broadcast) else mask
    if not isinstance(constant, ir.Constant):
        return False
    is_array = constant is mask and mask.shape != ()
    return (
        dtype.kind != "c" or not is_array or (constant.value.size > 1 and not constant.value.any())
    )


def select_node(b: Builder, x: Node, y: Node) -> Node | None:
    """Returns the product of `x` and `y`, of equal shapes, if one is a converted mask, else None.

    A mask times 1, as in the gradient of a sum, is the mask itself.
    """
    for converted, other in ((x, y), (y, x)):
        mask = b.converted_masks.get(converted)
        if mask is not None:
            if _is_one(other):
                return converted
            return b.apply("select", mask, other, b.full(other.shape, 0, other.dtype))
    return None


def _is_one(x: Node) -> bool:
    from jitney.compiler.hlo import ir  # late: imports the compiler

    while isinstance(x, ir.Broadcast):
        x = x.x
    return isinstance(x, ir.Constant) and bool((x.value == 1).all())


def sum_node(b: Builder, x: Node, y: Node, dimension_numbers: DotDimensionNumbers) -> Node | None:
    """Contracts `x` and `y` if one is a converted mask (see `_is_product`), or returns None."""
    if x.dtype not in _SUMMED:
        return None
    for mask, other in ((x, y), (y, x)):
        rank, n = len(mask.shape), len(other.shape)
        if mask not in b.converted_masks or not _is_product(rank, n, dimension_numbers):
            continue
        wide = other if rank == n else b.broadcast(other, mask.shape, tuple(range(n)))
        product = select_node(b, mask, wide)
        assert product is not None
        total = b.reduce(product, "add", tuple(dimension_numbers[0][0]))
        return b.transpose(total, _places(rank, dimension_numbers))
    return None


def _places(rank: int, dimension_numbers: DotDimensionNumbers) -> tuple[int, ...]:
    """Returns the permutation that moves the batch axes of a contraction's result to the front.

    In the unpermuted result, the axes are in the order of the mask's axes.
    """
    (contracted, _), (batch, _) = dimension_numbers
    order = [k for k in range(rank) if k not in contracted]
    return tuple([order.index(k) for k in (*batch, *(k for k in order if k not in batch))])
