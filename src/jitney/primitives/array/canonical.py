"""Canonicalization of user-supplied shapes to tuples of ints, and of axes to nonnegative ints."""

# Messages use the private `_origin_msg` of tracers, which users never call.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from jitney.core.array import Array
from jitney.core.messages import messages
from jitney.core.symbolic.expressions import DimExpr, index
from jitney.core.tracing.trace import Tracer
from jitney.primitives.elementwise.families import Shape


def canonical_shape(shape: Any, context: str = "") -> Shape:
    """Returns `shape` as a tuple of ints.

    Raises:
      TypeError: if an entry is not an integer, or is a tracer.
    """
    try:
        return tuple([operator.index(n) for n in shape])
    except TypeError:  # tracers raise subclasses of TypeError
        pass
    try:
        entries = tuple(shape)
    except TypeError:
        entries = (shape,)
    if any(type(n) is DimExpr for n in entries):
        try:
            return tuple([index(n) for n in entries])
        except TypeError:
            raise shape_error(entries, context) from None
    if len(entries) == 1 and entries[0] is shape:
        try:
            return (operator.index(shape),)
        except TypeError:
            pass
    raise shape_error(entries, context)


def shape_error(entries: Sequence[object], context: str = "") -> TypeError:
    """Returns the error for a shape whose entries are not concrete integers."""
    message = f"Shapes must be 1D sequences of concrete values of integer type, got {entries}."
    if context:
        message += f" {context}."
    tracers = [x for x in entries if isinstance(x, Tracer)]
    if tracers:
        message += (
            "\nInstead: list those arguments of jitted functions on which shapes depend in "
            "static_argnames."
        )
        message += "".join(dict.fromkeys(t._origin_msg() for t in tracers))
    return TypeError(message)


def canonical_axis(axis: Any, rank: int) -> int:
    """Returns `axis` counted from the front.

    Raises:
      TypeError: if `axis` is not an integer.
      ValueError: if `axis` is out of bounds.
    """
    try:
        axis = operator.index(axis)
    except TypeError:
        if isinstance(axis, Array):  # the error of the tracer explains why it is not an integer
            raise
        raise TypeError(
            messages.at_expression(f"an axis must be an integer, but is {axis!r}")
        ) from None
    if not -rank <= axis < rank:
        axes = f"the axes {-rank} to {rank - 1}" if rank else "no axes"
        raise ValueError(
            messages.at_expression(
                f"axis {axis} is out of bounds: an array of rank {rank} has {axes}"
            )
        )
    return axis + rank if axis < 0 else axis


def canonical_axes(
    axes: SupportsIndex | Sequence[SupportsIndex] | np.ndarray | Array, rank: int
) -> tuple[int, ...]:
    """Returns `axes` as a tuple, counted from the front; a single axis becomes a 1-tuple."""
    # Tuples and lists are tested first: isinstance checks of abstract classes are slow.
    if isinstance(axes, tuple | list | Sequence) and not isinstance(axes, str):
        return tuple([canonical_axis(a, rank) for a in axes])
    if isinstance(axes, np.ndarray | Array) and axes.ndim:
        return tuple([canonical_axis(a, rank) for a in axes])
    return (canonical_axis(axes, rank),)
