"""Plans loops, as a single kernel with carries in registers or as native loops of steps."""

from __future__ import annotations

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.hlo.loop_analysis import count_trips
from jitney.compiler.kernels import effort
from jitney.compiler.kernels.build_while import BuiltWhile, build_while
from jitney.compiler.kernels.ir import Kernel
from jitney.compiler.kernels.wide import in_wide_registers
from jitney.compiler.plan import ir
from jitney.compiler.plan.inplace import update_in_place
from jitney.compiler.plan.loop_costs import registers_pay
from jitney.compiler.plan.region import RegionPlan


def loop(plan: RegionPlan, node: hlo.While) -> bool:
    """Plans a loop, and returns True.

    It becomes one kernel if that is possible and faster, and otherwise a native loop in which
    each carry that changes has a separate buffer. Carries of which an iteration updates a part, and
    accumulators, are updated in place (`inplace`).
    """
    in_place = plan.updated(node)

    def finished(kernel: Kernel) -> Kernel | None:
        """Returns the kernel to compile; None if steps are faster, or if LLVM is too slow."""
        if not registers_pay(node, kernel):
            return None
        kernel = in_wide_registers(kernel)
        return kernel if effort.fits(kernel) else None

    built = build_while(node, {*in_place}, plan.planner.is_sinkable, finished)
    if built is not None:
        _as_kernel(plan, node, built)
        return True
    parameters, results = node.body.parameters, node.body.results
    changing = [r is not p for r, p in zip(results, parameters, strict=True)]
    carry = plan.new_carry(node)
    filled = plan.filled(node)
    for i, x in enumerate(node.init):
        if not changing[i]:
            carry[i] = plan.buffer(x)
        elif i not in filled and carry[i] is not plan.buffer(x):
            plan.steps.append(ir.Copy(carry[i], plan.buffer(x)))
    predicate = ir.Buffer("arena", 1)
    plan.planner.loops += 1
    cond = plan.planner.region(node.cond, carry, [predicate])
    after = [
        ir.Buffer("arena", b.nbytes) if changing[i] and i not in in_place else b
        for i, b in enumerate(carry)
    ]
    last = [node.body.results[i] for i, updated in in_place.items() if updated.is_read]
    body = plan.planner.region(node.body, carry, after, last)
    plan.planner.loops -= 1
    body, after = update_in_place(body, carry, after)
    for b, a in zip(carry, after, strict=True):
        if a is not b:
            body.append((ir.Copy if b.nbytes < COSTS.swap_above else ir.SwapBuffers)(b, a))
    counted = count_trips(node)
    trips = None if counted is None else counted.count
    written = tuple([carry[i] for i in sorted(filled)])
    plan.steps.append(ir.Loop(cond, predicate, body, written, trips))
    return True


def _as_kernel(plan: RegionPlan, node: hlo.While, built: BuiltWhile) -> None:
    """Plans the loop as one kernel with its carries in registers."""
    in_place = plan.updated(node)
    parameters, results = node.body.parameters, node.body.results
    carry = plan.new_carry(node)
    filled = plan.filled(node)
    for i, (r, p) in enumerate(zip(results, parameters, strict=True)):
        if r is p:
            carry[i] = plan.buffer(node.init[i])
        elif i in in_place and i not in filled:
            source = plan.buffer(node.init[i])
            if carry[i] is not source:
                plan.steps.append(ir.Copy(carry[i], source))
    shared = {built.params[c.finish] for c in built.carries if not c.varies}
    buffers: list[ir.Buffer] = []
    for param in built.params:
        match param:
            case hlo.Node():
                buffers.append(plan.buffer(param))
            case ("start", i) if carry[i] is plan.buffer(node.init[i]) and ("finish", i) in shared:
                # All lanes read it, and some lanes may have written it before others start.
                first = ir.Buffer("arena", carry[i].nbytes)
                plan.steps.append(ir.Copy(first, carry[i]))
                buffers.append(first)
            case ("start" | "loaded", i):
                buffers.append(plan.buffer(node.init[i]))
            case (_, i):
                buffers.append(carry[i])
    plan.steps.append(ir.Launch(built.kernel, tuple(buffers)))
