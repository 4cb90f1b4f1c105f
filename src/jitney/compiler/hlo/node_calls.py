"""Library calls that evaluate nodes without kernels: `reference.sort`, `reference.igamma` ...

No kernels are generated for some nodes, such as sorts of many elements, rare scalar functions, and
dtypes that processors do not support. Compiled programs call the interpreter's rules for them
instead. The call contains the text of the node, so that it is an ordinary library call, which can
be printed, compared, stored on disk, and resolved by name when a program is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np

from jitney.compiler import library
from jitney.compiler.hlo import ir, traversal
from jitney.compiler.hlo.build import Builder

PREFIX = "reference"


def call_of(node: ir.Node) -> library.Call | None:
    """Returns the library call that computes `node` from its operands, in order.

    Returns None if regions of the node call Python functions, which have no textual form.
    """
    from jitney.compiler.hlo import text  # imported lazily: most programs do not need it

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
    # Parsing the text would take longer than printing it.
    return library.Call(routine, types, result_types, _function(region))


def _within(node: ir.Node) -> Iterator[ir.Node]:
    """Yields `node` and the nodes of its regions."""
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
    """Returns `region`, which usually contains a single computation, as a function of arrays."""
    from jitney.compiler.hlo import interpret  # most programs do not need it

    nodes = traversal.topological_order(region.results)
    computed = [n for n in nodes if not isinstance(n, ir.Parameter | ir.Project | ir.Constant)]
    if len(computed) != 1:  # the builder simplified it
        return lambda *arrays: interpret.run_region(region, arrays)
    (node,), parameters = computed, region.parameters
    several = isinstance(node.type, tuple)

    def run(*arrays: np.ndarray) -> Sequence[np.ndarray]:
        result = interpret.evaluate(node, dict(zip(parameters, arrays, strict=True)))
        return result if several else (result,)

    return run


library.declare_prefix(PREFIX, _implementation)
