"""Planning rules for nodes that become separate steps: copies, updates, library calls, branches.

Each rule adds the steps of a node to the plan and returns True. If it does not apply, it adds no
steps and returns False (see `region.Rule`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jitney.compiler import added_products, library
from jitney.compiler.cost import COSTS
from jitney.compiler.hlo import ir as hlo
from jitney.compiler.kernels.build import (
    KernelBuilder,
    clamped_start,
    combine,
    row_major,
    shifted,
)
from jitney.compiler.plan import fourier, fourier_kernels, ir
from jitney.compiler.plan.contraction import added, as_gemm
from jitney.compiler.plan.fourier_kernels import Plane
from jitney.compiler.plan.region import RegionPlan
from jitney.compiler.plan.scatter import Windows


def concatenate(plan: RegionPlan, node: hlo.Concatenate) -> bool:
    """Plans a concatenation, in which each part is computed directly into the result."""
    if not plan.planner.is_stored(node.dtype):
        return plan.by_reference_demanding(node)
    plan.new(node)
    strides = row_major(node.shape)
    start = 0
    for part in node.parts:
        offset = start * strides[node.dim]
        for k, (value,) in plan.computed(
            part.shape, lambda k, part=part: [k.value(part, k.identity())]
        ):
            k.store(node, combine(k.identity(), strides, offset, k.rank), value)
            plan.launch(k)
        start += part.shape[node.dim]
    return True


def pad(plan: RegionPlan, node: hlo.Pad) -> bool:
    """Plans a `Pad` node: fills the padding, then computes the operand into the result.

    One kernel fills the complete result. If the operand is large, one kernel for each side fills
    only the border.
    """
    if not plan.planner.is_stored(node.dtype):
        return plan.by_reference_demanding(node)
    plan.new(node)
    # Negative padding removes elements: `count` elements, starting at `first`, remain of each axis.
    spans: list[tuple[int, int, int, int]] = []  # first, count, start, step
    for n, out, low, inner in zip(node.x.shape, node.shape, node.low, node.interior, strict=True):
        step = inner + 1
        first = max(-(low // step), 0) if low < 0 else 0
        last = min(n, (out - low + step - 1) // step)
        spans.append((first, max(last - first, 0), low + first * step, step))
    strides = row_major(node.shape)
    for box in _filled(node, [(place, count) for _, count, place, _ in spans]):
        for k, (value,) in plan.computed([n for _, n in box], lambda k: [k.value(node.value, ())]):
            places = [k.axis(j, start) for j, (start, _) in enumerate(box)]
            k.store(node, combine(places, strides, 0, k.rank), value)
            plan.launch(k)

    def operand(k: KernelBuilder) -> list[int]:
        index = tuple([k.axis(j, first) for j, (first, _, _, _) in enumerate(spans)])
        return [k.value(node.x, index)]

    for k, (value,) in plan.computed([count for _, count, _, _ in spans], operand):
        places = [k.axis(j, low, step) for j, (_, _, low, step) in enumerate(spans)]
        k.store(node, combine(places, strides, 0, k.rank), value)
        plan.launch(k)
    return True


def _filled(node: hlo.Pad, kept: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Returns the boxes to fill, as (start, size) per axis: the complete result, or its border.

    Args:
      node: the `Pad` node.
      kept: (start, size) of the operand along each axis of the result.
    """
    whole = [(0, n) for n in node.shape]
    size = math.prod([n for _, n in kept]) * node.dtype.itemsize
    if any(node.interior) or size < COSTS.filled_border:
        return [whole]
    boxes: list[list[tuple[int, int]]] = []
    for j, ((place, count), extent) in enumerate(zip(kept, node.shape, strict=True)):
        end = place + count
        for side in ((0, place), (end, extent - end)):
            if side[1]:
                boxes.append([*kept[:j], side, *whole[j + 1 :]])
    return boxes


def update_slice(plan: RegionPlan, node: hlo.DynamicUpdateSlice) -> bool:
    """Plans an update of a slice, in the memory of the operand or in a copy of it."""
    if not plan.planner.is_native(node):
        return plan.by_reference_demanding(node)
    plan.new_update(node)
    shape = node.update.shape
    moving = [j for j, n in enumerate(node.x.shape) if n != shape[j]]

    def values(k: KernelBuilder) -> list[int]:
        starts = [(k.value(node.starts[j], ()), node.x.shape[j] - shape[j]) for j in moving]
        return [k.value(node.update, k.identity()), *[clamped_start(k, *s) for s in starts]]

    for k, (value, *starts) in plan.computed(shape, values):
        index = list(k.identity())
        for j, start in zip(moving, starts, strict=True):
            index[j] = shifted(k, index[j], start)
        k.store(node, k.linear(node.shape, tuple(index)), value)
        plan.launch(k)
    return True


