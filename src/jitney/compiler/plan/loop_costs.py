"""Estimates the time of a loop's iteration, as part of a loop kernel and as separate steps.

A loop kernel (`kernels/build_while.py`) executes an instruction per element of a carry, and its
vectors span the lanes of a batch. In separate steps, an iteration is a few launches, and vectors
span the elements of an array. Loop kernels are faster for scalars, very small arrays and large
batches. Separate steps are faster if the elements of an array fill vectors and there are few lanes.
The constants are in `compiler/cost.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir as hlo, traversal
from jitney.compiler.kernels import ir
from jitney.compiler.kernels.effort import compile_effort
from jitney.compiler.kernels.ir import Kernel, is_half

# Nodes that are computed by a step of their own.
_STEPS = (hlo.Dot, hlo.Reduce, hlo.ArgReduce, hlo.Cumulative, hlo.DynamicUpdateSlice)
# Nodes that read elements at other positions, so their operands have to be stored first.
_MOVES = (
    hlo.Slice, hlo.Reverse, hlo.Transpose, hlo.Concatenate, hlo.Pad, hlo.DynamicSlice, hlo.Gather,
)  # fmt: skip
_VIEWS = (
    hlo.Parameter, hlo.Constant, hlo.Iota, hlo.Broadcast, hlo.Reshape, hlo.Bitcast,
    hlo.OptimizationBarrier, hlo.Project,
)  # fmt: skip


def registers_pay(node: hlo.While, kernel: Kernel) -> bool:
    """Returns whether `kernel` is a better choice than separate steps for `node`.

    It must be faster by a margin, by estimate. If its compilation takes long, each call must also
    save time in proportion. The result is True if the time of the steps cannot be estimated.
    """
    nodes = traversal.topological_order(node.body.results)
    if not all([isinstance(x, (hlo.Apply, *_STEPS, *_MOVES, *_VIEWS)) for x in nodes]):
        return True  # the time of nested loops and branches is not estimated
    registers, steps = in_registers(kernel), as_steps(node, nodes)
    if registers > COSTS.register_margin * steps:
        return False
    effort = compile_effort(kernel)
    trips = None if kernel.loop is None else kernel.loop.trips
    saved = (COSTS.loop_trips if trips is None else trips) * (steps - registers)
    return effort <= COSTS.light_effort or saved >= COSTS.saved_per_effort * effort


def in_registers(kernel: Kernel) -> float:
    """Returns the cost of an iteration of the loop of a kernel."""
    total = 0.0
    for s, uniform in zip(kernel.body, ir.invariants(kernel), strict=True):
        if isinstance(s, ir.Call):
            is_vector = bool(kernel.extents) and not uniform
            cost = float(COSTS.function(s.fn))
            if cost <= 1:
                cost *= COSTS.register_operation
            elif not is_vector:
                cost *= COSTS.scalar_function
            if is_half(s.dtype):
                cost *= COSTS.half_operation
            total += cost * (_vectors(kernel.extents[0], s.dtype) if is_vector else 1)
    return total


def as_steps(node: hlo.While, nodes: Sequence[hlo.Node]) -> float:
    """Returns the cost of an iteration in which separate steps compute `nodes`."""
    changed = [
        r.shape for r, p in zip(node.body.results, node.body.parameters, strict=True) if r is not p
    ]
    launches, total = len({*changed}), 0.0
    stored: set[hlo.Node] = set()
    for x in nodes:
        match x:
            case hlo.Apply():
                each = COSTS.half_operation if is_half(x.dtype) else 1
                total += each * COSTS.function(x.fn) * _vectors(x.tensor_type.size, x.dtype)
            case hlo.Dot():
                contracted = math.prod([x.x.shape[k] for k in x.contract[0]])
                total += 2 * _vectors(x.tensor_type.size * contracted, x.dtype)
                total += COSTS.loop_product
            case hlo.Reduce() | hlo.ArgReduce() | hlo.Cumulative():
                total += _vectors(x.x.tensor_type.size, x.dtype)
            case hlo.Gather():
                total += COSTS.gather * x.tensor_type.size
            case _:
                pass
        if isinstance(x, _STEPS):
            launches += 1
        if isinstance(x, _MOVES):
            stored |= {y for y in traversal.operands(x) if isinstance(y, hlo.Apply)}
    return total + COSTS.loop_launch * (launches + len(stored))


def _vectors(size: int, dtype: np.dtype) -> int:
    """Returns the number of vectors for `size` elements; narrow dtypes count as 32 bits."""
    bits = 8 * max(dtype.itemsize, 4)
    return math.ceil(size / (COSTS.processor.widest_bits // bits))
