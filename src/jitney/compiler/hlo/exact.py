"""Decides whether a program's compiled results equal the reference's bit for bit.

They do if all functions in it are correctly rounded or exact, and if each reduction has a fixed
order or a result that does not depend on the order. Polynomial approximations, sums of floats and
complex arithmetic agree only up to rounding.
"""

from __future__ import annotations

from jitney.compiler.hlo import collectives, ir, traversal
from jitney.compiler.scalar_functions import lookup

_VIEWS = (
    ir.Parameter, ir.Constant, ir.Iota, ir.Broadcast, ir.Reshape, ir.Transpose, ir.Slice,
    ir.Reverse, ir.Pad, ir.Concatenate, ir.Bitcast, ir.DynamicSlice, ir.DynamicUpdateSlice,
    ir.Gather, ir.OptimizationBarrier, ir.Project, ir.Sort, ir.TopK, ir.ArgReduce,
)  # fmt: skip
_SAME_CODE = (ir.LibraryCall,)  # the interpreter calls the same functions as compiled programs


def is_exact(region: ir.Region) -> bool:
    """Returns whether all nodes of `region` are exact; loops and branches count as inexact."""
    return not region.ordered and all(map(_is_exact, traversal.topological_order(region.results)))


def _is_exact(node: ir.Node) -> bool:
    types = node.type if isinstance(node.type, tuple) else (node.type,)
    if any([t.dtype.kind not in "biuf" for t in types]):
        return False
    match node:
        case ir.Apply():
            return lookup(node.fn).is_exact
        case ir.Reduce():
            return node.dtype.kind != "f" or node.fn in ("max", "min")
        case ir.Cumulative():  # the order of its operations is fixed
            return node.fn != "logaddexp"
        case ir.Scatter():
            combine = node.combine
            return combine is None or (
                node.unique and isinstance(combine, str) and lookup(combine).is_exact
            )
        case ir.Dot() | ir.Convolution():
            return node.dtype.kind in "biu"
        case ir.Collective():
            return collectives.group_size(node.axes, node.groups) == 1
        case _:
            return isinstance(node, (*_VIEWS, *_SAME_CODE))
