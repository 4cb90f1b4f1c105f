"""Nodes as calls of their reference implementations: `reference.sort`, `reference.igamma` ...

Compiled programs have no kernels for some nodes: sorts of many elements, rare scalar functions, dtypes
that processors do not know. These are computed by their rule in the interpreter, called from the
program. The call holds the node as text, so that it is a library call like all others: printed,
compared, kept on disk, and found by name where a program is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np

from jitney.compiler import library
from jitney.compiler.hlo import interpret, ir, traversal
from jitney.compiler.hlo.build import Builder

PREFIX = "reference"


def call_of(node: ir.Node) -> library.Call | None:
    """Returns the call that computes `node` from its operands, in order.

    None if the node has Python functions of users in its regions, of which there is no text.
    """
    from jitney.compiler.hlo import text  # most programs are compiled without it

    if any(isinstance(inner, ir.HostCall) for inner in _within(node)):
        return None
    operands = traversal.operands(node)
    b = Builder()
    parameters = [b.parameter(i, x.tensor_type) for i, x in enumerate(operands)]
    new = dict(zip(operands, parameters, strict=True))
    results = traversal.rebuild(b, node, new.__getitem__)
    several = tuple(results) if isinstance(node.type, tuple) else (results,)
    region = ir.Region(tuple(parameters), several)
    routine = library.routine(
        f"{PREFIX}.{ir.word(node)}", region=text.print_region(region, elide_above=sys.maxsize)
    )
    types = tuple([x.tensor_type for x in operands])
    result_types = tuple([x.tensor_type for x in several])
    # Reading the text back would take longer than to write it.
    return library.Call(routine, types, result_types, _function(region))


def _within(node: ir.Node) -> Iterator[ir.Node]:
    """`node`, and those in its regions."""
    yield node
    for _, region in traversal.regions(node):
        for inner in traversal.topological_order(traversal.roots(region)):
            yield from _within(inner)


def _implementation(call: library.Call) -> library.Implementation:
    from jitney.compiler.hlo.parse import parse_region

    ((_, source),) = call.routine.params
    assert isinstance(source, str)
    return _function(parse_region(source))


def _function(region: ir.Region) -> library.Implementation:
    """Returns the region of a node as a function of arrays."""
    nodes = traversal.topological_order(region.results)
    computed = [n for n in nodes if not isinstance(n, ir.Parameter | ir.Project | ir.Constant)]
    if len(computed) != 1:  # the builder knew something simpler
        return lambda *arrays: interpret.run_region(region, arrays)
    (node,), parameters = computed, region.parameters
    several = isinstance(node.type, tuple)

    def run(*arrays: np.ndarray) -> Sequence[np.ndarray]:
        result = interpret.evaluate(node, dict(zip(parameters, arrays, strict=True)))
        return result if several else (result,)

    return run


library.declare_prefix(PREFIX, _implementation)