def scatter(plan: RegionPlan, node: hlo.Scatter) -> bool:
    """Plans a scatter as a kernel, in the memory of the operand or in a copy of it."""
    if not plan.planner.is_scatter(node):
        return False
    windows = plan.written(lambda: Windows(node, plan.has_buffer))
    plan.new_update(node)
    plan.launch(windows.written())
    return True


def dot(plan: RegionPlan, node: hlo.Dot) -> bool:
    """Plans a contraction as a call of BLAS, if BLAS supports the layouts of the operands."""
    gemm = as_gemm(node, plan.buffer)
    if gemm is None:
        return False
    gemm.out = plan.new(node)[0]
    plan.steps.append(gemm)
    return True


def dft(plan: RegionPlan, node: hlo.Dft) -> bool:
    """Plans a Fourier transform.

    It becomes kernels for the factors of its length, calls of native code, or a call of the
    reference implementation.
    """
    if plan.has_kernels(node):
        planes = [Plane(node.re.dtype, b) for b in plan.new(plan.wholes.get(node, node))]
        for k in plan.written(lambda: fourier_kernels.kernels(node, planes, plan.has_buffer)):
            plan.launch(k)
        return True
    if not fourier.has_calls(node):
        return plan.by_reference_demanding(node)
    args = [plan.buffer(x) for x in fourier.read(node)]
    results = plan.new(plan.wholes.get(node, node))
    plan.steps += fourier.steps(node, args, results, plan.planner.keep_alive)
    return True


def branch(plan: RegionPlan, node: hlo.Cond) -> bool:
    """Plans a conditional as a native branch."""
    args = [plan.buffer(a) for a in node.args]
    outputs = plan.new(node)
    cases = [plan.planner.region(region, args, outputs) for region in node.cases]
    plan.steps.append(ir.Branch(plan.buffer(node.index), cases))
    return True


def library_call(plan: RegionPlan, node: hlo.LibraryCall) -> bool:
    """Plans a library call as a call of machine code, BLAS, or the reference implementation."""
    if node.name == added_products.NAME and _add_product(plan, node):
        return True
    types = node.type
    assert isinstance(types, tuple)
    routine = library.Routine(node.name, node.params)
    call = library.Call(routine, tuple([a.tensor_type for a in node.args]), types)
    args = tuple([plan.buffer(a) for a in node.args])
    results = tuple(plan.new(node))
    native = library.native_call(call)
    beside: list[ir.Buffer] = []
    if native is not None:
        if not native.batch:
            return True
        plan.planner.keep_alive.append(native.options)
        beside.append(ir.Buffer("constant", native.options.nbytes, value=native.options))
        if native.workspace:
            beside.append(ir.Buffer("arena", native.workspace))
    plan.steps.append(ir.LibraryCall(call, args, results, native, tuple(beside)))
    return True


def _add_product(plan: RegionPlan, node: hlo.LibraryCall) -> bool:
    gemm = as_gemm(added(node), plan.buffer)
    if gemm is None:
        return False
    gemm.out, gemm.adds = plan.new_update(node), True
    plan.steps.append(gemm)
    return True


def host_call(plan: RegionPlan, node: hlo.HostCall) -> bool:
    """Plans a call of a Python function."""
    plan.call_host(node)
    return True


def collective(plan: RegionPlan, node: hlo.Collective) -> bool:
    """Plans a collective."""
    args = tuple([plan.buffer(a) for a in node.args])
    (result,) = plan.new(node)
    plan.steps.append(ir.Collective(node, args, result))
    return True


def optimization_barrier(plan: RegionPlan, node: hlo.OptimizationBarrier) -> bool:
    """Plans an optimization barrier as copies of its operands, across which nothing is fused."""
    for buffer, x in zip(plan.new(node), node.args, strict=True):
        plan.steps.append(ir.Copy(buffer, plan.buffer(x)))
    return True
