"""Analyses of kernels with a loop: loop invariance, counted loops, and independence of lanes.

`ir.invariants` is the analysis of uniformity across lanes.
"""

from __future__ import annotations

import numpy as np

from jitney.compiler.kernels import ir
from jitney.compiler.kernels.ir import Kernel, While

_COUNTERS = np.dtype(np.int32), np.dtype(np.int64)


def loop_invariants(kernel: Kernel) -> list[bool]:
    """Returns, for each statement, whether its value is the same in all iterations of the loop."""
    written = {o.param for o in kernel.outputs}
    fixed: list[bool] = []
    for s in kernel.body:
        match s:
            case ir.Carried():
                fixed.append(False)
            case ir.Const():
                fixed.append(True)
            case ir.Call():
                fixed.append(all(fixed[a] for a in s.args))
            case ir.Load():
                fixed.append(s.param not in written and all(fixed[t] for t, _ in s.index.terms))
            case ir.IndexValue():
                fixed.append(all(fixed[t] for t, _ in s.index.terms))
    return fixed


def counter(kernel: Kernel, loop: While) -> tuple[int, int] | None:
    """Returns (carry, statement of its bound) if `loop` is a counted loop of `kernel`, else None.

    In a counted loop, the carry is the same in all lanes and increases by a positive constant in
    each iteration, and the loop continues while it is less than the bound, which is loop-invariant.
    """
    body = kernel.body
    condition = body[loop.condition]
    if not isinstance(condition, ir.Call) or condition.fn != "lt":
        return None
    counting, bound = body[condition.args[0]], condition.args[1]
    if not isinstance(counting, ir.Carried) or counting.varies or counting.dtype not in _COUNTERS:
        return None
    if not ir.invariants(kernel)[bound] or not loop_invariants(kernel)[bound]:
        return None
    step = body[loop.next_values[counting.carry]]
    if not isinstance(step, ir.Call) or step.fn != "add":
        return None
    previous, increment = (body[a] for a in step.args)
    if previous is not counting or not isinstance(increment, ir.Const) or increment.value <= 0:
        return None
    return counting.carry, bound


def dependent_lanes(kernel: Kernel, loop: While) -> tuple[str, str] | None:
    """Returns None if the lanes of a kernel with `loop` are independent of each other.

    Otherwise, returns the constraint that is violated, and the reason.
    """
    uniform = ir.invariants(kernel)
    if not uniform[loop.condition]:
        reason = _changes_after_end(kernel, loop)
        if reason is not None:
            return "L2", reason
    for carry, statement in zip(loop.carries, loop.next_values, strict=True):
        if not carry.varies and not uniform[statement]:
            return "L3", "a scalar shared by all lanes becomes per-lane"
    for o in kernel.outputs:
        if not all(uniform[t] for t, _ in o.index.terms):
            return "L6", "lanes write to data-dependent positions"
    return None


def _changes_after_end(kernel: Kernel, loop: While) -> str | None:
    """Returns why a lane changes in iterations after its condition became false, else None.

    Other lanes of its vector can need more iterations.
    """
    if kernel.outputs:
        return "lanes write after their loop has ended"
    for i, (carry, statement) in enumerate(zip(loop.carries, loop.next_values, strict=True)):
        s = kernel.body[statement]
        kept = (
            isinstance(s, ir.Call)
            and s.fn == "select"
            and s.args[0] == loop.condition
            and isinstance(old := kernel.body[s.args[2]], ir.Carried)
            and old.carry == i
        )
        if not kept or not carry.varies:
            return "a lane changes after its loop has ended"
    return None
