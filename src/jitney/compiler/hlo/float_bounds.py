"""Range analysis of floats: lower and upper bounds on the elements of a node.

Uniform random numbers are made from random bits with a fixed exponent, which are then scaled and
clipped. The bounds show which of these steps are the identity and can be removed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir
from jitney.compiler.hlo.traversal import scalar_value
from jitney.core.util import float_errors

_FLOATS = {np.dtype(np.uint32): np.dtype(np.float32), np.dtype(np.uint64): np.dtype(np.float64)}


class Bounds(NamedTuple):
    """Finite lower and upper bounds on the elements of a node, none of which is NaN or -0."""

    low: np.floating
    high: np.floating


def bounds(node: ir.Node, steps: int = COSTS.bounded_steps) -> Bounds | None:
    """Returns bounds on all elements of `node`, derived from at most `steps` operations.

    Returns None if no bounds can be derived.
    """
    while isinstance(node, ir.Broadcast | ir.Reshape):
        node = node.x
    if isinstance(node, ir.Constant):
        return _of_constant(node)
    if not isinstance(node, ir.Apply) or not steps:
        return None
    if node.fn == "bitcast":
        return _of_bits(node.args[0], node.dtype)
    if node.fn not in ("add", "sub", "mul") or node.dtype.kind != "f":
        return None
    first, second = (bounds(x, steps - 1) for x in node.args)
    return None if first is None or second is None else _combined(node.fn, first, second)


def _of_constant(node: ir.Constant) -> Bounds | None:
    value = scalar_value(node)
    if node.dtype.kind != "f" or value is None:
        return None
    return _checked(value, value)


def _of_bits(words: ir.Node, dtype: np.dtype) -> Bounds | None:
    """Returns bounds on the integers `words`, reinterpreted as floats.

    `words` must have the form (bits >> constant) | constant; returns None for all others.
    """
    if _FLOATS.get(words.dtype) != dtype or not isinstance(words, ir.Apply) or words.fn != "or":
        return None
    for free, fixed in (words.args, words.args[::-1]):
        base = scalar_value(fixed)
        if base is None or not isinstance(free, ir.Apply) or free.fn != "shift_right_logical":
            continue
        distance = scalar_value(free.args[1])
        width = 8 * words.dtype.itemsize
        if distance is None or not 0 < int(distance) < width:
            continue
        # Words with a clear sign bit are ordered like their floats; `_checked` rejects all others.
        most = int(base) | ((1 << (width - int(distance))) - 1)
        ends = np.array([int(base), most], words.dtype).view(dtype)
        return _checked(ends[0], ends[1])
    return None


def _combined(fn: str, x: Bounds, y: Bounds) -> Bounds | None:
    # Rounding is monotonic, so the bounds of the result are the function's values at the bounds.
    # Equal floats cancel to 0, and 0 + 0 is 0; products of different signs may underflow to -0.
    with float_errors.ignored():
        if fn == "add":
            return _checked(x.low + y.low, x.high + y.high)
        if fn == "sub":
            return _checked(x.low - y.high, x.high - y.low)
        if x.low < 0 or y.low < 0:
            return None
        return _checked(x.low * y.low, x.high * y.high)


def _checked(low: np.floating, high: np.floating) -> Bounds | None:
    ends = np.array([low, high])
    if not np.isfinite(ends).all() or ends[0] > ends[1]:
        return None
    if np.signbit(ends[ends == 0]).any():
        return None
    return Bounds(ends[0], ends[1])
