"""Estimates LLVM's compile time for a kernel before LLVM IR is generated.

LLVM's compile time for a function grows slightly faster than its number of instructions. A kernel
with a loop has the code of a complete iteration in one function, with the computation of every
carry, so such kernels are only built if their estimated compile time is bounded (`fits`). For other
kernels the bound is `COSTS.kernel_statements`.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitney.compiler.cost import COSTS
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Kernel, is_half
from jitney.compiler.llvm.values import BITS, register_kind
from jitney.compiler.scalar.effort import function_effort


def called_functions(body: Sequence[ir.Statement]) -> set[str]:
    """Returns the functions that a kernel with statements `body` calls out of line."""
    uses: dict[str, int] = {}
    for s in body:
        if isinstance(s, ir.Call) and COSTS.function(s.fn) > COSTS.outline_above:
            uses[s.fn] = uses.get(s.fn, 0) + 1
    return {fn for fn, n in uses.items() if n > COSTS.inline_uses}


def compile_effort(kernel: Kernel) -> int:
    """Returns the estimated compile time of a kernel, in instructions (see `compiler/cost.py`)."""
    body, uniform = kernel.body, ir.invariants(kernel)
    called = called_functions(body)
    widths = [
        max(BITS[register_kind(s.dtype)], 8)
        for s, same in zip(body, uniform, strict=True)
        if not same
    ]
    vector = COSTS.register_bits // max(widths, default=COSTS.register_bits)
    carries = 0 if kernel.loop is None else len(kernel.loop.carries)
    total = COSTS.access_effort * (len(kernel.outputs) + 2 * carries)
    calls = sum([isinstance(s, ir.Call) and s.fn in called for s in body])
    if any(is_half(s.dtype) for s in body):
        total += calls * calls // COSTS.calls_per_effort
    for s, same in zip(body, uniform, strict=True):
        lanes = 1 if same else vector
        match s:
            case ir.Call() if s.fn in called:
                total += COSTS.call_effort
            case ir.Call():
                operands = [body[a].dtype for a in s.args]
                total += function_effort(s.fn, operands, s.dtype, lanes)
            case ir.Load():
                total += COSTS.access_effort
            case _:
                total += 1
    return total


def fits(kernel: Kernel) -> bool:
    """Returns whether the estimated compile time of `kernel` is within the bound."""
    return compile_effort(kernel) <= COSTS.max_effort
