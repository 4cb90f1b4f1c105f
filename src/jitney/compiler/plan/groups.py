"""Prints which step computes each node, and which nodes are in memory, for `as_text("group")`.

    module f(p0: float32[1000]) {
      %1 = sin p0 : float32[1000]  # step 1
      %2 = reduce %1 fn=add dims=(0,) : float32[]  # step 1; 4 bytes in memory: it is a result
      return %2
    }

Nodes with the same step are fused. A node with several steps is recomputed by each of them instead
of stored.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from jitney.compiler.fusion import group as fusion
from jitney.compiler.hlo import ir as hlo, traversal
from jitney.compiler.hlo.text import print_module
from jitney.compiler.plan import ir

_LEAVES = (hlo.Parameter, hlo.Constant)


def print_groups(module: hlo.Module, plan: ir.Plan) -> str:
    """Returns the text of `module` with the decisions of its plan as comments."""
    steps_of: dict[hlo.Node, list[str]] = {}

    def visit(steps: Sequence[ir.Step], prefix: str = "") -> None:
        for k, step in enumerate(steps, 1):
            for node in nodes_of(step, plan.stored):
                numbers = steps_of.setdefault(node, [])
                if f"{prefix}{k}" not in numbers:
                    numbers.append(f"{prefix}{k}")
            visit([nested for block in ir.inner(step) for nested in block], f"{prefix}{k}.")

    def note(node: hlo.Node) -> str:
        notes: list[str] = []
        numbers = steps_of.get(node, ())
        if numbers:
            notes.append(f"step{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}")
        if node in plan.stored:
            types = node.type if isinstance(node.type, tuple) else (node.type,)
            nbytes = sum([t.nbytes for t in types])
            notes.append(f"{nbytes} bytes in memory: {fusion.reason_text(plan.stored[node])}")
        return f"  # {'; '.join(notes)}" if notes else ""

    visit(plan.steps)
    return print_module(module, note=note)


def nodes_of(step: ir.Step, stored: Container[hlo.Node]) -> Iterator[hlo.Node]:
    """Yields the nodes that a step computes, including the regions of a loop that is one kernel.

    Args:
      step: the step.
      stored: the nodes in memory, which the step can read.
    """
    if isinstance(step, ir.RowStrips):
        for launch in step.launches:
            yield from nodes_of(launch, stored)
    if not isinstance(step, ir.ComputingStep):
        return
    nodes_seen = dict.fromkeys(step.nodes)
    pending = list(step.nodes)
    while pending:
        for x in traversal.operands(pending.pop()):
            if x not in nodes_seen and x not in stored and not isinstance(x, _LEAVES):
                nodes_seen[x] = None
                pending.append(x)
    for node in nodes_seen:
        yield node
        if not isinstance(step, ir.Loop | ir.Branch | ir.Copy):
            yield from _nodes_within(node)


def _nodes_within(node: hlo.Node) -> Iterator[hlo.Node]:
    for _, region in traversal.regions(node):
        for inner in traversal.topological_order(traversal.roots(region)):
            yield inner
            yield from _nodes_within(inner)
