"""What it costs to compute a value again instead of storing it: the one place that says so.

Costs are in units of one addition of a vector of numbers already in registers.
"""

from __future__ import annotations

from jitney.compiler.hlo import ir
from jitney.compiler.reference.complex_parts import PARTS, names_of

# Functions that are a polynomial, a division, or worse. What is not listed costs 1.
_FUNCTION_COST: dict[str, int] = {
    "div": 4, "rem": 12, "sqrt": 6, "rsqrt": 8, "cbrt": 20, "exp": 12, "exp2": 12, "expm1": 16,
    "log": 14, "log1p": 18, "logistic": 18, "sin": 24, "cos": 24, "tan": 30, "asin": 20, "acos": 20,
    "atan": 20, "atan2": 26, "sinh": 24, "cosh": 24, "tanh": 18, "asinh": 30, "acosh": 30,
    "atanh": 24, "pow": 40, "erf": 20, "erfc": 30, "erf_inv": 30, "lgamma": 60, "digamma": 60,
    "bessel_i0e": 40, "bessel_i1e": 40,
}  # fmt: skip

# Complex functions, both parts of the result together.
_COMPLEX_COST: dict[str, int] = {
    "abs": 16, "div": 40, "sign": 40, "sqrt": 40, "rsqrt": 60, "exp": 80, "exp2": 80, "expm1": 100,
    "log": 70, "log1p": 90, "logistic": 120, "sinh": 120, "cosh": 120, "sin": 120, "cos": 120,
    "tanh": 180, "tan": 180, "pow": 160,
}  # fmt: skip
_FUNCTION_COST |= {
    name: _COMPLEX_COST[part.fn] // len(names_of(part.fn)) for name, part in PARTS.items()
}

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
    return _FUNCTION_COST.get(fn, 1)


def own_cost(node: ir.Node) -> int:
    """Cost of `node` from its operands."""
    if isinstance(node, ir.Apply):
        return function_cost(node.fn)
    if isinstance(node, ir.Gather):
        return 4
    return 0
