"""The `threefry2x32` primitive: the hash that random bits are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitney.compiler.reference import threefry as meaning
from jitney.core.avals import ShapedArray, shaped_array
from jitney.core.primitive import declare
from jitney.primitives import rules

if TYPE_CHECKING:
    from jitney.core.typing import Array
    from jitney.primitives.rule_types import Builder, Node, Value

threefry2x32_p = declare("threefry2x32", multiple_results=True)

_U32 = np.dtype(np.uint32)


@threefry2x32_p.abstract
def _(*words: ShapedArray) -> list[ShapedArray]:
    if len(words) != 4 or any(w.dtype != _U32 for w in words):
        listed = ", ".join(w.str_short() for w in words)
        raise TypeError(f"threefry2x32 requires four uint32 arrays, got {listed}")
    shape = np.broadcast_shapes(*[w.shape for w in words])
    return [shaped_array(shape, _U32)] * 2


@threefry2x32_p.eager
def _(*words: np.ndarray) -> list[np.ndarray]:
    return list(meaning.threefry2x32(*words))


@threefry2x32_p.lower
def _(b: Builder, *words: Node) -> list[Any]:
    shape = np.broadcast_shapes(*[w.shape for w in words])
    aligned = [
        b.broadcast(w, shape, tuple(range(len(shape) - len(w.shape), len(shape)))) for w in words
    ]
    return list(threefry2x32_nodes(b, *aligned))


def threefry2x32_nodes(b: Builder, k0: Node, k1: Node, x0: Node, x1: Node) -> tuple[Node, Node]:
    """The hash of (x0, x1) under (k0, k1) as nodes of the tensor IR, all of one shape."""

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
        y1 = add(add(y1, keys[(group + 2) % 3]), constant(group + 1))
    return y0, y1


def threefry2x32(k0: Value, k1: Value, x0: Value, x1: Value) -> list[Array]:
    """The two words of the Threefry-2x32 hash of (x0, x1) under the key (k0, k1)."""
    return threefry2x32_p.bind(k0, k1, x0, x1)


rules.broadcasting(threefry2x32_p)
rules.def_zero_derivative(threefry2x32_p)
threefry2x32_p.absent("transpose", why="not linear")
