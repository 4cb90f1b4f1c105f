"""What it costs to compute a value again instead of storing it: the one place that says so.

Costs are in units of one addition of a vector of numbers already in registers.
"""

from __future__ import annotations

from jitney.compiler.hlo import ir
from jitney.compiler.scalar_functions import lookup

# A value used by several kernels is stored if computing it costs more than this.
STORE_ABOVE = 4

# A value that code without vectors uses, one element at a time, is computed by vectors and stored
# before, if computing it costs more than this: a store and a load take as long as two or three
# scalar operations (a scatter of 1e6 elements: 0.88 ms with three operations within, 1.18 before).
VECTORIZE_ABOVE = 8

# At how many different indices one kernel may compute the same node.
MAX_WAYS = 16

# Parts of a concatenation that is computed within other code: each takes kernels of its own.
MAX_PARTS = 3

# Elements up to which an axis is short: kernels may write out what they do along it.
SHORT = 4

# Statements of one kernel: LLVM's cost grows faster than a function's length.
KERNEL_LIMIT = 160


def function_cost(fn: str) -> int:
    """Cost of one scalar function."""
    return lookup(fn).cost


def own_cost(node: ir.Node) -> int:
    """Cost of `node` from its operands."""
    if isinstance(node, ir.Apply):
        return function_cost(node.fn)
    if isinstance(node, ir.Gather):
        return 4
    return 0
