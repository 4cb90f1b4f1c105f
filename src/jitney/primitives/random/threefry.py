"""The primitive `threefry2x32`, the hash from which random bits are generated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jitney.compiler.reference import threefry as meaning
from jitney.core.tracing.primitive import declare
from jitney.core.types.avals import ShapedArray, get_aval, shaped_array
from jitney.primitives import rules
from jitney.primitives.array.concatenation import concatenate
from jitney.primitives.array.shape import reshape
from jitney.primitives.elementwise.convert import as_value
from jitney.primitives.indexing.slice import slice_in_dim

if TYPE_CHECKING:
    from jitney.core.typing import Array, ArrayLike
    from jitney.primitives.rule_types import Builder, Node, Value

threefry2x32_p = declare("threefry2x32", multiple_results=True)

_U32 = np.dtype(np.uint32)


@threefry2x32_p.abstract
def _threefry2x32_abstract(*words: ShapedArray) -> list[ShapedArray]:
    if len(words) != 4 or any(w.dtype != _U32 for w in words):
        listed = ", ".join(w.str_short() for w in words)
        raise TypeError(f"threefry2x32 requires four uint32 arrays, got {listed}")
    shape = np.broadcast_shapes(*[w.shape for w in words])
    return [shaped_array(shape, _U32)] * 2


@threefry2x32_p.eager
def _threefry2x32_eager(*words: np.ndarray) -> list[np.ndarray]:
    return list(meaning.threefry2x32(*words))


@threefry2x32_p.lower
def _threefry2x32_lower(b: Builder, *words: Node) -> list[Node]:
    shape = np.broadcast_shapes(*[w.shape for w in words])
    aligned = [
        b.broadcast(w, shape, tuple(range(len(shape) - len(w.shape), len(shape)))) for w in words
    ]
    return list(threefry2x32_nodes(b, *aligned))


def threefry2x32_nodes(b: Builder, k0: Node, k1: Node, x0: Node, x1: Node) -> tuple[Node, Node]:
    """Builds the hash of (x0, x1) under (k0, k1) from tensor IR nodes of equal shapes."""

    def constant(value: int) -> Node:
        return b.full(x0.shape, value, _U32)

    def add(x: Node, y: Node) -> Node:
        return b.apply("add", x, y)

    def rotated(x: Node, distance: int) -> Node:
        left = b.apply("shift_left", x, constant(distance))
        right = b.apply("shift_right_logical", x, constant(32 - distance))
        return b.apply("or", left, right)

    parity = b.apply("xor", b.apply("xor", k0, k1), constant(meaning.PARITY))
    keys = (k0, k1, parity)
    y0, y1 = add(x0, k0), add(x1, k1)
    for group in range(5):
        for distance in meaning.ROTATIONS[group % 2]:
            y0 = add(y0, y1)
            y1 = b.apply("xor", rotated(y1, distance), y0)
        y0 = add(y0, keys[(group + 1) % 3])
        # All elements usually have the same key, for which this sum is then computed only once.
        y1 = add(y1, add(keys[(group + 2) % 3], constant(group + 1)))
    return y0, y1


def threefry2x32(k0: Value, k1: Value, x0: Value, x1: Value) -> list[Array]:
    """Computes the two words of the Threefry-2x32 hash of (x0, x1) under the key (k0, k1)."""
    return threefry2x32_p.bind(k0, k1, x0, x1)


rules.broadcasting(threefry2x32_p)
rules.def_zero_derivative(threefry2x32_p)
threefry2x32_p.absent("transpose", why="not linear")


def threefry_2x32(keypair: Sequence[ArrayLike] | Array, count: ArrayLike) -> Array:
    """Computes the Threefry-2x32 hash of an array whose elements are hashed in pairs.

    Args:
      keypair: two uint32 scalars.
      count: uint32 array. Element i of its first half is paired with element i of its second half;
        if the size is odd, the last element of the first half is paired with zero.

    Returns: uint32 array with the shape of `count`.

    Raises:
      TypeError: if a dtype is not uint32.

    Example:
      >>> from jitney.extend.random import threefry_2x32
      >>> threefry_2x32((jnp.uint32(1), jnp.uint32(2)), jnp.arange(4, dtype=jnp.uint32))
      Array([1652566880, 3459287217,  541337198, 1925345330], dtype=uint32)
    """
    k0, k1, counts = (as_value(x) for x in (*keypair, count))
    if any(x.dtype != _U32 for x in (k0, k1, counts)):
        listed = ", ".join(get_aval(x).str_short() for x in (k0, k1, counts))
        raise TypeError(f"threefry_2x32: key and `count` must be uint32, but are {listed}")
    flat = reshape(counts, (counts.size,))
    half = -(-counts.size // 2)
    if counts.size % 2:
        flat = concatenate([flat, np.zeros(1, _U32)], 0)
    hashed = threefry2x32(k0, k1, slice_in_dim(flat, 0, half), slice_in_dim(flat, half, 2 * half))
    return reshape(slice_in_dim(concatenate(hashed, 0), 0, counts.size), counts.shape)
