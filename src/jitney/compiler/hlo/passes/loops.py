"""The traversal that the passes on loops share.

The passes are `carries`, `hoist`, `sink_reductions` and `loop_fission`. A pass is given by a
function that rebuilds a single loop. Inner loops are rebuilt before the loops that contain them, so
the function receives a loop whose regions have been processed already. The cost of each pass is
linear in the number of nodes of the program, unless its module states otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder
from jitney.core.util.record import replace

# (builder, loop, indices of its results that are used) -> its results
Change: TypeAlias = Callable[[Builder, ir.While, set[int]], Sequence[ir.Node]]


def has_loops(module: ir.Module) -> bool:
    """Returns whether `module` has loops, or conditionals, which can contain loops."""
    return _has_loops(_nodes(module.region))


def change_loops(module: ir.Module, change: Change) -> ir.Module:
    """Returns `module` with each loop replaced by the nodes that `change` builds for it."""
    return replace(module, region=_region(module.region, change))


def _nodes(region: ir.Region) -> list[ir.Node]:
    return traversal.topological_order(traversal.roots(region))


def _has_loops(nodes: Sequence[ir.Node]) -> bool:
    return any([isinstance(node, ir.While | ir.Cond) for node in nodes])


def _region(region: ir.Region, change: Change) -> ir.Region:
    nodes = _nodes(region)
    if not _has_loops(nodes):  # rebuilding the region would take longer than most changes
        return region
    used: dict[ir.Node, set[int]] = {}
    for node in nodes:
        if isinstance(node, ir.Project):
            used.setdefault(node.node, set()).add(node.index)

    def inner(region: ir.Region) -> ir.Region:
        return _region(region, change)

    def make(b: Builder, node: ir.Node, new: Mapping[ir.Node, Any]) -> ir.Node | Sequence[ir.Node]:
        if not isinstance(node, ir.While):
            return traversal.rebuild(b, traversal.with_regions(node, inner), new.__getitem__)
        init = tuple([new[x] for x in node.init])
        loop = ir.While(node.type, -1, inner(node.cond), inner(node.body), init)
        return change(b, loop, used.get(node, set()))

    return traversal.rewrite(region, make)
