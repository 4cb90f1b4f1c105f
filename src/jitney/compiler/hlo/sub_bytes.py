"""Lowers bitcasts of elements narrower than a byte.

In memory, each such element occupies a byte of its own, but the node `Bitcast` reinterprets whole
bytes. So narrow elements are combined into words, and extracted from them, by shifts.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.hlo.build import Builder
from jitney.compiler.hlo.ir import Node
from jitney.core.types import dtypes

_UINT8 = np.dtype(np.uint8)


def bitcast(b: Builder, x: Node, dtype: np.dtype) -> Node:
    """Reinterprets the bits of `x` as `dtype`; a different width appends or removes a last axis."""
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(dtype)
    if x.dtype == dtype or min(old, new) >= 8:
        return b.bitcast(x, dtype)
    word = _word(b, x, old)
    if old < new:
        word = b.convert(word, np.dtype(f"uint{max(new, 8)}"))
        shifted = b.apply("shift_left", word, _offsets(b, word, old))
        word = b.reduce(shifted, "or", (len(shifted.shape) - 1,))
    elif old > new:
        shape = (*word.shape, old // new)
        word = b.broadcast(word, shape, range(len(shape) - 1))
        word = b.apply("shift_right_logical", word, _offsets(b, word, new))
    return _from_word(b, word, dtype, new)


def _word(b: Builder, x: Node, bits: int) -> Node:
    """Returns the bits of each element as an unsigned integer."""
    if bits >= 8:
        return b.bitcast(x, np.dtype(f"uint{bits}"))
    integral = dtypes.issubdtype(x.dtype, np.integer)
    return _masked(b, b.convert(x, _UINT8) if integral else b.bitcast(x, _UINT8), bits)


def _from_word(b: Builder, word: Node, dtype: np.dtype, bits: int) -> Node:
    if bits >= 8:
        return b.bitcast(word, dtype)
    code = b.convert(_masked(b, word, bits), _UINT8)
    return (
        b.convert(code, dtype) if dtypes.issubdtype(dtype, np.integer) else b.bitcast(code, dtype)
    )


def _masked(b: Builder, word: Node, bits: int) -> Node:
    return b.apply("and", word, b.full(word.shape, 2**bits - 1, word.dtype))


def _offsets(b: Builder, word: Node, bits: int) -> Node:
    """Returns the number of bits by which to shift each part of a word.

    The parts of a word are along the last axis.
    """
    places = b.iota(word.dtype, word.shape, len(word.shape) - 1)
    return b.apply("mul", places, b.full(word.shape, bits, word.dtype))
