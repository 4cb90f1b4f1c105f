"""What a kernel costs LLVM, estimated before its text is written.

LLVM's time for a function grows with its instructions, and a little faster. Loop kernels have all of
an iteration in one function, once for each carried scalar: they are made only where that is bounded
(`fits`). Others have their bound in `cost.KERNEL_LIMIT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitney.compiler.hlo import cost
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import is_half
from jitney.compiler.kernels.loop_kernel import LoopKernel, varying
from jitney.compiler.llvm.values import BITS, register_kind
from jitney.compiler.scalar.effort import REGISTER_BITS, function_effort

# Units (`scalar/effort.py`) of a loop kernel: about a second of LLVM's time. The largest kernels of
# float32 numbers that there may be (`loops.MAX_STATEMENTS`) take less.
MAX_EFFORT = 26_000

INLINE_USES = 6  # functions used more often than this in one kernel are called, not written out
_CALL = 4  # units of a call: registers are saved around it
# Where numbers are rounded to 16 bits, the constants of that stay in registers, which all calls take
# away: the allocator's time grows with the square of the calls.
_CALLS_PER_UNIT = 40
_ACCESS = 3  # ... of a load or a store, with its address


def called_functions(body: Sequence[Any]) -> set[str]:
    """The functions that a kernel with statements `body` calls instead of writing them out."""
    uses: dict[str, int] = {}
    for s in body:
        if isinstance(s, ir.Call) and cost.function_cost(s.fn) > 4:
            uses[s.fn] = uses.get(s.fn, 0) + 1
    return {fn for fn, n in uses.items() if n > INLINE_USES}


def loop_effort(kernel: LoopKernel) -> int:
    """Units that `kernel` costs LLVM."""
    body, varies = kernel.body, varying(kernel)
    called = called_functions(body)
    widths = [max(BITS[register_kind(s.dtype)], 8) for s, v in zip(body, varies, strict=True) if v]
    vector = REGISTER_BITS // max(widths, default=REGISTER_BITS)
    total = _ACCESS * (len(kernel.outputs) + 2 * len(kernel.carried))
    calls = sum([isinstance(s, ir.Call) and s.fn in called for s in body])
    if any(is_half(s.dtype) for s in body):
        total += calls * calls // _CALLS_PER_UNIT
    for s, by_lane in zip(body, varies, strict=True):
        lanes = vector if by_lane else 1
        match s:
            case ir.Call() if s.fn in called:
                total += _CALL
            case ir.Call():
                operands = [body[a].dtype for a in s.args]
                total += function_effort(s.fn, operands, s.dtype, lanes)
            case ir.Load():
                total += _ACCESS
            case _:
                total += 1
    return total


def fits(kernel: LoopKernel) -> bool:
    """Whether LLVM can compile `kernel` in bounded time."""
    return loop_effort(kernel) <= MAX_EFFORT
