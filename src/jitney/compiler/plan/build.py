"""Builds plans from the tensor IR: fuses nodes into steps, orders them, and assigns buffers.

Every node of the tensor IR can be computed. Elementwise code, views, reductions and small
contractions become kernels, large contractions become calls of BLAS, and control flow becomes
native loops and branches. All other nodes (large sorts, rare scalar functions and dtypes) are
computed by their reference implementations, which are library calls like those made by primitives.
"""

from __future__ import annotations

from jitney.compiler.hlo import ir as hlo
from jitney.compiler.plan import ir, loops, memory, overlap, row_strips, single_nodes
from jitney.compiler.plan.collective_order import order_collectives
from jitney.compiler.plan.region import Planner, Rule, Supports
from jitney.core.util.record import replace

_RULES: dict[type[hlo.Node], Rule] = {
    hlo.Concatenate: single_nodes.concatenate,
    hlo.Pad: single_nodes.pad,
    hlo.DynamicUpdateSlice: single_nodes.update_slice,
    hlo.Scatter: single_nodes.scatter,
    hlo.Dot: single_nodes.dot,
    hlo.Dft: single_nodes.dft,
    hlo.While: loops.loop,
    hlo.Cond: single_nodes.branch,
    hlo.LibraryCall: single_nodes.library_call,
    hlo.HostCall: single_nodes.host_call,
    hlo.Collective: single_nodes.collective,
    hlo.OptimizationBarrier: single_nodes.optimization_barrier,
}


def build(module: hlo.Module, supports: Supports) -> ir.Plan:
    """Returns the plan of `module`, with buffers that have no memory assigned yet.

    Args:
      module: a simplified program.
      supports: returns whether code can be generated for a scalar function with given dtypes.
    """
    planner = Planner(supports, _RULES)
    region = module.region
    inputs = [ir.Buffer("input", p.tensor_type.nbytes, i) for i, p in enumerate(region.parameters)]
    outputs = [ir.Buffer("output", r.tensor_type.nbytes, i) for i, r in enumerate(region.results)]
    return ir.Plan(
        module.name,
        planner.region(region, inputs, outputs),
        tuple(p.tensor_type for p in region.parameters),
        tuple(r.tensor_type for r in region.results),
        keep_alive=planner.keep_alive,
        stored=planner.stored,
        optimization_level=module.optimization_level,
    )


def strip_mine(plan: ir.Plan) -> ir.Plan:
    """Returns `plan` with chains of launches over the same rows merged into row strips."""
    return replace(plan, steps=row_strips.strip_mine(plan.steps))


def schedule(plan: ir.Plan) -> ir.Plan:
    """Returns `plan` with its collectives reordered to save memory and overlap computation."""
    return replace(plan, steps=overlap.overlap(order_collectives(plan.steps)))


def assign_buffers(plan: ir.Plan) -> ir.Plan:
    """Returns `plan` with memory assigned to its buffers."""
    return replace(plan, arena_bytes=memory.assign_buffers(plan.steps))
